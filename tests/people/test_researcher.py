"""A researcher follows the README and docs/tutorial.md, and looks at the results in a notebook.

What used to happen: the first example of the README made 100,000 evaluations of a sum; a seed in
place of a generator failed far from the cause; the paired comparison was ten lines of one's own.
"""

import numpy as np
import pytest

import superarm as sa
from doc_pages import doc, run_python


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """A folder of one's own, in which no example leaves a file."""
    monkeypatch.chdir(tmp_path)
    yield
    assert not list(tmp_path.iterdir())


def test_the_readme_needs_no_evaluations_for_a_sum(capsys):
    run_python(doc("README.md"))
    first, *table = capsys.readouterr().out.splitlines()
    assert first == "0 evaluations of the reward"
    regret = {line.split(" regret")[0].strip(): float(line.split()[-5]) for line in table}
    assert regret["Thompson"] < regret["CTS"] < regret["random"]
    # All but group testing know that a sum needs none.
    assert [line.split()[-4] for line in table][:3] == ["0", "0", "0"]


def test_the_tutorial_compares_in_one_call_and_shows_it():
    found = run_python(doc("tutorial.md"))["found"]
    assert [row[0] for row in found.table()] == ["Thompson", "CUCB", "random"]
    html = found._repr_html_()
    assert "<svg" in html
    assert "<table" in html
    assert "\n" not in repr(found)


@pytest.mark.parametrize("rng", [0, None, np.random.RandomState(0)])
def test_a_seed_is_no_generator(rng):
    policy = sa.thompson(sa.LinearReward(4), 2)
    with pytest.raises(TypeError, match=r"rng must be a numpy.random.Generator, got"):
        policy.ask(rng=rng)
    with pytest.raises(TypeError, match=r"rng = np.random.default_rng\(0\)"):
        policy.tell([0], [1.0], rng=rng)

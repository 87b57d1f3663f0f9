"""An engineer with a simulator follows docs/choosing.md: inspect, plan, auto.

What used to happen: at 80 columns a plan lost the names of its rows, and said "1,412,429 s".
"""

import pytest
from click.testing import CliRunner

import commands
from doc_pages import blocks, doc, run_python
from doc_pages import commands as typed
from superarm.cli import app

CHOOSING = doc("choosing.md")


@pytest.fixture
def terminal(tmp_path, monkeypatch):
    """A folder with the page's reward in a file, and a terminal of 80 columns."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(commands.PLAIN, "COLUMNS", "80")
    (tmp_path / "newsletter.py").write_text(blocks(CHOOSING)[0], encoding="utf-8")


@pytest.mark.usefixtures("terminal")
def test_the_page_leads_from_a_reward_to_a_policy(capsys):
    found = run_python(CHOOSING)
    assert found["policy"].evaluations > 0
    [(program, *wanted)] = typed(CHOOSING)
    assert (program, wanted[0]) == ("superarm", "inspect")
    inspected = commands.run(*wanted)
    assert inspected.exit_code == 1  # the first reward of the page declares too little
    assert "lipschitz: declare a larger B" in " ".join(inspected.output.split())
    assert max(map(len, inspected.output.splitlines())) <= 80


def test_plan_is_readable_in_80_columns():
    """No row loses its name, and long times are in days."""
    asked = ["plan", "--m", "12", "--k", "2", "--cost", "1000", "--horizon", "2000"]
    result = CliRunner().invoke(app, asked, env={**commands.PLAIN, "COLUMNS": "80"})
    lines = result.output.splitlines()
    assert max(map(len, lines)) <= 80
    assert "…" not in result.output
    for name in ("LazySingletons", "GroupTesting", "Exhaustive"):
        assert sum(name in line for line in lines) == 2
    assert " days" in result.output

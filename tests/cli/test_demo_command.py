"""``superarm demo``."""

import re

import pytest

from commands import run
from superarm.studies import demo


@pytest.fixture(scope="module")
def small(tmp_path_factory, forked_workers):
    out = tmp_path_factory.mktemp("demo")
    return out, run("demo", "--runs", "2", "--horizon", "30", "--workers", "1", "--out", str(out))


def test_demo_prints_a_row_for_every_policy_and_saves_a_picture(small):
    out, result = small
    assert result.exit_code == 0, result.output
    for problem in demo.PROBLEMS:
        assert f"{problem.title}: 30 rounds, 2 runs" in result.output
        for policy in problem.labels:
            assert policy in result.output
    picture = out / "regret.svg"
    assert "<svg" in picture.read_text()
    assert "regret.svg" in result.output


@pytest.mark.usefixtures("pictures_unwritten")
def test_demo_is_the_same_for_any_number_of_workers(small, tmp_path):
    def numbers(output):
        rows = re.findall(r"^│ (.+?) +│ +(\S+) │ +(\S+) │ +(\S+) │ +(\S+) │", output, re.MULTILINE)
        assert len(rows) == sum(len(problem.policies) for problem in demo.PROBLEMS)
        return rows

    again = run("demo", "--runs", "2", "--horizon", "30", "--workers", "2", "--out", str(tmp_path))
    assert again.exit_code == 0, again.output
    assert numbers(again.output) == numbers(small[1].output)

import re

import pytest
from typer.testing import CliRunner

from superarm import __version__
from superarm.cli import app
from superarm.experiments import demo


def run(*arguments):
    return CliRunner().invoke(app, list(arguments), env={"COLUMNS": "120", "NO_COLOR": "1", "TERM": "dumb"})


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    out = tmp_path_factory.mktemp("demo")
    return out, run("demo", "--runs", "2", "--horizon", "30", "--workers", "1", "--out", str(out))


def test_demo_prints_a_row_for_every_policy_and_saves_a_picture(small):
    out, result = small
    assert result.exit_code == 0, result.output
    for problem in demo.PROBLEMS:
        assert f"{problem.title}: 30 rounds, 2 runs" in result.output
        for policy in problem.policies:
            assert policy in result.output
    picture = out / "regret.png"
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert "regret.png" in result.output


def test_demo_is_the_same_for_any_number_of_workers(small, tmp_path):
    def numbers(output):
        rows = re.findall(r"^│ (.+?) +│ +(\S+) │ +(\S+) │ +(\S+) │ +(\S+) │", output, re.MULTILINE)
        assert len(rows) == sum(len(problem.policies) for problem in demo.PROBLEMS)
        return rows

    again = run("demo", "--runs", "2", "--horizon", "30", "--workers", "2", "--out", str(tmp_path))
    assert again.exit_code == 0, again.output
    assert numbers(again.output) == numbers(small[1].output)


def test_help_explains_itself():
    result = run("demo", "--help")
    assert result.exit_code == 0
    for word in ("--runs", "--horizon", "--seed", "--workers", "--out", "regret", "GT+QTS"):
        assert word in result.output


def test_version():
    assert run("--version").output.strip() == f"superarm {__version__}"


@pytest.mark.parametrize("arguments", [("demo", "--runs", "1"), ("demo", "--horizon", "0"), ("nonsense",)])
def test_bad_arguments_are_answered_with_usage(arguments):
    result = run(*arguments)
    assert result.exit_code == 2
    assert "Usage" in result.output

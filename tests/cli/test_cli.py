"""Properties that all commands share: help, usage errors, quick starts."""

import os
import runpy
import subprocess
import sys
from concurrent.futures import BrokenExecutor
from importlib.util import find_spec

import click
import pytest

from commands import run
from superarm import __version__
from superarm.cli import app
from superarm.studies import own_table

COMMANDS = [
    "demo",
    "run",
    "compare",
    "reproduce",
    "inspect",
    "plan",
    "serve",
    "replay",
    "export",
    "compact",
    "keys",
]


def test_help_lists_every_command_with_a_sentence():
    assert list(app.commands) == COMMANDS
    lines = run("--help").output.splitlines()
    for name, command in app.commands.items():
        (line,) = [line for line in lines if line.startswith(f"  {name} ")]
        assert line.removeprefix(f"  {name}").strip() == command.help.split("\n")[0]


@pytest.mark.parametrize("command", COMMANDS)
def test_the_help_of_a_command_explains_every_parameter(command):
    group = app.commands[command]
    for one in getattr(group, "commands", {command: group}).values():
        for parameter in one.params:
            if isinstance(parameter, click.Option):
                assert parameter.help, parameter.name
            else:  # arguments are explained in the text
                name = parameter.metavar or parameter.name.upper()
                assert all(word in one.help for word in name.split(":")), parameter.name


def test_help_explains_itself():
    result = run("demo", "--help")
    assert result.exit_code == 0
    for word in ("--runs", "--horizon", "--seed", "--workers", "--out", "regret", "GT+QTS"):
        assert word in result.output


def test_the_help_of_run_has_the_policies_and_the_horizon_of_the_study():
    text = " ".join(run("run", "--help").output.split()).replace("- ", "-")
    for word in (*own_table.POLICIES, f"all rows, at most {own_table.USUAL_HORIZON:,}"):
        assert word in text, word


def test_version():
    assert run("--version").output.strip() == f"superarm {__version__}"


@pytest.mark.parametrize(
    "arguments", [("demo", "--runs", "1"), ("demo", "--horizon", "0"), ("nonsense",)]
)
def test_bad_arguments_are_answered_with_usage(arguments):
    result = run(*arguments)
    assert result.exit_code == 2
    assert "Usage" in result.output


@pytest.mark.parametrize(
    "arguments", [("serve", "--rate=nan"), ("serve", "--deadline=inf"), ("serve", "--strength=nan")]
)
def test_numbers_are_finite(arguments):
    result = run(*arguments)
    assert result.exit_code == 2
    assert "is not a finite number" in result.output


def test_the_help_imports_no_study_and_no_service():
    code = """
import sys
from superarm.cli import app
app(["--help"], standalone_mode=False)
rooms = {name.split(".")[1] for name in sys.modules if name.startswith("superarm.")}
others = {"rich", "matplotlib", "jinja2", "starlette", "uvicorn"} & set(sys.modules)
print(sorted(rooms & {"client", "reporting", "service", "studies"} | others))
"""
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.splitlines()[-1] == "[]"


def test_python_m_superarm_is_superarm(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["superarm", "--version"])
    with pytest.raises(SystemExit) as end:
        runpy.run_module("superarm", run_name="__main__")
    assert end.value.code == 0
    assert capsys.readouterr().out.strip() == f"superarm {__version__}"


@pytest.mark.parametrize(
    "command",
    [
        ("demo",),
        ("compare",),
        ("reproduce",),
        ("export", "bandits.db"),
        ("compact", "bandits.db", "shop", "--before", "2026-01-01"),
    ],
    ids=lambda words: words[0],
)
def test_a_folder_that_cannot_be_made_is_refused_before_the_run(command, tmp_path, monkeypatch):
    (tmp_path / "notes").write_text("a file")
    found = run(*command, "--out", tmp_path / "notes" / "results")
    assert found.exit_code == 2
    assert "results cannot be made, because" in found.output
    assert "notes is a file" in found.output
    monkeypatch.setattr(os, "access", lambda path, mode: mode == os.F_OK and path.exists())
    found = run(*command, "--out", tmp_path / "results")
    assert found.exit_code == 2
    assert "is not writable" in found.output


@pytest.mark.parametrize(
    "command",
    [
        ("compact", "{}", "shop", "--before", "2026-01-01", "--no-export"),
        ("keys", "drop", "--database", "{}", "1f0c22ab"),
        ("keys", "list", "--database", "{}"),
        ("replay", "{}"),
        ("export", "{}"),
    ],
    ids=lambda words: " ".join(words[:2]),
)
def test_a_misspelt_database_is_refused_and_not_made(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = run(*(word.format("shop.db") for word in command))
    assert found.exit_code == 1
    assert "shop.db must be a superarm database, but there is no such file" in found.output
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("arguments", "lacking", "says"),
    [
        (("demo",), "matplotlib", "Error: the demo draws a picture and needs matplotlib: pip"),
        (("serve",), "starlette", "Error: this command uses the service and needs starlette: pip"),
    ],
)
def test_a_missing_package_is_no_invalid_value(monkeypatch, arguments, lacking, says):
    """It used to say "Invalid value", as if the user had given a wrong one."""

    def found(name):
        return None if name == lacking else find_spec(name)

    monkeypatch.setattr("superarm.cli.common.find_spec", found)
    monkeypatch.setattr("superarm.reporting.files.find_spec", found)
    refused = run(*arguments)
    assert refused.exit_code == 2
    assert says in " ".join(refused.output.split())


@pytest.mark.parametrize("command", ["compare", "reproduce"])
def test_a_study_that_is_stopped_says_that_it_continues(tmp_path, monkeypatch, command):
    def stopped(*args, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr("superarm.studies.run.run_cells", stopped)
    result = run(command, "--quick", "--out", str(tmp_path / "rows"))
    assert result.exit_code == 1
    assert "Finished rows are kept: the same command continues" in result.output
    # A folder that is not there has no rows.
    monkeypatch.setattr("superarm.studies.store.Store.open", stopped)
    result = run(command, "--quick", "--out", str(tmp_path / "none"))
    assert result.exit_code == 1
    assert "continues" not in result.output


@pytest.mark.parametrize(("command", "is_kept"), [("compare", True), ("demo", False)])
def test_workers_that_die_end_a_study_without_a_traceback(tmp_path, monkeypatch, command, is_kept):
    """They gave a traceback, whose message said that rows are kept, also where none are."""

    def died(*args, **options):
        raise BrokenExecutor("workers died 3 times in a row")

    monkeypatch.setattr("superarm.studies.run.run_cells", died)
    result = run(command, *(["--quick"] if is_kept else []), "--out", str(tmp_path / "rows"))
    assert result.exit_code == 1
    assert isinstance(result.exception, SystemExit)
    assert "Error: workers died 3 times in a row" in result.output
    assert ("Finished rows are kept" in result.output) == is_kept

"""A data scientist with a click log follows docs/logs.md.

What used to happen: six misleading errors, then nothing; two outcomes were taken for two arms; a
table with hardly any cells gave a result without a warning; nothing at all without matplotlib.
"""

import json

import numpy as np
import pytest

import commands
from doc_pages import blocks, doc, run_python
from doc_pages import commands as typed
from superarm.reporting import files

LOGS = doc("logs.md")
QUICK = ("--runs", "2", "--workers", "1", "--policy", "cts")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def words(result):
    return " ".join(result.output.split())


def test_the_page_leads_from_the_log_to_a_session(folder):
    (folder / "log.csv").write_text(blocks(LOGS, "text")[0], encoding="utf-8")
    (program, *wanted), *_ = typed(LOGS)
    assert program == "superarm"
    first = "superarm run log.csv --k 2"
    assert f"`{first}`" in LOGS.read_text("utf-8")
    refused = commands.run(*first.split()[1:])
    assert refused.exit_code == 2
    assert " ".join((program, *wanted)) in words(refused)  # the answer is the page's next command

    done = commands.run(*wanted)
    assert done.exit_code == 0, done.output
    assert "what other sets would have earned cannot be told from this log" in words(done)
    assert (folder / "superarm-run" / "report.html").exists()
    # What the command says to do next works as it stands.
    program = [line[4:] for line in done.output.splitlines() if line.startswith("    ")]
    said = {"__name__": "said"}
    exec("\n".join(line for line in program if not line.startswith("superarm ")), said)
    assert len(said["session"].ask().arms) == 2
    bandit = json.loads((folder / "superarm-run" / "bandit.json").read_text("utf-8"))
    assert sorted(bandit["arms"]) == ["jam", "pie", "tea"]

    found = run_python(LOGS)
    assert len(found["decision"].arms) == 2
    assert set(found["decision"].arms) <= set(bandit["arms"])


def test_a_log_with_a_time_and_a_user_is_recognised(folder):
    (folder / "log.csv").write_text("timestamp,user,item,position,click\n10:00,u1,tea,1,1\n")
    refused = commands.run("run", "log.csv", "--k", 1)
    assert "--item item --outcome click --round timestamp --round user" in words(refused)


def test_two_outcomes_are_not_two_arms(folder):
    (folder / "visits.csv").write_text("clicked,bought\n" + "1,0\n0,0\n1,1\n" * 5)
    refused = commands.run("run", "visits.csv", "--k", 1)
    assert refused.exit_code == 2
    assert "clicked and bought are names of outcomes, not of items" in words(refused)
    assert [path.name for path in folder.iterdir()] == ["visits.csv"]


@pytest.mark.usefixtures("pictures_unwritten")
def test_a_table_with_hardly_any_cells_is_doubted(folder):
    rng = np.random.default_rng(1)
    cells = np.where(rng.random((200, 20)) < 0.03, rng.integers(0, 2, (200, 20)).astype(str), "")
    cells[0] = "1"
    lines = [",".join(f"item {i}" for i in range(20)), *(",".join(row) for row in cells)]
    (folder / "sparse.csv").write_text("\n".join(lines))
    done = commands.run("run", "sparse.csv", "--k", 2, *QUICK)
    assert done.exit_code == 0, done.output
    assert "of the cells are missing" in words(done)
    assert "rows without any outcome" in words(done)  # skipped with a notice, not refused


def test_run_writes_its_tables_without_matplotlib(folder, monkeypatch):
    """No picture and no page, and a note that says how to get them."""
    (folder / "clicks.csv").write_text("tea,jam,pie\n" + "1,0,1\n0,1,0\n" * 6, encoding="utf-8")
    find = files.find_spec
    monkeypatch.setattr(
        files, "find_spec", lambda module: None if module == "matplotlib" else find(module)
    )
    result = commands.run("run", "clicks.csv", "--k", 1, "--out", "out", *QUICK)
    assert result.exit_code == 0, result.output
    names = {path.name for path in (folder / "out").iterdir()}
    assert names == {"numbers.json", "runs.csv", "arms.csv", "bandit.json"}
    assert "pip install matplotlib" in result.output
    assert f"The files: {folder / 'out'}" in result.output

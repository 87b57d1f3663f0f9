"""The whole reproduction at tiny sizes: resumed, rebuilt, never mixed; every experiment reports."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from html import escape
from io import StringIO
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

import superarm as sa
from commands import run as command
from forked_server import Forked
from superarm import theory
from superarm.cli.common import as_rich
from superarm.studies import RequestError, Scale, Store, paper, run
from superarm.studies.archive import pack
from superarm.studies.code import versions
from superarm.studies.paper import reproduction
from superarm.studies.paper.claims import STATEMENTS
from superarm.studies.paper.reproduction import make_report, recorded_sweeps
from superarm.studies.paper.verdicts import Verdict

SCALE = Scale("tiny", runs=2)
MADE = ("rows.jsonl", "numbers.json")  # archives leave out times that no analysis needs
# As a command would run it, at a size that no command offers. It takes a pause after each cell, so
# that it is killed before the last one, even if the test that kills it is kept waiting.
SCRIPT = """
import sys, time
from pathlib import Path
from superarm.studies import Scale, Store, paper

put = Store.__setitem__
Store.__setitem__ = lambda *args: (put(*args), time.sleep(0.3))
if __name__ == "__main__":
    paper.reproduce(sys.argv[2:], Scale("tiny", runs=2), Path(sys.argv[1]))
"""


@pytest.fixture(scope="module")
def tiny(tmp_path_factory, forked_workers):
    """Every experiment once, with what a terminal shows."""
    out = tmp_path_factory.mktemp("reproduction") / "out"
    terminal = StringIO()
    console = Console(file=terminal, width=120)
    done = paper.reproduce(["all"], SCALE, out, console=console, workers=1)
    for table in done.tables:
        console.print(as_rich(table))
    assert done.path == out / "report.html"
    return out, terminal.getvalue()


@pytest.fixture
def drawn_before(tiny, monkeypatch):
    """Pictures are those that are there already, in the order of the report: drawing takes long.

    That they are drawn again in the same way is tested where everything is rebuilt.
    """
    pictures = {name: (tiny[0] / name / f"{name}.svg").read_text() for name in paper.EXPERIMENTS}

    def section(study, *recorded):
        monkeypatch.setattr(reproduction, "render", lambda draw: pictures[study.name])
        return make_section(study, *recorded)

    make_section = reproduction._section
    monkeypatch.setattr(reproduction, "_section", section)


@pytest.mark.usefixtures("drawn_before")
def test_killed_half_way_and_resumed_it_is_the_same(tiny, tmp_path):
    script, out = tmp_path / "script.py", tmp_path / "out"
    script.write_text(SCRIPT)
    # In a session of its own, so that its workers are killed with it.
    arguments = [str(script), str(out), "fig1", "fig2c"]
    process = Forked(arguments, tmp_path / "log", os.setsid, daemon=False)
    deadline = time.monotonic() + 300
    while len(list(out.glob("cells/*.json"))) < 3 and time.monotonic() < deadline:
        time.sleep(0.005)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    finished = {path: path.stat().st_mtime_ns for path in out.glob("cells/*.json")}
    assert 3 <= len(finished) < 25
    assert not (out / "report.html").exists()
    paper.reproduce(["fig1", "fig2c"], SCALE, out, workers=1)
    assert all(path.stat().st_mtime_ns == when for path, when in finished.items())
    for name in ("fig1", "fig2c"):
        assert (out / name / "rows.jsonl").read_bytes() == (
            tiny[0] / name / "rows.jsonl"
        ).read_bytes()


def test_everything_is_written(tiny):
    out, printed = tiny
    for name in paper.EXPERIMENTS:
        for file in ("rows.jsonl", "times.jsonl", "numbers.json", f"{name}.svg"):
            assert (out / name / file).stat().st_size > 0
    assert "The paper's claims" in printed
    assert "cells," in printed
    claims = json.loads((out / "claims.json").read_text())
    assert [one["sentence"] for one in claims] == [one.sentence for one in STATEMENTS]


def test_the_lazy_oracle_has_the_regret_of_cts_for_a_fraction_of_the_evaluations(tiny):
    numbers = json.loads((tiny[0] / "beyond" / "numbers.json").read_text())
    for family in ("linear", "network"):
        found = numbers[family]["policies"]
        assert numbers[family]["lazy_is_cts"]
        assert found["CTS, lazy"]["regret"] == found["CTS"]["regret"]
        # In T rounds at most 2 sqrt(T) evaluations are audits, which count at such a short horizon.
        audits = 2 * numbers[family]["horizon"] ** 0.5
        of_lazy, of_cts = (np.mean(found[label]["evaluations"]) for label in ("CTS, lazy", "CTS"))
        assert of_lazy < of_cts / 50 + audits
        ours = found["Thompson, learned"]
        assert len(ours["regret"]) == len(found["CTS"]["regret"])
        # A sum needs no evaluations, and the network far fewer than Oracle+.
        assert np.mean(ours["evaluations"]) < of_cts / 10 + audits
        assert family == "network" or np.mean(ours["evaluations"]) == 0


def test_what_goes_beyond_the_paper_comes_last(tiny):
    page = (tiny[0] / "report.html").read_text()
    assert page.index('<h2 id="theory">') < page.index('<h2 id="beyond">')


def test_rows_have_no_times_and_times_no_results(tiny):
    for name in paper.EXPERIMENTS:
        for line in (tiny[0] / name / "rows.jsonl").read_text().splitlines():
            assert not {"ask_s", "median_ask_s", "seconds"} & set(json.loads(line))
        for line in (tiny[0] / name / "times.jsonl").read_text().splitlines():
            assert not {"regret", "losses", "evaluations"} & set(json.loads(line))


def test_the_report_stands_alone_and_says_that_it_is_quick(tiny):
    page = (tiny[0] / "report.html").read_text()
    assert not re.search(r'(src|href)="(?!data:|#)', page)
    assert "http" not in page
    assert page.index("<h2") == page.index('<h2 id="claims">')
    assert "Reduced sizes" in page
    assert "not judged at this size" in page
    assert page.count("<svg") == len(paper.EXPERIMENTS)
    for claim in json.loads((tiny[0] / "claims.json").read_text()):
        assert claim["verdict"] in page
        assert escape(claim["quote"]) in page
        assert escape(claim["where"]) in page


def test_claims_that_need_the_papers_sizes_are_not_judged_at_others(tiny):
    claims = json.loads((tiny[0] / "claims.json").read_text())
    judged = [one["sentence"] for one in claims if one["verdict"] != Verdict.NOT_JUDGED]
    assert judged == [one.sentence for one in STATEMENTS if not one.sizes]
    # Once before anything runs, and once below the verdicts.
    assert " ".join(tiny[1].split()).count("Reduced sizes: this run shows that") == 2
    assert Verdict.NOT_JUDGED in " ".join(tiny[1].split())


def test_the_search_finds_counter_examples_to_lemma_1_and_none_to_the_repaired_lemma(tiny):
    numbers = json.loads((tiny[0] / "lemma1" / "numbers.json").read_text())
    printed, repaired = numbers["found"]["printed"], numbers["found"]["repaired"]
    assert printed["violated"] > 0
    assert printed["refuted"] > 0
    assert repaired["promised"] > 0
    assert (repaired["violated"], repaired["refuted"]) == (0, 0)
    # The problem that it shows is one: what the printed lemma promises is above what there is.
    example = numbers["counter_example"]
    n_arms = len(example["theta"])
    score = theory.Quantizer(0.25, 1.0, float(n_arms))
    found = [
        theory.decodability(sa.LinearReward(n_arms), example["theta"], 1, p=p, score=score)
        for p in (1 / 2, 2 / 3)
    ]
    shown = [one for one in found if one.q == pytest.approx(example["q"])]
    assert [one.difference for one in shown] == [pytest.approx(example["difference"])]
    assert example["success"] < 0.9


def test_identifiers_of_the_page_are_unique(tiny):
    """Inline pictures have identifiers, which must not clash."""
    found = re.findall(r' id="([^"]+)"', (tiny[0] / "report.html").read_text())
    assert len(found) == len(set(found))


def test_the_report_is_rebuilt_without_running_anything(tiny, monkeypatch):
    before = {path: path.read_bytes() for path in tiny[0].rglob("*") if path.is_file()}
    monkeypatch.setattr(run, "run_cell", lambda cell: pytest.fail("ran something"))
    result = command("reproduce", "--from", tiny[0])
    assert result.exit_code == 0, result.output
    assert "The paper's claims" in result.output
    assert str(tiny[0] / "report.html") in result.output.replace("\n", "")
    assert {path: path.read_bytes() for path in tiny[0].rglob("*") if path.is_file()} == before


@pytest.fixture(scope="module")
def archive(tiny, tmp_path_factory):
    """All rows in one file."""
    store = Store(tiny[0])
    manifest = store.manifest()
    cells = [cell for sweep in recorded_sweeps(manifest, store).values() for cell in sweep]
    return pack(tmp_path_factory.mktemp("archive") / "rows.jsonl.xz", manifest, cells, store)


@pytest.mark.usefixtures("drawn_before")
def test_an_archive_gives_the_same_report(tiny, archive, tmp_path, monkeypatch):
    monkeypatch.setattr(run, "run_cell", lambda cell: pytest.fail("ran something"))
    result = command("reproduce", "--from", archive, "--out", tmp_path / "out")
    assert result.exit_code == 0, result.output
    assert "The paper's claims" in result.output
    files = ["claims.json", *(f"{name}/{file}" for name in paper.EXPERIMENTS for file in MADE)]
    for file in files:
        assert (tmp_path / "out" / file).read_bytes() == (tiny[0] / file).read_bytes()
    found = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert found == json.loads((tiny[0] / "manifest.json").read_text())
    # The archive's rows never end up among others.
    result = command("reproduce", "fig1", "--quick", "--out", tmp_path / "out")
    assert "holds rows with size = 'tiny'" in " ".join(result.output.split())


def test_an_archive_of_other_cells_is_refused(tiny, archive, tmp_path, monkeypatch):
    fewer = [cell for cell in paper.load("fig2c").cells(SCALE) if cell.run == 0]
    store, manifest = Store(tiny[0]), Store(tiny[0]).manifest()
    path = pack(tmp_path / "rows.xz", manifest, fewer, store)
    result = command("reproduce", "--from", path, "--out", tmp_path / "out")
    assert result.exit_code == 2
    assert "has other cells than that of this version" in " ".join(result.output.split())
    assert not (tmp_path / "out").exists()


def test_the_manifest_says_where_rows_come_from(tiny):
    manifest = json.loads((tiny[0] / "manifest.json").read_text())
    together, alone = sorted(manifest["recorded"]["groups"], key=lambda one: one["timed_alone"])
    assert alone["experiments"] == ["table1", "table1_beyond"]
    assert set(paper.EXPERIMENTS) - {"table1", "table1_beyond"} == set(together["experiments"])
    assert manifest["recorded"]["cells"] == len(list((tiny[0] / "cells").iterdir()))
    page = (tiny[0] / "report.html").read_text()
    assert together["machine"]["processor"] in page
    assert "timed alone" in page


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["fig9"], "experiments must be among fig1, fig2a"),
        (["--from", "nowhere"], "holds no reproduction"),
        (["fig1", "--from", "nowhere"], "it takes no other options"),
        (["fig1", "--runs", "1"], "--runs"),
    ],
)
def test_bad_requests_are_answered(arguments, says):
    result = command("reproduce", *arguments)
    assert result.exit_code == 2
    assert says in " ".join(result.output.split())


def test_a_folder_with_other_settings_is_refused(tiny):
    with pytest.raises(RequestError, match="holds rows with runs = 2, not 3"):
        paper.reproduce(["fig1"], Scale("tiny", runs=3), tiny[0])
    result = command("reproduce", "fig1", "--quick", "--runs", "2", "--out", tiny[0])
    assert result.exit_code == 2
    assert "holds rows with size = 'tiny', not 'quick'" in " ".join(result.output.split())


@pytest.mark.usefixtures("drawn_before")
def test_running_one_experiment_again_keeps_the_report_of_all(tiny):
    before = (tiny[0] / "report.html").read_bytes()
    assert paper.reproduce(["fig1"], SCALE, tiny[0]).path == tiny[0] / "report.html"
    assert (tiny[0] / "report.html").read_bytes() == before


@pytest.mark.usefixtures("drawn_before")
def test_an_unfinished_experiment_is_left_out_of_the_report(tiny, tmp_path):
    out = tmp_path / "copy"
    shutil.copytree(tiny[0], out)
    (out / "report.html").unlink()
    keys = {name: {c.key for c in paper.load(name).cells(SCALE)} for name in paper.EXPERIMENTS}
    # Experiments share cells: others are unfinished, too.
    lost = min(keys["fig2b"] - keys["sensitivity"])
    (out / "cells" / f"{lost}.json").unlink()
    done = make_report(Store(out))
    assert 'id="fig2b"' not in done.path.read_text()
    assert 'id="fig2a"' in done.path.read_text()
    kept = [one for one in STATEMENTS if not any(lost in keys[name] for name in one.needs)]
    assert 0 < len(kept) < len(STATEMENTS)
    assert [row[0] for row in done.tables[0].rows] == [one.sentence for one in kept]


def test_rows_of_another_program_do_not_mix(tiny, monkeypatch):
    monkeypatch.setattr(
        reproduction, "versions", lambda *kinds: {**versions(*kinds), "code": "another"}
    )
    with pytest.raises(ValueError, match="holds rows with code = "):
        Store(tiny[0]).open(reproduction.manifest_of(SCALE), {})


def test_names_are_listed_without_importing_an_experiment():
    code = "import sys; from superarm.studies import paper; paper.EXPERIMENTS; "
    code += "assert not [name for name in sys.modules if '.experiments.' in name]"
    subprocess.run([sys.executable, "-c", code], check=True, cwd=Path(__file__).parent)


def test_every_experiment_has_the_papers_sizes():
    """Section 5's figures, as data."""
    full = {name: paper.load(name).cells(Scale()) for name in paper.EXPERIMENTS}

    def settings(name):
        return [cell.settings for cell in full[name]]

    linear, network = settings("fig2a")[0], settings("fig2b")[0]
    assert linear["problem"] == {"family": "linear", "n_arms": 5000, "k": 5, "gap": 0.25}
    assert linear["horizon"] == 10_000
    assert (
        network["problem"]["n_arms"],
        network["problem"]["n_hidden"],
        network["problem"]["gap"],
    ) == (1000, 20, 0.2)
    assert network["horizon"] == 5_000
    assert (
        {cell.run for cell in full["fig2a"]}
        == {cell.run for cell in full["fig2b"]}
        == set(range(20))
    )
    assert {cell.run for cell in full["fig2c"]} == set(range(10))
    tests = {one["policy"]["n_tests"] for one in settings("fig2c") if "n_tests" in one["policy"]}
    assert min(tests) == 25
    assert max(tests) >= 2500
    assert {200, 310} <= tests
    shared = {cell.key for cell in full["fig1"]} & {cell.key for cell in full["fig2a"]}
    assert len(shared) == 40

"""``superarm run``: files follow from the seed, the report is sound, bad requests are refused."""

import csv
import itertools
import json
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from dishes import NAMES, as_text, cells
from superarm.cli import app
from superarm.studies.own_table import USUAL

pytestmark = pytest.mark.usefixtures("forked_workers")

FILES = ["arms.csv", "bandit.json", "numbers.json", "picture.svg", "report.html", "runs.csv"]


def command(*arguments):
    return CliRunner().invoke(
        app, ["run", *map(str, arguments)], env={"COLUMNS": "300", "NO_COLOR": "1", "TERM": "dumb"}
    )


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "dishes.csv"
    path.write_text(as_text(cells()))
    return path


@pytest.fixture(scope="module")
def written(tmp_path_factory, forked_workers):
    folder = tmp_path_factory.mktemp("run")
    path = folder / "dishes.csv"
    path.write_text(as_text(cells()))
    done = command(path, "--k", 2, "--runs", 3, "--out", folder / "out", "--workers", 1)
    assert done.exit_code == 0, done.output
    return folder, done.output


def test_every_policy_plays_and_every_file_is_written(written):
    folder, output = written
    assert sorted(path.name for path in (folder / "out").iterdir()) == FILES
    for name in ("best fixed set", "learnable", *USUAL, "What to do next", "report.html"):
        assert name in output
    # The recommended policy is played first, and the report says who wins.
    assert USUAL[0] == "thompson"
    assert "in paired runs it is ahead of" in output
    numbers = json.loads((folder / "out" / "numbers.json").read_text())
    assert [row["policy"] for row in numbers["policies"]][-1] == "random"
    assert numbers["best_fixed_set"]["arms"] == ["egg", "<b>pie</b>"]
    assert numbers["settings"]["horizon"] == numbers["n_rounds"] == 120


@pytest.mark.parametrize("name", ["arms.csv", "runs.csv"])
def test_a_file_that_is_read_is_not_overwritten(table, tmp_path, name):
    """It was: a table called runs.csv, and features in arms.csv, were lost."""
    features = tmp_path / "known.csv"
    features.write_text("dish,price\n" + "".join(f'"{arm}",{len(arm)}\n' for arm in NAMES))
    (table if name == "runs.csv" else features).rename(tmp_path / name)
    given = {"runs.csv": (tmp_path / name,), "arms.csv": (table, "--features", tmp_path / name)}
    before = (tmp_path / name).read_bytes()
    refused = command(*given[name], "--k", 2, "--runs", 2, "--out", tmp_path)
    assert refused.exit_code == 2
    assert f"its file {name} is read, and would be overwritten" in refused.output
    assert (tmp_path / name).read_bytes() == before
    assert [path.name for path in tmp_path.iterdir() if path.name in FILES] == [name]


def test_the_same_seed_gives_the_same_files_for_any_number_of_workers(written, tmp_path):
    folder, _ = written
    done = command(
        folder / "dishes.csv", "--k", 2, "--runs", 3, "--out", tmp_path / "two", "--workers", 2
    )
    assert done.exit_code == 0, done.output
    for name in FILES:
        assert (tmp_path / "two" / name).read_bytes() == (folder / "out" / name).read_bytes(), name


@pytest.mark.usefixtures("pictures_unwritten")
def test_another_seed_gives_other_files(written, tmp_path):
    folder, _ = written
    command(
        folder / "dishes.csv", "--k", 2, "--runs", 3, "--out", tmp_path, "--workers", 1, "--seed", 1
    )
    assert (tmp_path / "runs.csv").read_text() != (folder / "out" / "runs.csv").read_text()


def test_the_report_is_one_page_that_says_what_was_found(written):
    folder, _ = written
    text = (folder / "out" / "report.html").read_text()
    assert "http" not in text
    assert text.count("<svg") == 1 == text.count('role="img"')
    assert "<b>pie</b>" not in text  # a name is a name, whatever is in it
    assert "&lt;b&gt;pie&lt;/b&gt;" in text
    missing = int(np.isnan(cells()).sum())
    assert f"{missing} of 600 cells" in text
    best = np.sort(np.nanmean(cells(), axis=0))[-2:].sum()
    assert f"{best:.4g}" in text


class Tags(HTMLParser):
    """Keeps the open tags. Closing any tag but the last one is an error."""

    def __init__(self):
        super().__init__()
        self.open, self.seen = [], set()

    def handle_starttag(self, tag, attrs):
        self.seen.add(tag)
        if tag not in ("meta", "img"):
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.seen.add(tag)  # as in SVG: opened and closed at once

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_the_report_is_sound_html(written):
    folder, _ = written
    tags = Tags()
    tags.feed((folder / "out" / "report.html").read_text())
    assert tags.open == []
    assert tags.seen >= {"h1", "h2", "table", "svg", "path", "ul"}


def test_the_rows_of_the_runs_add_up(written):
    folder, _ = written
    with (folder / "out" / "runs.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [(row["policy"], row["run"]) for row in rows] == [
        *itertools.product(USUAL, ("0", "1", "2"))
    ]
    for row in rows:
        best, chance, reward = (
            float(row[f"reward{of}"]) for of in ("_of_best_fixed_set", "_of_chance", "")
        )
        assert float(row["regret"]) == pytest.approx(best - reward)
        assert float(row["gap_closed"]) == pytest.approx((reward - chance) / (best - chance))
    with (folder / "out" / "arms.csv").open() as file:
        arms = list(csv.DictReader(file))
    assert sum(float(arm["shown_by_cts"]) for arm in arms) == pytest.approx(2)
    assert {arm["arm"]: int(arm["n_missing"]) for arm in arms} == dict(
        zip(NAMES, np.isnan(cells()).sum(axis=0), strict=True)
    )


def bad(done, *parts):
    assert done.exit_code == 2, done.output
    said = " ".join(
        done.output.replace("│", " ").split()
    )  # as it was before it was wrapped into a box
    for part in parts:
        assert part in said


def test_a_bad_file_is_answered_with_its_name_and_line_and_nothing_is_written(table, tmp_path):
    table.write_text("ham,egg\n1,0\n1,yes\n")
    bad(
        command(table, "--k", 1, "--out", tmp_path / "out"),
        "dishes.csv",
        "line 3, column 2",
        "got 'yes'",
    )
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("options", "parts"),
    [
        (["--k", 5], ["--k must be between 1 and 4, got 5", "nothing to choose"]),
        (["--k", 9], ["--k must be between 1 and 4, got 9"]),
        (["--k", 0], ["0 is not in the range x>=1"]),
        (
            ["--k", 2, "--policy", "best"],
            ["--policy must be one of thompson, cts, single-seed", "got 'best'"],
        ),
        (
            ["--k", 2, "--horizon", 121],
            ["--horizon must be at most 120, the number of rows, got 121"],
        ),
        (["--k", 2, "--skip", "day"], ["--skip must be the name of a column", "got 'day'"]),
        (["--k", 2, "--prior", "wide"], ["expected learned, flat, or two numbers", "got 'wide'"]),
        (["--k", 2, "--prior", "1,0"], ["two numbers above 0", "got '1,0'"]),
        (["--k", 2, "--order", "sorted"], ["'given', 'shuffled'"]),
        (["--k", 2, "--out", __file__], ["is a file"]),
        ([], ["Missing option '--k'"]),
    ],
)
def test_bad_requests_are_answered_and_nothing_is_written(table, tmp_path, options, parts):
    bad(command(table, "--out", tmp_path / "out", *options), *parts)
    assert not (tmp_path / "out").exists()


@pytest.mark.usefixtures("pictures_unwritten")
def test_names_of_files_are_shown_as_they_are(tmp_path, monkeypatch):
    monkeypatch.setattr("superarm.studies.own_table.study.USUAL_HORIZON", 10)
    path = tmp_path / "[red].csv"
    path.write_text(as_text(cells(20)))
    done = command(
        path, "--k", 1, "--runs", 2, "--workers", 1, "--policy", "random", "--out", tmp_path / "[b]"
    )
    assert "[red].csv has 20 rows" in done.output
    assert "[b]/report.html" in done.output


def test_a_file_that_is_not_there_is_said_to_be_missing(tmp_path):
    bad(command(tmp_path / "none.csv", "--k", 1), "does not exist")


def test_a_column_that_is_empty_in_the_rows_that_are_played(table, tmp_path):
    table.write_text("ham,egg\n1,\n0,\n1,1\n")
    bad(
        command(table, "--k", 1, "--horizon", 2, "--out", tmp_path / "out"),
        "none for 'egg'",
        "with --horizon",
    )


@pytest.mark.usefixtures("pictures_unwritten")
def test_more_rows_than_are_usually_played_are_said(table, tmp_path, monkeypatch):
    monkeypatch.setattr("superarm.studies.own_table.study.USUAL_HORIZON", 50)
    options = [
        "--k",
        2,
        "--runs",
        2,
        "--workers",
        1,
        "--policy",
        "random",
        "--out",
        tmp_path / "out",
    ]
    done = command(table, *options)
    assert "has 120 rows; each run plays 50 of them. For all: --horizon 120" in done.output
    assert json.loads((tmp_path / "out" / "numbers.json").read_text())["settings"]["horizon"] == 50
    assert "has 120 rows" not in command(table, *options, "--horizon", 120).output


@pytest.mark.usefixtures("pictures_unwritten")
def test_a_prior_is_used_by_thompson_and_cts_alone(written, tmp_path):
    folder, _ = written
    options = ["--k", 2, "--runs", 3, "--workers", 1, "--prior", "3,1", "--out", tmp_path]
    assert command(folder / "dishes.csv", *options).exit_code == 0
    numbers = json.loads((tmp_path / "numbers.json").read_text())
    assert numbers["settings"]["prior"] == [3.0, 1.0]
    assert json.loads((tmp_path / "bandit.json").read_text())["prior"] == [3.0, 1.0]
    assert "prior=(3.0, 1.0)" in (tmp_path / "report.html").read_text()

    def runs(path):
        with (path / "runs.csv").open() as file:
            return {(row["policy"], row["run"]): row["reward"] for row in csv.DictReader(file)}

    now, before = runs(tmp_path), runs(folder / "out")
    changed = {policy for (policy, run), reward in now.items() if before[policy, run] != reward}
    assert changed == {"thompson", "cts"}


@pytest.mark.usefixtures("pictures_unwritten")
def test_cucb_is_left_out_where_it_could_not_try_every_arm(tmp_path):
    path = tmp_path / "wide.csv"
    names = [f"arm {number}" for number in range(60)]
    path.write_text(as_text(np.eye(60)[:25], names))
    done = command(path, "--k", 2, "--runs", 2, "--workers", 1, "--out", tmp_path / "out")
    assert done.exit_code == 0, done.output
    numbers = json.loads((tmp_path / "out" / "numbers.json").read_text())
    assert numbers["settings"]["policies"] == [name for name in USUAL if name != "cucb"]
    assert "cucb is left out: there are too few rounds" in done.output


@pytest.mark.usefixtures("pictures_unwritten")
def test_what_was_left_out_is_said(tmp_path):
    path = tmp_path / "votes.csv"
    path.write_text(as_text(cells()).replace("\n", "\n,,,,\n", 3))
    options = ["--k", 2, "--runs", 2, "--workers", 1, "--policy", "random"]
    done = command(path, *options, "--out", tmp_path / "out")
    assert "votes.csv: 3 rows without any outcome are left out" in done.output
    assert "outcome, which were left out: 3" in (tmp_path / "out" / "report.html").read_text()


def test_the_bandit_of_the_report_is_one_that_the_service_makes(written, tmp_path):
    from serving import client_of

    folder, _ = written
    with client_of(tmp_path / "bandits.db") as client:
        body = (folder / "out" / "bandit.json").read_bytes()
        made = client.post(
            "/v1/bandits", content=body, headers={"Content-Type": "application/json"}
        )
    assert made.status_code == 201
    assert (made.json()["n_arms"], made.json()["k"]) == (5, 2)


@pytest.mark.usefixtures("pictures_unwritten")
def test_the_docs_show_what_the_command_prints(tmp_path):
    docs = Path(__file__).parents[2] / "docs"
    done = command(docs / "canteen.csv", "--k", 3, "--out", tmp_path, "--workers", 1)
    # The page writes names as code, and intervals with a dash.
    written = (docs / "data.md").read_text().replace("`", "").replace("%–", "% to ")

    def cells_of(text, edge):
        rows = [line.split(edge)[1:-1] for line in text.splitlines() if line.startswith(edge)]
        return [tuple(cell.strip() for cell in row) for row in rows]

    shown = cells_of(done.output.replace("┃", "│"), "│")
    assert len(shown) == 9  # the heading, the best fixed set, what can be learned, six policies
    assert set(shown) <= set(cells_of(written.replace("┃", "│").replace("│", "|"), "|"))
    chance = json.loads((tmp_path / "numbers.json").read_text())["chance"]["reward"]
    assert f"{chance:.4g} per day" in " ".join(written.split())

"""docs/reproduction.md and the README say what the committed rows say, and nothing else."""

import re
from pathlib import Path

import numpy as np
import pytest

import reproduction_page
from superarm.studies import paper, run_cell
from superarm.studies.archive import unpack
from superarm.studies.cell import recorded_rows
from superarm.studies.paper.extensions import beyond
from superarm.studies.paper.reproduction import recorded_sweeps

ROOT = Path(__file__).parent.parent
AGAIN = "does not say what the rows say; run `python docs/reproduction_page.py`, and see its prose"


@pytest.fixture(scope="module")
def found():
    return reproduction_page.results()


@pytest.mark.parametrize("path", [reproduction_page.PAGE, reproduction_page.REPORT])
def test_the_page_is_made_from_the_rows(found, path):
    assert reproduction_page.page(found, path) == path.read_text(), AGAIN


def test_the_readme_is_made_from_the_rows(found):
    text = reproduction_page.README.read_text()
    assert reproduction_page.headline(found, text) == text, AGAIN


def test_the_prose_says_what_the_rows_say(found):
    assert [
        sentence for sentence, holds in reproduction_page.said(found).items() if not holds
    ] == []


def test_other_pages_quote_the_rows(found):
    linear, network = (found.findings["beyond"].numbers[name] for name in ("linear", "network"))

    def regret(label):
        return np.mean(linear["policies"][label]["regret"])

    batch = (ROOT / "docs" / "batch.md").read_text()
    assert f"[reproduction](reproduction.md) have mean {regret('CTS'):,.0f}." in batch
    assert f"against {regret('GT+QTS, p=1/2'):,.0f} there" in batch
    greedy = network["policies"]["CTS, greedy"]["of_cts"]["mean"]
    assert f"[{greedy:.2f} times the regret]" in (ROOT / "docs" / "choosing.md").read_text()


def test_the_rows_are_those_of_all_experiments_at_the_papers_sizes(found):
    manifest = found.manifest
    assert set(manifest["sweeps"]) == set(found.findings) == set(paper.EXPERIMENTS)
    assert (manifest["size"], manifest["runs"], manifest["seed"]) == ("paper", None, 0)
    groups = manifest["recorded"]["groups"]
    assert sum(group["cells"] for group in groups) == manifest["recorded"]["cells"]
    # Times of two machines must not be compared.
    assert len([group for group in groups if group["timed_alone"]]) == 1


def test_floors_are_those_of_the_instances_that_were_played(found):
    """The instances are drawn again for the floors: they have the recorded gaps, to the bit."""
    store = {}
    cells = recorded_sweeps(unpack(reproduction_page.ARCHIVE, store), store)["beyond"]
    rows = [row for row in recorded_rows(cells, store)[0] if row["label"] == "CTS"]
    assert [beyond._instance(row).gap for row in rows] == [row["gap"] for row in rows]
    linear, network = (found.findings["beyond"].numbers[name] for name in ("linear", "network"))
    assert network["floors"] is None
    # By hand for one run: k / (k + 1) times the sum of what each arm loses until its first failure.
    mu = np.sort(beyond._instance(rows[0]).mu)
    by_hand = 5 / 6 * ((mu[-5:].mean() - mu[:-5]) / (1 - mu[:-5])).sum()
    assert linear["floors"]["first_failure"] == pytest.approx(by_hand, rel=0.02)
    # The asymptotic bound is above what CTS loses: it says nothing at this horizon.
    assert linear["floors"]["asymptotic"] > np.mean(linear["policies"]["CTS"]["regret"])


def test_an_edited_number_is_noticed(found):
    made = reproduction_page.page(found)
    policies = found.findings["beyond"].numbers["linear"]["policies"]
    kept = policies["CTS"]["regret"][0]
    policies["CTS"]["regret"][0] += 1000
    try:
        assert reproduction_page.page(found) != made
    finally:
        policies["CTS"]["regret"][0] = kept


def test_every_picture_of_the_page_is_there_and_follows_the_text_colour(found):
    pictures = set(re.findall(r"\(([\w-]+\.(?:svg|png))\)", reproduction_page.PAGE.read_text()))
    assert pictures >= {f"{name}.svg" for name in ("fig1", "fig2a", "fig2b", "fig2c", "table1")}
    for name in pictures:
        assert "prefers-color-scheme:dark" in (ROOT / "docs" / name).read_text()


def test_cells_that_run_again_give_the_same_rows():
    """The first cell of every kind that takes less than a second."""
    store = {}
    sweeps = recorded_sweeps(unpack(reproduction_page.ARCHIVE, store), store)
    for kind in ("lemma1", "lemma2", "rules", "swap_search"):
        cell = next(cell for cells in sweeps.values() for cell in cells if cell.kind == kind)
        assert run_cell(cell).row == store[cell.key].row

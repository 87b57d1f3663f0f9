"""docs/exploring.md says what the library computes and what was measured."""

import json
import re

import numpy as np
import pytest

import exploring_page
from superarm.beliefs._score_settings import LOOK_AHEAD
from superarm.reporting.figures import render

PICTURES = ("exploring-probability.svg", "exploring-policies.svg")


def test_the_page_is_made_from_what_was_measured():
    text = exploring_page.PAGE.read_text()
    assert exploring_page.page() == text, "run `python docs/exploring_page.py`"
    prose = [line for line in text.splitlines() if not line.startswith("|")]
    assert len(" ".join(prose).split()) <= 1100
    # The formula of the default policy is that of its belief.
    assert f"log(1 + {LOOK_AHEAD} t / n_i)" in text


@pytest.mark.parametrize("policy", ["cts", "single-seed"])
def test_a_run_that_is_played_again_is_the_same(policy):
    shares, closed = exploring_page.play(policy, 1)
    one = json.loads(exploring_page.MEASURED.read_text())[policy]
    assert one["closed"][1] == pytest.approx(closed)
    assert one["outside"][1] == pytest.approx(shares, abs=1e-4)


def test_everything_was_measured_in_paired_runs():
    measured = json.loads(exploring_page.MEASURED.read_text())
    assert tuple(measured) == exploring_page.PLAYED
    n_windows = exploring_page.HORIZON // exploring_page.WINDOW
    for one in measured.values():
        assert np.shape(one["outside"]) == (exploring_page.N_RUNS, n_windows)
        assert np.shape(one["closed"]) == (exploring_page.N_RUNS,)
        # No policy is above the floor's limit by more than its noise.
        closed = np.array(one["closed"])
        error = closed.std(ddof=1) / len(closed) ** 0.5
        assert closed.mean() < 1 - exploring_page._floor_share() + 4.5 * error


def test_the_pictures_are_there_and_follow_the_text_colour():
    text = exploring_page.PAGE.read_text()
    for name in PICTURES:
        assert f"({name})" in text
        assert "prefers-color-scheme:dark" in (exploring_page.HERE / name).read_text()
    measured = json.loads(exploring_page.MEASURED.read_text())
    drawn = render(lambda figure: exploring_page.draw_policies(figure, measured))
    assert re.findall(r">([^<>]*CTS[^<>]*)</text>", drawn)


def test_the_table_of_the_benchmark_is_read(monkeypatch, tmp_path):
    """By hand for two problems and two runs; the lead is over the best of the three others."""
    runs = {
        "thompson": [50, 60],
        "CTS": [10, 20],
        "single seed": [30, 40],
        "epsilon-greedy": [45, 47],
    }
    rows = [
        {
            "problem": name,
            "run": run,
            "found": {label: [two[run], 0.1] for label, two in runs.items()},
        }
        for name in ("first", "second")
        for run in range(2)
    ]
    table, about = exploring_page.learning_table(rows)
    assert table.rows == [[name, "55", "15", "35", "46", "+9.0"] for name in ("first", "second")]
    assert about == {"above": 40.0, "runs": 2.0}
    path = tmp_path / "learning.json"
    paper = [
        {
            "family": family,
            "policy": label,
            "run": run,
            "regret": regret * (1 + run),
            "evaluations": regret / 10,
        }
        for family in ("linear", "network")
        for label, regret in (("thompson", 3), ("CTS", 4), ("another", 5))
        for run in range(2)
    ]
    found = {
        "thompson": [20, 20],
        "CTS": [10, 10],
        "single seed": [28, 28],
        "epsilon-greedy": [0, 0],
    }
    worse = [
        {"problem": "third", "run": run, "found": {k: [v[run], 0.1] for k, v in found.items()}}
        for run in range(2)
    ]
    arrivals = [
        {"policy": label, "run": run, "gap": gap + 2 * run}
        for label, gap in (("thompson", 41), ("thompson, prior (1, 1) stays", 10), ("CTS", 5))
        for run in range(2)
    ]
    parts = {"table": rows, "before": rows + worse, "paper": paper, "arrivals": arrivals}
    path.write_text(json.dumps(parts))
    monkeypatch.setattr(exploring_page, "LEARNING", path)
    text = exploring_page.page()
    assert "|first|55|15|35|46|+9.0|" in text
    ratio = "0.75 (0.75 to 0.75)"
    assert f"is {ratio} of CTS's on the linear and {ratio} on the network problem (2 runs" in text
    assert "it closes 42% of the gap, and 11% if the prior stays Beta(1, 1)." in text
    assert "0.30 and 0.30 evaluations per round, and CTS 0.40 and 0.40." in text
    assert "On 3 earlier problems" in text
    assert "the others on third (-8.0)." in text

"""The benchmark measures what it claims to measure. No test depends on speed."""

import csv
import json
import math
from pathlib import Path

import numpy as np
import pytest

import run as command
from suite import files, measure, parts, programs, ratios, report, timing

DOCS = Path(__file__).parents[2] / "docs"
TINY = measure.Sizes(
    thompson=(20, 40),
    oracles=(20, 40),
    operations=(20, 40),
    memory=(20, 40),
    group_testing=60,
    n_turns=3,
    n_rounds=4,
    most_s=0.1,
)


@pytest.fixture(scope="module")
def results():
    seen = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(timing, "TURN_S", 1e-3)  # no test looks at how long something takes
        found = measure.run(TINY, progress=seen.append)
    assert seen == measure.jobs(TINY)
    return json.loads(json.dumps(found))


def test_programs_take_turns_in_alternating_order():
    order = []
    programs = {name: (lambda name=name: order.append(name)) for name in "abc"}
    found = timing.side_by_side(programs, n_turns=4, turn_s=0.0)
    assert "".join(order[-12:]) == "abccbaabccba"
    for one in found.values():
        assert one.n_turns == 4
        assert one.low_s <= one.median_s <= one.high_s


def test_ratios_are_those_of_a_turn():
    """Both programs get slower together, so the times vary and their ratio does not."""
    found = timing._timing([2.0, 4.0, 8.0], [1.0, 2.0, 4.0])
    assert (found.ratio_low, found.ratio, found.ratio_high) == (2.0, 2.0, 2.0)
    assert (found.low_s, found.median_s, found.high_s) == (3.0, 4.0, 6.0)


def test_turns_end_early_but_not_before_the_third():
    found = timing.side_by_side({"a": lambda: None}, n_turns=1000, most_s=0.0)
    assert found["a"].n_turns == 3


def test_exponents():
    sizes = np.array([10.0, 100, 1000, 10_000])
    for power in (0.0, 0.5, 1.0, 2.0):
        assert timing.exponent(sizes, 3e-6 * sizes**power) == pytest.approx(power)
    assert math.isnan(timing.exponent([10], [1.0]))


def test_growth_looks_at_large_numbers_of_arms_where_there_are_two():
    rows = [
        {"n_arms": m, "median_s": 1e-3 + 1e-6 * (m >= 10_000) * m**2}
        for m in (100, 1000, 10_000, 100_000)
    ]
    assert ratios.growth(rows) == pytest.approx(2.0, abs=1e-3)
    assert ratios.growth(rows[:2]) == pytest.approx(0.0)


def test_peak_memory_is_what_was_held_at_a_time():
    def program():
        np.ones(1_000_000)  # 8 MB, given back
        return np.ones(500_000)

    assert 8e6 <= timing.peak_bytes(program) < 8.1e6


@pytest.mark.parametrize("seed", range(20))
def test_overtaking_equals_comparing_the_costs_of_rounds(seed):
    rng = np.random.default_rng(seed)
    one, other = (
        {"median_s": rng.random(), "evaluations": float(rng.integers(0, 4))} for _ in range(2)
    )
    low, high = ratios.overtakes(one, other)
    for cost in rng.random(100) * 2:
        total, total_other = (row["median_s"] + cost * row["evaluations"] for row in (one, other))
        assert (low < cost < high) == (total < total_other)


def test_every_part_has_its_rows(results):
    def names(part, m):
        return [row["name"] for row in ratios.of_part(results, part) if row["n_arms"] == m]

    there = [one.name for one in programs.PEERS if one.is_there]
    assert there[:3] == ["superarm", "superarm, the paper's program", "plain numpy"]
    assert names("thompson", 40) == names("memory", 20) == there
    assert names("memory", 40) == there[:3]
    assert names("oracles", 40) == [row.name for row in parts.ORACLES]
    assert names("operations", 40) == [row.name for row in parts.OPERATIONS]
    assert names("group testing", 60) == ["superarm", "plain numpy"] * len(programs.INCLUSIONS)
    for row in results["rows"]:
        assert row.get("peak_bytes", 1) >= 0
        assert ("cold_ratio" in row) == (row["part"] in ("group testing", "thompson"))
        if row["part"] != "memory":
            assert 0 < row["low_s"] <= row["median_s"] <= row["high_s"]


def test_oracles_spend_the_evaluations_they_should(results):
    evaluations = {
        row["name"]: row["evaluations"]
        for row in ratios.of_part(results, "oracles")
        if row["n_arms"] == 40
    }
    assert evaluations["Singletons"] == 40
    assert evaluations["Greedy"] == 5 * 40 - 10
    assert evaluations["RandomSets"] == 0
    assert evaluations["GroupTesting, p=1/2"] == evaluations["GroupTesting, p=K/m"] > 0


@pytest.mark.parametrize(
    "peer", [one for one in programs.PEERS if one.is_there], ids=lambda one: one.name
)
def test_peers_learn(peer):
    """Two arms of mean 1 among ten of mean 0: found in 60 rounds, and picked in all of the last
    ten.

    A Beta(1, 31) draw, the other arms' after 30 failures, exceeds a Beta(31, 1) draw with
    probability about 1e-9; each arm is tried often enough well before that.
    """

    def world(arms):
        return (np.isin(arms, [3, 7])).astype(float)

    play = peer.make(10, 2, world)
    picked = [sorted(int(arm) for arm in play()) for _ in range(60)]
    assert all(len(set(arms)) == 2 for arms in picked)
    assert picked[-10:] == [[3, 7]] * 10


def test_both_programs_of_group_testing_find_the_best_arms():
    """40 arms, 2 at 1 and the rest at 0: with 3,000 tests the gap is above 8 standard errors."""
    theta = np.zeros(40)
    theta[[11, 29]] = 1.0
    for make in (programs.superarm_group_testing, programs.numpy_group_testing):
        for p in (0.5, 0.01):
            assert make(theta, 2, 3000, p, 0.25)().tolist() == [11, 29]


def test_what_would_take_too_long_is_left_out_from_there_on():
    scale = measure.Sizes(limit_s=1.0)

    def known(*rows):
        return [{"name": name, "n_arms": m, "median_s": s} for name, m, s in rows]

    small = known(("fast", 10, 0.01), ("slow", 10, 0.2))
    assert not measure._too_slow("slow", 10, scale, [])
    assert not measure._too_slow("fast", 100, scale, small)
    assert measure._too_slow("slow", 100, scale, small)
    assert measure._too_slow("slow", 1000, scale, [*small, *known(("fast", 100, 0.01))])


def test_written_and_read_again(results, tmp_path):
    paths = files.write(results, tmp_path / "out")
    assert {path.name for path in paths} == {path.name for path in (tmp_path / "out").iterdir()}
    assert files.read(tmp_path / "out") == results
    with (tmp_path / "out" / "performance.csv").open() as file:
        assert len(list(csv.DictReader(file))) == len(results["rows"])
    text = paths[-1].read_text(encoding="utf-8")
    assert text == report.render(results)
    for row in results["rows"]:
        assert row["name"] in text
    assert "--quick`): this shows" not in text
    assert "--quick`): this shows" in report.render({**results, "quick": True})
    for picture in ("performance-thompson.svg", "performance-oracles.svg"):
        assert (tmp_path / "out" / picture).read_text().startswith("<?xml")
        assert f"]({picture})" in text


def test_a_program_that_could_not_be_measured_is_named(results):
    assert "Not installed, so not measured: other." in report.render(
        {**results, "not_installed": ["other"]}
    )


def test_the_command_makes_the_page_again(results, tmp_path, capsys):
    (tmp_path / "performance.json").write_text(json.dumps(results))
    command.main(["--from", str(tmp_path)])
    assert "Thompson sampling, 40 arms" in capsys.readouterr().out
    assert (tmp_path / "performance.md").read_text(encoding="utf-8") == report.render(results)


@pytest.mark.parametrize("arguments", [["--from", "nowhere"], ["--from", ".", "--quick"]])
def test_the_command_refuses(arguments, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit, match="2"):
        command.main(arguments)
    assert not list(tmp_path.iterdir())


def test_the_page_in_the_docs_is_made_of_its_results():
    recorded = json.loads((DOCS / "performance.json").read_text(encoding="utf-8"))
    assert not recorded["quick"]
    assert (DOCS / "performance.md").read_text(encoding="utf-8") == report.render(recorded)

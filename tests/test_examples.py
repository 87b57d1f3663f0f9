"""The examples run at small sizes and return correct results."""

import importlib
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest

import changing_world
import common
import flights
import influence
import influence_reward
import open_bandit
import replaying
import superarm as sa
import ta_feng
import yeast
from superarm.environments import ReplayEnvironment

EXAMPLES = Path(__file__).parent.parent / "examples"


@pytest.fixture(scope="module")
def feature_selection():
    """Not imported above: scikit-learn takes seconds, and every test process reads this file."""
    return importlib.import_module("feature_selection")


def is_svg(path):
    return path.suffix == ".svg" and ET.parse(path).getroot().tag.endswith("svg")


def drawn_cascades(seeds, accepted, n_worlds):
    """How many hear of the news: a walk along the ties from everybody who accepted."""
    total = 0
    for friends in influence_reward.worlds(n_worlds):
        heard = {seed for seed in seeds if seed in accepted}
        while True:
            more = {friend for person in heard for friend in friends[person]} - heard
            if not more:
                break
            heard |= more
        total += len(heard)
    return total / n_worlds


def test_the_spread_is_that_of_drawn_cascades():
    """The mean over all 2^3 cases of who accepts."""
    seeds, means = [0, 11, 48], [0.3, 0.9, 0.5]
    expected = 0.0
    for case in range(8):
        accepted = {seed for j, seed in enumerate(seeds) if case >> j & 1}
        chance = np.prod(
            [
                mean if seed in accepted else 1 - mean
                for seed, mean in zip(seeds, means, strict=True)
            ]
        )
        expected += chance * drawn_cascades(seeds, accepted, 5)
    assert influence.simulated(5)(seeds, means) == pytest.approx(expected, rel=1e-12)


def test_the_closed_form_is_the_simulation():
    rng = np.random.default_rng(0)
    simulated, closed = influence.simulated(7), influence.closed_form(7)
    assert simulated.n_arms == closed.n_arms == 77
    pools, theta = sa.Pools.random(30, 77, 0.1, rng=rng), rng.random(77)
    assert np.allclose(simulated.batch(pools, theta), closed.batch(pools, theta), rtol=1e-12)
    assert sa.inspect(simulated, k=3, probes=10).ok  # what it declares holds


def test_influence(tmp_path):
    result = influence.main(quick=True, out=tmp_path)
    assert is_svg(result["picture"])
    found = result["policies"]
    assert np.array_equal(
        found["CTS"]["regret"], found["CTS, lazy"]["regret"]
    )  # the same decisions
    assert np.allclose(found["CTS, greedy"]["regret"], found["CTS, lazy greedy"]["regret"])
    assert found["CTS, greedy"]["regret"].mean() < found["random"]["regret"].mean()
    assert (
        found["CTS, lazy greedy"]["evaluations"].mean() < found["CTS, greedy"]["evaluations"].mean()
    )
    assert all(one["same"] for one in found.values() if one["seconds"] is not None)


def test_how_many_evaluations_wait_for_others():
    reward = common.InBatches(
        lambda arms, means: float(len(arms)), n_arms=40, lipschitz=1.0, upper=40.0
    )
    sa.Greedy().select(reward, np.ones(40), 2, rng=np.random.default_rng(0))
    assert reward.sizes == [40, 39]
    assert [common.steps(reward.sizes, n) for n in (1, 2, 16, 100)] == [79, 40, 6, 2]


def test_sets_are_judged_by_the_means_of_their_own_run():
    """By the reward that the policies had, the last sets are worth what their traces say."""
    reward = influence.closed_form(5)
    make = influence.Make(sa.Singletons, reward)
    traces = sa.replicate(make, n_runs=2, horizon=8, seed=influence.SEED)
    found = influence.judged(reward, influence.instances(make, 2), [trace.arms for trace in traces])
    assert found == pytest.approx([trace.values.mean() for trace in traces])


def test_rounds_to_a_quality():
    """By hand: the mean of the last two rounds reaches 0.8 in round 4."""
    values = np.array([0.0, 0.5, 0.7, 1.0, 1.0])
    nothing = np.zeros((5, 1))
    trace = sa.Trace(
        nothing.astype(int),
        nothing,
        values,
        nothing[:, 0].astype(int),
        nothing[:, 0],
        best_value=1.0,
    )
    assert influence.rounds_to([trace], np.zeros(1), share=0.8, window=2).tolist() == [4]
    assert influence.rounds_to([trace], np.zeros(1), share=1.1, window=2).tolist() == [6]


def test_the_accuracy_is_scikit_learns(feature_selection):
    from sklearn.model_selection import LeaveOneOut, cross_val_score
    from sklearn.neighbors import KNeighborsClassifier

    reward = feature_selection.accuracy(60)
    images, labels, _ = feature_selection.digits(60)
    arms = [20, 28, 42]
    model = KNeighborsClassifier(algorithm="kd_tree")
    expected = cross_val_score(model, images[:, arms], labels, cv=LeaveOneOut()).mean()
    assert reward(arms, np.ones(3)) == pytest.approx(expected)
    blind = np.bincount(labels).max() / 60
    assert reward([], []) == pytest.approx(blind)
    assert reward(arms, np.full(3, 0.1)) < expected  # readings are missing


def test_feature_selection(feature_selection, tmp_path):
    found = feature_selection.main(quick=True, out=tmp_path)
    assert is_svg(found["picture"])
    searches = found["searches"]
    assert searches["CTS, greedy"]["evaluations"] == [64 + 63 + 1]  # and what was found, once more
    assert all(
        one["evaluations"][0] <= 64 + 63 + 33 for one in searches.values()
    )  # no one has more to spend
    assert searches["CTS, greedy"]["best"] >= searches["CTS"]["best"]
    assert searches["CTS, local search"]["best"] >= searches["CTS"]["best"]
    assert all(one["same"] for one in searches.values())  # processes change nothing
    assert not found["inspected"]["submodular"].holds
    for one in found["failing"].values():
        assert one["values"].shape == (1, 2)
        assert (one["values"] >= 0).all()
        assert (one["values"] <= 1).all()


def test_the_gap_that_was_closed():
    got = np.array([[1.0, 3.0], [2.0, 2.0]])  # the random baseline gets 1, the best fixed set 3
    assert replaying.closed(got, 1.0, 3.0).tolist() == [[0.0, 0.5], [0.5, 0.5]]


def test_runs_are_paired_and_read_the_table():
    """By hand: what a fixed set gets is the sum of its columns, in the order that the run drew."""
    table = np.random.default_rng(0).random((50, 6)) < 0.4
    world = ReplayEnvironment(table, order="shuffled")
    got = replaying.play(
        lambda: world, {"all": replaying.random_baseline}, 6, n_runs=2, horizon=50
    )["all"]
    sums = table.sum(axis=1)
    assert not np.array_equal(got[0], sums)
    assert np.array_equal(np.sort(got[0]), np.sort(sums))
    again = replaying.play(
        lambda: world, {"CTS": replaying.LEARNERS["CTS"]}, 6, n_runs=2, horizon=50
    )["CTS"]
    assert np.array_equal(got, again)  # all six arms: the same rows in the same order


TABLES = [(flights, 10, 2.535, 3.86), (yeast, 4, 1.211, 2.332), (ta_feng, 20, 0.0918, 0.3864)]


@pytest.mark.parametrize(
    ("example", "k", "chance", "best"), TABLES, ids=["flights", "yeast", "ta_feng"]
)
def test_replayed_tables(example, k, chance, best, tmp_path):
    found = example.main(quick=True, out=tmp_path)
    assert is_svg(found["picture"])
    means = example.world().table.mean(axis=0)
    assert found["low"] == pytest.approx(k * means.mean())
    assert found["best"] == pytest.approx(np.sort(means)[-k:].sum())
    assert (found["low"], found["best"]) == pytest.approx((chance, best), rel=2e-3)
    got = found["got"]
    assert len({runs.shape for name, runs in got.items() if "all seen" not in name}) == 1
    assert all(((runs >= 0) & (runs <= k)).all() for runs in got.values())
    if example is yeast:  # the only example that learns in so few rounds
        assert got["CTS"].mean() > got["random"].mean() + 0.5 * (best - chance)


def test_who_sees_all_routes():
    """By hand: on the second day the worst of the first, then the worst of two days, or of all."""
    table = np.array([[0.9, 0.1, 0.5], [0.0, 0.2, 0.4], [0.3, 0.6, 0.7], [1.0, 0.8, 0.0]])
    assert flights.with_all_seen(table, 1, 2)[0].tolist() == pytest.approx([0.5, 0.0, 0.3, 0.0])
    assert flights.with_all_seen(table, 1, None)[0].tolist() == pytest.approx([0.5, 0.0, 0.3, 0.0])
    assert flights.with_all_seen(table, 1, 1)[0].tolist() == pytest.approx([0.5, 0.0, 0.7, 0.0])


def test_open_bandit(tmp_path):
    """By hand: a click in the random log counts as often as Thompson sampling shows its item.

    There are 240 arms.
    """
    result = open_bandit.main(quick=True, out=tmp_path)
    assert is_svg(result["picture"])
    logged, wanted = (open_bandit.impressions(policy, "all") for policy in ("random", "bts"))
    clicked = np.flatnonzero(logged.clicks).tolist()
    shown = [
        np.mean((wanted.items == logged.items[t]) & (wanted.positions == logged.positions[t]))
        for t in clicked
    ]
    assert result["found"]["all", "bts"]["ips"].value == pytest.approx(
        sum(shown) * 240 / 10_000, rel=1e-12
    )
    assert len(result["found"]) == 2
    for row in result["found"].values():
        assert row["own"].low < row["known"] < row["own"].high
        assert all(
            row[name].low <= row[name].value <= row[name].high for name in open_bandit.ESTIMATORS
        )


def test_what_half_a_year_says_of_the_next():
    """By hand: the first two days favour the first route, the other two the last."""
    table = np.array([[0.9, 0.1, 0.5], [0.8, 0.2, 0.4], [0.3, 0.6, 0.7], [0.1, 0.8, 0.9]])
    assert flights.in_second_half(table, 1) == pytest.approx((3.4 / 6, 0.2, 0.8))


def test_worlds_that_change_begin_alike():
    rngs = [np.random.default_rng(3) for _ in range(3)]
    kinds = [
        changing_world.world(kind, 40, rng)
        for kind, rng in zip(changing_world.WORLDS.values(), rngs, strict=True)
    ]
    for other in kinds[1:]:
        assert np.array_equal(kinds[0].mu, other.mu)
    for _ in range(10):
        kinds[1].pull([0], rng=rngs[1])
    assert not np.array_equal(kinds[0].mu, kinds[1].mu)  # a quarter of the rounds is over


def test_changing_world(tmp_path, monkeypatch, capsys):
    path = tmp_path / "changing.svg"
    monkeypatch.setattr(
        sys, "argv", ["changing_world.py", "--runs", "2", "--rounds", "40", "--picture", str(path)]
    )
    changing_world.main()
    assert is_svg(path)
    shown = capsys.readouterr().out
    for name in (
        "random sets",
        "BetaBelief",
        "Discounted, 0.997",
        "Sliding, 300",
        *changing_world.WORLDS,
    ):
        assert name in shown
    assert "40 rounds in % of that of random sets, 2 runs" in shown


def test_an_example_is_a_command(tmp_path):
    command = [sys.executable, EXAMPLES / "influence.py", "--help"]
    assert "--quick" in subprocess.run(command, check=True, capture_output=True, text=True).stdout

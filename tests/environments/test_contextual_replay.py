"""Replay with contexts: the context of a row is shown before the row is played."""

import numpy as np
import pytest

import superarm as sa
from superarm.core.contexts import GivesContext
from superarm.environments import ContextualReplay, ReplayEnvironment, datasets

RNG = np.random.default_rng


def make(order="shuffled", repeat=False):
    table = np.arange(12.0).reshape(6, 2) / 12
    return ContextualReplay(ReplayEnvironment(table, order=order, repeat=repeat), table[:, :1] * 12)


@pytest.mark.parametrize("order", ["given", "shuffled"])
def test_contexts_belong_to_the_rows_that_are_played(order):
    environment, rng = make(order, repeat=True), RNG(0)
    assert isinstance(environment, GivesContext)
    for _ in range(20):
        context = environment.context(rng=rng)
        np.testing.assert_array_equal(environment.context(rng=rng), context)  # not played yet
        assert environment.pull([0], rng=rng)[0] == pytest.approx(context[0] / 12)
    assert environment.replay.n_played == 20
    assert environment.fresh().replay.n_played == 0


def test_rows_come_in_the_order_of_a_replay_without_contexts():
    one, other = make(), make().replay
    rngs = RNG(3), RNG(3)
    for _ in range(6):
        one.context(rng=rngs[0])
        np.testing.assert_array_equal(one.pull([1], rng=rngs[0]), other.pull([1], rng=rngs[1]))
    with pytest.raises(ValueError, match="all of them were played"):
        one.context(rng=rngs[0])


def test_contexts_must_fit_the_table():
    with pytest.raises(ValueError, match="one row for each of 6 rows"):
        ContextualReplay(make().replay, [[1.0]])


def test_data_sets_with_features_and_contexts():
    yeast, flights = datasets.yeast(), datasets.flights()
    assert yeast.contexts.shape == (2417, 103)
    assert yeast.features is None
    # Two or three origins, the carriers, and four numbers.
    n_carriers = len({name.split()[1] for name in flights.names})
    assert flights.features.shape == (175, 3 + n_carriers + 4)
    origins = [name[:3] for name in flights.names]
    np.testing.assert_array_equal(flights.features[:, 0], [name == "EWR" for name in origins])
    assert (flights.features[:, 3 : 3 + n_carriers].sum(axis=1) == 1).all()
    # New York to Los Angeles is 2,475 miles from JFK.
    assert np.exp(flights.features[flights.names.index("JFK-LAX AA"), -4]) == pytest.approx(2475)


def test_a_policy_learns_from_contexts():
    data = datasets.yeast()
    replay = ReplayEnvironment(data.table, order="shuffled")
    closed = []
    for belief, environment in (
        (sa.beliefs.LinearBelief(14, context=103), ContextualReplay(replay, data.contexts)),
        (sa.beliefs.LinearBelief(14), replay.fresh()),
    ):
        policy = sa.Policy(belief, sa.TopK(), sa.LinearReward(14), 4)
        trace = sa.simulate(policy, environment.fresh(), horizon=600, rng=RNG(0), world_rng=RNG(1))
        closed.append(replay.gap_closed(trace.arms[300:], trace.outcomes[300:]))
    assert closed[0] > closed[1] + 0.1

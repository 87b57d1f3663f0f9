"""Plans: formulas are those of the oracles, measurements those of a simulation."""

import json
import math

import numpy as np
import pytest

import superarm as sa
from superarm.advice.oracle_costs import ORACLE_COSTS, Timed, make_oracle
from superarm.catalog import ORACLES


@pytest.fixture(scope="module")
def small():
    return sa.plan(n_arms=30, k=3, cost_s=0.1, horizon=200)


def test_every_oracle_of_the_catalog_is_planned_or_left_out_for_a_reason():
    """Not planned: oracles that wrap another one, for one belief only, or for noisy rewards."""
    wrappers = {
        part.label
        for part in ORACLES.values()
        if any(one.kind == "oracle" and one.required for one in part.parameters)
    }
    of_one_belief = {
        "DependentRounding",
        "ESCBIndex",
        "CLUCB",
        "LUCB",
        "TopTwo",
        "SuccessiveAccepts",
    }
    # What these cost depends on the noise.
    for_noise = {"NoisyGreedy", "NoisyLocalSearch", "NoisySingletons"}
    left_out = wrappers | of_one_belief | for_noise
    assert set(ORACLE_COSTS) == {p.label for p in ORACLES.values()} - left_out
    for name in ORACLE_COSTS:
        assert type(make_oracle(name)).__name__ == name


def test_there_is_a_row_for_every_oracle_fastest_first(small):
    assert {row.oracle for row in small.rows} == set(ORACLE_COSTS)
    assert [row.round_s for row in small.rows] == sorted(row.round_s for row in small.rows)
    for row in small.rows:
        assert row.round_s == pytest.approx(row.evaluations * 0.1 + row.overhead_s)
        assert row.total_s == pytest.approx(200 * row.round_s)
        assert row.total_evaluations == pytest.approx(200 * row.evaluations)
        assert row.overhead_s > 0
        assert row.overhead_is == "measured"
    json.dumps(small.as_dict(), allow_nan=False)


@pytest.mark.parametrize("name", [name for name, cost in ORACLE_COSTS.items() if cost.exact])
@pytest.mark.parametrize(("n_arms", "k"), [(30, 3), (12, 12), (9, 1)])
def test_exact_formulas_are_what_the_oracle_spends(name, n_arms, k):
    policy = sa.cts(sa.LinearReward(n_arms), k, oracle=make_oracle(name))
    policy.ask(rng=np.random.default_rng(0))
    assert policy.evaluations == ORACLE_COSTS[name].most(n_arms, k)


def test_measured_evaluations_are_those_of_a_simulation():
    """The same problem, played with `simulate`: the mean over all rounds, nothing scaled."""
    rng = np.random.default_rng(4)
    reward, mu = sa.NetworkReward.random(40, rng=rng), rng.random(40)
    found = sa.plan(
        n_arms=40, k=3, cost_s=1.0, horizon=300, reward=reward, mu=mu, rng=np.random.default_rng(8)
    )
    seed = int(np.random.default_rng(8).integers(2**63))
    policy = sa.cts(reward, 3, oracle=sa.LazySingletons())
    trace = sa.simulate(policy, sa.BernoulliArms(mu), horizon=300, rng=np.random.default_rng(seed))
    assert found["LazySingletons"].evaluations == trace.evaluations.mean()
    assert found["LazySingletons"].evaluations_are == "measured"
    assert found["LocalSearch"].evaluations_are == "extrapolated"  # from its first rounds
    assert found["Greedy"].evaluations_are == "exact"


def test_at_the_break_even_cost_both_take_the_same_time(small):
    for a, others in small.break_even.items():
        for b, cost_s in others.items():
            one, other = small[a], small[b]
            assert one.evaluations < other.evaluations
            assert cost_s >= 0
            took = [row.evaluations * cost_s + row.overhead_s for row in (one, other)]
            if cost_s > 0:
                assert took[0] == pytest.approx(took[1])
            else:
                assert took[0] <= took[1]


def test_large_problems_are_measured_small_and_scaled():
    found = sa.plan(n_arms=100_000, k=25, cost_s=0.0, horizon=3)
    assert "20 of 2,000 arms" in found.measured_on
    assert found["Singletons"].evaluations == 100_000
    assert found["Greedy"].evaluations == 25 * 100_000 - 25 * 24 // 2
    assert "Exhaustive" not in {row.oracle for row in found.rows}  # it refuses so many sets
    for row in found.rows:
        assert row.overhead_is == "extrapolated"
        assert row.evaluations_are in ("exact", "extrapolated")
    # Even a local search without a single swap evaluates every swap of one arm.
    assert found["LocalSearch"].evaluations > 0.9 * 25 * 100_000


def test_later_rounds_are_taken_to_cost_what_the_last_ones_cost():
    """At least what the measured rounds cost, spread over the horizon, and at most their mean."""
    size = {"n_arms": 60, "k": 3, "cost_s": 0.0, "oracles": ["LazySingletons"]}
    (short,) = sa.plan(**size, horizon=1000).rows
    (long,) = sa.plan(**size, horizon=4000).rows
    assert (short.evaluations_are, long.evaluations_are) == ("measured", "extrapolated")
    assert short.evaluations / 4 <= long.evaluations <= short.evaluations


def test_a_plan_repeats_but_for_its_times(small):
    again = sa.plan(n_arms=30, k=3, cost_s=0.1, horizon=200)
    assert {row.oracle: row.evaluations for row in again.rows} == {
        row.oracle: row.evaluations for row in small.rows
    }


def test_a_plan_prints_and_takes_some_oracles(small):
    text = str(small)
    assert "3 of 30 arms, 100 ms per evaluation, 200 rounds" in text
    assert all(row.oracle in text for row in small.rows)
    assert max(map(len, text.splitlines())) < 200
    some = sa.plan(n_arms=30, k=3, cost_s=0.1, horizon=5, oracles=["Greedy", "TopK"])
    assert [row.oracle for row in some.rows] == ["TopK", "Greedy"]
    assert len(some.break_even_table()) == 2
    with pytest.raises(ValueError, match="able to solve the problem, got 'Exhaustive'"):
        sa.plan(n_arms=500, k=9, cost_s=0.1, horizon=5, oracles=["Exhaustive"])


def test_bad_requests_are_refused():
    good = {"n_arms": 10, "k": 2, "cost_s": 0.1, "horizon": 5}
    for change, message in (
        ({"k": 11}, "k must be between"),
        ({"cost_s": -1.0}, "cost_s must be at least 0"),
        ({"cost_s": math.nan}, "cost_s must be finite"),
        ({"horizon": 0}, "horizon must be at least 1"),
        ({"reward": sa.LinearReward(9)}, "reward must have n_arms = 10"),
        ({"mu": np.zeros(9)}, "mu must have shape"),
    ):
        with pytest.raises(ValueError, match=message):
            sa.plan(**{**good, **change})
    with pytest.raises(KeyError, match="there is no row"):
        sa.plan(**good)["Oracle"]


def test_the_evaluations_of_a_policy_are_timed():
    # The clock moves on by one second whenever it is read, so each evaluation takes one second.
    timed = Timed(sa.LinearReward(5), clock=iter(range(100)).__next__)
    policy, rng = sa.cts(timed, k=2), np.random.default_rng(0)
    for _ in range(3):
        policy.ask(rng=rng)
    assert (timed.took_s, policy.evaluations) == (3.0, 15)  # one batch per round

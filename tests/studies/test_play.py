"""The cell that plays a policy records what happened, however the reward is called."""

import numpy as np
import pytest

import superarm as sa
from superarm.studies import Cell, run_cell
from superarm.studies.cell import checkpoints
from superarm.studies.cells.play import make_policy


def test_checkpoints_end_at_the_horizon():
    for horizon in (1, 2, 30, 10_000):
        at = checkpoints(horizon)
        assert at[0] == 1
        assert at[-1] == horizon
        assert (at[1:] > at[:-1]).all()


def test_non_separable_rounds_are_counted():
    """Separable: the k-th and (k+1)-th largest differ by more than the gap of the instance."""
    problem = {"family": "linear", "n_arms": 4, "k": 2, "gap": 0.2}
    cell = Cell(
        "play",
        {"problem": problem, "policy": {"name": "cts"}, "horizon": 200, "label": "CTS"},
        seed=3,
        run=0,
    )
    seeds = [np.random.SeedSequence(3, spawn_key=(0, i)) for i in range(3)]
    it = sa.linear_instance(4, 2, 0.2, rng=np.random.default_rng(seeds[0]))
    policy = sa.cts(it.reward, 2)
    rng, world = np.random.default_rng(seeds[1]), np.random.default_rng(seeds[2])
    count = 0
    for _ in range(200):
        state = rng.bit_generator.state
        theta = np.sort(policy.belief.sample(rng=rng))
        rng.bit_generator.state = state
        count += theta[-2] - theta[-3] <= it.gap
        arms = policy.ask(rng=rng)
        policy.tell(arms, it.pull(arms, rng=world), rng=rng)
    assert 20 < count < 180
    assert run_cell(cell).row["non_separable"][-1] == count


@pytest.mark.parametrize("calls", ["single", "by size", "batch"])
def test_the_way_of_calling_changes_no_decision(calls):
    it = sa.network_instance(30, 3, 0.1, rng=np.random.default_rng(0))
    for spec in (
        {"name": "cts"},
        {"name": "gt-centred", "delta": 0.1, "n_tests": 40},
    ):
        policies = make_policy(spec, it, 20, calls=calls), make_policy(spec, it, 20)
        ours, plain = (
            sa.simulate(policy, it, horizon=20, rng=np.random.default_rng(1)) for policy in policies
        )
        np.testing.assert_array_equal(ours.arms, plain.arms)
        np.testing.assert_array_equal(ours.evaluations, plain.evaluations)


def test_unknown_ways_of_calling_are_refused():
    it = sa.linear_instance(5, 2, 0.1, rng=np.random.default_rng(0))
    with pytest.raises(ValueError, match="calls must be"):
        make_policy({"name": "cts"}, it, 1, calls="by pigeon")


def test_options_that_a_policy_does_not_have_are_refused():
    it = sa.linear_instance(5, 2, 0.1, rng=np.random.default_rng(0))
    with pytest.raises(TypeError, match="prior"):
        make_policy({"name": "cts", "prior": 1}, it, 1)


def test_unknown_policies_are_refused():
    it = sa.linear_instance(5, 2, 0.1, rng=np.random.default_rng(0))
    expected = r"policy must be one of random, thompson, cts, .*, got 'best'"
    with pytest.raises(ValueError, match=expected):
        make_policy({"name": "best"}, it, 1)

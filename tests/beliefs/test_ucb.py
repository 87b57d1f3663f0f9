"""The upper confidence bounds of CUCB and KL-UCB."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive
import superarm as sa
from superarm.theory.divergence import kl_bernoulli, kl_upper


def test_ucb_is_the_formula_of_cucb():
    belief, rng = sa.UCBBelief(3), np.random.default_rng(0)
    for t in range(40):
        belief.update([0] if t % 2 else [0, 1], [0.5] if t % 2 else [0.5, 0.0], rng=rng)
    theta = belief.sample(rng=rng)
    assert theta[0] == pytest.approx(0.5 + np.sqrt(3 * np.log(41) / (2 * 40)))
    assert theta[1] == pytest.approx(np.sqrt(3 * np.log(41) / (2 * 20)))
    assert theta[2] == 1.0
    assert rng.bit_generator.state == np.random.default_rng(0).bit_generator.state


def test_bounds_that_are_not_clipped_keep_their_order():
    # The index as printed in 2013, with infinity for arms without outcomes, ranks all arms.
    for n_unseen in (0, 2):
        belief, rng = sa.UCBBelief(8, clip=False), np.random.default_rng(1)
        for _ in range(30):
            arms = np.flatnonzero(rng.random(8 - n_unseen) < 0.4)
            belief.update(arms, rng.random(len(arms)), rng=rng)
        counts = belief.outcomes.counts
        with np.errstate(divide="ignore"):
            index = belief.outcomes.mean() + np.sqrt(
                1.5 * np.log(belief.outcomes.rounds + 1) / counts
            )
        theta = belief.sample(rng=rng)
        assert (counts == 0).sum() == n_unseen
        assert index.max() > 1
        assert (theta >= 0).all()
        assert (theta <= 1).all()
        assert np.array_equal(np.argsort(theta, kind="stable"), np.argsort(index, kind="stable"))
        if not n_unseen:  # one factor for all, so that sums are ranked as well
            assert np.allclose(theta * index.max(), index)


def test_bounds_below_1_are_the_same_with_and_without_clipping():
    beliefs = sa.UCBBelief(2), sa.UCBBelief(2, clip=False)
    for belief in beliefs:
        for _ in range(100):
            belief.update([0, 1], [0.1, 0.2], rng=np.random.default_rng(0))
    clipped, whole = (belief.sample(rng=np.random.default_rng(0)) for belief in beliefs)
    assert np.array_equal(clipped, whole)
    assert (clipped < 1).all()


def test_a_state_from_before_clip_was_a_setting_loads():
    belief, other = sa.UCBBelief(2), sa.UCBBelief(2, clip=False)
    state = belief.state()
    assert state.pop("clip") is True
    other.load(state)
    assert other.clip is True


@given(st.floats(0, 1), st.floats(0, 40))
def test_kl_upper_equals_bisection(p, level):
    found = kl_upper(np.array([p]), np.array([level]))[0]
    # Near p the divergence is flat: rounding of 1e-16 in it moves the solution by 1e-8.
    assert found == pytest.approx(naive.kl_upper(p, level), abs=1e-7)
    assert found >= p - 1e-12
    if found < 1 - 1e-9 and level > 1e-9:
        assert kl_bernoulli(np.array([p]), np.array([found]))[0] == pytest.approx(
            level, rel=1e-6, abs=1e-9
        )


def test_kl_ucb_is_below_hoeffdings_bound_and_above_the_mean():
    belief, rng = sa.KLUCBBelief(1), np.random.default_rng(0)
    for t in range(1, 200):
        belief.update([0], [float(t % 3 == 0)], rng=rng)
        theta, mean = belief.sample(rng=rng)[0], belief.outcomes.mean()[0]
        assert mean < theta <= min(1.0, mean + np.sqrt(np.log(t + 1) / (2 * t)) + 1e-12)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: sa.UCBBelief(2, exploration=0), "exploration"),
        (lambda: sa.UCBBelief(2, clip="no"), "clip must be True or False"),
        (lambda: sa.KLUCBBelief(2, c=-1), "c must be at least 0"),
    ],
)
def test_refuses(call, says):
    with pytest.raises((ValueError, TypeError), match=says):
        call()

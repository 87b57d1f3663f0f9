import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import naive
import superarm as sa
from parts import BELIEFS
from superarm.beliefs.kl_ucb import kl_bernoulli, kl_upper

ARRAYS = ("a", "counts", "log_weights")  # every state has one of them

FEEDBACK = st.lists(
    st.dictionaries(st.integers(0, 5), st.floats(0, 1), max_size=6),
    max_size=8,
)


@pytest.mark.parametrize("name", BELIEFS)
@given(rounds=FEEDBACK, seed=st.integers(0, 2**32))
def test_the_state_restores_exactly_at_any_moment(name, rounds, seed):
    """Saved and loaded after every round or never: the same, bit for bit."""
    plain, saved = BELIEFS[name](6), BELIEFS[name](6)
    rngs = [np.random.default_rng(seed), np.random.default_rng(seed)]
    for feedback in rounds:
        for belief, rng in zip((plain, saved), rngs, strict=True):
            belief.update(list(feedback), list(feedback.values()), rng=rng)
        text = json.dumps(saved.state())
        saved = BELIEFS[name](6)
        saved.load(json.loads(text))
        np.testing.assert_array_equal(plain.sample(rng=rngs[0]), saved.sample(rng=rngs[1]))
    assert plain.state() == saved.state()


@pytest.mark.parametrize("name", BELIEFS)
@given(data=st.data())
def test_bad_feedback_changes_nothing(name, data):
    belief = BELIEFS[name](4)
    belief.update([1, 3], [0.0, 1.0], rng=np.random.default_rng(0))
    before = belief.state()
    rng = np.random.default_rng(1)
    good = st.floats(0, 1)
    bad = st.one_of(
        st.just(float("nan")),
        st.floats(max_value=-1e-9, allow_nan=False),
        st.floats(min_value=1 + 1e-9, allow_nan=False),
    )
    arms, outcomes = data.draw(
        st.one_of(
            st.tuples(st.just([0, 1]), st.tuples(good, bad)),
            st.tuples(st.just([2, 2]), st.tuples(good, good)),
            st.tuples(st.tuples(st.just(0), st.integers(4, 2**60)), st.tuples(good, good)),
            st.tuples(st.tuples(st.just(0), st.integers(-(2**60), -1)), st.tuples(good, good)),
            st.tuples(st.just([0, 1]), st.tuples(good)),
            st.tuples(st.just([0.5]), st.tuples(good)),
            st.tuples(st.just([[0]]), st.just([[1.0]])),
            st.tuples(st.just([0]), st.just(["1"])),
        )
    )
    with pytest.raises((ValueError, TypeError)):
        belief.update(arms, outcomes, rng=rng)
    assert belief.state() == before
    assert rng.bit_generator.state == np.random.default_rng(1).bit_generator.state


@pytest.mark.parametrize("name", BELIEFS)
@pytest.mark.parametrize(
    "spoil",
    [
        lambda state: state.pop("n_arms"),
        lambda state: state.update(belief="Another"),
        lambda state: [state.pop(key) for key in ARRAYS if key in state],
        lambda state: state.update({key: [1.0] for key in ARRAYS}),
        lambda state: state.update(dict.fromkeys(ARRAYS, [float("nan")] * 4)),
        lambda state: state.update(dict.fromkeys(ARRAYS, [-1.0] * 4)),
        lambda state: state.update(dict.fromkeys(ARRAYS, ["x"] * 4)),
    ],
)
def test_a_spoilt_state_is_refused_and_changes_nothing(name, spoil):
    belief = BELIEFS[name](4)
    belief.update([1, 3], [0.0, 1.0], rng=np.random.default_rng(0))
    before, state = belief.state(), BELIEFS[name](4).state()
    spoil(state)
    with pytest.raises((ValueError, TypeError)):
        belief.load(state)
    assert belief.state() == before


def test_states_of_other_beliefs_are_refused_by_name():
    with pytest.raises(ValueError, match="state must be that of a BetaBelief, got 'UCBBelief'"):
        sa.BetaBelief(3).load(sa.UCBBelief(3).state())


def test_a_loaded_belief_does_not_share_memory_with_the_state():
    belief = sa.BetaBelief(2)
    state = belief.state()
    belief.load(state)
    belief.update([0], [1.0], rng=np.random.default_rng(0))
    assert state["a"] == [1.0, 1.0]


def test_beta_is_the_papers_update():
    belief, rng = sa.BetaBelief(3), np.random.default_rng(0)
    for _ in range(3):
        belief.update([0, 2], [1.0, 0.0], rng=rng)
    assert belief.a.tolist() == [4, 1, 1]
    assert belief.b.tolist() == [1, 1, 4]
    assert (
        rng.bit_generator.state == np.random.default_rng(0).bit_generator.state
    )  # nothing drawn for 0 and 1


def test_beta_draws_a_coin_for_outcomes_inside():
    """Y ~ Bern(0.3): mean and spread over 20,000 updates within 5 standard errors; error 6e-7 each."""
    n, rng = 20_000, np.random.default_rng(0)
    belief = sa.BetaBelief(n)
    belief.update(np.arange(n), np.full(n, 0.3), rng=rng)
    coins = belief.a - 1
    assert set(np.unique(coins)) == {0.0, 1.0}
    np.testing.assert_array_equal(belief.a + belief.b, 3)
    assert abs(coins.mean() - 0.3) < 5 * np.sqrt(0.21 / n)


def law(belief, arm, n=4000, seed=0):
    rng = np.random.default_rng(seed)
    return np.array([belief.sample(rng=rng)[arm] for _ in range(n)])


def test_beta_samples_have_the_posterior_law():
    """Kolmogorov-Smirnov against Beta(4, 9); error 1e-6."""
    belief = sa.BetaBelief(2, prior=(0.5, 2.0))
    belief.a[1], belief.b[1] = 4.0, 9.0
    assert stats.kstest(law(belief, 1), stats.beta(4, 9).cdf).pvalue > 1e-6
    assert stats.kstest(law(belief, 0), stats.beta(0.5, 2).cdf).pvalue > 1e-6


@pytest.mark.parametrize("outcomes", [[], [1.0] * 7, [0.25, 0.5, 0.0], [0.0] * 300])
def test_gaussian_samples_have_the_truncated_posterior_law(outcomes):
    """Kolmogorov-Smirnov against the normal posterior restricted to [0, 1], and its mean and spread; error 1e-6."""
    belief = sa.GaussianBelief(1, prior=(0.4, 0.5), noise_var=0.2)
    for outcome in outcomes:
        belief.update([0], [outcome], rng=np.random.default_rng(0))
    var = 1 / (1 / 0.5 + len(outcomes) / 0.2)
    mean = var * (0.4 / 0.5 + sum(outcomes) / 0.2)
    np.testing.assert_allclose([belief.location()[0], belief.var()[0]], [mean, var])
    std = np.sqrt(var)
    posterior = stats.truncnorm(-mean / std, (1 - mean) / std, loc=mean, scale=std)
    draws = law(belief, 0)
    assert stats.kstest(draws, posterior.cdf).pvalue > 1e-6
    assert abs(draws.mean() - posterior.mean()) < 5 * posterior.std() / np.sqrt(len(draws))
    assert abs(draws.std() / posterior.std() - 1) < 0.1


def test_ucb_is_the_formula_of_cucb():
    belief, rng = sa.UCBBelief(3), np.random.default_rng(0)
    for t in range(40):
        belief.update([0] if t % 2 else [0, 1], [0.5] if t % 2 else [0.5, 0.0], rng=rng)
    theta = belief.sample(rng=rng)
    assert theta[0] == pytest.approx(0.5 + np.sqrt(3 * np.log(41) / (2 * 40)))
    assert theta[1] == pytest.approx(np.sqrt(3 * np.log(41) / (2 * 20)))
    assert theta[2] == 1.0
    assert rng.bit_generator.state == np.random.default_rng(0).bit_generator.state


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
        (lambda: sa.BetaBelief(0), "n_arms must be at least 1"),
        (lambda: sa.BetaBelief(2.5), "whole number"),
        (lambda: sa.BetaBelief(True), "whole number"),
        (lambda: sa.BetaBelief(2, prior=(0, 1)), "above 0"),
        (lambda: sa.BetaBelief(2, prior=(1, float("nan"))), "above 0"),
        (lambda: sa.BetaBelief(2, prior=(1, [1, 2, 3])), "shape"),
        (lambda: sa.BetaBelief(2, prior=1), "pair"),
        (lambda: sa.GaussianBelief(2, prior=(2, 1)), "prior's mean"),
        (lambda: sa.GaussianBelief(2, prior=(0.5, 0)), "variance"),
        (lambda: sa.GaussianBelief(2, noise_var=-1), "noise_var"),
        (lambda: sa.UCBBelief(2, exploration=0), "exploration"),
        (lambda: sa.KLUCBBelief(2, c=-1), "c must be at least 0"),
    ],
)
def test_refuses(call, says):
    with pytest.raises((ValueError, TypeError), match=says):
        call()

"""The discounted and the sliding belief, against a recount of all rounds."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import naive
import parts
import superarm as sa
from superarm.beliefs import DiscountedBetaBelief, PositionBiasedBelief, SlidingBetaBelief
from superarm.environments import ChangingArms

ROUNDS = st.lists(
    st.dictionaries(st.integers(0, 4), st.integers(0, 1), min_size=1, max_size=5).map(
        lambda told: (list(told), list(told.values()))
    ),
    max_size=30,
)


FORGETTING = {
    "discounted": lambda n: DiscountedBetaBelief(n, 0.9),
    "sliding": lambda n: SlidingBetaBelief(n, 10),
}


def told(belief, rounds):
    rng = np.random.default_rng(0)
    for arms, coins in rounds:
        belief.update(arms, coins, rng=rng)
    return belief


@given(rounds=ROUNDS, discount=st.floats(1e-6, 1.0))
def test_discounted_is_the_sum_over_all_rounds(rounds, discount):
    belief = told(DiscountedBetaBelief(5, discount, prior=(0.5, 2.0)), rounds)
    successes, failures = naive.discounted(rounds, 5, discount)
    np.testing.assert_allclose(belief.a, 0.5 + successes, rtol=1e-12)
    np.testing.assert_allclose(belief.b, 2.0 + failures, rtol=1e-12)


@pytest.mark.parametrize("discount", [1e-320, 1e-200, 0.5, 0.9])
def test_discounted_neither_under_nor_overflows(discount):
    """Thousands of rounds, with arms that have no outcomes in most of them."""
    belief, rng, seen = (
        DiscountedBetaBelief(3, discount),
        np.random.default_rng(0),
        np.zeros((2, 3)),
    )
    for t in range(5000):
        arms = [0, 1] if t % 1000 == 0 else [0]
        coins = rng.integers(0, 2, len(arms))
        belief.update(arms, coins, rng=rng)
        seen *= discount
        seen[0, arms] += coins
        seen[1, arms] += 1 - coins
        if t % 100 == 0:
            np.testing.assert_allclose([belief.a, belief.b], 1 + seen, rtol=1e-12)
    np.testing.assert_array_equal(belief.posterior(np.array([2])).a, 1.0)


@given(rounds=ROUNDS, window=st.integers(1, 12))
def test_sliding_is_a_recount_of_the_window(rounds, window):
    belief = told(SlidingBetaBelief(5, window, prior=(0.5, 2.0)), rounds)
    successes, failures = naive.windowed(rounds, 5, window)
    np.testing.assert_array_equal(belief.a, 0.5 + successes)
    np.testing.assert_array_equal(belief.b, 2.0 + failures)


@pytest.mark.parametrize(
    "make", [lambda: DiscountedBetaBelief(6, 1.0), lambda: SlidingBetaBelief(6, 100)]
)
def test_what_forgets_nothing_is_a_beta_belief_bit_for_bit(make):
    one, beta, rngs = make(), sa.BetaBelief(6), [np.random.default_rng(1), np.random.default_rng(1)]
    feedback = np.random.default_rng(2)
    for _ in range(100):
        arms = feedback.permutation(6)[: feedback.integers(0, 4)]
        outcomes = feedback.random(len(arms)).round() * 0.75
        for belief, rng in zip((one, beta), rngs, strict=True):
            belief.update(arms, outcomes, rng=rng)
        np.testing.assert_array_equal(one.sample(rng=rngs[0]), beta.sample(rng=rngs[1]))
    np.testing.assert_array_equal([one.a, one.b], [beta.a, beta.b])
    np.testing.assert_array_equal(one.mean(), beta.mean())


@pytest.mark.parametrize("name", FORGETTING)
def test_an_arm_that_is_not_pulled_comes_back_to_its_prior(name):
    belief, rng = FORGETTING[name](2), np.random.default_rng(0)
    for _ in range(10):
        belief.update([0], [0.0], rng=rng)
    low = belief.mean()[0]
    for _ in range(400):
        belief.update([1], [1.0], rng=rng)
        assert belief.mean()[0] >= low
    assert belief.mean()[0] == pytest.approx(0.5, abs=1e-15)
    assert belief.posterior(np.array([0])).interval()[1][0] == pytest.approx(0.975)


@pytest.mark.parametrize("name", FORGETTING)
def test_silence_is_not_a_round(name):
    belief, rng = FORGETTING[name](2), np.random.default_rng(0)
    belief.update([0], [1.0], rng=rng)
    before = belief.state()
    for _ in range(50):
        belief.update([], [], rng=rng)
    assert belief.state() == before


@pytest.mark.parametrize("name", FORGETTING)
def test_samples_have_the_posterior_law(name):
    """Kolmogorov-Smirnov against the Beta distribution of the twin's counts; error 1e-6 each."""
    belief, rng = FORGETTING[name](3), np.random.default_rng(0)
    rounds = [([0, 1], [1, 0]), ([0], [0]), ([0, 1], [1, 0])] * 6
    told(belief, rounds)
    counts = (
        naive.discounted(rounds, 3, 0.9) if name == "discounted" else naive.windowed(rounds, 3, 10)
    )
    draws = np.array([belief.sample(rng=rng) for _ in range(4000)])
    for arm in range(3):
        law = stats.beta(*(1 + counts[:, arm]))
        assert stats.kstest(draws[:, arm], law.cdf).pvalue > 1e-6
        assert abs(draws[:, arm].std() / law.std() - 1) < 0.1  # the standard error is 0.012


def test_sliding_keeps_no_array_of_the_caller():
    belief, arms, outcomes = SlidingBetaBelief(3, 1), np.array([0]), np.array([1.0])
    belief.update(arms, outcomes, rng=np.random.default_rng(0))
    arms[0], outcomes[0] = 2, 0.0
    belief.update(arms, outcomes, rng=np.random.default_rng(0))
    assert belief.a.tolist() == [1, 1, 1]
    assert belief.b.tolist() == [1, 1, 2]


@pytest.mark.parametrize(
    "spoil",
    [
        lambda state: state.update(sizes=[2, 0]),
        lambda state: state.update(sizes=2),
        lambda state: state.update(coins=[1, 2]),
        lambda state: state.update(coins=[1]),
        lambda state: state.update(arms=[0, 0]),
        lambda state: state.update(arms=[0, 9]),
        lambda state: state.update(sizes=[1, 1], window=1),
        lambda state: state.update(window=0),
        lambda state: state.pop("coins"),
    ],
)
def test_a_spoilt_window_is_refused_and_changes_nothing(spoil):
    belief = told(SlidingBetaBelief(3, 5), [([0, 1], [1, 0])])
    before, state = belief.state(), belief.state()
    spoil(state)
    with pytest.raises((ValueError, TypeError)):
        belief.load(state)
    assert belief.state() == before


@pytest.mark.parametrize("key", ["unit", "discount"])
@pytest.mark.parametrize("bad", [0.0, 1.5, float("nan"), "1"])
def test_a_spoilt_discount_is_refused_and_changes_nothing(key, bad):
    belief = told(DiscountedBetaBelief(3, 0.5), [([0, 1], [1, 0])])
    before = belief.state()
    with pytest.raises((ValueError, TypeError)):
        belief.load({**before, key: bad})
    assert belief.state() == before


@pytest.mark.parametrize("name", parts.ORACLES)
@pytest.mark.parametrize("forgetting", FORGETTING)
def test_every_oracle_plays_with_beliefs_that_forget(name, forgetting):
    policy = sa.Policy(FORGETTING[forgetting](6), parts.ORACLES[name][0](), sa.LinearReward(6), 2)
    trace = sa.simulate(
        policy, sa.BernoulliArms(np.linspace(0.1, 0.9, 6)), horizon=15, rng=np.random.default_rng(0)
    )
    assert trace.arms.shape == (15, 2)


@pytest.mark.parametrize("forgetting", [*FORGETTING, "position biased"])
def test_a_session_goes_on_bit_for_bit(forgetting, tmp_path):
    """Saved and loaded every few rounds or never, with arms added later, and enough arms for the
    file to have arrays.
    """
    make = {**FORGETTING, "position biased": lambda n: PositionBiasedBelief(n, [0.9, 0.5, 0.2])}[
        forgetting
    ]

    def policy(n_arms):
        return sa.Policy(make(n_arms), sa.TopK(), sa.LinearReward(n_arms), 3)

    plain, saved = (sa.Session(policy(80), seed=4, rewards=sa.LinearReward) for _ in range(2))
    for t in range(60):
        if t == 30:
            for session in (plain, saved):
                session.add_arms([80, 81], prior=(9.0, 1.0))
        if t % 7 == 0:
            saved.save(tmp_path / "session")
            saved = sa.Session.load(tmp_path / "session", policy, rewards=sa.LinearReward)
        one, other = plain.ask(), saved.ask()
        assert (one.arms, one.values) == (other.arms, other.values)
        for session in (plain, saved):
            session.tell(one.id, {arm: (arm * t % 5) / 4 for arm in one.arms})
    assert json.dumps(plain.policy.belief.state()) == json.dumps(saved.policy.belief.state())


def test_who_follows_and_who_does_not():
    """Two arms swap their means after 1,000 rounds in which both were seen. Even if all its later
    outcomes were 0, the old best arm would have about 900 successes in 1,500 trials at the end, 30
    standard deviations above the 100 in 1,000 of the other arm. After 300 rounds the beliefs that
    forget keep at most 1/400 of the old evidence.
    """
    right = {}
    beliefs = {"beta": sa.BetaBelief, "discounted": lambda n: DiscountedBetaBelief(n, 0.98)}
    beliefs["sliding"] = lambda n: SlidingBetaBelief(n, 100)
    for name, make in beliefs.items():
        environment, rng = (
            ChangingArms([(0, [0.9, 0.1]), (1000, [0.1, 0.9])]),
            np.random.default_rng(0),
        )
        policy = sa.Policy(make(2), sa.TopK(), sa.LinearReward(2), 1)
        for _ in range(1000):
            policy.tell([0, 1], environment.pull([0, 1], rng=rng), rng=rng)
        trace = sa.simulate(policy, environment, horizon=500, rng=rng)
        right[name] = (trace.arms[300:] == 1).mean()
    assert right["beta"] == 0
    assert right["discounted"] > 0.8
    assert right["sliding"] > 0.8


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: DiscountedBetaBelief(2, 0.0), r"discount must be in \(0, 1\], got 0.0"),
        (lambda: DiscountedBetaBelief(2, 1.1), r"discount must be in \(0, 1\]"),
        (lambda: DiscountedBetaBelief(0), "n_arms must be at least 1"),
        (lambda: DiscountedBetaBelief(2, prior=(0, 1)), "prior a"),
        (lambda: SlidingBetaBelief(2, 0), "window must be at least 1, got 0"),
        (lambda: SlidingBetaBelief(2, 1.5), "window must be a whole number"),
        (lambda: SlidingBetaBelief(2, prior=3), "pair"),
    ],
)
def test_refuses(call, says):
    with pytest.raises((ValueError, TypeError), match=says):
        call()

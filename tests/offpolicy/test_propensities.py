"""Propensities: right in distribution, and sampling them changes nothing."""

import pickle
import threading

import numpy as np
import pytest
from scipy import stats

import naive
import parts
import superarm as sa
from superarm.offpolicy import Propensities, propensities
from superarm.oracles import Scheduled

N = 600


def beta_policy(oracle=None, **options):
    belief = sa.BetaBelief(
        6, prior=([8.0, 5.0, 3.0, 2.0, 1.0, 1.0], [2.0, 3.0, 3.0, 4.0, 4.0, 9.0])
    )
    return sa.Policy(belief, oracle or sa.TopK(), sa.LinearReward(6), options.pop("k", 2))


def z_scores(found, exact):
    """How many standard errors off; those of the exact probabilities."""
    return (found.arms - exact) / np.sqrt(exact * (1 - exact) / found.n_samples)


def test_of_one_beta_draw_against_quadrature():
    """One arm of three: 20,000 samples within 4 errors of integrals (error rate 0.0002)."""
    belief = sa.BetaBelief(3, prior=([8.0, 5.0, 3.0], [2.0, 3.0, 3.0]))
    policy = sa.Policy(belief, sa.TopK(), sa.LinearReward(3), 1)
    exact = naive.chance_of_the_largest(belief.a, belief.b)
    found = propensities(policy, 20_000, rng=np.random.default_rng(0))
    assert exact.sum() == pytest.approx(1.0)
    assert np.abs(z_scores(found, exact)).max() < 4
    assert [found.set_probability([arm]) for arm in range(3)] == found.arms.tolist()


@pytest.mark.parametrize("oracle", [sa.Singletons, sa.LazySingletons, sa.Greedy, sa.Exhaustive])
def test_at_once_and_one_by_one_are_the_same_in_law(oracle):
    """Two samples of the 15 sets: a chi-squared test of equal shares (error rate 0.001 each)."""
    fast = propensities(beta_policy(), 4000, rng=np.random.default_rng(1)).set_counts
    slow = propensities(beta_policy(oracle()), N, rng=np.random.default_rng(2)).set_counts
    common = [found for found in fast if fast[found] + slow[found] >= 30]
    rare = [
        sum(counts[found] for found in counts if found not in common) for counts in (fast, slow)
    ]
    table = np.array(
        [[fast[found], slow[found]] for found in common] + ([rare] if sum(rare) else [])
    )
    assert stats.chi2_contingency(table).pvalue > 0.001


def test_of_the_default_policy_they_are_how_often_it_picks_arms():
    """After 20 outcomes per arm; 400 samples of each, within 4.5 errors (error rate 1e-4)."""
    means, n = np.array([0.35, 0.3, 0.25, 0.25, 0.2, 0.1]), 400
    policy, rng = sa.thompson(sa.LinearReward(6), 2), np.random.default_rng(3)
    for _ in range(20):
        policy.tell(np.arange(6), 1.0 * (rng.random(6) < means), rng=rng)
    found = propensities(policy, n, rng=rng).arms
    picked = np.bincount(np.concatenate([policy.ask(rng=rng) for _ in range(n)]), minlength=6) / n
    errors = np.sqrt(np.maximum(found * (1 - found), 1 / n) * 2 / n)
    assert np.abs((picked - found) / errors).max() < 4.5
    assert np.count_nonzero((found > 0.05) & (found < 0.95)) > 1
    assert found.sum() == pytest.approx(2.0)


def test_ties_are_broken_by_chance_when_many_are_picked_at_once():
    theta = np.array([[0.5, 0.5, 0.5, 0.1]] * 3000 + [[0.1, 0.2, 0.3, 0.4]])
    arms = sa.TopK().select_many(sa.LinearReward(4), theta, 2, rng=np.random.default_rng(0))
    assert arms[-1].tolist() == [2, 3]
    counts = np.bincount(arms[:-1].ravel(), minlength=4)
    assert counts[3] == 0
    assert stats.chisquare(counts[:3]).pvalue > 0.001
    assert (
        sa.TopK()
        .select_many(sa.LinearReward(4), theta[:2], 4, rng=np.random.default_rng(0))
        .tolist()
        == [[0, 1, 2, 3]] * 2
    )


def test_a_belief_that_samples_otherwise_is_asked_one_by_one():
    class Certain(sa.BetaBelief):
        def sample(self, *, rng):
            return self.mean()

    policy = sa.Policy(Certain(3, prior=([1.0, 2.0, 3.0], 1.0)), sa.TopK(), sa.LinearReward(3), 2)
    assert propensities(policy, 20, rng=np.random.default_rng(0)).arms.tolist() == [
        0.0,
        1.0,
        1.0,
    ]


@pytest.mark.parametrize("n_arms", [300, 5000])
def test_many_arms_in_blocks_or_one_by_one(n_arms):
    """1,500 samples: each of ten good arms is in half of the sets of five, within 5 errors."""
    a = np.ones(n_arms)
    a[:10] = 400.0
    policy = sa.Policy(
        sa.BetaBelief(n_arms, prior=(a, 401.0 - a)), sa.TopK(), sa.LinearReward(n_arms), 5
    )
    found = propensities(policy, 1500, rng=np.random.default_rng(0))
    assert found.n_samples == 1500
    assert found.arms.sum() == pytest.approx(5.0)
    assert np.abs(found.arms[:10] - 0.5).max() < 5 * np.sqrt(0.25 / 1500)


@pytest.mark.parametrize("name", parts.ORACLES)
def test_nothing_changes(name):
    """Belief, oracle, evaluations and what is decided next are what they are without."""
    make, _ = parts.ORACLES[name]
    one, other = (sa.Policy(sa.BetaBelief(6), make(), sa.LinearReward(6), 2) for _ in range(2))
    rngs = [np.random.default_rng(3), np.random.default_rng(3)]
    for t in range(6):
        found = propensities(one, 5, rng=np.random.default_rng(t))
        assert found.n_samples == 5
        asked = [policy.ask(rng=rng) for policy, rng in zip((one, other), rngs, strict=True)]
        assert asked[0].tolist() == asked[1].tolist()
        for policy, rng in zip((one, other), rngs, strict=True):
            policy.tell(asked[0], [1.0, 0.3], rng=rng)
        assert one.evaluations == other.evaluations
        assert one.belief.state() == other.belief.state()
        if hasattr(one.oracle, "state"):
            assert one.oracle.state() == other.oracle.state()


def test_evaluations_are_counted_apart():
    policy = beta_policy(sa.Singletons())
    assert propensities(policy, 10, rng=np.random.default_rng(0)).evaluations == 60
    assert policy.evaluations == 0


def test_every_sample_begins_with_the_present_state():
    """In the second round, this oracle repeats its first answer in every sample."""
    policy = beta_policy(Scheduled(sa.Singletons(), when=2))
    rng = np.random.default_rng(0)
    first = policy.ask(rng=rng)
    found = propensities(policy, 50, rng=rng)
    assert found.set_probability(first) == 1.0
    policy.ask(rng=rng)
    assert propensities(policy, 50, rng=rng).set_probability(first) < 1.0


def test_within_choices():
    rules = sa.Feasible(2, must=[3], must_not=[0], n_arms=6)
    found = propensities(beta_policy(), 300, rng=np.random.default_rng(0), feasible=rules)
    assert found.arms[3] == 1.0
    assert found.arms[0] == 0.0
    assert found.arms.sum() == pytest.approx(2.0)


def test_standard_errors_are_right_and_never_zero():
    """Over 400 repeats, shares spread as stated, within 15% (four errors of a spread)."""
    repeats = [
        propensities(beta_policy(), 100, rng=np.random.default_rng(seed)) for seed in range(400)
    ]
    spread = np.std([one.arms[1] for one in repeats])
    assert np.mean([one.std_error[1] for one in repeats]) == pytest.approx(spread, rel=0.15)
    sure = propensities(sa.cucb(sa.LinearReward(3), 3), 50, rng=np.random.default_rng(0))
    assert sure.arms.tolist() == [1.0] * 3
    assert (sure.std_error > 0).all()
    assert sure.set_std_error([0, 1]) == pytest.approx(np.sqrt(1 / 52 * 51 / 52 / 53))


@pytest.mark.parametrize(("p", "n"), [(0.3, 4), (0.02, 50), (1.0, 3)])
def test_the_inverse_of_a_share_that_counts_the_decision_in(p, n):
    """The mean of [in the set] (n + 1) / (count + 1) over all counts is 1 - (1 - p)^(n + 1)."""
    counts = np.arange(n + 1)
    mean = p * np.sum(stats.binom.pmf(counts, n, p) * (n + 1) / (counts + 1))
    assert mean == pytest.approx(1 - (1 - p) ** (n + 1), rel=1e-12)


def test_counting_a_decision_in():
    found = Propensities(sa.Pools.of([[0, 1], [0, 2], [0, 1]], 4)).counting([1, 3])
    assert found.n_samples == 4
    assert found.counts.tolist() == [3, 3, 1, 1]
    assert found.set_probability([3, 1]) == 0.25
    assert found.set_probability([0, 1]) == 0.5


@pytest.mark.parametrize("n", [0, -1])
def test_no_samples_are_refused(n):
    with pytest.raises(ValueError, match="n_samples must be at least 1"):
        propensities(beta_policy(), n, rng=np.random.default_rng(0))


def test_they_can_be_pickled():
    found = propensities(beta_policy(), 10, rng=np.random.default_rng(0))
    assert pickle.loads(pickle.dumps(found)).arms.tolist() == found.arms.tolist()


class Locked(sa.Singletons):
    """An oracle with something in it that cannot be copied."""

    def __init__(self):
        super().__init__()
        self.lock = threading.Lock()


def test_what_cannot_be_copied_is_refused():
    policy = sa.Policy(sa.BetaBelief(4), Locked(), sa.LinearReward(4), 2)
    with pytest.raises(
        ValueError, match="deepcopy copies them, got Locked, for which it says: cannot pickle"
    ):
        propensities(policy, 5, rng=np.random.default_rng(0))

"""Worlds that change, and worlds in which not all is seen: their laws, and what may be learnt from them."""

import numpy as np
import pytest
from scipy import stats

import naive
import superarm as sa
from superarm.testing import check_environment


def random_policy(n_arms, k, belief):
    """Sets that do not depend on what was seen, so that means of what is seen are unbiased."""
    return sa.Policy(belief, sa.RandomSets(), sa.LinearReward(n_arms), k)


def test_a_drifting_mean_keeps_to_its_law():
    """A reflected walk leaves the uniform law alone: Kolmogorov-Smirnov over 5,000 arms, error 1e-6. Far from the ends
    it is a sum of t steps: mean and spread within 5 standard errors, error 6e-7 each."""
    rng, n = np.random.default_rng(0), 5000
    world = sa.DriftingArms(rng.random(n), std=0.3)
    for _ in range(20):
        world.pull([], rng=rng)
    assert stats.kstest(world.mu, "uniform").pvalue > 1e-6
    world = sa.DriftingArms(np.full(n, 0.5), std=0.01)
    for _ in range(100):
        world.pull([], rng=rng)
    assert abs(world.mu.mean() - 0.5) < 5 * 0.1 / np.sqrt(n)
    assert abs(world.mu.std() / 0.1 - 1) < 5 / np.sqrt(2 * n)


def test_drift_is_the_same_whatever_is_pulled_and_old_means_stay():
    worlds = [sa.DriftingArms([0.2, 0.5, 0.99], std=0.1) for _ in range(2)]
    rngs = [np.random.default_rng(0) for _ in range(2)]
    for t in range(50):
        before = worlds[0].mu
        kept = before.copy()
        one, other = worlds[0].pull([0, 2], rng=rngs[0]), worlds[1].pull([2], rng=rngs[1])
        assert one[1] == other[0]
        np.testing.assert_array_equal(worlds[0].mu, worlds[1].mu)
        np.testing.assert_array_equal(before, kept)
        assert worlds[0].mu is not before, t
        assert not worlds[0].mu.flags.writeable
    still = sa.DriftingArms([0.2, 0.7], std=0)
    still.pull([0], rng=rngs[0])
    np.testing.assert_allclose(still.mu, [0.2, 0.7], rtol=1e-15)


def test_a_large_step_is_folded_as_often_as_it_takes():
    rng = np.random.default_rng(0)
    world = sa.DriftingArms(np.full(1000, 0.5), std=50.0)
    steps = np.random.default_rng(0)
    steps.random(1000)
    world.pull([], rng=rng)
    for mu, moved in zip(world.mu, 0.5 + 50 * steps.standard_normal(1000), strict=True):
        while not 0 <= moved <= 1:
            moved = -moved if moved < 0 else 2 - moved
        assert mu == pytest.approx(moved, abs=1e-12)


def test_changes_come_when_they_are_due():
    world, rng = sa.ChangingArms([(0, [0, 1]), (3, [1, 0]), (4, [1, 1])]), np.random.default_rng(0)
    seen = [(world.mu.tolist(), world.pull([1, 0], rng=rng).tolist()) for _ in range(6)]
    assert seen == [([0, 1], [1, 0])] * 3 + [([1, 0], [0, 1])] + [([1, 1], [1, 1])] * 2
    assert world.rounds == 6


@pytest.mark.parametrize("reward", [sa.LinearReward(6), sa.AnySuccess(6)])
def test_dynamic_regret_is_that_of_the_best_set_of_each_round(reward):
    means = []

    class Watched(sa.DriftingArms):
        def pull(self, arms, *, rng):
            means.append(self.mu)
            return super().pull(arms, rng=rng)

    world = sa.ChangingInstance(Watched(np.linspace(0.1, 0.9, 6), std=0.1), reward, 2)
    trace = sa.simulate(sa.cts(reward, 2), world, horizon=40, rng=np.random.default_rng(0))
    sets = [(i, j) for i in range(6) for j in range(i)]
    best = [max(reward(list(s), mu[list(s)]) for s in sets) for mu in means]
    values = [reward(arms, mu[arms]) for arms, mu in zip(trace.arms, means, strict=True)]
    np.testing.assert_allclose(trace.best_value, best)
    np.testing.assert_allclose(trace.regret(), np.cumsum(np.subtract(best, values)))
    assert len(np.unique(trace.best_value)) > 30
    mu = world.mu[world.best_arms]
    assert reward(world.best_arms, mu) == pytest.approx(world.best_value)


def test_paired_runs_meet_the_same_drift():
    def made(build):
        def make(rng):
            world = sa.ChangingInstance(
                sa.DriftingArms(rng.random(8), std=0.05), sa.LinearReward(8), 2
            )
            return build(sa.LinearReward(8), 2), world

        return sa.replicate(make, n_runs=2, horizon=30, seed=3)

    for one, other in zip(made(sa.cts), made(sa.random_sets), strict=True):
        np.testing.assert_array_equal(one.best_value, other.best_value)


def test_a_cascade_stops_at_the_first_success():
    """How far the user looks, against products of chances: chi-square, error 1e-6."""
    mu, n, rng = np.array([0.3, 0.2, 0.6, 0.5]), 20_000, np.random.default_rng(0)
    world, order, found = sa.CascadingArms(mu), np.array([1, 3, 0]), np.zeros(4)
    for _ in range(n):
        did = world.pull(order, rng=rng)
        first = int(np.argmax(did == 1)) if (did == 1).any() else 3
        assert (did[:first] == 0).all()
        assert np.isnan(did[first + 1 :]).all()
        found[first] += 1
    missed = np.cumprod([1, 0.8, 0.5, 0.7])
    expected = n * np.append(missed[:3] * mu[order], missed[3])
    assert stats.chisquare(found, expected).pvalue > 1e-6


def test_what_a_cascade_shows_is_unbiased_and_taking_the_rest_for_failures_is_not():
    """Random sets, so that what is seen does not depend on what was: every mean within 5 standard errors, error 6e-7
    each; and the naive one, told 0 for what nobody looked at, is off by more than 10 of them for three arms."""
    mu = np.array([0.3, 0.2, 0.6, 0.5, 0.8])
    policy = random_policy(5, 3, sa.BetaBelief(5))
    trace = sa.simulate(policy, sa.CascadingArms(mu), horizon=6000, rng=np.random.default_rng(0))
    n = policy.belief.a + policy.belief.b - 2
    error = np.sqrt(mu * (1 - mu) / n)
    assert n.sum() == np.count_nonzero(~np.isnan(trace.outcomes))
    assert (np.abs((policy.belief.a - 1) / n - mu) < 5 * error).all()
    blind = sa.BetaBelief(5)
    for arms, did in zip(trace.arms, np.nan_to_num(trace.outcomes), strict=True):
        blind.update(arms, did, rng=np.random.default_rng(0))
    assert (blind.mean()[2:] < mu[2:] - 10 * error[2:]).all()


def test_a_cascade_is_learnt():
    """The chance of no success with the best three of ten arms is 0.1: after a while that is the set."""
    mu = np.full(10, 0.1)
    mu[[2, 5, 7]] = 0.6, 0.5, 0.5
    for order in ("ascending", "best first"):
        reward = sa.AnySuccess(10)
        world = sa.ChangingInstance(sa.CascadingArms(mu), reward, 3)
        trace = sa.simulate(
            sa.cts(reward, 3), world, horizon=1500, rng=np.random.default_rng(0), order=order
        )
        assert trace.best_value == pytest.approx(0.9)
        assert trace.values[-300:].mean() > 0.85


def test_the_matched_beta_has_mean_and_variance_of_the_exact_posterior():
    rng, weights = np.random.default_rng(0), np.array([1.0, 0.6, 0.3, 0.05])
    belief = sa.PositionBiasedBelief(30, weights, prior=(1.0, 2.0))
    successes, failures = np.zeros(30), np.zeros((30, 4))
    for _ in range(60):
        arms, places = rng.permutation(30)[:4], rng.permutation(4)
        did = rng.random(4) < weights[places] * (arms + 1) / 30
        belief.update(arms, did, rng=rng, places=places)
        successes[arms] += did
        failures[arms, places] += ~did
    law = stats.beta(belief.a, belief.b)
    exact = [
        naive.position_posterior(1.0, 2.0, successes[i], failures[i], weights) for i in range(30)
    ]
    np.testing.assert_allclose(law.mean(), [mean for mean, _ in exact], rtol=1e-7)
    np.testing.assert_allclose(law.std(), [std for _, std in exact], rtol=1e-7)
    np.testing.assert_allclose(belief.mean(), law.mean())


def test_places_of_weight_one_are_a_beta_belief():
    belief, beta = (
        sa.PositionBiasedBelief(4, [1.0, 1.0], prior=(2.0, 0.5)),
        sa.BetaBelief(4, (2.0, 0.5)),
    )
    rng = np.random.default_rng(0)
    for t in range(300):
        for one in (belief, beta):
            one.update([t % 4, (t + 1) % 4], [float(t % 3 == 0), 0.0], rng=rng)
        np.testing.assert_allclose([belief.a, belief.b], [beta.a, beta.b], rtol=1e-10)


def test_places_are_the_order_unless_they_are_given():
    one, other = (sa.PositionBiasedBelief(4, [1.0, 0.5, 0.25]) for _ in range(2))
    rng = np.random.default_rng(0)
    one.update([2, 0, 3], [0.0, 1.0, 0.0], rng=rng)
    other.update([0], [1.0], rng=rng, places=[1])  # in parts, and in another order
    other.update([3, 2], [0.0, 0.0], rng=rng, places=[2, 0])
    told = ("successes", "looks", "failures")
    assert [one.state()[key] for key in told] == [other.state()[key] for key in told]
    np.testing.assert_allclose([one.a, one.b], [other.a, other.b], rtol=1e-9)
    assert one.mean()[2] < one.mean()[3] < 0.5  # a failure further down says less


def test_estimates_in_known_places_are_unbiased_and_those_of_a_plain_belief_are_not():
    """1,000 arms of the same mean, each shown 60 times in random places. The mean of the unbiased estimates is within 5
    standard errors of the truth, error 6e-7; the posterior mean, which leans to its prior while little is known, comes
    from 0.5 to within 0.02 and ever closer; a plain belief goes to the mean of w · mu."""
    rng, weights, mu, n = np.random.default_rng(0), np.array([0.9, 0.5, 0.2]), 0.4, 1000
    world = sa.PositionBiasedArms(np.full(3, mu), weights)
    belief, plain, errors = sa.PositionBiasedBelief(n, weights), sa.BetaBelief(n), []
    for t in range(60):
        places = rng.integers(0, 3, n)
        did = (rng.random(n) < world.expected([0, 1, 2])[places]).astype(float)
        belief.update(np.arange(n), did, rng=rng, places=places)
        plain.update(np.arange(n), did, rng=rng)
        if t in (9, 29, 59):
            errors.append(abs(belief.mean().mean() - mu))
    found = belief.unbiased()
    assert abs(found.mean() - mu) < 5 * found.std() / np.sqrt(n)
    # Var of successes / looks is about (mean w mu (1 - w mu)) / (t (mean w)²), given the places.
    spread = np.sqrt(np.mean(weights * mu * (1 - weights * mu)) / (60 * weights.mean() ** 2))
    assert found.std() == pytest.approx(spread, rel=0.1)
    assert errors[0] > errors[1] > errors[2]
    assert errors[2] < 0.02
    assert belief.mean().std() < found.std()  # it knows in which places the failures were
    assert abs(plain.mean().mean() - (1 + 60 * weights.mean() * mu) / 62) < 0.01
    assert plain.mean().mean() < mu - 0.15


def test_what_simulate_tells_in_places_is_unbiased():
    """Sets are shown ascending, so that arm 0 is always at the top and arm 5 always at the bottom. The estimates are
    within 5 standard errors of the truth, error 6e-7 each; the plain means are off by more than 10 of theirs."""
    mu, weights = np.array([0.3, 0.5, 0.4, 0.6, 0.5, 0.7]), np.array([0.9, 0.5, 0.2])
    policy = random_policy(6, 3, sa.PositionBiasedBelief(6, weights))
    trace = sa.simulate(
        policy, sa.PositionBiasedArms(mu, weights), horizon=5000, rng=np.random.default_rng(0)
    )
    for arm in range(6):
        shown, places = np.nonzero(trace.arms == arm)
        w, did = weights[places], trace.outcomes[shown, places]
        error = np.sqrt((w * mu[arm] * (1 - w * mu[arm])).sum())
        found = policy.belief.unbiased()[arm]
        assert found == pytest.approx(did.sum() / w.sum())
        assert abs(found - mu[arm]) < 5 * error / w.sum()
        assert arm == 0 or did.mean() < mu[arm] - 10 * error / len(did)


def test_intervals_in_known_places_hold_as_often_as_they_say():
    """Means drawn from the prior, so that 95% of the intervals hold the truth, if posteriors are right: within 5
    standard errors of 3,000 arms, error 6e-7, and room of 0.005 for the shape."""
    rng, weights, n = np.random.default_rng(1), np.array([0.9, 0.4, 0.1]), 3000
    mu, belief = rng.random(n), sa.PositionBiasedBelief(n, weights)
    for _ in range(25):
        places = rng.integers(0, 3, n)
        belief.update(np.arange(n), rng.random(n) < weights[places] * mu, rng=rng, places=places)
    low, high = belief.posterior(np.arange(n)).interval()
    assert abs(((low <= mu) & (mu <= high)).mean() - 0.95) < 5 * np.sqrt(0.95 * 0.05 / n) + 0.005


def test_a_belief_that_knows_places_learns_what_a_plain_one_gets_wrong():
    """Arms in a fixed order: those at the top look best to a plain belief, since they are looked at."""
    mu, weights = np.array([0.4, 0.4, 0.4, 0.6]), np.array([1.0, 0.7, 0.4, 0.2])
    rng, beliefs = np.random.default_rng(0), (sa.BetaBelief(4), sa.PositionBiasedBelief(4, weights))
    world = sa.PositionBiasedArms(mu, weights)
    for _ in range(2000):
        did = world.pull([0, 1, 2, 3], rng=rng)
        for belief in beliefs:
            belief.update([0, 1, 2, 3], did, rng=rng)
    assert np.argmax(beliefs[0].mean()) == 0
    assert np.argmax(beliefs[1].mean()) == 3
    # The standard error of the last is about sqrt(0.12 · 0.88 / 2000) / 0.2 = 0.036.
    np.testing.assert_allclose(beliefs[1].mean(), mu, atol=5 * 0.036)


def test_what_is_triggered_and_how_often():
    """Each arm is triggered with chance 1 - prod (1 - P): within 5 standard errors, error 6e-7 each; and its outcomes
    average to mu."""
    rng, n = np.random.default_rng(0), 8000
    P, mu = rng.random((5, 5)) * 0.7, np.array([0.1, 0.9, 0.5, 0.3, 0.7])
    world, seen, won = sa.TriggeredArms(mu, P), np.zeros(5), np.zeros(5)
    for _ in range(n):
        arms, did = world.observe([3, 1], rng=rng)
        seen[arms] += 1
        won[arms] += did
    chance = np.array([1 - (1 - P[1, j]) * (1 - P[3, j]) for j in range(5)])
    assert (np.abs(seen / n - chance) < 5 * np.sqrt(chance * (1 - chance) / n)).all()
    assert (np.abs(won / seen - mu) < 5 * np.sqrt(mu * (1 - mu) / seen)).all()


def test_what_is_triggered_outside_the_set_is_told_too():
    """Arm 0 always triggers arm 3, and itself half of the time. The beliefs are unbiased, within 5 standard errors,
    error 6e-7 each; one that takes what was not triggered for failures is not."""
    P = np.zeros((4, 4))
    P[0, 3], P[0, 0], P[1, 1] = 1.0, 0.5, 1.0
    mu = np.array([0.8, 0.3, 0.5, 0.6])
    policy = random_policy(4, 2, sa.BetaBelief(4))
    trace = sa.simulate(policy, sa.TriggeredArms(mu, P), horizon=4000, rng=np.random.default_rng(0))
    n = policy.belief.a + policy.belief.b - 2
    with_0 = (trace.arms == 0).any(axis=1).sum()
    assert n[3] == with_0
    assert n[1] == (trace.arms == 1).any(axis=1).sum()
    assert n[2] == 0
    assert abs(n[0] - with_0 / 2) < 5 * np.sqrt(with_0 / 4)
    np.testing.assert_array_equal(np.isnan(trace.outcomes[trace.arms == 2]), True)
    seen = n > 0
    means = (policy.belief.a - 1)[seen] / n[seen]
    assert (np.abs(means - mu[seen]) < 5 * np.sqrt(mu * (1 - mu) / np.maximum(n, 1))[seen]).all()
    blind = np.nan_to_num(trace.outcomes[trace.arms == 0]).mean()
    assert blind < 0.8 - 10 * np.sqrt(0.16 / with_0)


def test_an_instance_of_a_triggered_world_observes_as_the_world_does():
    P = np.eye(3)
    P[0, 2] = 1.0
    policy = random_policy(3, 1, sa.BetaBelief(3))
    world = sa.ChangingInstance(sa.TriggeredArms([0.5, 0.5, 1.0], P), sa.LinearReward(3), 1)
    trace = sa.simulate(policy, world, horizon=60, rng=np.random.default_rng(0))
    assert policy.belief.a[2] - 1 == (trace.arms != 1).sum()
    assert trace.best_value == 1.0


class Known:
    """A belief that is sure, and writes down what it is told."""

    def __init__(self, theta):
        self.theta, self.n_arms, self.told = np.array(theta), len(theta), []

    def sample(self, *, rng):
        return self.theta.copy()

    def update(self, arms, outcomes, *, rng):
        self.told.append((arms.tolist(), outcomes.tolist()))

    def state(self):
        return {}

    def load(self, state):
        pass


@pytest.mark.parametrize("oracle", [sa.TopK, sa.Singletons])
def test_best_first_is_by_what_was_sampled(oracle):
    belief = Known([0.1, 0.7, 0.2, 0.9, 0.8])
    policy = sa.Policy(belief, oracle(), sa.LinearReward(5), 3)
    world = sa.CascadingArms([0.0, 0.0, 0.0, 0.0, 1.0])
    trace = sa.simulate(policy, world, horizon=2, rng=np.random.default_rng(0), order="best first")
    assert trace.arms.tolist() == [[3, 4, 1]] * 2
    np.testing.assert_array_equal(trace.outcomes, [[0, 1, np.nan]] * 2)
    assert belief.told == [([3, 4], [0.0, 1.0])] * 2
    assert trace.values.tolist() == [1.0, 1.0]
    plain = sa.simulate(policy, world, horizon=1, rng=np.random.default_rng(0))
    assert plain.arms.tolist() == [[1, 3, 4]]
    with pytest.raises(ValueError, match="order must be 'ascending' or 'best first', got 'worst'"):
        sa.simulate(policy, world, horizon=1, rng=np.random.default_rng(0), order="worst")


def test_best_first_without_a_sample_is_ascending():
    class NeverLooks:
        report = None

        def select(self, reward, theta, k, *, rng):
            return np.arange(k.n_most)

    policy = sa.Policy(Known([0.1, 0.7, 0.2]), NeverLooks(), sa.LinearReward(3), 2)
    trace = sa.simulate(
        policy,
        sa.BernoulliArms([1, 1, 1]),
        horizon=1,
        rng=np.random.default_rng(0),
        order="best first",
    )
    assert trace.arms.tolist() == [[0, 1]]


def test_best_first_with_sets_of_different_sizes():
    paths = sa.Paths(tails=[0, 1, 0, 2, 4], heads=[1, 3, 2, 4, 3], source=0, target=3)
    mu = [0.8, 0.9, 0.5, 0.5, 0.5]
    policy = sa.Policy(Known(mu), sa.TopK(), sa.LinearReward(5), paths)
    trace = sa.simulate(
        policy, sa.BernoulliArms(mu), horizon=1, rng=np.random.default_rng(0), order="best first"
    )
    assert trace.arms.tolist() == [[1, 0, -1]]
    np.testing.assert_allclose(trace.values, 1.7)


class WritesIntoMu(sa.BernoulliArms):
    def __init__(self, mu):
        super().__init__(mu)
        self.mu = self.mu.copy()

    def pull(self, arms, *, rng):
        outcomes = super().pull(arms, rng=rng)
        self.mu[0] = rng.random()
        return outcomes


class ShowsSuccessesOnly(sa.BernoulliArms):
    def pull(self, arms, *, rng):
        outcomes = super().pull(arms, rng=rng)
        return np.where(outcomes == 1, 1.0, np.nan)


class SaysOtherwise(sa.TriggeredArms):
    def observe(self, arms, *, rng):
        seen, did = super().observe(arms, rng=rng)
        return seen, 1 - did

    def pull(self, arms, *, rng):
        triggered, did = super().observe(arms, rng=rng)
        return np.array([dict(zip(triggered, did, strict=True)).get(arm, np.nan) for arm in arms])


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: WritesIntoMu([0.5, 0.9, 0.9]), "mu must not be written into"),
        (lambda: ShowsSuccessesOnly([0.5, 0.9, 0.5]), "average to mu"),
        (lambda: SaysOtherwise([0.5, 0.9, 0.5], np.ones((3, 3))), "observe and pull must agree"),
    ],
)
def test_the_check_of_environments_catches(make, says):
    with pytest.raises(AssertionError, match=says):
        check_environment(make)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: sa.DriftingArms([0.5, 1.5], 0.1), r"mu must be in \[0, 1\]"),
        (lambda: sa.DriftingArms([0.5], -0.1), "std must be at least 0"),
        (lambda: sa.ChangingArms([]), "pairs"),
        (lambda: sa.ChangingArms([(1, [0.5])]), r"begin with 0 and ascend, got \[1\]"),
        (lambda: sa.ChangingArms([(0, [0.5]), (5, [0.5]), (5, [0.1])]), "ascend"),
        (lambda: sa.ChangingArms([(0, [0.5]), (5, [0.5, 0.1])]), r"mu must have shape \(1,\)"),
        (lambda: sa.ChangingArms([(0, [0.5]), (5, [-0.5])]), r"mu must be in \[0, 1\]"),
        (lambda: sa.ChangingArms([(0, [0.5], 3)]), "pairs"),
        (lambda: sa.CascadingArms([float("nan")]), "mu must be finite"),
        (lambda: sa.PositionBiasedArms([0.5], [0.0]), "weights must be above 0"),
        (
            lambda: sa.PositionBiasedArms([0.5, 0.5], [1.0]).expected([0, 1]),
            "at most 1, one for each of the weights",
        ),
        (lambda: sa.PositionBiasedBelief(2, [0.5, 0.0]), "weights must be above 0"),
        (lambda: sa.PositionBiasedBelief(2, [1.5]), r"weights must be in \[0, 1\]"),
        (
            lambda: _update([0, 1], None),
            "places must be between 0 and 0 .there are 1 weights., got 0 to 1",
        ),
        (lambda: _update([0], [1]), "places must be between 0 and 0"),
        (lambda: _update([0], [0, 0]), "places must be 1 whole numbers"),
        (lambda: _update([0], [0.5]), "places must be 1 whole numbers"),
        (lambda: sa.TriggeredArms([0.5, 0.5], [[1.0, 0.0]]), r"P must have shape \(2, 2\)"),
        (lambda: sa.TriggeredArms([0.5], [[1.1]]), r"P must be in \[0, 1\]"),
        (lambda: sa.ChangingInstance(object(), sa.LinearReward(3), 2), "environment must have mu"),
        (
            lambda: sa.ChangingInstance(sa.BernoulliArms([0.5]), sa.LinearReward(3), 2),
            "the same number of arms, got 1 and 3",
        ),
        (
            lambda: sa.ChangingInstance(sa.BernoulliArms([0.5]), sa.LinearReward(1), 2),
            "k must be between 1 and 1",
        ),
    ],
)
def test_refuses(call, says):
    with pytest.raises((ValueError, TypeError), match=says):
        call()


def _update(arms, places):
    belief = sa.PositionBiasedBelief(2, [0.5])
    before = belief.state()
    try:
        belief.update(arms, np.ones(len(arms)), rng=np.random.default_rng(0), places=places)
    finally:
        assert belief.state() == before

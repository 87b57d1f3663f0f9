"""Set-level decisions with noise: steps next to exact values, guarantees, budgets, memory."""

import json

import numpy as np
import pytest

import superarm as sa
from superarm.oracles import NoisyGreedy, NoisyLocalSearch, RandomSets
from superarm.oracles._contests import Sweeps, best_of, better_than_first
from superarm.oracles._noise import Known, Symmetric
from superarm.oracles._noisy_settings import share_of_round

M, K, STD = 8, 3, 0.1
BOTH = [NoisyGreedy, NoisyLocalSearch]


class Noisy:
    """A reward with normal noise, or with noise that depends on the value, or is shared."""

    noisy = True

    def __init__(self, exact, seed, law="normal", repeats=1):
        self.exact, self.rng, self.law, self.repeats = exact, np.random.default_rng(seed), law, 1
        self.repeats = repeats
        for name in ("n_arms", "lipschitz", "upper", "monotone", "zero_is_absent", "additive"):
            setattr(self, name, getattr(exact, name))

    def __call__(self, arms, means):
        theta = np.zeros(self.n_arms)
        theta[arms] = means
        return float(self.batch(sa.Pools.of([arms], self.n_arms), theta)[0])

    def batch(self, pools, theta):
        values = self.exact.batch(pools, theta)
        if self.law == "judge":  # heteroscedastic
            return values + self.rng.normal(0, 1, len(pools)) * STD * (0.2 + values)
        if self.law == "shared":  # common random numbers, in a batch of all sets
            return values + self.rng.normal(0, STD) + self.rng.normal(0, STD / 20, len(pools))
        return values + self.rng.normal(0, STD, len(pools))


def coverage(seed=5):
    return sa.CoverageReward(np.random.default_rng(seed).random((M, 6)) < 0.4)


def complements(arms, means):
    """Pairs of arms are worth something together only."""
    have = np.zeros(M)
    have[arms] = means
    return float(means.sum() / 4 + 2 * (have[0::2] * have[1::2]).sum())


def pairs():
    return sa.BlackBox(complements, n_arms=M, lipschitz=2.25, upper=8.0)


REWARDS = {"coverage": coverage, "complements": pairs}
NOISES = {"known": {"noise_std": STD}, "learned": {}}


def true_losses(exact, theta, order):
    """How much less than the best arm each arm of a greedy order adds, by exact values."""
    losses = []
    for step, arm in enumerate(order):
        base = np.sort(order[:step])
        left = np.setdiff1d(np.arange(M), base)
        values = exact.batch(sa.Pools.extensions(base, left, M), theta)
        losses.append(values.max() - values[left == arm][0])
    return np.array(losses)


def best_gain(exact, theta, arms):
    """How much the best swap of one arm adds, by exact values."""
    outside = np.setdiff1d(np.arange(M), arms)
    swapped = [np.sort(np.append(np.delete(arms, i), b)) for i in range(len(arms)) for b in outside]
    return exact.batch(sa.Pools.of(swapped, M), theta).max() - exact(arms, theta[arms])


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("of", REWARDS)
def test_steps_are_within_their_slack(of, noise):
    """At delta = 0.2 per round, more than 10 of 20 rounds are wrong with probability 0.0006.

    Also where the budget ends the steps, and for noise that depends on the value if it is learned.
    """
    exact, rng, wrong, certified = REWARDS[of](), np.random.default_rng(0), 0, 0
    reward = Noisy(exact, 1, "normal" if noise == "known" else "judge")
    for number in range(20):
        budget = (400, 100_000)[number % 2]
        settings = {"tolerance": 0.15, "budget": budget, "per": "round", **NOISES[noise]}
        theta, oracle = rng.random(M), NoisyGreedy(0.2, **settings)
        oracle.select(reward, theta, K, rng=rng)
        report = oracle.report
        wrong += bool((true_losses(exact, theta, report.order) > report.slack).any())
        certified += report.certified
        assert report.certified == bool((report.slack <= 0.15).all())
    assert wrong <= 10
    assert certified >= 10


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("of", REWARDS)
def test_no_swap_improves_by_more_than_the_slack(of, noise):
    """At delta = 0.2 per round, more than 8 of 12 rounds are wrong with probability 6e-5."""
    exact, rng, wrong = REWARDS[of](), np.random.default_rng(2), 0
    reward = Noisy(exact, 3, "normal" if noise == "known" else "judge")
    for number in range(12):
        budget = (1000, 100_000)[number % 2]
        settings = {"tolerance": 0.15, "budget": budget, "per": "round", **NOISES[noise]}
        theta, oracle = rng.random(M), NoisyLocalSearch(0.2, start=RandomSets(), **settings)
        arms = oracle.select(reward, theta, K, rng=rng)
        report = oracle.report
        start = report.start
        better = exact(arms, theta[arms]) > exact(start, theta[start]) or not report.n_swaps
        wrong += best_gain(exact, theta, arms) > report.slack or not better
        assert report.certified == (report.slack <= 0.15)
        assert report.certified or budget == 1000
    assert wrong <= 8


def test_guarantees_for_monotone_submodular_rewards():
    """The best of all 56 sets is known. At delta = 0.001 per round, all 12 hold but for 0.012."""
    exact, rng = coverage(), np.random.default_rng(4)
    settings = {"noise_std": STD, "tolerance": 0.1, "per": "round"}
    for number in range(6):
        theta, best = rng.random(M), sa.Exhaustive()
        best.select(exact, theta, K, rng=rng)
        greedy, search = NoisyGreedy(0.001, **settings), NoisyLocalSearch(0.001, **settings)
        arms = greedy.select(Noisy(exact, number), theta, K, rng=rng)
        least = (1 - 1 / np.e) * best.report.value - greedy.report.loss
        assert exact(arms, theta[arms]) >= least
        arms = search.select(Noisy(exact, number), theta, K, rng=rng)
        assert exact(arms, theta[arms]) >= best.report.value / 2 - K * search.report.slack / 2


@pytest.mark.parametrize("of", REWARDS)
def test_without_noise_the_steps_are_those_of_greedy(of):
    exact, rng = REWARDS[of](), np.random.default_rng(6)
    for _ in range(5):
        theta = rng.random(M)
        oracle, slow = NoisyGreedy(noise_std=1e-9, tolerance=1e-8), sa.Greedy()
        arms = oracle.select(exact, theta, K, rng=rng)
        np.testing.assert_array_equal(arms, slow.select(exact, theta, K, rng=rng))
        np.testing.assert_array_equal(oracle.report.order, slow.report.order)
        np.testing.assert_allclose(oracle.report.values, slow.report.values)
        search = NoisyLocalSearch(noise_std=1e-9, tolerance=1e-8, start=RandomSets())
        arms = search.select(exact, theta, K, rng=rng)
        assert best_gain(exact, theta, arms) <= 1e-8


def test_contests_next_to_a_slow_twin():
    """The twin keeps every answer, and compares all pairs by themselves after every sweep."""
    exact, theta = coverage(), np.linspace(0.1, 0.9, M)
    sets = [np.array([arm]) for arm in range(M)]
    for number, noise in enumerate((Known(STD), Symmetric(STD**2))):
        sweeps = Sweeps(Noisy(exact, number), theta, sets, noise, 10**6)
        found = best_of(sweeps, 0.1, 0.05, rng=np.random.default_rng(0))
        reward, columns, alpha = Noisy(exact, number), {arm: [] for arm in range(M)}, 0.1 / (M - 1)
        noise, n = type(noise)(STD if number == 0 else STD**2), 0
        while True:
            times = max(1, noise.n_first(alpha) - n, n // 10)
            asked = [sets[arm] for _ in range(times) for arm in columns]
            answers = iter(reward.batch(sa.Pools.of(asked, M), theta))
            for _ in range(times):
                for arm in columns:
                    columns[arm].append(next(answers))
            n += times
            leader = max(columns, key=lambda arm: np.mean(columns[arm]))
            slack = {leader: 0.0}
            for arm in columns:
                if arm != leader:
                    both = np.column_stack([columns[leader], columns[arm]])
                    off = noise.off_pairs(both, 0, alpha, exact.upper)[1]
                    slack[arm] = np.mean(columns[arm]) - np.mean(columns[leader]) + off
            if max(slack.values()) <= 0.05:
                break
            columns = {arm: columns[arm] for arm in columns if slack[arm] >= 0}
        assert found.place == leader
        assert found.slack == pytest.approx(max(slack.values()))
        assert sorted(sweeps.places) == sorted(columns)


def test_a_swap_needs_proof_and_so_does_its_absence():
    exact, theta = sa.LinearReward(M), np.linspace(0.1, 0.9, M)
    sets = [np.array([arm]) for arm in (6, 1, 7)]
    found = better_than_first(Sweeps(Noisy(exact, 0), theta, sets, Known(STD), 10**5), 0.01, 0.01)
    assert found.place == 2
    found = better_than_first(Sweeps(Noisy(exact, 0), theta, sets, Known(STD), 10**5), 0.01, 0.3)
    assert found.place in (0, 2)  # within the tolerance, either may come first
    found = better_than_first(Sweeps(Noisy(exact, 0), theta, sets[:2], Known(STD), 10**5), 0.01, 0)
    assert found.place == 0
    assert found.slack == 0.0
    few = better_than_first(Sweeps(Noisy(exact, 0), theta, sets, Known(STD), 12), 0.01, 0.01)
    assert few.place == 0
    assert few.slack > 0.01


def test_shared_noise_costs_little_if_noise_is_learned():
    """With common random numbers the noise of a difference is small, which learned noise sees."""
    theta, spent = np.linspace(0.5, 0.7, M), {}
    for law in ("normal", "shared"):
        oracle = NoisyGreedy(tolerance=0.01)
        oracle.select(Noisy(sa.LinearReward(M), 0, law), theta, K, rng=np.random.default_rng(0))
        spent[law] = oracle.report.evaluations
        assert oracle.report.certified
    assert spent["shared"] < 0.5 * spent["normal"]


@pytest.mark.parametrize("make", BOTH)
def test_coins_have_a_range(make):
    """Answers of 0 and 1, at delta = 0.001: arms are 0.27 apart, more than the tolerance."""
    exact, rng = sa.LinearReward(M, weights=np.full(M, 1 / K)), np.random.default_rng(7)
    reward = Noisy(exact, 0)
    reward.batch = lambda pools, theta: (rng.random(len(pools)) < exact.batch(pools, theta)).astype(
        float
    )
    theta = np.array([0.9, 0.1, 0.1, 0.9, 0.1, 0.1, 0.1, 0.9])
    oracle = make(0.001, answers_in=(0, 1), tolerance=0.2, per="round")
    arms = oracle.select(reward, theta, K, rng=rng)
    np.testing.assert_array_equal(arms, [0, 3, 7])
    assert oracle.report.certified


@pytest.mark.parametrize("make", BOTH)
def test_budgets_count_repeats_and_are_kept(make):
    for repeats, budget in ((1, 1), (1, 30), (4, 3), (4, 100), (4, 3000)):
        reward = sa.Counted(Noisy(coverage(), 0, repeats=repeats))
        oracle = make(budget=budget)
        arms = oracle.select(reward, np.full(M, 0.5), K, rng=np.random.default_rng(0))
        assert len(arms) == K
        assert oracle.report.evaluations == reward.evaluations <= budget
        assert not (oracle.report.certified and budget <= 100)


@pytest.mark.parametrize("make", BOTH)
def test_learned_noise_has_no_unit(make):
    """A power of two is exact, so that any number in the code with a unit would show."""
    theta, seen = np.linspace(0.2, 0.8, M), []
    for unit in (1.0, 2.0**-40, 2.0**60):
        exact = sa.LinearReward(M, weights=np.full(M, unit))
        reward, oracle = Noisy(exact, 0), make(budget=2000, tolerance=unit / 16)
        reward.batch = lambda pools, theta, of=reward, u=unit: (
            of.exact.batch(pools, theta) + u * of.rng.normal(0, STD, len(pools))
        )
        arms = oracle.select(reward, theta, K, rng=np.random.default_rng(0))
        seen.append((arms.tolist(), oracle.report.evaluations, oracle.report.certified))
    assert seen[0] == seen[1] == seen[2]


def test_sets_that_may_be_smaller_stop_where_arms_cost():
    def costly(arms, means):
        return float(2.0 + means.sum() - 0.5 * len(arms))

    exact = sa.BlackBox(costly, n_arms=M, lipschitz=1.0, upper=10.0)
    few, theta = sa.Feasible(5, at_most=True), np.array([0.9, 0.8, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1])
    for make in BOTH:
        oracle = make(noise_std=STD, tolerance=0.1)
        arms = oracle.select(Noisy(exact, 0), theta, few, rng=np.random.default_rng(0))
        np.testing.assert_array_equal(arms, [0, 1])
        assert oracle.report.certified
    assert NoisyGreedy.report is None
    must = sa.Feasible(3, must=[4])
    oracle = NoisyGreedy(noise_std=STD, tolerance=0.1)
    assert 4 in oracle.select(Noisy(exact, 0), theta, must, rng=np.random.default_rng(0))
    assert oracle.report.order[0] == 4


@pytest.mark.parametrize("make", BOTH)
def test_state_is_saved_and_loaded(make):
    theta, rng = np.linspace(0.1, 0.9, M), np.random.default_rng(0)
    oracle, other = make(tolerance=0.2), make(tolerance=0.2)
    oracle.select(Noisy(coverage(), 0), theta, K, rng=rng)
    saved = json.loads(json.dumps(oracle.state()))
    other.load(saved)
    assert saved["n_rounds"] == 1
    assert 0.1 < saved["variance"] / STD**2 < 10
    reports = []
    for each in (oracle, other):
        each.select(Noisy(coverage(), 1), theta, K, rng=np.random.default_rng(1))
        reports.append((each.report.evaluations, each.state()))
    assert reports[0] == reports[1]
    oracle.forget()
    # delta is for the whole run, so that its rounds are not forgotten.
    assert oracle.state()["n_rounds"] == 2
    assert oracle.state()["variance"] is None
    with pytest.raises(ValueError, match=f"state must be that of a {make.__name__}"):
        oracle.load({"oracle": "Greedy"})


def test_delta_is_shared_among_rounds():
    shares = [share_of_round(0.05, t, "run") for t in range(1, 2000)]
    assert 0.0499 < sum(shares) < 0.05
    assert share_of_round(0.05, 7, "round") == 0.05


@pytest.mark.parametrize("make", BOTH)
def test_wrong_settings_are_refused(make):
    refused = ({"delta": 0.0}, {"noise_std": -1.0}, {"tolerance": -1.0}, {"budget": 0})
    for wrong in (*refused, {"per": "step"}, {"answers_in": (1, 1)}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            make(**wrong)


def test_a_session_explains_what_each_arm_added():
    policy = sa.cts(
        Noisy(coverage(), 0), K, oracle=NoisyGreedy(noise_std=STD, tolerance=0.3, budget=5000)
    )
    session = sa.Session(policy, seed=0)
    decision = session.ask()
    assert decision.certified == policy.oracle.report.certified
    text = str(session.explain(decision.id))
    assert "what it added when it was added" in text

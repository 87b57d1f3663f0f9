"""Every oracle within constraints: feasible sets, guarantees and evaluations."""

import numpy as np
import pytest
from drawn_constraints import draw_feasible

import parts
import superarm as sa
from superarm.sets.feasible import Feasible, Group


@pytest.mark.parametrize("name", [name for name in parts.ORACLES if name not in parts.PLAIN_K])
@pytest.mark.parametrize("of", ["linear, weighted", "coverage", "black box"])
def test_every_oracle_keeps_to_the_constraints(name, of):
    rng = np.random.default_rng(0)
    reward = parts.REWARDS[of]()
    for _ in range(2 if "lemma" in name else 12):  # which makes very many tests
        oracle = (
            parts.ORACLES[name][0]()
            if name != "group testing, singletons"
            else sa.GroupTesting(delta=0.25)
        )
        if name in ("top k", "escb", "clucb", "top two"):
            reward = sa.LinearReward(7)
        if name in ("escb", "clucb", "top two"):
            oracle = type(oracle)(parts.all_seen(7))
        feasible = draw_feasible(rng, 7)
        for _ in range(2):
            arms = oracle.select(reward, rng.random(7), feasible, rng=rng)
            assert arms.dtype == np.intp
            assert feasible.is_feasible(arms)
            assert (np.diff(arms) > 0).all()


EXACT = {
    "singletons": (sa.Singletons, True),
    "lazy singletons": (sa.LazySingletons, True),
    "lazy singletons, batches": (lambda: sa.LazySingletons(batch=3), True),
    "rarely": (lambda: sa.oracles.Scheduled(sa.Singletons(), when=1), True),
    "greedy": (sa.Greedy, False),
    "lazy greedy": (sa.LazyGreedy, False),
    "local search": (lambda: sa.LocalSearch(sa.oracles.RandomSets()), False),
}


@pytest.mark.parametrize("name", EXACT)
@pytest.mark.parametrize("of", ["linear, weighted", "linear", "black box"])
def test_sums_are_solved_exactly(name, of):
    """These rewards are sums. Greedy and local search are exact for matroids: without weights."""
    make, with_weights = EXACT[name]
    rng, reward = np.random.default_rng(1), parts.REWARDS[of]()
    for _ in range(25):
        feasible, theta = draw_feasible(rng, 7, weights=with_weights), rng.random(7)
        arms, best = make().select(reward, theta, feasible, rng=rng), sa.Exhaustive()
        best.select(reward, theta, feasible, rng=rng)
        assert reward(arms, theta[arms]) == pytest.approx(best.report.value, rel=2e-6, abs=1e-9)


def test_top_k_is_exact():
    rng, reward = np.random.default_rng(1), sa.LinearReward(7)
    for _ in range(50):
        feasible, theta = draw_feasible(rng, 7), rng.random(7)
        arms = sa.TopK().select(reward, theta, feasible, rng=rng)
        every = [theta[one].sum() for one in feasible.sets()]
        assert theta[arms].sum() == pytest.approx(max(every), rel=2e-6, abs=1e-9)


def test_exhaustive_finds_the_best_of_a_reward_that_is_no_sum():
    rng, reward = (
        np.random.default_rng(2),
        sa.CoverageReward(np.random.default_rng(0).random((7, 4))),
    )
    for _ in range(20):
        feasible, theta = draw_feasible(rng, 7), rng.random(7)
        arms = sa.Exhaustive().select(reward, theta, feasible, rng=rng)
        assert reward(arms, theta[arms]) == max(reward(one, theta[one]) for one in feasible.sets())


def test_greedy_keeps_its_guarantees():
    """Half of the best for submodular rewards without weights; (1 - 1/e) / 2 with only weights."""
    rng = np.random.default_rng(3)
    for _ in range(60):
        reward, theta = sa.CoverageReward(rng.random((7, 4)) ** 4), rng.random(7)
        weights = rng.random(7)
        by_weight = Feasible(
            7, at_most=True, weights=weights, budget=float(rng.uniform(weights.min(), 2))
        )
        for feasible, share in (
            (draw_feasible(rng, 7, weights=False), 1 / 2),
            (by_weight, (1 - np.exp(-1)) / 2),
        ):
            best = sa.Exhaustive()
            best.select(reward, theta, feasible, rng=rng)
            arms = sa.Greedy().select(reward, theta, feasible, rng=rng)
            assert reward(arms, theta[arms]) >= share * best.report.value - 1e-12


@pytest.mark.parametrize("of", ["linear, weighted", "network", "black box"])
def test_lazy_singletons_decide_as_singletons_while_constraints_change(of):
    rng, reward = np.random.default_rng(4), sa.Counted(parts.REWARDS[of]())
    lazy, plain = sa.LazySingletons(), sa.Singletons()
    theta, asked = rng.random(7), 0
    for _ in range(60):
        theta = np.clip(theta + rng.normal(0, 0.05, 7), 0, 1)
        feasible = draw_feasible(rng, 7)
        arms = lazy.select(reward, theta, feasible, rng=rng)
        assert lazy.report.certified
        twin = plain.select(reward.uncounted, theta, feasible, rng=rng)
        asked += int(feasible.undecided.sum())
        # Weighed alone, since values that differ by rounding alone are the same.
        values = reward.uncounted.batch(
            sa.Pools.singletons(np.arange(7), 7), theta
        ) - reward.uncounted([], [])
        assert values[arms].sum() == pytest.approx(values[twin].sum(), rel=2e-6, abs=1e-9)
    assert reward.evaluations < asked / 2


def test_lazy_singletons_need_few_evaluations_within_quotas():
    rng, reward = np.random.default_rng(5), sa.Counted(sa.LinearReward(300))
    groups = [Group(range(50 * g, 50 * g + 50), least=int(g < 2), most=1) for g in range(6)]
    lazy, plain, feasible = (
        sa.LazySingletons(),
        sa.Singletons(),
        Feasible(5, groups=groups, must=[7], n_arms=300),
    )
    theta = rng.random(300)
    for _ in range(100):
        theta = 1 - np.abs(1 - np.abs(theta + rng.normal(0, 0.02, 300)))  # no two are equal
        arms = lazy.select(reward, theta, feasible, rng=rng)
        np.testing.assert_array_equal(
            arms, plain.select(reward.uncounted, theta, feasible, rng=rng)
        )
    assert reward.evaluations < 100 * 299 / 50


def test_lazy_greedy_decides_as_greedy():
    rng = np.random.default_rng(6)
    for of in ("linear, weighted", "network", "coverage"):
        reward, lazy = sa.Counted(parts.REWARDS[of]()), sa.LazyGreedy()
        for _ in range(25):
            feasible, theta = draw_feasible(rng, 7), rng.random(7)
            arms = lazy.select(reward, theta, feasible, rng=rng)
            assert lazy.report.certified
            np.testing.assert_array_equal(
                arms, sa.Greedy().select(reward.uncounted, theta, feasible, rng=rng)
            )


def test_local_search_leaves_no_swap_that_helps():
    rng, reward = (
        np.random.default_rng(7),
        sa.CoverageReward(np.random.default_rng(1).random((7, 4))),
    )
    for _ in range(20):
        feasible, theta, oracle = (
            draw_feasible(rng, 7),
            rng.random(7),
            sa.LocalSearch(sa.oracles.RandomSets()),
        )
        arms = oracle.select(reward, theta, feasible, rng=rng)
        assert oracle.report.certified
        near = [
            one
            for one in feasible.sets()
            if len(one) == len(arms) and len(np.intersect1d(one, arms)) == len(arms) - 1
        ]
        assert all(reward(one, theta[one]) <= reward(arms, theta[arms]) + 1e-9 for one in near)


class Listening(sa.LinearReward):
    """Records which arms were evaluated."""

    def batch(self, pools, theta):
        self.heard.update(pools.members.tolist())
        return super().batch(pools, theta)


@pytest.mark.parametrize(
    "make", [sa.Singletons, sa.LazySingletons, sa.Greedy, sa.LazyGreedy, sa.LocalSearch]
)
def test_arms_that_are_not_available_are_not_evaluated(make):
    rng, reward = np.random.default_rng(8), Listening(20)
    reward.heard = set()
    for _ in range(10):
        reward.heard.clear()
        here = rng.random(20) < 0.6
        arms = make().select(reward, rng.random(20), Feasible(3, available=here), rng=rng)
        assert here[arms].all()
        assert here[list(reward.heard)].all()


@pytest.mark.parametrize("name", [name for name in parts.BUDGETED if name not in parts.PLAIN_K])
def test_evaluations_keep_to_a_budget_within_constraints(name):
    make, _ = parts.BUDGETED[name]
    rng = np.random.default_rng(9)
    for budget in (1, 2, 4, 9, 30):
        oracle, reward = make(budget), sa.Counted(parts.REWARDS["coverage"]())
        for _ in range(6):
            feasible, before = draw_feasible(rng, 7), reward.evaluations
            arms = oracle.select(reward, rng.random(7), feasible, rng=rng)
            assert feasible.is_feasible(arms)
            assert reward.evaluations - before <= budget


def test_top_k_draws_few_when_few_are_missing_and_by_the_same_law():
    """How often each of 4 arms that stand out is the best available.

    Two samples of 1,500 are within 4.5 standard errors; error 1 in 30,000 for the three arms.
    """
    a = np.ones(4096)
    a[:4] = 20_000, 12_000, 16_000, 14_000
    belief, reward, here = (
        sa.BetaBelief(4096, prior=(a, 1.0)),
        sa.LinearReward(4096),
        np.arange(4096) != 0,
    )
    feasible, rng = Feasible(1, available=here), np.random.default_rng(0)
    policy, n = sa.Policy(belief, sa.TopK(), reward, feasible), 1500
    few = np.bincount([policy.ask(rng=rng)[0] for _ in range(n)], minlength=4096)
    assert policy.belief.level is not None  # that is, not all were drawn
    whole = np.zeros(4096, int)
    for _ in range(n):
        theta = rng.random(4096)  # Beta(1, 1) is uniform, which is drawn much faster
        theta[:4] = rng.beta(a[:4], 1.0)
        whole[np.where(here, theta, 0).argmax()] += 1
    assert few[0] == 0
    share = (few + whole)[:4] / (2 * n)
    error = np.sqrt(2 * share * (1 - share) / n)
    assert (np.abs(few - whole)[1:4] / n < 4.5 * error[1:]).all()


def test_asks_again_when_its_answer_does_not_fit():
    rng, reward = np.random.default_rng(0), sa.Counted(sa.LinearReward(6))
    oracle = sa.oracles.Scheduled(sa.Singletons(), when=100)
    arms = oracle.select(reward, rng.random(6), Feasible(2), rng=rng)
    np.testing.assert_array_equal(
        arms, oracle.select(reward, rng.random(6), Feasible(2, must=arms[:1]), rng=rng)
    )
    assert reward.evaluations == 6
    other = oracle.select(reward, rng.random(6), Feasible(2, must_not=arms[:1]), rng=rng)
    assert arms[0] not in other
    twin = sa.oracles.Scheduled(sa.Singletons(), when=100)
    twin.load(oracle.state())
    assert twin.state() == oracle.state()
    before = reward.evaluations
    twin.select(
        reward, rng.random(6), 2, rng=rng
    )  # a set within constraints is no answer to a plain k
    assert reward.evaluations > before

"""LazyGreedy decides as Greedy does, with fewer evaluations, and names wrong declarations."""

import math

import numpy as np
import pytest

import superarm as sa
from lazy_rounds import play_beside
from superarm.oracles._lazy.gains import Base, RememberedGains, pack


def rough(arms, means):
    """Submodular, but not monotone in the means: a concave function of a sum, less a cost."""
    return 3 + math.sqrt((1 + np.sin(3 * means + arms)).sum()) - 0.1 * float(means.sum())


def box(fn, lipschitz=10.0, n_arms=40, **declared):
    return sa.BlackBox(fn, n_arms=n_arms, lipschitz=lipschitz, upper=1000.0, **declared)


REWARDS = {
    "linear": lambda: sa.LinearReward(40),
    "linear, weighted": lambda: sa.LinearReward(40, weights=np.linspace(0.5, 1.5, 40)),
    "network": lambda: sa.NetworkReward.random(40, rng=np.random.default_rng(0)),
    "network, 0.1": lambda: sa.NetworkReward.random(40, std=0.1, rng=np.random.default_rng(0)),
    "any success": lambda: sa.AnySuccess(40),
    "coverage": lambda: sa.CoverageReward(np.random.default_rng(0).random((40, 9))),
    "coverage of a graph": lambda: sa.CoverageReward(
        np.random.default_rng(0).random((40, 30)) < 0.2
    ),
    "rough": lambda: box(rough),
}


def play(*args, **options):
    return play_beside(sa.Greedy(), check_round, *args, **options)


def check_round(lazy, arms, plain, expected):
    """The lazy oracle's set, order and known values are those of Greedy, and certified."""
    assert arms.tolist() == expected.tolist(), lazy
    assert lazy.report.order.tolist() == plain.report.order.tolist(), lazy
    known = ~np.isnan(lazy.report.values)
    ours, theirs = lazy.report.values[known], plain.report.values[known]
    assert (np.abs(ours - theirs) <= 1e-9 * np.abs(theirs)).all(), lazy
    assert lazy.report.certified


@pytest.mark.parametrize("name", REWARDS)
def test_every_decision_is_greedys(name):
    """With memory, without, and in batches.

    On two rewards, more rounds show that evaluations fall, and that memory saves some.
    """
    reward, long = REWARDS[name](), name in ("network", "coverage")
    options = [{}, {"n_answers": 0}, {"batch": 7}]
    evaluations = play(
        reward, 250 if long else 120, [(sa.LazyGreedy(**o), reward) for o in options]
    )
    limit = 154 if name == "rough" else 77  # Greedy needs 154
    assert (evaluations[:, :120].mean(axis=1) < limit).all()
    if long:
        with_memory, without = evaluations[0], evaluations[1]
        assert with_memory[-100:].mean() < with_memory[:20].mean() / 2
        assert with_memory.sum() < without.sum()


@pytest.mark.parametrize("k", [1, 2, 39, 40])
def test_every_size_of_set(k):
    reward = REWARDS["coverage"]()
    play(reward, 5, [(sa.LazyGreedy(), reward)], k=k)


def test_declaring_diminishing_pays():
    network = REWARDS["network"]()
    declared = {
        "n_arms": 40,
        "lipschitz": network.lipschitz,
        "upper": network.upper,
        "zero_is_absent": True,
    }
    boxes = [sa.BlackBox(network, **declared, diminishing=d) for d in (True, False)]
    with_it, without = play(network, 100, [(sa.LazyGreedy(), box) for box in boxes]).sum(axis=1)
    assert with_it < without


def test_equal_arms_are_chosen_alike():
    """Each of 6 equal arms is in with probability 1/3: 5 standard errors, error 6e-7 each."""
    oracle, rng, n = sa.LazyGreedy(), np.random.default_rng(0), 600
    reward = sa.AnySuccess(6)
    counts = np.bincount(
        np.ravel([oracle.select(reward, np.full(6, 0.3), 2, rng=rng) for _ in range(n)]),
        minlength=6,
    )
    assert (np.abs(counts - n / 3) < 5 * np.sqrt(n * 2 / 9)).all()


def supermodular(arms, means):
    """Arms that help each other: two are worth more than the sum."""
    return float(np.sum(means) ** 2)


def test_a_reward_that_is_not_submodular_is_named_and_played_in_full():
    reward, lazy, plain = (
        box(supermodular, lipschitz=80.0, zero_is_absent=True),
        sa.LazyGreedy(),
        sa.Greedy(),
    )
    counted, rng = sa.Counted(reward), np.random.default_rng(0)

    def decide_as_greedy(rounds):
        for _ in range(rounds):
            theta, before = rng.random(40), counted.evaluations
            arms = lazy.select(counted, theta, 4, rng=rng)
            np.testing.assert_array_equal(arms, plain.select(reward, theta, 4, rng=rng))
            assert lazy.report.evaluations == counted.evaluations - before
            assert lazy.report.certified

    with pytest.warns(
        UserWarning, match=r"not submodular, or not lipschitz as declared: arm \d+ adds"
    ) as caught:
        decide_as_greedy(20)
    assert len(caught) == 1
    assert lazy.report.evaluations == 154


@pytest.mark.parametrize("budget", [1, 4, 9, 50, 160])
@pytest.mark.filterwarnings("ignore:the reward is not submodular")
def test_a_contradiction_within_a_budget(budget):
    counted = sa.Counted(box(supermodular, lipschitz=80.0, zero_is_absent=True))
    lazy, rng = sa.LazyGreedy(budget=budget), np.random.default_rng(0)
    for _ in range(10):
        before = counted.evaluations
        assert len(lazy.select(counted, rng.random(40), 4, rng=rng)) == 4
        assert lazy.report.evaluations == counted.evaluations - before <= budget
    assert lazy.report.certified == (budget == 160)


def test_a_wrong_claim_of_diminishing_is_given_up():
    """Submodular as a set function, but convex in the means: remembered bounds are too low."""

    def convex(arms, means):
        return float(np.sqrt(np.sum(means**4)))

    reward, lazy, plain = (
        box(convex, zero_is_absent=True, diminishing=True),
        sa.LazyGreedy(),
        sa.Greedy(),
    )
    theta, rng, differs = np.random.default_rng(1).random(40), np.random.default_rng(0), []
    walk = 0.5 + 0.5 * np.sin(
        6 * theta + np.cumsum(rng.normal(0, 0.06, (250, 40)), axis=0)
    )  # no two arms alike

    def until_found_out():
        for t in range(200):
            arms = lazy.select(reward, walk[t], 4, rng=rng)
            differs.append(not np.array_equal(arms, plain.select(reward, walk[t], 4, rng=rng)))
            if not lazy._known.diminishing:
                break

    with pytest.warns(UserWarning, match="declares diminishing, but arm") as caught:
        until_found_out()
    assert len(caught) == 1
    assert not differs[-1]  # the round in which it is found out is Greedy's
    for theta in walk[200:]:
        np.testing.assert_array_equal(
            lazy.select(reward, theta, 4, rng=rng), plain.select(reward, theta, 4, rng=rng)
        )
    assert lazy._known.submodular


def test_memory_is_bounded():
    lazy, rng, reward = sa.LazyGreedy(n_answers=3), np.random.default_rng(0), REWARDS["network"]()
    for _ in range(100):
        lazy.select(reward, rng.random(40), 4, rng=rng)
        assert sum(len(base.arms) for base in lazy._known.gains.bases) <= 3 * 40


def test_what_was_of_use_longest_ago_is_forgotten_first():
    memory, bases = (
        RememberedGains(5),
        [Base(np.array([i]), np.array([0.5]), 1.0) for i in range(3)],
    )
    for base in bases:
        base.add(np.array([7, 8]), np.array([0.1, 0.2]), np.array([1.1, 1.2]))
    memory.use(bases[0])
    memory.use(bases[1])
    memory.use(bases[0])
    memory.use(bases[2])
    assert memory.bases == [bases[0], bases[2]]
    assert memory.within(np.array([0, 5])) == [bases[0]]


@pytest.mark.parametrize("name", [name for name in REWARDS if name != "rough"])
def test_bounds_hold_at_other_means_and_for_larger_sets(name):
    reward, rng = REWARDS[name](), np.random.default_rng(0)
    lipschitz = np.broadcast_to(reward.lipschitz, 40)
    for _ in range(60):
        old, new = rng.random(40) * (rng.random(40) < 0.9), rng.random(40)
        size = int(rng.integers(0, 4))
        base, arms = np.arange(size), np.arange(5, 40)
        known = Base(base, old[base], reward(base, old[base]))
        known.add(arms, old[arms], reward.batch(sa.Pools.extensions(base, arms, 40), old))
        larger = np.arange(int(rng.integers(size, 5)))
        adds = reward.batch(sa.Pools.extensions(larger, arms, 40), new) - reward(
            larger, new[larger]
        )
        for diminishing in (True, False):
            worth = reward(base, known.where(new, diminishing=diminishing))
            assert (
                adds <= known.upper(new, lipschitz, worth, diminishing=diminishing) + 1e-9
            ).all()


def test_packing_keeps_to_its_limit_and_leaves_nobody_out():
    expected = np.random.default_rng(0).random(50)
    groups = pack(np.arange(50), expected, 1.0)
    assert sorted(np.concatenate(groups)) == list(range(50))
    assert all(expected[group].sum() <= 1.0 + 1e-12 for group in groups)


def test_local_search_may_start_with_it_and_keeps_the_best_set_seen():
    network = sa.NetworkReward.random(40, std=2.0, rng=np.random.default_rng(0))
    for budget in (3, 10, 40, 100, 400):
        seen, rng = [], np.random.default_rng(1)

        def watch(arms, means, seen=seen):
            value = network(arms, means)
            seen.append((len(arms), value))
            return value

        reward = sa.BlackBox(
            watch, n_arms=40, lipschitz=network.lipschitz, upper=network.upper, zero_is_absent=True
        )
        oracle = sa.LocalSearch(sa.LazyGreedy(budget=budget // 2), budget=budget)
        theta = rng.random(40)
        arms = oracle.select(reward, theta, 4, rng=rng)
        assert len(seen) <= budget
        assert network(arms, theta[arms]) == pytest.approx(
            max([v for n, v in seen if n == 4], default=0.0)
        )


@pytest.mark.parametrize(
    "options", [{"n_points": 3}, {"n_answers": -1}, {"batch": 0}, {"budget": 0}]
)
def test_refuses(options):
    with pytest.raises((ValueError, TypeError)):
        sa.LazyGreedy(**options)

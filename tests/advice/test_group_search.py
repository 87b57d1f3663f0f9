"""The search for arms that interact: planted groups are found, and nothing else is."""

import itertools
import math

import numpy as np
import pytest

import superarm as sa
from spoiled_rewards import box, total
from superarm.advice.pair_tables import candidates, n_among, positive

BUDGET = 3_000


def planted(n_arms, group, bonus, base=total, **declared):
    """A reward with a bonus if all arms of a group are in the set."""

    def fn(arms, means):
        return base(arms, means) + (bonus if np.isin(group, arms).all() else 0.0)

    return box(fn, n_arms=n_arms, lipschitz=2.0, upper=n_arms + 2 * abs(bonus) + 1, **declared)


def inspected(reward, k, seed, budget=BUDGET):
    return sa.inspect(reward, k=k, budget=budget, rng=np.random.default_rng(seed))


def root(arms, means):
    return float(np.sqrt(0.1 + means.sum()))


@pytest.mark.parametrize(
    ("n_arms", "size", "base"), [(40, 2, total), (40, 3, total), (300, 2, total), (40, 2, root)]
)
def test_a_planted_group_is_found(n_arms, size, base):
    """By sums, or pair by pair where most arms interact: then not three arms, and not of 300."""
    for seed in range(4):
        group = np.sort(np.random.default_rng(seed + 9).choice(n_arms, size, replace=False))
        found = inspected(planted(n_arms, group, 5.0, base), 5, seed)
        assert [one.arms for one in found.groups.found] == [tuple(group.tolist())], str(found)
        assert found.groups.n_pairs == found.groups.of_pairs == math.comb(n_arms, 2)
        assert found.groups.by_sums == (base is total)
        assert found["separable"].verdict == "fails"
        assert found.recommendation.oracle == "LocalSearch"
        (one,) = found.groups.found
        means = np.array(one.means)
        assert one.together == pytest.approx(base(group, means) + 5)
        assert one.alone == pytest.approx([base(group[:1], means[[j]]) for j in range(size)])
        assert str(one) in " ".join(found.recommendation.warnings)
        assert "LazySingletons" not in " ".join(found.recommendation.suggestions)


def test_the_best_two_arms_are_found_together():
    """No partner is worth more alone than they are, so that no order of values is violated."""
    weights = np.ones(40)
    weights[[26, 32]] = 1.5  # at the high means of the search, the best two

    def heavy(arms, means):
        return root(arms, weights[arms] * means)

    found = inspected(planted(40, [26, 32], 5.0, heavy), 5, 0)
    assert [one.arms for one in found.groups.found] == [(26, 32)]


@pytest.mark.parametrize("n_groups", [2, 3, 5])
def test_groups_are_those_that_all_pairs_show(n_groups):
    """Up to three by sums, and more pair by pair: as a look at every pair finds them."""
    order = np.random.default_rng(n_groups).permutation(40)
    groups = [tuple(sorted(order[2 * j : 2 * j + 2].tolist())) for j in range(n_groups)]

    def fn(arms, means):
        return float(means.sum() + sum(4.0 for group in groups if np.isin(group, arms).all()))

    reward = box(fn, n_arms=40, upper=70.0)
    search = inspected(reward, 5, 0).groups
    ones = np.ones(40)
    slow = {
        pair
        for pair in itertools.combinations(range(40), 2)
        if abs(reward(pair, ones[:2]) - 2) > 1e-9
    }
    assert slow == set(groups)
    assert {one.arms for one in search.found} == slow
    assert search.by_sums == (n_groups <= 3)


def test_auto_tries_the_group_that_was_found():
    """The sets of its oracle are the best ones, which those of a plain local search are not."""
    reward, rng = planted(40, [3, 17], 5.0), np.random.default_rng(0)
    with pytest.warns(UserWarning, match="arms 3 and 17 are worth"):
        policy = sa.auto(reward, 5, budget=BUDGET)
    assert policy.oracle.groups == ((3, 17),)
    assert "LocalSearch(groups=[(3, 17)])" in str(inspected(reward, 5, 0))
    n_plain = 0
    for _ in range(20):
        theta = rng.random(40)
        others = np.sort(np.delete(theta, [3, 17]))[-3:]
        best = theta[[3, 17]].sum() + others.sum() + 5
        picked, plain = (
            oracle.select(reward, theta, 5, rng=rng) for oracle in (policy.oracle, sa.LocalSearch())
        )
        assert reward(picked, theta[picked]) == pytest.approx(best)
        n_plain += reward(plain, theta[plain]) > best - 1e-9
    assert n_plain < 15


def test_arms_that_are_worth_less_together_are_found():
    """The two best of 40 arms are the same thing twice: no complement, so greedy is right."""
    weights = np.full(40, 0.5)
    weights[[7, 19]] = 2.0

    def twins(arms, means):
        worth = dict(zip(arms.tolist(), (weights[arms] * means).tolist(), strict=True))
        return float(sum(worth.values()) - min(worth.get(7, 0.0), worth.get(19, 0.0)))

    for seed in range(6):
        found = inspected(box(twins, n_arms=40, lipschitz=weights, upper=24.0), 3, seed)
        assert found.recommendation.oracle == "LazyGreedy"
        # Random probes may have found out already.
        assert {one.arms for one in found.groups.found} <= {(7, 19)}


def test_few_sets_are_evaluated_and_a_false_declaration_is_an_error():
    found = inspected(planted(16, [2, 9], 5.0), 3, 0)
    assert (found.recommendation.oracle, found.recommendation.evaluations) == ("Exhaustive", 560)
    declared = planted(40, [2, 9], 5.0)
    declared.additive = True
    found = inspected(declared, 5, 0)
    assert "additive" in [row.name for row in found.errors]
    assert found.recommendation.oracle != "TopK"


SEPARABLE = {
    "additive": lambda rng: sa.LinearReward(30),
    "weighted": lambda rng: weighted(0.2 + rng.random(30)),
    "any success": lambda rng: sa.AnySuccess(30),
    "root": lambda rng: box(root, n_arms=30, upper=6.0, lipschitz=1.6),
    "best": lambda rng: box(lambda arms, means: float(max(means, default=0.0)), n_arms=30),
    "product": lambda rng: box(lambda arms, means: float(np.exp(means.sum() / 9)), n_arms=30),
    "coverage": lambda rng: sa.CoverageReward(rng.random((30, 6)) ** 3),
}


def weighted(weights):
    fn = lambda arms, means: float(weights[arms] @ means)  # noqa: E731
    return box(fn, n_arms=len(weights), lipschitz=weights, upper=weights.sum())


@pytest.mark.parametrize("name", SEPARABLE)
def test_nothing_is_found_where_nothing_is(name):
    """Exact: in these rewards no set is better than the arms worth most alone, or no arm adds
    more to a larger set, so that an alarm would be an error of the program."""
    for seed in range(3):
        found = inspected(SEPARABLE[name](np.random.default_rng(seed)), 3, seed)
        assert found.groups.found == ()
        assert found.groups.n_pairs == 435
        assert found.groups.excluded < 1e-6
        assert "435 of 435 pairs of arms searched for interactions" in str(found)
        assert not any("interact" in line for line in found.recommendation.warnings)


@pytest.mark.parametrize("base", [total, root])
def test_noise_is_no_interaction(base):
    """A group is tested by new evaluations, with an error of 1e-5 per comparison if the noise is
    normal. At most 8 groups are tested per run, in two comparisons, so that one of 8 runs has a
    false alarm with probability below 0.1%. A bonus of 50 times the noise is found."""
    for seed in range(4):
        rng = np.random.default_rng(seed)

        def noisy(arms, means, rng=rng):
            return 2 + base(arms, means) + 0.01 * rng.standard_normal()

        clean = inspected(planted(30, [3, 4], 0.0, noisy, noisy=True), 3, seed, 1_500)
        assert clean.groups.found == ()
        assert clean.groups.n_pairs == 435
        assert clean.groups.excluded > 0.01
        loud = inspected(planted(30, [3, 4], 1.0, noisy, noisy=True), 3, seed, 1_500)
        assert [one.arms for one in loud.groups.found].count((3, 4)) == 1
        assert all(one.arms == tuple(sorted(one.arms)) for one in loud.groups.found)
        assert loud.recommendation.oracle == "NoisyLocalSearch"
        assert (3, 4) in loud.recommendation.groups
        assert "start=LocalSearch(Singletons(), groups=[" in str(loud)


def test_small_budgets_pay_nothing():
    """The same evaluations as an inspection without the search, and no search."""
    small, large = (inspected(planted(40, [3, 4], 5.0), 5, 1, n) for n in (850, BUDGET))
    assert small.groups is None
    assert small.recommendation.oracle == "LazySingletons"
    assert large.evaluations > small.evaluations
    assert large["lipschitz"] == small["lipschitz"]


def test_a_failing_reward_is_no_interaction():
    def fails(arms, means):
        return float(means.sum()) if len(arms) < 30 else math.nan

    found = inspected(box(fails, n_arms=40, upper=40.0), 3, 0)
    assert found.groups is None


def slow_candidates(table, alone):
    """Every pair, by how much both arms exceed what a partner of at least that worth gives."""
    n, above, below, largest = len(alone), {}, {}, 0.0
    for i, j in itertools.combinations(range(n), 2):
        sides = [(i, j), (j, i)]
        more = [
            max(table[a, b] - table[a, c] for c in range(n) if c != a and alone[c] >= alone[b])
            for a, b in sides
        ]
        less = [
            max(table[a, c] - table[a, b] for c in range(n) if c != a and alone[c] <= alone[b])
            for a, b in sides
        ]
        above[i, j], below[i, j] = sum(more), sum(less)
        largest = max(largest, *more, *less)
    return above, below, largest


def test_pairs_that_stand_out_are_those_of_the_definition():
    rng = np.random.default_rng(3)
    for _ in range(20):
        n = int(rng.integers(3, 9))
        alone, table = rng.random(n), rng.random((n, n))
        table = table + table.T
        np.fill_diagonal(table, np.nan)
        above, below, most = slow_candidates(table, alone)
        if not max(above.values()) > 0 < max(below.values()):
            continue
        pairs, largest = candidates(table, alone, 1)
        assert pairs[0] == max(above, key=above.get)
        assert set(pairs) == {pairs[0], max(below, key=below.get)}
        assert largest == pytest.approx(most)
    extra = np.ones((5, 5))  # every pair: no pair stands out, and one is evidence enough
    assert positive(extra) == ([(0, 1)], 1.0)
    assert positive(-extra) == ([], 0.0)
    for n_pairs in range(40):
        most = max(n for n in range(1, 10) if math.comb(n, 2) <= n_pairs)
        assert n_among(n_pairs, 9) == most

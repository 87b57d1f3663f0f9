"""Local search with groups of arms that enter the set together."""

import numpy as np
import pytest

import superarm as sa


def partners(n_arms=12):
    """Arms are worth something with their partner only."""

    def fn(arms, means):
        mean = dict(zip(arms.tolist(), means.tolist(), strict=True))
        both = sum(x * mean.get(arm ^ 1, 0.0) for arm, x in mean.items())
        return float(both + 1e-3 * means.sum())

    return sa.BlackBox(fn, n_arms=n_arms, lipschitz=2.1, upper=n_arms + 1.0)


GROUPS = [(arm, arm + 1) for arm in range(0, 12, 2)]


def slow_start(reward, theta, k, start, groups):
    """Group after group, each set built arm by arm."""

    def filled(members):
        rest = sorted((a for a in start if a not in members), key=lambda a: -theta[a])
        rest += sorted(
            (a for a in range(len(theta)) if a not in members and a not in start),
            key=lambda a: -theta[a],
        )
        return sorted([*members, *rest[: k - len(members)]])

    best, seen = sorted(start), {tuple(sorted(start))}
    while True:
        kept = [group for group in groups if set(group) <= set(best)]
        options = []
        for out in [None, *kept]:
            for group in groups:
                parts = [*(one for one in kept if one != out), group]
                members = {arm for one in parts for arm in one}
                if group not in kept and len(members) <= k:
                    options.append(filled(members))
        sets = [arms for arms in options if tuple(arms) not in seen]
        seen.update(map(tuple, sets))
        values = [reward(arms, theta[arms]) for arms in sets]
        if not sets or max(values) <= reward(best, theta[best]) + 1e-12:
            return best, len(seen)
        best = sets[int(np.argmax(values))]


@pytest.mark.parametrize("k", [2, 4, 5])
def test_the_start_is_that_of_the_slow_search(k):
    """It is the best set, mostly: swaps of one arm add the others."""
    reward, rng, n_best, n_plain = sa.Counted(partners()), np.random.default_rng(k), 0, 0
    for _ in range(10):
        theta = rng.random(12)
        first = sa.Singletons().select(reward, theta, k, rng=rng)
        expected, n = slow_start(partners(), theta, k, first.tolist(), GROUPS)
        oracle = sa.LocalSearch(sa.Singletons(), groups=GROUPS)
        before = reward.evaluations
        picked = oracle.select(reward, theta, k, rng=rng)
        assert oracle.report.start.tolist() == expected
        assert oracle.report.evaluations == reward.evaluations - before >= 12 + n
        assert oracle.report.value == pytest.approx(reward(picked, theta[picked]))
        exact = sa.Exhaustive().select(partners(), theta, k, rng=rng)
        plain = sa.LocalSearch(sa.Singletons()).select(partners(), theta, k, rng=rng)
        n_best += picked.tolist() == exact.tolist()
        n_plain += plain.tolist() == exact.tolist()
    assert n_best >= 9
    assert n_plain < n_best


def test_a_budget_is_kept_and_groups_that_do_not_fit_are_left_out():
    reward, rng = sa.Counted(partners()), np.random.default_rng(0)
    for budget in (1, 13, 14, 16, 30):
        before = reward.evaluations
        start = sa.Singletons(budget=budget)
        oracle = sa.LocalSearch(start, budget=budget, groups=[*GROUPS, range(6)])
        assert len(oracle.select(reward, rng.random(12), 4, rng=rng)) == 4
        assert reward.evaluations - before == oracle.report.evaluations <= budget
    sets = sa.Feasible(3, groups=[sa.Group(range(6), most=1)], n_arms=12)
    picked = sa.LocalSearch(groups=GROUPS).select(partners(), rng.random(12), sets, rng=rng)
    assert sets.is_feasible(picked)


@pytest.mark.parametrize("group", [[], [1, 1], [-1, 2], [0.5, 1], 3])
def test_groups_are_lists_of_arms(group):
    with pytest.raises(ValueError, match="groups must be lists of different arms"):
        sa.LocalSearch(groups=[group])


def test_groups_have_arms_of_the_reward():
    with pytest.raises(ValueError, match=r"below 12 \(n_arms\), got arm 12"):
        sa.LocalSearch(groups=[(3, 12)]).select(
            partners(), np.ones(12), 3, rng=np.random.default_rng(0)
        )

"""What lazy oracles compute in two ways: the faster way has the same answers, to the last bit."""

import numpy as np
import pytest

import naive
from superarm import Pools
from superarm.core.same_draws import same_draws
from superarm.oracles._lazy.gains import Base, upper_of_all
from superarm.oracles._lazy.single_arms import SingleArms
from superarm.oracles._lazy.stage import Stage


def filled(rng, n_arms, n_points, **declared):
    """Arms with from one to all of their points, of any values; the first arm has none."""
    known = SingleArms(rng.random(n_arms), n_points, **declared)
    for arm in range(1, n_arms):
        for x in np.round(rng.random(rng.integers(1, n_points + 3)), 2):
            known.add(arm, float(x), float(rng.normal()))
    return known


@pytest.mark.parametrize("monotone", [True, False])
@pytest.mark.parametrize("concave", [True, False])
@pytest.mark.parametrize("chords", [True, False])
def test_bounds_of_all_arms_are_those_of_each(monotone, concave, chords):
    rng, options = np.random.default_rng(0), {"least": -7.0, "most": 9.0, "chords": chords}
    declared = {"monotone": monotone, "concave": concave}
    for _ in range(20):
        known = filled(rng, 40, 6, **declared)
        theta = np.round(rng.random(40), 2)
        theta[1] = known.x[0, 1]  # a mean that was evaluated
        many = known.bounds(theta, **options)
        assert [bound[0] for bound in many] == [-7.0, 9.0]
        assert [bound[1] for bound in many] == [known.f[0, 1]] * 2
        some = rng.permutation(40)[:12]
        few = known.bounds(theta[some], some, **options)
        np.testing.assert_array_equal(few, [bound[some] for bound in many])
        for arm in range(1, 40):
            x, f = (points[: known.n[arm], arm].tolist() for points in (known.x, known.f))
            b, shape = known.lipschitz[arm], {"monotone": monotone, "concave": concave and chords}
            expected = naive.bounds_of_arm(theta[arm], b, x, f, **shape)
            assert (many[0][arm], many[1][arm]) == expected


@pytest.mark.parametrize("n_arms", [2, 20])
def test_more_points_than_a_byte_can_count(n_arms):
    """Bounds of few arms are computed in plain numbers, and those of many arms in arrays."""
    rng = np.random.default_rng(1)
    known = SingleArms(np.ones(n_arms), 300, monotone=False, concave=False)
    for x in rng.permutation(300) / 300:
        known.add(0, float(x), float(x))
    lower, upper = known.bounds(np.full(n_arms, 0.9))
    assert (lower[0], upper[0]) == (0.9, 0.9)


@pytest.mark.parametrize("n_base", [1, 4, 20])
def test_sets_with_one_more_arm_are_groups_of_one(n_base):
    rng = np.random.default_rng(1)
    theta, order = rng.random(50), rng.permutation(50)
    base, arms = np.sort(order[:n_base]), order[n_base : n_base + 9]
    stage = Stage(base, 1.0, theta, theta, theta.copy(), np.zeros(50, bool))
    each, groups = stage.with_each(arms), stage.with_groups(arms, np.ones(9, np.intp))
    np.testing.assert_array_equal(each.members, groups.members)
    np.testing.assert_array_equal(each.offsets, groups.offsets)
    np.testing.assert_array_equal(each.dense(), Pools.extensions(base, arms, 50).dense())


@pytest.mark.parametrize("size", [1, 2, 7, 16])
@pytest.mark.parametrize("n_columns", [1, 2, 20])
def test_small_sets_are_summed_in_the_order_of_the_sparse_product(size, n_columns):
    """Few sets are summed at once and many place by place."""
    rng = np.random.default_rng(2)
    values = rng.normal(size=(60, n_columns)) * 10.0 ** rng.integers(-5, 5, (60, n_columns))
    for n_pools in (1, 3, 40, 3000):
        rows = [np.sort(rng.choice(60, size, replace=False)) for _ in range(n_pools)]
        pools = Pools.of(rows, 60)
        np.testing.assert_array_equal(pools.sum(values), pools._csr @ values)


def test_the_same_draws_are_those_of_a_new_generator():
    for _ in range(2):
        rng, new = same_draws(), np.random.default_rng(0)
        assert rng.permutation(9).tolist() == new.permutation(9).tolist()
        assert rng.integers(7, size=3).tolist() == new.integers(7, size=3).tolist()
        assert rng.random() == new.random()


@pytest.mark.parametrize("diminishing", [True, False])
@pytest.mark.parametrize("at_zero", [True, False])
def test_bounds_by_all_bases_are_those_by_each(diminishing, at_zero):
    rng = np.random.default_rng(3)
    theta, lipschitz, bases = rng.random(30), rng.random(30), []
    for size in (1, 2, 3, 5):
        base = Base(np.arange(size), rng.random(size), float(rng.random()))
        for n_answers in (4, 3):  # of arms that may occur more than once
            x = rng.random(n_answers) * (rng.random(n_answers) < (0.6 if at_zero else 2))
            base.add(rng.integers(5, 30, n_answers), x, 2 * rng.random(n_answers))
        bases.append(base)
    each = [base.upper(theta, lipschitz, base.value, diminishing=diminishing) for base in bases]
    np.testing.assert_array_equal(
        upper_of_all(bases, theta, lipschitz, diminishing=diminishing), np.concatenate(each)
    )

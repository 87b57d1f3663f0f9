import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import stats

import naive
from superarm import Pools, _bits

MATRICES = hnp.arrays(np.uint8, st.tuples(st.integers(0, 21), st.integers(1, 21)), elements=st.integers(0, 1))


def of_matrix(matrix, *, packed):
    """The same pools, held as CSR or as bits."""
    pools = Pools.of([np.flatnonzero(row) for row in matrix], matrix.shape[1])
    if packed:
        pools = Pools._packed(np.packbits(matrix, axis=0, bitorder="little"), *matrix.shape)
    return pools


@given(MATRICES, st.booleans())
def test_holds_the_sets_it_was_given(matrix, packed):
    pools = of_matrix(matrix, packed=packed)
    assert len(pools) == len(matrix)
    np.testing.assert_array_equal(pools.dense(), matrix)
    np.testing.assert_array_equal(pools.sizes, matrix.sum(axis=1))
    assert [arms.tolist() for arms in pools] == [np.flatnonzero(row).tolist() for row in matrix]
    again = Pools(pools.members, pools.offsets, pools.n_arms)
    np.testing.assert_array_equal(again.dense(), matrix)


@given(MATRICES, st.booleans(), st.integers(0, 2**32))
def test_products_equal_the_dense_ones(matrix, packed, seed):
    rng = np.random.default_rng(seed)
    pools = of_matrix(matrix, packed=packed)
    values, table, scores = rng.random(matrix.shape[1]), rng.random((matrix.shape[1], 3)), rng.random(len(matrix))
    np.testing.assert_allclose(pools.sum(values), matrix @ values, atol=1e-12)
    np.testing.assert_allclose(pools.sum(table), matrix @ table, atol=1e-12)
    np.testing.assert_allclose(pools.sum_by_arm(scores), matrix.T @ scores, atol=1e-12)


@given(MATRICES, st.integers(0, 2**32))
def test_compact_pools_are_the_same_pools(matrix, seed):
    theta = np.random.default_rng(seed).random(matrix.shape[1])
    arms, pools = of_matrix(matrix, packed=False).compact()
    np.testing.assert_allclose(pools.sum(theta[arms]), matrix @ theta)


@given(MATRICES, st.booleans(), st.booleans())
def test_join(matrix, packed, packed_other):
    other = 1 - matrix
    both = of_matrix(matrix, packed=packed).join(of_matrix(other, packed=packed_other))
    np.testing.assert_array_equal(both.dense(), np.vstack([matrix, other]))


@given(st.integers(1, 30), st.data())
def test_singletons_and_extensions(n_arms, data):
    order = data.draw(st.permutations(range(n_arms)))
    cut = data.draw(st.integers(0, n_arms))
    base, arms = order[:cut], order[cut:]
    np.testing.assert_array_equal(Pools.singletons(arms, n_arms).dense(), naive.dense([[i] for i in arms], n_arms))
    extended = naive.dense([[*base, i] for i in arms], n_arms)
    np.testing.assert_array_equal(Pools.extensions(base, arms, n_arms).dense(), extended)


def test_singleton_sums_are_the_values_bit_for_bit():
    theta = np.random.default_rng(0).random(1000)
    np.testing.assert_array_equal(Pools.singletons(np.arange(1000), 1000).sum(theta), theta)


@pytest.mark.parametrize("p", [0.5, 2 / 3, 0.1, 1 / 64, 0.015, 0.004, 0.25, 0.99])
def test_random_tests_have_the_right_law(p):
    """Each cell is Bern(p), and cells are uncorrelated along rows and columns: z-scores within 6.

    Pairs of cells are rare at p = 0.004 (about 32 in 2,000,000), so their count is near a Poisson one: error below
    1e-5 for each of its statistics, and below 1e-8 for the others.
    """
    n, m = 1000, 2001
    cells = Pools.random(n, m, p, rng=np.random.default_rng(1)).dense().astype(float)
    std = np.sqrt(p * (1 - p))
    assert abs(cells.mean() - p) < 6 * std / np.sqrt(n * m)
    centred = cells - p
    for lag in (1, 2, 7, 8, 64):
        along = (centred[:, lag:] * centred[:, :-lag]).mean()
        across = (centred[lag:] * centred[:-lag]).mean()
        assert abs(along) < 6 * std**2 / np.sqrt(n * (m - lag)), lag
        assert abs(across) < 6 * std**2 / np.sqrt((n - lag) * m), lag
    # The spread: sizes of tests, and of arms' memberships, are binomial; a chi-square test of the variance, error 1e-6.
    for sums, trials in ((cells.sum(axis=1), m), (cells.sum(axis=0), n)):
        statistic = ((sums - trials * p) ** 2).sum() / (trials * p * (1 - p))
        low, high = stats.chi2.ppf([5e-7, 1 - 5e-7], len(sums))
        assert low < statistic < high


def test_the_undecided_byte_is_decided_by_the_rest_of_p():
    """p = 1.25 / 256: a byte alone would give 1 / 256 or 2 / 256. Within 5 standard errors: error 6e-7."""
    p, n = 1.25 / 256, 2_000_000
    ones = _bits.row_counts(_bits.draw(1, n, p, rng=np.random.default_rng(0)), 1)[0]
    assert abs(ones - n * p) < 5 * np.sqrt(n * p)


@pytest.mark.parametrize(("p", "expected"), [(0.0, 0), (1.0, 35)])
def test_certain_tests(p, expected):
    assert Pools.random(5, 7, p, rng=np.random.default_rng(0)).sizes.sum() == expected


@pytest.mark.parametrize("p", [1e-300, 1e-12, 0.01, 0.5, 0.7])
@pytest.mark.parametrize("n_tests", [0, 1, 3])
def test_few_or_no_tests(p, n_tests):
    pools = Pools.random(n_tests, 3, p, rng=np.random.default_rng(0))
    assert len(pools) == n_tests
    assert pools.dense().shape == (n_tests, 3)
    assert pools.sum(np.ones(3)).shape == (n_tests,)
    assert pools.sum_by_arm(np.ones(n_tests)).shape == (3,)


def test_small_p_never_builds_the_matrix(monkeypatch):
    def refuse(*args, **kwargs):
        raise AssertionError("the dense matrix was built")

    monkeypatch.setattr(_bits, "draw", refuse)
    monkeypatch.setattr(Pools, "dense", refuse)
    pools = Pools.random(302, 5000, 5 / 5000, rng=np.random.default_rng(0))
    assert len(pools.members) < 3000
    assert pools.sum_by_arm(pools.sum(np.ones(5000))).shape == (5000,)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: Pools([0, 1], [0, 3], 5), "offsets must rise from 0 to 2"),
        (lambda: Pools([0, 1], [1, 2], 5), "offsets must rise"),
        (lambda: Pools([0, 1], [0, 2, 1, 2], 5), "offsets must rise"),
        (lambda: Pools([0, 1], [], 5), "offsets must rise"),
        (lambda: Pools([0, 1, 2, 3], np.array([0, 3, 1, 4], np.uint64), 5), "offsets must rise"),
        (lambda: Pools([1, 0], [0, 2], 5), "ascend within a pool"),
        (lambda: Pools([1, 1], [0, 2], 5), "ascend within a pool"),
        (lambda: Pools([0, 5], [0, 2], 5), "between 0 and 4"),
        (lambda: Pools([-1], [0, 1], 5), "between 0 and 4"),
        (lambda: Pools([0.5], [0, 1], 5), "whole numbers"),
        (lambda: Pools.of([[0, 0]], 5), "distinct"),
        (lambda: Pools.of([[5]], 5), "between 0 and 4"),
        (lambda: Pools.of([], 0), "at least 1"),
        (lambda: Pools.extensions([0, 1], [1], 5), "in base already"),
        (lambda: Pools.random(-1, 5, 0.5, rng=np.random.default_rng(0)), "at least 0"),
        (lambda: Pools.random(1, 5, 1.5, rng=np.random.default_rng(0)), "p must be in"),
        (lambda: Pools.random(1, 5, float("nan"), rng=np.random.default_rng(0)), "p must be in"),
        (lambda: Pools.of([[0]], 5).sum(np.ones(4)), "values must have shape"),
        (lambda: Pools.of([[0]], 5).sum_by_arm(np.ones(2)), "scores must have shape"),
        (lambda: Pools.of([[0]], 5).join(Pools.of([[0]], 4)), "same arms"),
        (lambda: Pools.singletons(np.array([2**63 + 1], np.uint64), 5), "between 0 and 4"),
    ],
)
def test_refuses(call, says):
    with pytest.raises((ValueError, TypeError), match=says):
        call()


def test_indexing_like_a_sequence():
    pools = Pools.of([[0], [1, 2]], 3)
    assert pools[-1].tolist() == [1, 2]
    with pytest.raises(IndexError):
        pools[2]
    assert repr(pools) == "Pools(2 pools of 3 arms, 3 members)"

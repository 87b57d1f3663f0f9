import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import stats

import naive
from superarm import Pools
from superarm.core import _bits
from superarm.core._members import numbered
from superarm.core.pools import random_cells

MATRICES = hnp.arrays(
    np.uint8, st.tuples(st.integers(0, 21), st.integers(1, 21)), elements=st.integers(0, 1)
)


FORMS = st.sampled_from(["lists", "bits", "cells"])


def of_matrix(matrix, form):
    """The same pools, stored as CSR, as bits, or as random pools with a small p."""
    if form == "bits":
        return Pools._packed(np.packbits(matrix, axis=0, bitorder="little"), *matrix.shape)
    if form == "cells":
        return Pools._of_cells(np.flatnonzero(matrix), *matrix.shape)
    return Pools.of([np.flatnonzero(row) for row in matrix], matrix.shape[1])


@given(MATRICES, FORMS)
def test_holds_the_sets_it_was_given(matrix, form):
    pools = of_matrix(matrix, form)
    assert len(pools) == len(matrix)
    np.testing.assert_array_equal(pools.dense(), matrix)
    np.testing.assert_array_equal(pools.sizes, matrix.sum(axis=1))
    assert [arms.tolist() for arms in pools] == [np.flatnonzero(row).tolist() for row in matrix]
    again = Pools(pools.members, pools.offsets, pools.n_arms)
    np.testing.assert_array_equal(again.dense(), matrix)


@given(MATRICES, FORMS, st.integers(0, 2**32))
def test_products_equal_the_dense_ones(matrix, form, seed):
    rng = np.random.default_rng(seed)
    pools = of_matrix(matrix, form)
    values, table, scores = (
        rng.random(matrix.shape[1]),
        rng.random((matrix.shape[1], 3)),
        rng.random(len(matrix)),
    )
    np.testing.assert_allclose(pools.sum(values), matrix @ values, atol=1e-12)
    np.testing.assert_allclose(pools.sum(table), matrix @ table, atol=1e-12)
    np.testing.assert_allclose(pools.sum_by_arm(scores), matrix.T @ scores, atol=1e-12)
    assert pools.sum(values).dtype == pools.sum_by_arm(scores).dtype == np.float64
    if form != "bits":
        assert pools.depth == matrix.sum(axis=0).max(initial=0)


@given(MATRICES, FORMS, st.integers(0, 2**32))
def test_compact_pools_are_the_same_pools(matrix, form, seed):
    theta = np.random.default_rng(seed).random(matrix.shape[1])
    arms, pools = of_matrix(matrix, form).compact()
    np.testing.assert_allclose(pools.sum(theta[arms]), matrix @ theta)


@pytest.mark.parametrize("n_arms", [8, 300, 100_000])
def test_arms_that_occur_are_numbered(n_arms):
    """By marks where most arms occur, and by sorting where few do."""
    members = np.random.default_rng(0).integers(0, n_arms, 50)
    for found, expected in zip(
        numbered(members, n_arms), np.unique(members, return_inverse=True), strict=True
    ):
        np.testing.assert_array_equal(found, expected)


@given(MATRICES, FORMS, FORMS)
def test_join(matrix, form, other_form):
    other = 1 - matrix
    both = of_matrix(matrix, form).join(of_matrix(other, other_form))
    np.testing.assert_array_equal(both.dense(), np.vstack([matrix, other]))
    three = of_matrix(matrix, form).join(both, of_matrix(matrix, form))
    np.testing.assert_array_equal(three.dense(), np.vstack([matrix, matrix, other, matrix]))


@given(st.integers(1, 30), st.data())
def test_singletons_and_extensions(n_arms, data):
    order = data.draw(st.permutations(range(n_arms)))
    cut = data.draw(st.integers(0, n_arms))
    base, arms = order[:cut], order[cut:]
    np.testing.assert_array_equal(
        Pools.singletons(arms, n_arms).dense(), naive.dense([[i] for i in arms], n_arms)
    )
    extended = naive.dense([[*base, i] for i in arms], n_arms)
    np.testing.assert_array_equal(Pools.extensions(base, arms, n_arms).dense(), extended)


def test_singleton_sums_are_the_values_bit_for_bit():
    theta = np.random.default_rng(0).random(1000)
    np.testing.assert_array_equal(Pools.singletons(np.arange(1000), 1000).sum(theta), theta)


@pytest.mark.parametrize("p", [0.5, 2 / 3, 0.1, 1 / 64, 0.015, 0.004, 0.25, 0.99])
def test_random_tests_have_the_right_law(p):
    """Each cell is Bern(p), and cells are uncorrelated along rows and columns: z-scores within 6.

    Pairs of cells are rare at p = 0.004 (about 32 in 2,000,000), so their count is near a Poisson
    one: error below 1e-5 for each of its statistics, and below 1e-8 for the others.
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
    # The spread: sizes of tests, and of arms' memberships, are binomial. A chi-square test of the
    # variance, error 1e-6.
    for sums, trials in ((cells.sum(axis=1), m), (cells.sum(axis=0), n)):
        statistic = ((sums - trials * p) ** 2).sum() / (trials * p * (1 - p))
        low, high = stats.chi2.ppf([5e-7, 1 - 5e-7], len(sums))
        assert low < statistic < high


@pytest.mark.parametrize("p", [0.0, 1e-9, 1 / 64, 0.05, 0.25, 1 / 3, 0.5, 2 / 3, 0.999, 1.0])
def test_the_table_of_bytes_and_its_second_draw_have_the_law_of_eight_bits(p):
    table, n_sure, cumulated = _bits._byte_table(p)
    sure = np.bincount(table[:n_sure], minlength=256)
    shares = np.diff(cumulated, prepend=0.0)
    ones = np.array([bin(v).count("1") for v in range(256)])
    law = [p**j * (1 - p) ** (8 - j) for j in ones]
    np.testing.assert_allclose((sure + (65536 - n_sure) * shares) / 65536, law, rtol=0, atol=1e-15)
    assert 65536 - n_sure < 256


@pytest.mark.parametrize("p", [0.05, 1 / 3, 2 / 3])
def test_bytes_have_the_law_of_eight_bits(p):
    """All 256 bytes, and those of the second draw alone: chi-square tests, error 1e-6 each."""
    rng, n = np.random.default_rng(0), 2_000_000
    cumulated = _bits._byte_table(p)[2]
    ones = np.array([bin(v).count("1") for v in range(256)])
    law = p**ones * (1 - p) ** (8 - ones)
    drawn = np.bincount(_bits.draw(8, n, p, rng=rng)[0], minlength=256)
    _assert_law(drawn, law)
    second = np.searchsorted(cumulated[:-1], rng.random(n), side="right")
    left_over = law * 65536 - np.floor(law * 65536)
    _assert_law(np.bincount(second, minlength=256), left_over / left_over.sum())


def _assert_law(counts, law):
    expected = law * counts.sum()
    rare = expected < 10  # bytes too rare for the approximation count as one
    counts, expected = (
        np.append(counts[~rare], counts[rare].sum()),
        np.append(expected[~rare], expected[rare].sum()),
    )
    statistic = ((counts - expected) ** 2 / np.maximum(expected, 1e-300)).sum()
    assert statistic < stats.chi2.isf(1e-6, len(counts) - 1)


@pytest.mark.parametrize(
    ("n_cells", "p"), [(1, 0.01), (1000, 0.001), (1_510_000, 0.001), (10**12, 1e-9)]
)
def test_gaps_are_the_generators_geometric_ones(n_cells, p):
    for seed in range(20):
        expected = (n_cells + 1) * p
        drawn = int(expected + 4 * expected**0.5) + 8
        cells = np.cumsum(np.random.default_rng(seed).geometric(p, drawn)) - 1
        found = random_cells(n_cells, p, rng=np.random.default_rng(seed))
        np.testing.assert_array_equal(found[:drawn], cells[cells < n_cells])


def test_a_rate_too_small_for_division_gives_no_member():
    assert not len(Pools.random(10**6, 10**6, 5e-324, rng=np.random.default_rng(0)).members)


def test_rounding_left_to_the_second_draw():
    """p = 1.25 / 256, where a byte alone gives 1 / 256 or 2 / 256: within 5 standard errors."""
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


def test_bytes_are_those_of_whole_numbers_for_every_generator():
    """The default generator is read directly, which changes neither the draws nor what follows."""
    for source in (np.random.PCG64, np.random.MT19937, np.random.SFC64):
        ours, twin = np.random.Generator(source(3)), np.random.Generator(source(3))
        found = _bits._random_bytes(21, rng=ours)
        words = twin.integers(0, 2**64 - 1, 3, dtype=np.uint64, endpoint=True)
        assert found.tobytes() == words.astype("<u8").tobytes()[:21]
        assert ours.random() == twin.random()

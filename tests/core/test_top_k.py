"""top_k against its twin, its ties and what it refuses."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive
import superarm as sa

THETA = st.lists(st.floats(0, 1), min_size=7, max_size=7).map(np.array)


class Spy(np.random.Generator):
    """A generator that must not be used."""

    def __getattribute__(self, name):
        raise AssertionError(f"rng.{name} was used although there was no tie")


@given(THETA, st.integers(1, 7), st.integers(0, 2**32), st.sampled_from([0.0, 0.05, 0.2]))
def test_top_k_equals_its_twin(theta, k, seed, tolerance):
    found = sa.core.top_k(theta, k, rng=np.random.default_rng(seed), tolerance=tolerance)
    np.testing.assert_array_equal(
        found, naive.top_k(theta, k, rng=np.random.default_rng(seed), tolerance=tolerance)
    )


@given(
    st.integers(0, 2**32),
    st.integers(100, 3000),
    st.integers(1, 20),
    st.sampled_from(["all", "few", "same", "sparse"]),
)
def test_top_k_of_many_equals_its_twin(seed, n, k, kind):
    rng = np.random.default_rng(seed)
    values = {
        "all": lambda: rng.standard_normal(n),
        "few": lambda: rng.integers(0, 5, n).astype(float),
        "same": lambda: np.full(n, 0.5),
        "sparse": lambda: np.where(rng.random(n) < 0.01, rng.random(n), 0.0),
    }[kind]()
    found = sa.core.top_k(values, k, rng=np.random.default_rng(seed))
    np.testing.assert_array_equal(found, naive.top_k(values, k, rng=np.random.default_rng(seed)))


def test_ties_at_the_last_place_are_broken_uniformly():
    """Arms 1 to 4 tie for the second place: 4,000 draws, 5 standard errors, error 6e-7 each."""
    theta, rng, n = np.array([0.9, 0.5, 0.5, 0.5, 0.5, 0.1]), np.random.default_rng(0), 4000
    counts = np.zeros(6)
    for _ in range(n):
        counts[sa.core.top_k(theta, 2, rng=rng)] += 1
    assert counts[0] == n
    assert counts[5] == 0
    assert (np.abs(counts[1:5] - n / 4) < 5 * np.sqrt(n * 3 / 16)).all()


def test_nothing_is_drawn_for_a_tie_above_the_last_place():
    arms = sa.core.top_k(np.array([0.3, 0.9, 0.1, 0.5, 0.9]), 3, rng=Spy.__new__(Spy))
    assert arms.tolist() == [1, 3, 4]


@pytest.mark.parametrize(
    ("values", "k", "says"),
    [
        ([0.1, 0.2], 0, "k must be"),
        ([0.1, 0.2], 3, "k must be"),
        ([[0.1]], 1, "k must be"),
        ([0.1, float("nan")], 1, "NaN"),
    ],
)
def test_top_k_refuses(values, k, says):
    with pytest.raises(ValueError, match=says):
        sa.core.top_k(values, k, rng=np.random.default_rng(0))


@pytest.mark.parametrize("place", [0, 70, 2500, 4969, 4970, 4999])
def test_top_k_finds_a_nan_anywhere(place):
    values = np.random.default_rng(0).random(5000)
    values[place] = np.nan
    for k in (1, 5, 500, 5000):
        with pytest.raises(ValueError, match="NaN"):
            sa.core.top_k(values, k, rng=np.random.default_rng(0))


def test_top_k_takes_lists_and_other_numbers():
    rng = np.random.default_rng(0)
    assert sa.core.top_k([3, 1, 2], 2, rng=rng).tolist() == [0, 2]
    assert sa.core.top_k(np.array([3, 1, 2], np.uint8), 2, rng=rng).tolist() == [0, 2]

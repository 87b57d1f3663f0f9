import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import naive
from superarm import Quantizer

POSITIVE = st.floats(0.01, 10.0)


@given(POSITIVE, POSITIVE, st.floats(0.01, 20.0), st.floats(0, 1.2))
@example(0.1, 1.0, 0.3, 0.5)  # 2BM / delta is 6 up to rounding
@example(0.25, 1.0, 5.0, 1.0)
def test_equals_argmin_over_the_levels(delta, lipschitz, upper, share):
    quantizer = Quantizer(delta, lipschitz, upper)
    if quantizer.n_levels > 5000:
        return
    grid = naive.levels(delta, lipschitz, upper)
    np.testing.assert_array_equal(quantizer.levels, grid)
    assert quantizer(share * upper) == naive.quantize(share * upper, delta, lipschitz, upper)


def test_on_and_between_every_level_equals_argmin():
    for delta, lipschitz, upper in [(0.25, 1.0, 5.0), (0.3, 0.7, 2.0), (0.2, 5.5, 1.0)]:
        grid = naive.levels(delta, lipschitz, upper)
        middles = (grid[1:] + grid[:-1]) / 2
        values = np.concatenate(
            [grid, middles, np.nextafter(middles, 0), np.nextafter(middles, 9), [0.0, upper + 1]]
        )
        expected = [naive.quantize(value, delta, lipschitz, upper) for value in values]
        np.testing.assert_array_equal(Quantizer(delta, lipschitz, upper)(values), expected)


@given(POSITIVE, POSITIVE, st.floats(0.01, 20.0), st.lists(st.floats(-0.1, 1.2), max_size=5))
@example(0.25, 1.0, 5.0, [0.0, 0.2, 0.31])  # none near a tie or the end
@example(0.25, 1.0, 5.0, [0.0, 0.2, 0.9999999999])
@example(0.25, 1.0, 5.0, [0.0125 * 3, 0.2])  # halfway
def test_arrays_are_quantized_like_their_numbers(delta, lipschitz, upper, shares):
    quantizer = Quantizer(delta, lipschitz, upper)
    if quantizer.n_levels > 5000:
        return
    values = np.array(shares) * upper
    expected = [naive.quantize(value, delta, lipschitz, upper) for value in values]
    np.testing.assert_array_equal(quantizer(values), expected)


def test_zero_is_no_level_and_the_last_interval_may_be_shorter():
    quantizer = Quantizer(delta=0.5, lipschitz=1.0, upper=0.9)
    assert quantizer.levels.tolist() == [0.25, 0.5, 0.75, 0.9]
    assert quantizer(0.0) == 0.25
    assert Quantizer(delta=10.0, lipschitz=1.0, upper=0.9).levels.tolist() == [0.9]


@given(POSITIVE, POSITIVE, POSITIVE, st.floats(0, 1))
def test_answers_are_levels_within_half_a_step(delta, lipschitz, upper, share):
    quantizer = Quantizer(delta, lipschitz, upper)
    error = abs(float(quantizer(share * upper)) - share * upper)
    below_the_first = share * upper < quantizer.width
    assert (
        error <= (quantizer.width if below_the_first else quantizer.width / 2) * (1 + 1e-9)
        or quantizer.n_levels == 1
    )


def test_a_fine_quantizer_needs_no_memory():
    assert Quantizer(delta=1e-12, lipschitz=1.0, upper=1e6)(123.456) == pytest.approx(123.456)


@pytest.mark.parametrize("bad", [0, -1, float("nan"), float("inf"), "x"])
def test_refuses(bad):
    for arguments in ((bad, 1, 1), (1, bad, 1), (1, 1, bad)):
        with pytest.raises((ValueError, TypeError)):
            Quantizer(*arguments)
    with pytest.raises(ValueError, match="finite"):
        Quantizer(1, 1, 1)([0.5, float("nan")])

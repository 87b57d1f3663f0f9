import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import superarm as sa
from superarm.core.arguments import as_arms, as_finite, as_unit, as_values

FLOATS = st.one_of(
    st.floats(0, 1),
    st.floats(),
    st.sampled_from([0.0, -0.0, 1.0, np.nextafter(1, 2), -5e-324, 5e-324]),
)


@given(st.lists(FLOATS, max_size=5))
def test_unit_floats_are_those_between_0_and_1(numbers):
    given_ = np.array(numbers, np.float64)
    if all(0 <= x <= 1 for x in numbers):
        np.testing.assert_array_equal(as_unit(given_, "theta", given_.shape), given_)
    else:
        with pytest.raises(ValueError, match=r"theta must be in \[0, 1\], got"):
            as_unit(given_, "theta", given_.shape)


def test_unit_floats_of_any_layout_and_kind():
    square = np.linspace(0, 1, 12).reshape(3, 4)
    for values in (
        square.T,
        square[:, ::2],
        np.float32(square),
        square > 0.5,
        np.array(0.5),
        np.zeros((0, 3)),
    ):
        np.testing.assert_array_equal(
            as_unit(values, "theta", values.shape), values.astype(np.float64)
        )
    square[2, 2] = 1.5
    for values in (square.T, square[:, ::2], square[::-1]):
        with pytest.raises(ValueError, match=r"got 1\.5"):
            as_unit(values, "theta", values.shape)


def test_masked_values_are_refused():
    """numpy would use the numbers below the mask."""
    hidden = np.ma.array([1.0, 0.5], mask=[False, True])
    with pytest.raises(ValueError, match=r"outcomes must have no masked values, got 1; leave"):
        as_unit(hidden, "outcomes", (2,))
    with pytest.raises(ValueError, match="features must have no masked values"):
        as_finite(hidden, "features", ndim=1)
    assert as_unit(np.ma.array([1.0, 0.5]), "outcomes", (2,)).tolist() == [1.0, 0.5]
    with pytest.raises(ValueError, match="prior a must have no masked values"):
        sa.BetaBelief(2, prior=(hidden, 1.0))
    pools = sa.Pools.singletons([0, 1], 2)
    with pytest.raises(ValueError, match="a reward's batch must have no masked values"):
        as_values(hidden, pools)
    whole = np.ma.array([0, 1], mask=[False, True])
    with pytest.raises(ValueError, match="arms must have no masked values"):
        as_arms(whole, 2)
    with pytest.raises(ValueError, match="members must have no masked values"):
        sa.Pools(whole, [0, 2], 2)
    assert as_arms(np.ma.array([0, 1]), 2).tolist() == [0, 1]

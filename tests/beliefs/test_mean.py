import numpy as np
import pytest

from superarm.beliefs import MeanBelief


def test_means_are_means():
    belief, rng = MeanBelief(3, unseen=0.25), np.random.default_rng(0)
    for outcome in (0.5, 1.0, 0.0, 0.1):
        belief.update([1], [outcome], rng=rng)
    np.testing.assert_allclose(belief.sample(rng=rng), [0.25, 0.4, 0.25])
    assert rng.bit_generator.state == np.random.default_rng(0).bit_generator.state


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: MeanBelief(3, unseen=2), "unseen must be in"),
    ],
)
def test_refuses(call, says):
    with pytest.raises((ValueError, TypeError), match=says):
        call()

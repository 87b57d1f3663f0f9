"""Group testing decides the same at every scale of the reward."""

import numpy as np
import pytest

import superarm as sa


class Scaled:
    """A reward times a power of two, with its declarations."""

    def __init__(self, reward, factor):
        self.n_arms, self.upper = reward.n_arms, reward.upper * factor
        self.lipschitz = reward.lipschitz * factor
        self._reward, self._factor = reward, factor

    def __call__(self, arms, means):
        return self._reward(arms, means) * self._factor

    def batch(self, pools, theta):
        return self._reward.batch(pools, theta) * self._factor


REWARDS = {
    "weighted sum": lambda: sa.LinearReward(9, weights=np.linspace(1.0, 2.0, 9)),
    "network": lambda: sa.NetworkReward.random(9, rng=np.random.default_rng(5)),
    "coverage": lambda: sa.CoverageReward(np.random.default_rng(5).random((9, 4)) < 0.4),
}


@pytest.mark.parametrize("tests", ["all", "non_repeated"])
@pytest.mark.parametrize("quantize", [True, False], ids=["quantized", "naive"])
@pytest.mark.parametrize("decoder", ["sum", "centred", "regression"])
@pytest.mark.parametrize("name", REWARDS)
def test_decides_the_same_at_every_scale(name, decoder, quantize, tests):
    """The reward, B and M times a power of two, and delta such that the levels are too.

    The levels are delta / 2B apart, with B of at least 1/2. So delta grows by the factor times the
    growth of that B.
    """
    reward, n_rounds = REWARDS[name](), 25
    least_b = max(0.5, float(np.max(reward.lipschitz)))

    def decisions(exponent):
        scaled = Scaled(reward, 2.0**exponent)
        growth = 2.0**exponent * max(0.5, float(np.max(scaled.lipschitz))) / least_b
        options = {"decoder": decoder, "quantize": quantize, "tests": tests}
        oracle = sa.GroupTesting(delta=0.1 * growth, n_tests=20, **options)
        rng, made = np.random.default_rng(3), []
        for _ in range(n_rounds):
            arms = oracle.select(scaled, rng.random(9), 3, rng=rng)
            made.append((arms.tolist(), [len(oracle.report.tests), *oracle.report.tests.sizes]))
        return made, oracle.report.grades * 2.0**-exponent

    made, grades = decisions(0)
    for exponent in (-100, -37, -1, 1, 52, 100):
        others, other_grades = decisions(exponent)
        assert others == made, f"2^{exponent}"
        np.testing.assert_allclose(other_grades, grades, rtol=1e-9, atol=1e-12)

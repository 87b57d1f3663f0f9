"""How ``GroupTesting(decoder="regression")`` chooses the sizes of its tests."""

import numpy as np
import pytest

import superarm as sa
from regression_decoder import play, regression


@pytest.mark.parametrize(
    ("std", "small", "large"),
    [(1.0, 0.85, 0.1), (0.3, 0.4, 0.4), (0.05, 0.1, 0.85)],
    ids=["steep", "middle", "flat"],
)
def test_tests_become_as_large_as_the_reward_allows(std, small, large):
    """A steep network needs tests of about one arm; a flat one needs larger tests."""
    rng = np.random.default_rng(0)
    network = sa.network_instance(1000, 5, 0.2 * std, std=std, rng=rng).reward
    counts = play(regression(delta=0.2, n_tests=300), network, 60, rng=rng)._weights.counts(300)
    assert counts.sum() == 300
    if std == 1.0:
        assert counts[0] >= small * 300
        assert counts[2:].sum() <= large * 300
    elif std == 0.05:
        assert counts[:2].sum() <= small * 300
        assert counts[2:].sum() >= large * 300
    else:
        assert counts[:2].sum() >= small * 300
        assert counts[3] <= large * 300


def test_a_linear_reward_gets_the_largest_tests():
    counts = play(
        regression(n_tests=300), sa.LinearReward(1000), 60, rng=np.random.default_rng(0)
    )._weights.counts(300)
    assert counts[3] > 250


class OfSum(sa.BlackBox):
    """A function of the sum, in one step for all pools."""

    def __init__(self, of, n_arms, lipschitz):
        self.of = of
        super().__init__(
            lambda arms, means: float(of(np.sum(means))),
            n_arms=n_arms,
            lipschitz=lipschitz,
            upper=float(of(n_arms)),
        )

    def batch(self, pools, theta):
        return self.of(pools.sum(theta))


@pytest.mark.parametrize("n_tests", [60, 200])
@pytest.mark.parametrize(
    ("of", "lipschitz"),
    [
        (lambda sums: sums**2, 800.0),
        (lambda sums: sums**3, 480_000.0),
        (lambda sums: np.sqrt(sums + 0.01), 5.0),
        (lambda sums: np.log1p(100 * sums), 100.0),
    ],
    ids=["square", "cube", "root", "logarithm"],
)
def test_a_function_of_a_sum_is_decoded_as_the_sum(of, lipschitz, n_tests):
    """The weights become equal to 5%, as they are.

    The tests are those of large sets, where a smooth function is closest to a straight line.
    """
    oracle = play(
        regression(n_tests=n_tests), OfSum(of, 400, lipschitz), 60, rng=np.random.default_rng(0)
    )
    weights = oracle._weights
    assert weights.w.std() < 0.05 * weights.w.mean()
    assert np.argmax(weights.classes.telling) == 3
    assert oracle.report.explained > 0.9


def test_says_when_no_weights_explain_the_reward():
    """The least of five sums is no function of a sum, and the mean of the means hardly is."""

    def least(arms, means):
        return float(min(np.sum(means[arms % 5 == part]) for part in range(5)))

    rng, theta = np.random.default_rng(0), np.full(100, 0.5)
    for reward, is_explained in (
        (sa.BlackBox(least, n_arms=100, lipschitz=1.0, upper=100.0), False),
        (sa.LinearReward(100), True),
    ):
        report = play(regression(), reward, 40, rng=rng).report
        assert (report.explained >= 0.5) == is_explained
        meaning = report.ranking(np.arange(3), theta).meaning
        assert f"the weights explain {report.explained:.0%} of the scores' variance" in meaning
        assert ("too little to rely on" in meaning) != is_explained
    literal = sa.GroupTesting(delta=0.25, n_tests=60)
    literal.select(sa.LinearReward(100), theta, 3, rng=rng)
    assert literal.report.explained is None
    assert "explain" not in literal.report.ranking(np.arange(3), theta).meaning


@pytest.mark.parametrize("n_tests", [1, 2, 5, 17, 60, 302])
def test_every_size_is_watched(n_tests):
    """Every class gets its 2% of the tests in pairs, from 4 tests per round on."""
    memory = play(
        regression(n_tests=n_tests), sa.LinearReward(150), 30, rng=np.random.default_rng(0)
    )._weights
    total = np.zeros(4)
    for t in range(1, 1001):
        counts = memory.classes.counts(n_tests, t)
        assert counts.sum() == n_tests
        assert counts.min() >= 0
        total += counts
    if n_tests >= 4:
        assert total.min() >= 0.02 * n_tests * 1000 - 2

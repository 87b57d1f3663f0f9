"""Many whole samples of a belief at once: with the same generator, those of many calls."""

import numpy as np
from scipy.special import betaincinv

from superarm.beliefs._scores import beta_at


class Given:
    """Stands for a generator: the common draw, and the draw of every arm."""

    def __init__(self, common, own):
        self.common, self.own = common, own

    def standard_normal(self, size=None):
        return self.common if size is None else np.full(size, self.own)


def of_learned(belief, n, *, rng):
    """Shape (n, n_arms). The scores of a `LearnedBetaBelief` are linear in what is drawn."""
    at_zero, common, own = (
        belief._scores(rng=Given(*draws)) for draws in ((0.0, 0.0), (1.0, 0.0), (0.0, 1.0))
    )
    drawn = rng.standard_normal((n, 1 + belief.n_arms))
    scores = at_zero + (common - at_zero) * drawn[:, :1] + (own - at_zero) * drawn[:, 1:]
    posteriors = belief._mixed(belief.outcomes.counts, belief.outcomes.sums)
    arms = np.tile(np.arange(belief.n_arms), n)
    return posteriors.of(arms).at(scores.ravel()).reshape(n, -1)


def of_shared(belief, n, *, rng):
    """Shape (n, n_arms), of a `SharedSeedBelief`."""
    drawn = rng.standard_normal((n, 1 + belief.n_arms))
    scores = np.sqrt(belief.shared) * drawn[:, :1] + np.sqrt(1 - belief.shared) * drawn[:, 1:]
    return beta_at(belief.posteriors.a, belief.posteriors.b, scores)


def of_single(belief, n, *, rng):
    """Shape (n, n_arms), of a `SingleSeedBelief`."""
    return betaincinv(belief.posteriors.a, belief.posteriors.b, rng.random((n, 1)))


def check(many, belief):
    """Twenty samples at once are those of twenty calls."""
    rng = np.random.default_rng(9)
    calls = [belief.sample(rng=rng) for _ in range(20)]
    np.testing.assert_allclose(many(belief, 20, rng=np.random.default_rng(9)), calls, rtol=1e-9)

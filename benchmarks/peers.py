"""Independent libraries that must agree with superarm: ``make peers``.

pybandits draws its Beta samples from ``numpy.random.default_rng(seed)`` in the order of the arms.
So its Thompson sampling and that of superarm must pick the same sets from the same seed, decision
by decision.
"""

from __future__ import annotations

import numpy as np
from pybandits.model import Beta
from pybandits.smab import SmabBernoulli

import superarm as sa

N_ARMS, K, HORIZON = 40, 3, 150


def test_pybandits_picks_the_same_sets() -> None:
    mu = np.random.default_rng(0).random(N_ARMS)
    for seed in (1, 2):
        peer = SmabBernoulli(actions={str(i): Beta() for i in range(N_ARMS)}, random_seed=seed)
        policy, rng = sa.cts(sa.LinearReward(N_ARMS), K), np.random.default_rng(seed)
        world = np.random.default_rng(100 + seed)
        for _ in range(HORIZON):
            scores = peer.predict(n_samples=1)[1][0]
            theirs = np.sort(np.argsort([scores[str(i)] for i in range(N_ARMS)])[-K:])
            ours = policy.ask(rng=rng)
            np.testing.assert_array_equal(ours, theirs)
            outcomes = sa.BernoulliArms(mu).pull(ours, rng=world)
            policy.tell(ours, outcomes, rng=rng)
            peer.update(actions=[str(i) for i in theirs], rewards=[int(x) for x in outcomes])

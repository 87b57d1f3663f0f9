"""Beliefs of all runs as arrays: with the same normal draws, their values are those of beliefs."""

import numpy as np
import pytest
from scipy.special import ndtr
from test_batch import DRAWS

from superarm.beliefs import FlatGaussianBelief, GaussianBelief, LearnedBetaBelief
from superarm.simulation.batch.gaussian_runs import FlatGaussianRuns, GaussianRuns
from superarm.simulation.batch.knowledge import LearnsInPauses, knowledge
from superarm.simulation.batch.learned_runs import LearnedRuns
from superarm.simulation.batch.on_numpy import NumpyEngine
from superarm.simulation.batch.run_stack import RunStack

N_RUNS, N_ARMS, HORIZON = 3, 20, 40


class Heard(NumpyEngine):
    """Keeps the normal numbers that it draws."""

    def __init__(self, seed):
        super().__init__(np.random.SeedSequence(seed))
        self.heard = []

    def normal(self, shape):
        self.heard.append(super().normal(shape))
        return self.heard[-1]


class SameNumbers:
    """Draws for one run what the engine drew: the part that arms share, and then their own."""

    def __init__(self, common, own):
        self.common, self.own = common, own

    def standard_normal(self, n=None):
        return self.common[0] if n is None else self.own.copy()

    def random(self, n):
        return ndtr(self.own)


def with_outcomes(belief):
    """After 30 outcomes, some of them between 0 and 1."""
    rng = np.random.default_rng(5)
    for _ in range(6):
        arms = rng.choice(N_ARMS, 5, replace=False)
        belief.update(np.sort(arms), rng.choice([0.0, 0.3, 1.0], 5), rng=rng)
    return belief


BELIEFS = {
    "learned": (LearnedRuns, lambda: LearnedBetaBelief(N_ARMS)),
    "learned, known horizon": (LearnedRuns, lambda: LearnedBetaBelief(N_ARMS, horizon=30)),
    "posterior draws": (
        LearnedRuns,
        lambda: LearnedBetaBelief(N_ARMS, optimism=0, spread=1, stay_after=0, wide=False),
    ),
    "learned before": (
        LearnedRuns, lambda: with_outcomes(LearnedBetaBelief(N_ARMS, stay_after=1)),
    ),
    "Gaussian": (GaussianRuns, lambda: GaussianBelief(N_ARMS, (0.3, 0.1), shared=0.6)),
    "Gaussian, own seeds": (GaussianRuns, lambda: with_outcomes(GaussianBelief(N_ARMS))),
    "flat": (FlatGaussianRuns, lambda: FlatGaussianBelief(N_ARMS, shared=0.4)),
    "BG-CTS": (
        FlatGaussianRuns,
        lambda: with_outcomes(FlatGaussianBelief(N_ARMS, boost=1.5, set_size=3)),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BELIEFS)
def test_values_are_those_of_a_belief_per_run(name):
    kind, make = BELIEFS[name]
    engine, rng = Heard(1), np.random.default_rng(2)
    runs = RunStack([DRAWS["linear"](rng) for _ in range(N_RUNS)], engine)
    known, twins = knowledge(make(), runs, engine), [make() for _ in range(N_RUNS)]
    assert type(known) is kind
    pauses = known.pauses(HORIZON) if isinstance(known, LearnsInPauses) else set()
    for played in range(1, HORIZON + 1):
        values, (common, own) = known.draw(), engine.heard[-2:]
        for run, twin in enumerate(twins):
            expected = twin.sample(rng=SameNumbers(common[run], own[run]))
            np.testing.assert_allclose(values[run], expected, rtol=1e-9, atol=1e-12)
        arms = np.argsort(values, axis=1)[:, -3:]
        outcomes = 1.0 * (rng.random(arms.shape) < runs.mu[runs.rows, arms])
        known.learn(arms, outcomes)
        for twin, mine, seen in zip(twins, arms, outcomes, strict=True):
            order = np.argsort(mine)
            twin.update(mine[order], seen[order], rng=rng)
        engine.clock[:] += 1
        if played in pauses:
            known.pause()
    if kind is LearnedRuns:
        assert len(pauses) > 5
        assert [each.beta for each in known.priors] == [twin.prior for twin in twins]

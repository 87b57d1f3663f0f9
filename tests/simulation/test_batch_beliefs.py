"""Batches with other beliefs than the default: the law of `simulate` with the same belief."""

import copy

import numpy as np
import pytest
from scipy import stats
from test_batch import DRAWS

import superarm as sa
from superarm.beliefs import (
    LearnedBetaBelief,
    MeanBelief,
    PositionBiasedBelief,
    SharedSeedBelief,
    SingleSeedBelief,
)
from superarm.simulation import simulate_batch
from superarm.simulation.batch.knowledge import (
    BetaRuns,
    OneBeliefPerRun,
    TopsPerRun,
    knowledge,
)
from superarm.simulation.batch.learned_runs import LearnedRuns
from superarm.simulation.batch.on_numpy import NumpyEngine
from superarm.simulation.batch.run_stack import RunStack

PRIOR = (np.linspace(0.5, 3, 20), 2.0)
BELIEFS = {
    "beta, own prior": lambda: sa.BetaBelief(20, PRIOR),
    "shared 0.8": lambda: SharedSeedBelief(20, 0.8),
    "shared 0.3, own prior": lambda: SharedSeedBelief(20, 0.3, PRIOR),
    "single seed": lambda: SingleSeedBelief(20),
    "learned": lambda: LearnedBetaBelief(20),
    "mean": lambda: MeanBelief(20),
    "position biased": lambda: PositionBiasedBelief(20, [1.0, 0.7, 0.4]),
}
GROUP_TESTING = sa.GroupTesting(delta=0.2, n_tests=20)
# One belief that is an array of all runs, and one that each run has a copy of. With all of them
# every decision has to be that of `simulate`: test_batch_decisions.py.
CASES = [("mean", sa.Singletons()), ("shared 0.8", GROUP_TESTING)]
# Runs of the engine and of `simulate`. The precision is that of 1 / (1/n + 1/m) = 92 runs. Runs of
# the engine are cheap if they are arrays, and cost what other runs cost if each has its own belief.
N_RUNS = {BetaRuns: (400, 120), OneBeliefPerRun: (185, 185)}


@pytest.mark.parametrize(("name", "oracle"), CASES)
def test_regret_has_the_law_of_simulate(name, oracle):
    """The law by Kolmogorov-Smirnov, means by Welch, spreads by Brown-Forsythe, at three rounds.

    Nine tests in each of 2 cases at a level of 1e-4: a correct engine fails with probability 1/556,
    and the seeds are fixed. The two sides have different instances.
    """
    belief, draw, at = BELIEFS[name](), DRAWS["linear"], np.array([5, 20, 60])
    n_ours, n_theirs = N_RUNS[type(knowledge(belief, *stack()))]
    options = {"n_runs": n_ours, "horizon": 60, "seed": 1, "rounds": at}
    ours = simulate_batch(draw, oracle, belief=belief, **options).regret

    def make(rng):
        it = draw(rng)
        return sa.Policy(copy.deepcopy(belief), oracle, it.reward, it.k), it

    traces = sa.replicate(make, n_runs=n_theirs, horizon=60, seed=2)
    theirs = np.array([trace.regret()[at - 1] for trace in traces])
    for one, other in zip(ours.T, theirs.T, strict=True):
        assert stats.ks_2samp(one, other).pvalue > 1e-4
        assert stats.ttest_ind(one, other, equal_var=False).pvalue > 1e-4
        assert stats.levene(one, other, center="median").pvalue > 1e-4


def test_runs_of_many_arms_draw_what_decides_by_themselves(monkeypatch):
    """The twin: one copy of the belief per run, with `sample_top` and `update`, in turns."""
    monkeypatch.setattr("superarm.simulation.batch.knowledge._MANY_ARMS", 1)
    runs, engine = stack()
    known = knowledge(LearnedBetaBelief(20), runs, engine, only_top=True)
    rng, twins = stack()[1].rng, [LearnedBetaBelief(20) for _ in range(3)]
    for _ in range(20):
        arms = known.top(3)
        assert arms.tolist() == [one.sample_top(3, rng=rng)[0].tolist() for one in twins]
        known.learn(arms, 1.0 * (arms < 5))
        for one, mine in zip(twins, arms, strict=True):
            one.update(mine, 1.0 * (mine < 5), rng=rng)
    options = {"n_runs": 3, "horizon": 60, "rounds": [1, 60], "seed": 1}
    belief = LearnedBetaBelief(20)
    trace = simulate_batch(DRAWS["linear"], sa.Singletons(), belief=belief, **options)
    assert trace.evaluations.tolist() == [20, 1200]
    assert (trace.regret[:, 1] > trace.regret[:, 0]).all()


def test_the_engine_chooses_what_is_faster():
    """Only with numpy, many arms, and a reward whose order is that of the means."""
    for n_arms, only_top, kind in (
        (499, True, LearnedRuns),
        (500, True, TopsPerRun),
        (500, False, LearnedRuns),
    ):
        engine = NumpyEngine(np.random.SeedSequence(4))
        instance = sa.linear_instance(n_arms, 3, 0.2, rng=np.random.default_rng(0))
        runs = RunStack([instance] * 2, engine)
        known = knowledge(LearnedBetaBelief(n_arms), runs, engine, only_top=only_top)
        assert type(known) is kind


def stack(n_runs=3):
    engine = NumpyEngine(np.random.SeedSequence(4))
    instance = DRAWS["linear"](np.random.default_rng(0))
    return RunStack([instance] * n_runs, engine), engine


@pytest.mark.parametrize("shared", [0.4, 1.0])
def test_draws_have_the_law_of_the_posteriors_and_runs_are_independent(shared):
    """Kolmogorov-Smirnov and Fisher's z of 3,000 runs; error 1e-6 each."""
    runs, engine = stack(3000)
    known = BetaRuns(runs, engine, sa.BetaBelief(20, PRIOR), shared)
    theta = known.draw()
    for arm in (0, 7, 19):
        assert stats.kstest(theta[:, arm], stats.beta(PRIOR[0][arm], 2.0).cdf).pvalue > 1e-6
    scores = stats.norm.ppf(stats.beta(PRIOR[0], 2.0).cdf(theta))
    if shared < 1:
        found = np.corrcoef(scores[:, 0], scores[:, 19])[0, 1]
        assert abs(np.arctanh(found) - np.arctanh(shared)) < 5 / np.sqrt(2997)
    apart = np.corrcoef(scores[:-1, 0], scores[1:, 0])[0, 1]
    assert abs(np.arctanh(apart)) < 5 / np.sqrt(2996)


def test_ties_are_broken_evenly():
    """Arm 4 wins; arms 1, 2 and 3 tie for the second place. Chi-square, error 1e-4."""
    engine = NumpyEngine(np.random.SeedSequence(1))
    values = np.tile(np.array([0.1, 0.5, 0.5, 0.5, 0.8]), (6000, 1))
    arms = np.sort(engine.top_k_ties(values, 2), axis=1)
    assert (arms[:, 1] == 4).all()
    assert stats.chisquare(np.bincount(arms[:, 0], minlength=4)[1:]).pvalue > 1e-4


def test_beliefs_are_only_read_and_a_subclass_keeps_its_own_law():
    class Certain(SharedSeedBelief):
        def sample(self, *, rng):
            return np.linspace(0, 1, self.n_arms)

    runs, engine = stack()
    assert isinstance(knowledge(None, runs, engine), BetaRuns)
    assert isinstance(knowledge(Certain(20), runs, engine), OneBeliefPerRun)
    belief = LearnedBetaBelief(20)
    before = belief.state()
    simulate_batch(DRAWS["linear"], sa.Singletons(), belief=belief, n_runs=2, horizon=9, seed=0)
    assert belief.state() == before


def test_refuses():
    options = {"n_runs": 2, "horizon": 3, "seed": 0}
    with pytest.raises(ValueError, match="belief must be about the 20 arms of the instances"):
        simulate_batch(DRAWS["linear"], sa.Singletons(), belief=sa.BetaBelief(9), **options)
    runs, _ = stack()
    with pytest.raises(
        TypeError, match=r"torch.* has no arrays for a MeanBelief; use engine=.numpy., which plays"
    ):
        knowledge(MeanBelief(20), runs, object())

"""Batches played again by `simulate`: with the same draws, every decision is the same.

So the law of the regret is that of `simulate` if the draws have their laws and are independent,
which test_batch.py and test_batch_beliefs.py show.
"""

import copy

import numpy as np
import pytest
from test_batch import DRAWS, ORACLES, overheard
from test_batch_beliefs import BELIEFS

import superarm as sa
from superarm.beliefs import SharedSeedBelief
from superarm.simulation import simulate_batch
from superarm.simulation.batch.knowledge import BetaRuns
from superarm.simulation.batch.on_numpy import NumpyEngine

N_RUNS, HORIZON = 4, 60


class OwnDraws:
    """A belief of which each copy has its own generator."""

    def __init__(self, belief, seeds):
        self.belief, self.seeds, self.n_arms = belief, seeds, belief.n_arms
        self.rng = np.random.default_rng(next(seeds))

    def __deepcopy__(self, memo):
        return OwnDraws(copy.deepcopy(self.belief), self.seeds)

    def sample(self, *, rng):
        return without_ties(self.belief.sample(rng=self.rng), self.rng)

    def update(self, arms, outcomes, *, rng):
        self.belief.update(arms, outcomes, rng=self.rng)


def without_ties(theta, rng):
    """Ties are broken at random by both sides, but not in the same way."""
    return (theta + 1e-9 * rng.random(theta.shape)) / (1 + 1e-9)


class SameDraws:
    """A belief that gets the draws of one run, and must have its posteriors in every round."""

    def __init__(self, belief, rounds):
        self.belief, self.rounds, self.n_arms = belief, iter(rounds), belief.n_arms

    def sample(self, *, rng):
        a, b, theta = next(self.rounds)
        posteriors = getattr(self.belief, "posteriors", self.belief)
        np.testing.assert_array_equal([posteriors.a, posteriors.b], [a, b])
        return theta

    def update(self, arms, outcomes, *, rng):
        self.belief.update(arms, outcomes, rng=rng)


class PlayedAgain:
    """The environment of one run. A set that the run did not choose is an error."""

    def __init__(self, instance, chosen, draws):
        self.mu, self.best_value, self.n_arms = instance.mu, instance.best_value, instance.n_arms
        self.rounds = zip(chosen, draws, strict=True)

    def pull(self, arms, *, rng):
        chosen, draws = next(self.rounds)
        np.testing.assert_array_equal(arms, np.sort(chosen))
        return 1.0 * (draws[np.argsort(chosen)] < self.mu[arms])


@pytest.fixture
def heard(monkeypatch):
    """What the engine chooses and draws for the outcomes, and draws of posteriors in arrays."""
    found = {"chosen": [], "draws": [], "samples": []}

    def listen(name, key):
        method = getattr(NumpyEngine, name)

        def listening(*args):
            found[key].append(method(*args))
            return found[key][-1]

        monkeypatch.setattr(NumpyEngine, name, listening)

    listen("top_k", "chosen")
    listen("top_k_ties", "chosen")
    listen("top_k_whole", "chosen")
    listen("uniform", "draws")
    draw, rng = BetaRuns.draw, np.random.default_rng(8)

    def draw_without_ties(runs):
        theta = without_ties(draw(runs), rng)
        found["samples"].append((runs.a.copy(), runs.b.copy(), theta))
        return theta

    monkeypatch.setattr(BetaRuns, "draw", draw_without_ties)
    return found


def of_run(rounds, run):
    return [tuple(each[run] for each in one) for one in rounds]


def check(family, belief, twin_of, heard):
    """``twin_of(run)`` is the belief of `simulate`, called after the batch was played."""
    options = {"n_runs": N_RUNS, "horizon": HORIZON, "seed": 1}
    ours = simulate_batch(DRAWS[family], sa.Singletons(), belief=belief, **options)
    assert len(heard["chosen"]) == len(heard["draws"]) == HORIZON
    for run, it in enumerate(ours.instances):
        policy = sa.Policy(twin_of(run), sa.Singletons(), it.reward, it.k)
        rounds = of_run(zip(heard["chosen"], heard["draws"], strict=True), run)
        again = PlayedAgain(it, *zip(*rounds, strict=True))
        trace = sa.simulate(policy, again, horizon=HORIZON, rng=np.random.default_rng(0))
        np.testing.assert_allclose(ours.regret[run], trace.regret(), rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("family", ["linear", "weighted"])
@pytest.mark.parametrize("name", ["learned", "mean", "position biased"])
def test_runs_with_a_belief_each(name, family, heard):
    belief = OwnDraws(BELIEFS[name](), iter(range(1 + N_RUNS)))
    check(family, belief, lambda run: OwnDraws(BELIEFS[name](), iter([1 + run])), heard)


ARRAYS = {
    **{name: BELIEFS[name] for name in BELIEFS if name.startswith(("beta", "shared", "single"))},
    "beta of 16": lambda: sa.BetaBelief(16),
    "shared of 16": lambda: SharedSeedBelief(16, 0.8),
}


@pytest.mark.parametrize(
    ("name", "family"),
    [
        ("beta, own prior", "linear"),
        ("beta, own prior", "weighted"),
        ("shared 0.8", "linear"),
        ("shared 0.3, own prior", "weighted"),
        ("single seed", "linear"),
        ("beta of 16", "network"),
        ("shared of 16", "network"),
    ],
)
def test_runs_as_arrays(name, family, heard):
    belief = ARRAYS[name]()
    check(
        family, belief, lambda run: SameDraws(ARRAYS[name](), of_run(heard["samples"], run)), heard
    )


@pytest.mark.parametrize("family", ["linear", "network"])
@pytest.mark.parametrize("name", [name for name in ORACLES if name.startswith("p=")])
def test_group_testing_round_by_round(name, family, heard, monkeypatch):
    """Every set is one that `GroupTesting` may choose with the tests, posteriors and draws.

    Grades are often tied. So the grades of the chosen arms have to be the largest ones.
    """
    oracle, n_arms = ORACLES[name], DRAWS[family](np.random.default_rng(0)).n_arms
    tests = overheard(monkeypatch, N_RUNS, oracle.n_tests, n_arms)
    options = {"n_runs": N_RUNS, "horizon": HORIZON, "seed": 1}
    ours = simulate_batch(DRAWS[family], oracle, **options)
    of_rounds = tests().reshape(N_RUNS, HORIZON, oracle.n_tests, n_arms)
    for run, it in enumerate(ours.instances):
        belief, lost = sa.BetaBelief(n_arms), []
        for t in range(HORIZON):
            a, b, theta = (each[run] for each in heard["samples"][t])
            np.testing.assert_array_equal([belief.a, belief.b], [a, b])
            chosen, draws = heard["chosen"][t][run], heard["draws"][t][run]
            check_set(oracle, it, theta, of_rounds[run, t], chosen)
            belief.update(chosen, 1.0 * (draws < it.mu[chosen]), rng=np.random.default_rng(0))
            lost.append(it.best_value - it.reward(chosen, it.mu[chosen]))
        np.testing.assert_allclose(ours.regret[run], np.cumsum(lost), rtol=1e-11, atol=1e-12)


def check_set(oracle, instance, theta, tests, chosen):
    """The grades of the chosen arms are the largest, up to rounding."""
    pools = sa.Pools.of([np.flatnonzero(row) for row in tests], len(theta))
    options = {"delta": oracle.delta, "quantize": oracle.quantize, "decoder": oracle.decoder}
    twin = sa.GroupTesting(pools=pools, **options)
    twin.select(instance.reward, theta, instance.k, rng=np.random.default_rng(0))
    grades = twin.report.grades
    others = np.delete(grades, chosen)
    assert len(set(chosen.tolist())) == instance.k
    assert grades[chosen].min() >= others.max() - 1e-6 * np.abs(grades).max()

"""The torch engine on the CPU, and the kernels by Triton's interpreter; needs ``superarm[torch]``.

``benchmarks/torch_engine.py`` checks the engine on a GPU.
"""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import stats
from test_batch import DRAWS, ORACLES

import superarm as sa
from superarm.beliefs import (
    FlatGaussianBelief,
    GaussianBelief,
    LearnedBetaBelief,
    SharedSeedBelief,
    SingleSeedBelief,
)
from superarm.beliefs._scores import beta_at
from superarm.simulation import simulate_batch
from superarm.simulation.batch.grading import Grading
from superarm.simulation.batch.knowledge import BetaRuns, knowledge
from superarm.simulation.batch.learned_runs import LearnedRuns
from superarm.simulation.batch.on_numpy import NumpyEngine
from superarm.simulation.batch.run_stack import RunStack

torch = pytest.importorskip("torch")

from torch.utils._python_dispatch import TorchDispatchMode  # noqa: E402

from superarm.simulation.batch.on_torch import TorchEngine  # noqa: E402


@pytest.mark.parametrize("family", ["linear", "network"])
@pytest.mark.parametrize("name", ORACLES)
def test_regret_has_the_law_of_the_numpy_engine(family, name):
    """28 tests at a level of 2e-4: a correct engine fails with probability 1/180."""
    options = {"n_runs": 500, "horizon": 60, "rounds": [10, 60]}
    ours = simulate_batch(
        DRAWS[family], ORACLES[name], seed=1, engine="torch", device="cpu", **options
    )
    again = simulate_batch(
        DRAWS[family], ORACLES[name], seed=1, engine="torch", device="cpu", **options
    )
    theirs = simulate_batch(DRAWS[family], ORACLES[name], seed=2, **options)
    np.testing.assert_array_equal(ours.regret, again.regret)
    np.testing.assert_array_equal(ours.evaluations, theirs.evaluations)
    for one, other in zip(ours.regret.T, theirs.regret.T, strict=True):
        assert stats.ks_2samp(one, other).pvalue > 2e-4


@pytest.mark.parametrize(("a", "b"), [(1, 1), (2, 1), (1, 7), (30, 12), (4000, 9)])
def test_draws_of_theta_are_beta(a, b):
    """Error 1e-4 each."""
    engine = TorchEngine(np.random.SeedSequence(1), "cpu")
    drawn = (
        engine.beta(torch.full((20_000,), float(a)), torch.full((20_000,), float(b)))
        .double()
        .numpy()
    )
    assert stats.kstest(drawn, stats.beta(a, b).cdf).pvalue > 1e-4


BELIEFS = {
    "shared 0.8": lambda: SharedSeedBelief(20, 0.8),
    "single seed": lambda: SingleSeedBelief(20),
    "learned": lambda: LearnedBetaBelief(20),
    "Gaussian": lambda: GaussianBelief(20, shared=0.5),
    "flat": lambda: FlatGaussianBelief(20, shared=0.5, set_size=3),
}
GROUP_TESTING = sa.GroupTesting(delta=0.2, n_tests=20)


@pytest.mark.parametrize("oracle", [sa.Singletons(), GROUP_TESTING], ids=["cts", "gt"])
@pytest.mark.parametrize("name", BELIEFS)
def test_regret_with_a_belief_has_the_law_of_the_numpy_engine(name, oracle):
    """20 tests at a level of 2e-4: a correct engine fails with probability 1/250."""
    # Every run fits its own prior, which takes most of the time.
    n_runs = 150 if name == "learned" else 300
    options = {"belief": BELIEFS[name](), "n_runs": n_runs, "horizon": 60, "rounds": [10, 60]}
    torches = {"engine": "torch", "device": "cpu"}
    ours, again = (
        simulate_batch(DRAWS["linear"], oracle, seed=1, **torches, **options) for _ in range(2)
    )
    np.testing.assert_array_equal(ours.regret, again.regret)
    theirs = simulate_batch(DRAWS["linear"], oracle, seed=2, **options)
    for one, other in zip(ours.regret.T, theirs.regret.T, strict=True):
        assert stats.ks_2samp(one, other).pvalue > 2e-4


def engine_and_runs(n_runs):
    engine = TorchEngine(np.random.SeedSequence(4), "cpu")
    return engine, RunStack([DRAWS["linear"](np.random.default_rng(0))] * n_runs, engine)


@pytest.mark.parametrize("shared", [0.4, 1.0])
def test_draws_with_shared_seeds_have_the_law_of_the_posteriors(shared):
    """Kolmogorov-Smirnov and Fisher's z of 3,000 runs; error 1e-6 each."""
    engine, runs = engine_and_runs(3000)
    prior = np.linspace(0.5, 3, 20)
    theta = BetaRuns(runs, engine, sa.BetaBelief(20, (prior, 2.0)), shared).draw().double().numpy()
    for arm in (0, 7, 19):
        assert stats.kstest(theta[:, arm], stats.beta(prior[arm], 2.0).cdf).pvalue > 1e-6
    scores = stats.norm.ppf(stats.beta(prior, 2.0).cdf(theta))
    if shared < 1:
        found = np.corrcoef(scores[:, 0], scores[:, 19])[0, 1]
        assert abs(np.arctanh(found) - np.arctanh(shared)) < 5 / np.sqrt(2997)
    else:
        np.testing.assert_allclose(scores[:, 0], scores[:, 19], atol=1e-3)


def test_quantiles_follow_the_posteriors():
    """Of all arms at first, of those with outcomes after a round; float32 keeps 7 digits."""
    engine, runs = engine_and_runs(5)
    known, rng = (
        BetaRuns(runs, engine, sa.BetaBelief(20, (1.0, 30.0)), 0.8),
        np.random.default_rng(6),
    )
    for _ in range(30):
        arms = torch.tensor(rng.permuted(np.tile(np.arange(20), (5, 1)), axis=1)[:, :3])
        known.learn(arms, torch.tensor(1.0 * (rng.random((5, 3)) < 0.5)))
        scores = rng.standard_normal((5, 20))
        found = known._quantiles.at(torch.tensor(scores)).numpy()
        expected = beta_at(known.a.double().numpy(), known.b.double().numpy(), scores)
        np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_learned_values_are_those_of_the_numpy_engine():
    """For the same normal numbers and outcomes, also after fits of the prior.

    The tolerance is for learned a and b of about 0.1, whose rows are interpolated least well.
    """
    rng, drawn = np.random.default_rng(3), []
    theirs = NumpyEngine(np.random.SeedSequence(0))
    engine, runs = engine_and_runs(4)
    same = RunStack([DRAWS["linear"](np.random.default_rng(0))] * 4, theirs)
    theirs.normal = lambda shape: drawn.append(rng.standard_normal(shape)) or drawn[-1]
    engine.normal = lambda shape: torch.tensor(drawn.pop(0))
    ours, twin = (
        LearnedRuns(stack, each, LearnedBetaBelief(20))
        for stack, each in ((runs, engine), (same, theirs))
    )
    pauses = twin.pauses(60)
    for played in range(1, 61):
        expected = twin.draw()
        np.testing.assert_allclose(ours.draw().numpy(), expected, rtol=2e-3, atol=1e-5)
        arms = np.argsort(expected, axis=1)[:, -3:]
        outcomes = 1.0 * (rng.random(arms.shape) < same.mu[same.rows, arms])
        twin.learn(arms, outcomes)
        ours.learn(torch.tensor(arms), torch.tensor(outcomes))
        for each in (engine, theirs):
            each.clock[:] += 1
        if played in pauses:
            twin.pause()
            ours.pause()


class Heard(TorchDispatchMode):
    """Keeps the names of the operations."""

    def __init__(self):
        super().__init__()
        self.names = set()

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        self.names.add(function.overloadpacket.__name__)
        return function(*args, **(kwargs or {}))


@pytest.mark.parametrize("name", BELIEFS)
def test_a_cuda_graph_can_record_a_round(name, monkeypatch):
    """No operation copies numbers from the host, or waits for a result; pauses may."""
    engine, runs = engine_and_runs(2)
    known = knowledge(BELIEFS[name](), runs, engine)
    monkeypatch.setattr(engine, "put", lambda values: pytest.fail("copies to the device"))
    with Heard() as heard:
        arms = engine.top_k_ties(runs.singleton_values(known.draw()), runs.k)
        known.learn(arms, engine.uniform(arms.shape).round())
    # A number given to `where` is a scalar_tensor, which a GPU would get from the host.
    copies = {"scalar_tensor", "lift_fresh", "_local_scalar_dense", "item"}
    waits = {"nonzero", "masked_select", "_unique2", "repeat_interleave"}
    assert "index_put_" in heard.names
    assert not heard.names & (copies | waits), heard.names


def test_ties_are_broken_evenly():
    """Arm 4 wins; arms 1, 2 and 3 tie for the second place. Chi-square, error 1e-4."""
    engine = TorchEngine(np.random.SeedSequence(1), "cpu")
    values = torch.tensor([0.1, 0.5, 0.5, 0.5, 0.8]).tile((6000, 1))
    arms = np.sort(engine.top_k_ties(values, 2).numpy(), axis=1)
    assert (arms[:, 1] == 4).all()
    assert stats.chisquare(np.bincount(arms[:, 0], minlength=4)[1:]).pvalue > 1e-4


@pytest.mark.parametrize("decoder", ["sum", "centred"])
@pytest.mark.parametrize("quantize", [True, False])
def test_for_given_theta_and_tests_it_decides_as_group_testing(decoder, quantize, monkeypatch):
    """Tests in several chunks, recorded as they are drawn."""
    n_runs, n_tests = 4, 21
    rng = np.random.default_rng(5)
    instances = [DRAWS["network"](rng) for _ in range(n_runs)]
    engine = TorchEngine(np.random.SeedSequence(3), "cpu")
    engine.at_once = 300
    runs = RunStack(instances, engine)
    options = {"delta": 0.2, "quantize": quantize, "decoder": decoder}
    grading = Grading(sa.GroupTesting(n_tests=n_tests, **options), runs, engine)
    theta = torch.tensor(rng.random((n_runs, runs.n_arms)), dtype=torch.float32)
    found, rand = [], torch.rand

    def overhear(*args, **options):
        found.append(rand(*args, **options))
        return found[-1]

    monkeypatch.setattr(torch, "rand", overhear)
    grades = torch.cat([grading.grades(theta)]).numpy()
    scale = (n_tests if decoder == "centred" else 1) / grading.unit
    step = next(iter(engine.slices(n_runs, runs.n_hidden * runs.n_arms))).stop
    chunks = len(found) // -(-n_runs // step)
    for run, it in enumerate(instances):
        mine = found[run // step * chunks : (run // step + 1) * chunks]
        tests = torch.cat([each[run % step] for each in mine]).numpy() < 0.5
        assert tests.shape == (n_tests, it.n_arms)
        twin = sa.GroupTesting(
            pools=sa.Pools.of([np.flatnonzero(row) for row in tests], it.n_arms), **options
        )
        twin.select(it.reward, theta[run].double().numpy(), it.k, rng=rng)
        # In float32 a value may fall on the other side of the middle between two levels: here none
        # does.
        np.testing.assert_allclose(
            grades[run], twin.report.grades * scale[run], rtol=1e-5, atol=30 * n_tests
        )


INTERPRETED = """
import numpy as np, torch
import naive
from superarm.simulation.batch import kernels
rng = np.random.default_rng(0)
for n_tests, n_arms, p in ((40, 21, 0.5), (33, 150, 0.25), (20, 30, 2 / 3)):
    tests = kernels.Tests(n_tests, n_arms, p, 0x1234567890ABCDEF, torch.tensor([7]), 3)
    columns, weights = rng.random((2, 2, n_arms)), rng.integers(-1000, 1000, (2, n_tests))
    sums = kernels.sums(tests, torch.tensor(columns, dtype=torch.float32)).numpy()
    grades = kernels.sums_by_arm(tests, torch.tensor(weights)).numpy()
    for run in range(2):
        A = naive.philox_tests(n_tests, n_arms, p, key=tests.key, clock=7, run=3 + run)
        np.testing.assert_allclose(sums[run], columns[run] @ A.T, rtol=1e-5)
        np.testing.assert_array_equal(grades[run], weights[run] @ A)
print("equal")
"""


def test_the_kernels_add_up_what_their_twin_does():
    pytest.importorskip("triton")
    path = os.pathsep.join([*filter(None, sys.path), str(Path(__file__).parents[1])])
    environment = {**os.environ, "TRITON_INTERPRET": "1", "PYTHONPATH": path}
    code = [sys.executable, "-W", "ignore", "-c", INTERPRETED]
    found = subprocess.run(code, capture_output=True, text=True, env=environment)
    assert found.stdout.strip() == "equal", found.stderr

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
from superarm.simulation import simulate_batch
from superarm.simulation.batch.grading import Grading
from superarm.simulation.batch.run_stack import RunStack

torch = pytest.importorskip("torch")

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

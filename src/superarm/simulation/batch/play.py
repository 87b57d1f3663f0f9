"""Playing many runs at once."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from superarm.core import Oracle
from superarm.core.arguments import FloatArray, IndexArray, as_count
from superarm.oracles import GroupTesting, RandomSets, Singletons
from superarm.simulation.batch.grading import Grading
from superarm.simulation.batch.on_numpy import NumpyEngine
from superarm.simulation.batch.problem import Array, Problem
from superarm.simulation.instances import Instance

Draw = Callable[[], Array]
Choose = Callable[[Draw], Array]


@dataclass(frozen=True, eq=False)
class BatchTrace:
    """What many runs gave, at the rounds that were recorded.

    Attributes
    ----------
    rounds
        Shape (n_recorded,): which rounds, counted from 1.
    regret
        Shape (n_runs, n_recorded): each run's cumulative regret (eq. regret) up to those rounds.
    evaluations
        Shape (n_recorded,): for how many sets each run has asked its reward by then. All runs ask alike.
    instances
        What each run played on.
    play_s
        Seconds that all rounds of all runs took together. The only field that differs from call to call.
    """

    rounds: IndexArray
    regret: FloatArray
    evaluations: IndexArray
    instances: list[Instance]
    play_s: float


def simulate_batch(
    draw: Callable[[np.random.Generator], Instance],
    oracle: Oracle,
    *,
    n_runs: int,
    horizon: int,
    seed: int,
    rounds: ArrayLike | None = None,
    engine: Literal["numpy", "torch"] = "numpy",
    device: str | None = None,
) -> BatchTrace:
    """Play Thompson sampling with ``oracle`` on ``n_runs`` instances, all of them in step.

    Every run has the law of `simulate` with a fresh `BetaBelief`, and runs are independent of each other. The random
    numbers are others than `simulate`'s; the instances are those of `replicate` for the same seed. The result is the
    same for the same seed, number of runs, engine and device. Memory: a few arrays of runs × arms; tests are drawn,
    scored and decoded a chunk at a time.

    Parameters
    ----------
    draw
        ``draw(rng) -> Instance``, called for each run: `linear_instance` and `network_instance` fit. All of one size.
        Runs that are given one and the same reward object share its weights.
    oracle
        `Singletons` (so this is `cts`), `GroupTesting` with random tests (`gt_qts`), or `RandomSets`. It is only read.
    n_runs, horizon
        How many runs, of how many rounds.
    seed
        Everything follows from it.
    rounds
        Which rounds to record, ascending, counted from 1; all of them unless given.
    engine
        "numpy", in float64, or "torch", in float32 with sums in float64; torch comes with ``superarm[torch]``.
    device
        For torch: "cuda", "cpu", ...; a GPU where there is one unless given.

    Examples
    --------
    >>> import superarm as sa
    >>> draw = lambda rng: sa.linear_instance(20, 3, 0.2, rng=rng)
    >>> trace = simulate_batch(draw, sa.Singletons(), n_runs=100, horizon=200, seed=0, rounds=[100, 200])
    >>> trace.regret.shape, trace.evaluations
    ((100, 2), array([2000, 4000]))
    >>> trace.regret.mean(axis=0).round(1)
    array([40.8, 48.6])
    """
    n_runs, horizon = as_count(n_runs, "n_runs", least=1), as_count(horizon, "horizon", least=1)
    recorded = _as_rounds(rounds, horizon)
    if not isinstance(oracle, Singletons | GroupTesting | RandomSets):
        raise TypeError(
            f"simulate_batch plays Singletons, GroupTesting and RandomSets, got {type(oracle).__name__}; "
            f"replicate plays any oracle"
        )
    # A key of its own: the runs' streams have keys of two numbers (see `run_one`), and other numbers of runs others.
    own = np.random.SeedSequence(as_count(seed, "seed"), spawn_key=(n_runs,))
    device_engine = _engine(engine, device, own)
    instances = [
        draw(np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(run, 0))))
        for run in range(n_runs)
    ]
    problem = Problem(instances, device_engine)
    choose, a_round = _chooser(oracle, problem, device_engine)
    start = time.perf_counter()
    regret = _play(problem, choose, device_engine, recorded, horizon)
    return BatchTrace(recorded, regret, recorded * a_round, instances, time.perf_counter() - start)


def _play(
    problem: Problem, choose: Choose, engine: Any, recorded: IndexArray, horizon: int
) -> FloatArray:
    """The loop over the rounds; everything that a round changes is changed in place, so that it can be replayed."""
    shape = problem.n_runs, problem.n_arms
    a, b = engine.ones(shape), engine.ones(shape)
    regret = engine.put(np.zeros(problem.n_runs))
    # Rounds that are not recorded are written to a last row that nobody reads.
    kept = engine.put(np.zeros((len(recorded) + 1, problem.n_runs)))
    slots = np.full(horizon, len(recorded))
    slots[recorded - 1] = np.arange(len(recorded))
    slots = engine.put(slots)
    rows, mu, clock = problem.rows, problem.mu, engine.clock

    def one_round() -> None:
        arms = choose(lambda: engine.beta(a, b))
        outcomes = 1.0 * (engine.uniform(arms.shape) < mu[rows, arms])
        a[rows, arms] += engine.like(outcomes, a)
        b[rows, arms] += engine.like(1.0 - outcomes, b)
        regret[:] += problem.best - problem.worth(arms)
        kept[slots[clock]] = regret
        clock[:] += 1

    engine.repeat(one_round, horizon)
    return np.ascontiguousarray(engine.get(kept)[:-1].T)


def _chooser(oracle: Oracle, problem: Problem, engine: Any) -> tuple[Choose, int]:
    """How a round picks its arms from a draw of theta, and how many evaluations it makes."""
    if isinstance(oracle, RandomSets):
        nobody = engine.put(np.full((problem.n_runs, problem.k), -1))
        return lambda draw: _random_sets(problem, engine, nobody), 0
    if isinstance(oracle, GroupTesting):
        grading = Grading(oracle, problem, engine)
        return lambda draw: grading(draw()), grading.n_tests
    return lambda draw: engine.top_k(problem.singles(draw()), problem.k), problem.n_arms


def _random_sets(problem: Problem, engine: Any, nobody: Array) -> Array:
    """k distinct arms for each run by Floyd's algorithm: k draws, and any set is as likely as any other."""
    n_arms, k = problem.n_arms, problem.k
    draws = engine.uniform((problem.n_runs, k))
    arms = 1 * nobody
    for place, last in enumerate(range(n_arms - k, n_arms)):
        arm = engine.whole_numbers(engine.xp.floor(draws[:, place] * (last + 1)))
        taken = (arms == arm[:, None]).any(1)
        arms[:, place] = arm + taken * (last - arm)
    return arms


def _engine(name: str, device: str | None, seeds: np.random.SeedSequence) -> Any:
    if name == "numpy":
        if device is not None:
            raise ValueError(
                f'device is for engine="torch", got device={device!r} with engine="numpy"'
            )
        return NumpyEngine(seeds)
    if name != "torch":
        raise ValueError(f'engine must be "numpy" or "torch", got {name!r}')
    try:
        from superarm.simulation.batch.on_torch import TorchEngine
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        raise ModuleNotFoundError(
            "engine=\"torch\" needs torch: pip install 'superarm[torch]'", name="torch"
        ) from None
    return TorchEngine(seeds, device)


def _as_rounds(rounds: ArrayLike | None, horizon: int) -> IndexArray:
    if rounds is None:
        return np.arange(1, horizon + 1)
    given = np.asarray(rounds)
    if given.ndim != 1 or not given.size or not np.issubdtype(given.dtype, np.integer):
        raise TypeError(f"rounds must be a flat, non-empty array of whole numbers, got {rounds!r}")
    if given.min() < 1 or given.max() > horizon or (np.diff(given.astype(np.int64)) <= 0).any():
        raise ValueError(
            f"rounds must ascend between 1 and {horizon} (horizon), got {given.tolist()[:9]}"
        )
    return given.astype(np.intp)

"""`simulate_batch`: many runs at once."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from superarm.core import Belief, Oracle
from superarm.core.arguments import FloatArray, IndexArray, as_count
from superarm.core.showing import one_line
from superarm.oracles import GroupTesting, RandomSets, Singletons
from superarm.simulation.batch.grading import Grading
from superarm.simulation.batch.knowledge import Knowledge, LearnsInPauses, TopsPerRun, knowledge
from superarm.simulation.batch.on_numpy import NumpyEngine
from superarm.simulation.batch.run_stack import Array, RunStack
from superarm.simulation.instances import Instance
from superarm.version import how_to_install

Draw = Callable[[], Array]
Choose = Callable[[Draw], Array]


@dataclass(frozen=True, eq=False)
class BatchTrace:
    """The regret of many runs at the recorded rounds.

    Attributes
    ----------
    rounds, evaluations
        Shape (n_recorded,) each: the recorded rounds, counted from 1, and the number of sets that
        each run has evaluated by then, which is the same for all runs.
    regret
        Shape (n_runs, n_recorded): the cumulative regret (eq. regret) of each run.
    instances
        The instance of each run.
    play_s
        Seconds for all rounds of all runs. The only field that differs from call to call.
    """

    rounds: IndexArray
    regret: FloatArray
    evaluations: IndexArray
    instances: list[Instance]
    play_s: float

    __repr__ = one_line


def simulate_batch(
    draw: Callable[[np.random.Generator], Instance],
    oracle: Oracle,
    *,
    belief: Belief | None = None,
    n_runs: int,
    horizon: int,
    seed: int,
    rounds: ArrayLike | None = None,
    engine: Literal["numpy", "torch"] = "numpy",
    device: str | None = None,
) -> BatchTrace:
    """Play Thompson sampling with ``oracle`` on ``n_runs`` instances, round by round together.

    Every run has the law of `simulate` with a copy of ``belief``, and the runs are independent. The
    random numbers differ from those of `simulate`; the instances are those of `replicate` with the
    same seed. The result depends on the seed, the number of runs, the engine and the device only.
    Takes the memory of a few arrays of runs × arms, since tests are drawn, scored and decoded in
    chunks.

    Parameters
    ----------
    draw
        ``draw(rng) -> Instance``, called once per run, for example with `linear_instance` or
        `network_instance`. All instances must have the same size. Runs with the same reward object
        share its weights in memory.
    oracle
        `Singletons` (as in `cts`), `GroupTesting` with random tests (as in `gt_qts`), or
        `RandomSets`. The oracle is only read.
    belief
        What every run starts with; only read. By default a new `BetaBelief`. `BetaBelief`,
        `SharedSeedBelief`, `SingleSeedBelief`, `LearnedBetaBelief`, `GaussianBelief` and
        `FlatGaussianBelief` are played as arrays. Of other beliefs every run has a copy, which
        costs as much as in `simulate`, with numpy only. So does `LearnedBetaBelief` with numpy, if
        the reward is a sum of 500 arms or more, of which few decide.
    n_runs, horizon
        How many runs, of how many rounds.
    seed
        Determines all random numbers.
    rounds
        The rounds to record, ascending, counted from 1; all rounds by default.
    engine
        "numpy", in float64, or "torch", in float32 with sums in float64. torch comes with
        ``superarm[torch]``.
    device
        For torch: "cuda", "cpu", ...; by default a GPU if there is one.

    Examples
    --------
    >>> import superarm as sa
    >>> draw = lambda rng: sa.linear_instance(20, 3, 0.2, rng=rng)
    >>> options = {"n_runs": 100, "horizon": 200, "seed": 0, "rounds": [100, 200]}
    >>> trace = simulate_batch(draw, sa.Singletons(), **options)
    >>> trace.regret.shape, trace.evaluations
    ((100, 2), array([2000, 4000]))
    >>> trace.regret.mean(axis=0).round(1)
    array([40.8, 48.6])
    """
    n_runs, horizon = as_count(n_runs, "n_runs", least=1), as_count(horizon, "horizon", least=1)
    recorded = _as_rounds(rounds, horizon)
    if not isinstance(oracle, Singletons | GroupTesting | RandomSets):
        raise TypeError(
            "simulate_batch plays Singletons, GroupTesting and RandomSets, "
            f"got {type(oracle).__name__}; replicate plays any oracle"
        )
    # A key of one number, so that this stream differs from those of `run_one`, whose keys have two.
    own = np.random.SeedSequence(as_count(seed, "seed"), spawn_key=(n_runs,))
    device_engine = _engine(engine, device, own)
    # The instances of `replicate`: run_one's stream 0 is the one for making.
    instances = [
        draw(np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(run, 0))))
        for run in range(n_runs)
    ]
    runs = RunStack(instances, device_engine)
    only_top = isinstance(oracle, Singletons) and runs.layer is None
    known = knowledge(belief, runs, device_engine, only_top=only_top)
    choose, per_round = _chooser(oracle, runs, device_engine, known)
    start = time.perf_counter()
    regret = _play(runs, known, choose, device_engine, recorded, horizon)
    play_s = time.perf_counter() - start
    return BatchTrace(recorded, regret, recorded * per_round, instances, play_s)


def _play(
    runs: RunStack,
    known: Knowledge,
    choose: Choose,
    engine: Any,
    recorded: IndexArray,
    horizon: int,
) -> FloatArray:
    """The loop over the rounds, shape (n_runs, n_recorded).

    A round changes its arrays in place, so that a GPU can replay it.
    """
    regret = engine.put(np.zeros(runs.n_runs))
    # Rounds that are not recorded are written to the last row, which is dropped.
    kept = engine.put(np.zeros((len(recorded) + 1, runs.n_runs)))
    slots = np.full(horizon, len(recorded))
    slots[recorded - 1] = np.arange(len(recorded))
    slots = engine.put(slots)
    rows, mu, clock = runs.rows, runs.mu, engine.clock

    def one_round() -> None:
        # Drawn only if the oracle looks at theta; random sets do not.
        arms = choose(known.draw)
        outcomes = 1.0 * (engine.uniform(arms.shape) < mu[rows, arms])
        known.learn(arms, outcomes)
        regret[:] += runs.best - runs.true_values(arms)
        kept[slots[clock]] = regret
        clock[:] += 1

    if isinstance(known, LearnsInPauses):
        engine.repeat(one_round, horizon, known.pauses(horizon), known.pause)
    else:
        engine.repeat(one_round, horizon)
    return np.ascontiguousarray(engine.get(kept)[:-1].T)


def _chooser(oracle: Oracle, runs: RunStack, engine: Any, known: Knowledge) -> tuple[Choose, int]:
    """How a round chooses its arms from a draw of theta, and its number of evaluations."""
    if isinstance(oracle, RandomSets):
        nobody = engine.put(np.full((runs.n_runs, runs.k), -1))
        return lambda draw: _random_sets(runs, engine, nobody), 0
    if isinstance(oracle, GroupTesting):
        grading = Grading(oracle, runs, engine)
        return lambda draw: grading(draw()), grading.n_tests
    if isinstance(known, TopsPerRun):
        return lambda draw: known.top(runs.k), runs.n_arms
    top = engine.top_k_ties if known.has_ties else engine.top_k
    return lambda draw: top(runs.singleton_values(draw()), runs.k), runs.n_arms


def _random_sets(runs: RunStack, engine: Any, nobody: Array) -> Array:
    """k distinct arms per run, all sets equally likely, by Floyd's algorithm with k draws."""
    n_arms, k = runs.n_arms, runs.k
    draws = engine.uniform((runs.n_runs, k))
    arms = 1 * nobody
    for place, last in enumerate(range(n_arms - k, n_arms)):
        arm = engine.whole_numbers(engine.xp.floor(draws[:, place] * (last + 1)))
        # Floyd: if the draw is taken already, the last candidate enters. It can't be taken yet.
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
        # torch is installed but something that it imports is missing: that error says more.
        if error.name != "torch":
            raise
        raise ModuleNotFoundError(
            f'engine="torch" needs torch: {how_to_install("torch")}', name="torch"
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

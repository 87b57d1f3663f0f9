"""Run the benchmark: a list of jobs as plain data, each of which gives rows as plain data."""

from __future__ import annotations

import platform
import time
from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import asdict, dataclass
from importlib.metadata import version
from typing import Any

import numpy as np
import scipy

import superarm as sa
from suite import parts, programs
from suite.timing import Program, Timing, peak_bytes, side_by_side
from superarm.advice.oracle_costs import Timed

Row = dict[str, Any]

K, N_TESTS, DELTA = 5, 302, 0.25


@dataclass(frozen=True)
class Sizes:
    """How large and how long.

    Attributes
    ----------
    thompson, oracles, operations, memory
        The numbers of arms that each part is measured at.
    group_testing
        The number of arms of a round of group testing.
    n_turns
        Turns of the programs that are timed side by side.
    n_rounds
        Rounds that each oracle plays.
    most_s
        Seconds after which turns end early, for each number of arms.
    limit_s
        A program is left out where a round is expected to take longer than this.
    """

    thompson: tuple[int, ...] = (1000, 10_000, 100_000, 1_000_000)
    oracles: tuple[int, ...] = (100, 1000, 10_000, 100_000)
    operations: tuple[int, ...] = (1000, 10_000, 100_000, 1_000_000)
    memory: tuple[int, ...] = (10_000, 1_000_000, 10_000_000)
    group_testing: int = 5000
    n_turns: int = 31
    n_rounds: int = 40
    most_s: float = 15.0
    limit_s: float = 4.0


QUICK = Sizes(
    thompson=(1000, 10_000),
    oracles=(100, 1000),
    operations=(1000, 10_000),
    memory=(1000, 10_000),
    n_turns=5,
    n_rounds=10,
    most_s=1.0,
    limit_s=0.3,
)


@dataclass(frozen=True)
class Job:
    """One thing to measure: a part of the benchmark, at a number of arms or a row of its table."""

    part: str
    at: int

    def __str__(self) -> str:
        if self.part == "operations":
            return parts.OPERATIONS[self.at].name.replace("`", "")
        if self.part == "group testing":
            return f"group testing, p={programs.INCLUSIONS[self.at][0]}"
        return f"{self.part}, {self.at:,} arms"


def jobs(sizes: Sizes) -> list[Job]:
    """Everything that is measured."""
    return [
        *(Job("group testing", j) for j in range(len(programs.INCLUSIONS))),
        *(Job("thompson", m) for m in sizes.thompson),
        *(Job("oracles", m) for m in sizes.oracles),
        *(Job("operations", j) for j in range(len(parts.OPERATIONS))),
        *(Job("memory", m) for m in sizes.memory),
    ]


def run(
    sizes: Sizes, *, executor: Executor | None = None, progress: Callable[[Job], None] | None = None
) -> Row:
    """Measure everything, one job after the other: ``{"machine": ..., "rows": [...]}``, plain JSON.

    With an executor, the jobs run there, one at a time. ``benchmarks/run.py`` has one worker
    process with one BLAS thread.
    """
    rows: list[Row] = []
    for job in jobs(sizes):
        rows += (
            executor.submit(run_job, job, sizes, rows).result()
            if executor
            else run_job(job, sizes, rows)
        )
        if progress is not None:
            progress(job)
    missing = [one.name for one in programs.PEERS if not one.is_there]
    return {
        "machine": _machine(),
        "scale": asdict(sizes),
        "quick": sizes == QUICK,
        "not_installed": missing,
        "rows": rows,
    }


def run_job(job: Job, sizes: Sizes, known: list[Row]) -> list[Row]:
    """The rows of one job; ``known``, the rows of earlier jobs, tell what takes too long."""
    measure = {
        "thompson": _thompson,
        "group testing": _group_testing,
        "oracles": _oracles,
        "operations": _operation,
        "memory": _memory,
    }[job.part]
    found = measure(job.at, sizes, [row for row in known if row["part"] == job.part])
    return [{"part": job.part, **row} for row in found]


def _thompson(m: int, sizes: Sizes, known: list[Row]) -> list[Row]:
    ready: dict[str, Program] = {}
    for one in programs.PEERS:
        if one.is_there and not _too_slow(one.name, m, sizes, known):
            ready[one.name] = one.make(m, K, programs.bernoulli_pull(m, seed=1))
    notes = {one.name: one.note for one in programs.PEERS}
    return [
        _row(name, m, timing, note=notes[name], **cold)
        for name, timing, cold in _twice(ready, sizes.n_turns, sizes)
    ]


def _group_testing(at: int, sizes: Sizes, known: list[Row]) -> list[Row]:
    name, inclusion = programs.INCLUSIONS[at]
    m = sizes.group_testing
    theta, p = np.random.default_rng(0).random(m), inclusion(m, K)
    makers = {
        "superarm": programs.superarm_group_testing,
        "plain numpy": programs.numpy_group_testing,
    }
    ready = {who: make(theta, K, N_TESTS, p, DELTA) for who, make in makers.items()}
    return [
        _row(who, m, timing, p=name, **cold)
        for who, timing, cold in _twice(ready, 10 * sizes.n_turns, sizes)
    ]


def _twice(ready: dict[str, Program], n_turns: int, sizes: Sizes) -> list[tuple[str, Timing, Row]]:
    """Timed in turns, and call by call: after the numpy program a call finds the caches empty."""
    times = side_by_side(ready, n_turns=n_turns, most_s=sizes.most_s)
    cold = side_by_side(ready, n_turns=n_turns, turn_s=0.0, most_s=sizes.most_s)
    return [
        (name, timing, {f"cold_{key}": value for key, value in asdict(cold[name]).items()})
        for name, timing in times.items()
    ]


def _oracles(m: int, sizes: Sizes, known: list[Row]) -> list[Row]:
    instance = sa.network_instance(m, K, 0.2, rng=np.random.default_rng(0))
    players = [
        _Player(row, row.make(m, K), instance)
        for row in parts.ORACLES
        if not _too_slow(row.name, m, sizes, known)
    ]
    for turn in range(sizes.n_rounds):
        for player in reversed(players) if turn % 2 else players:
            player.play()
    return [player.row(m) for player in players]


class _Player:
    """An oracle in a policy of its own, and what each of its rounds cost."""

    def __init__(self, about: parts.OracleRow, oracle: sa.Oracle, instance: sa.Instance) -> None:
        self.about, self.oracle, self.instance = about, oracle, instance
        self.timed = Timed(instance.reward, time.process_time)
        self.reward = sa.Counted(self.timed)
        self.belief, self.rng = sa.BetaBelief(instance.n_arms), np.random.default_rng(1)
        self.own_s: list[float] = []
        self.reward_s: list[float] = []
        self.evaluations: list[int] = []

    def play(self) -> None:
        theta = self.belief.sample(rng=self.rng)
        evaluated, rewarded = self.reward.evaluations, self.timed.took_s
        start = time.process_time()
        arms = self.oracle.select(self.reward, theta, K, rng=self.rng)
        gone = time.process_time() - start
        self.reward_s.append(self.timed.took_s - rewarded)
        self.own_s.append(gone - self.reward_s[-1])
        self.evaluations.append(self.reward.evaluations - evaluated)
        self.belief.update(arms, self.instance.pull(arms, rng=self.rng), rng=self.rng)

    def row(self, m: int) -> Row:
        low, median, high = np.quantile(self.own_s, [0.25, 0.5, 0.75])
        settled = self.evaluations[len(self.evaluations) // 2 :]
        theta = self.belief.sample(rng=self.rng)
        peak = peak_bytes(lambda: self.oracle.select(self.reward, theta, K, rng=self.rng))
        return _row(
            self.about.name,
            m,
            Timing(float(median), float(low), float(high), len(self.own_s)),
            law=self.about.time,
            power=self.about.power,
            evaluations_law=self.about.evaluations,
            evaluations=float(np.mean(settled)),
            first_evaluations=self.evaluations[0],
            reward_s=float(np.median(self.reward_s)),
            peak_bytes=peak,
        )


def _operation(at: int, sizes: Sizes, known: list[Row]) -> list[Row]:
    row, rng = parts.OPERATIONS[at], np.random.default_rng(0)
    found = []
    for m in sizes.operations:
        times = side_by_side(
            {row.name: row.make(m, rng)}, n_turns=sizes.n_turns, most_s=sizes.most_s / 10
        )
        found.append(_row(row.name, m, times[row.name], law=row.law, power=row.power))
    return found


def _memory(m: int, sizes: Sizes, known: list[Row]) -> list[Row]:
    """Building a peer and playing one round; other libraries at the smallest size only."""
    found = []
    for one in programs.PEERS:
        if one.is_there and (one.needs is None or m == sizes.memory[0]):
            pull = programs.bernoulli_pull(m, seed=1)
            # The first one imports the library, whose memory does not count.
            one.make(10, K, programs.bernoulli_pull(10, seed=1))()
            found.append(
                {
                    "name": one.name,
                    "n_arms": m,
                    "peak_bytes": peak_bytes(_built_and_played(one, m, pull)),
                }
            )
    return found


def _built_and_played(one: programs.Peer, m: int, pull: programs.Pull) -> Program:
    def program() -> Program:
        played = one.make(m, K, pull)
        played()
        return played

    return program


def _too_slow(name: str, m: int, sizes: Sizes, known: list[Row]) -> bool:
    """Left out at a smaller number of arms, or, if it grows like m, beyond the limit now."""
    before = [row for row in known if row["n_arms"] < m]
    mine = [row for row in before if row["name"] == name]
    if not before:
        return False
    last = max(row["n_arms"] for row in before)
    if not mine or mine[-1]["n_arms"] < last:
        return True
    return (mine[-1]["median_s"] + mine[-1].get("reward_s", 0.0)) * m / last > sizes.limit_s


def _row(name: str, m: int, timing: Timing, **more: Any) -> Row:
    return {"name": name, "n_arms": m, **asdict(timing), **more}


def _machine() -> dict[str, Any]:
    peers = {one.needs: version(one.needs) for one in programs.PEERS if one.needs and one.is_there}
    return {
        "processor": platform.machine(),
        "system": platform.system(),
        "python": platform.python_version(),
        "superarm": sa.__version__,
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        **peers,
    }

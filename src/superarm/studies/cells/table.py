"""The cell of your own table: one run of one policy over the rows of the table."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from superarm.catalog import POLICIES, Task
from superarm.catalog.entries import PolicyPart
from superarm.core import Policy
from superarm.core.arguments import FloatArray, IndexArray
from superarm.environments import ContextualReplay, ReplayEnvironment
from superarm.policies import Prior
from superarm.rewards import LinearReward
from superarm.simulation import simulate
from superarm.studies.cell import Cell, Recorded, checkpoints
from superarm.studies.cells.knowing import NOTHING, Known, Model, belief_of, model_for

Order = Literal["given", "shuffled"]

DELTA = 0.25  # the quantization level of group testing, as in the paper
NO_GAP = 1e-9  # a gap up to this is a rounding error: all sets are worth the same
# Only sums of these rounds are kept, so that memory does not grow with the horizon.
_ROUNDS_AT_ONCE = 10_000
_CELLS_AT_ONCE = 2**20  # of the table, so that no second table is made
_FILES = ("table", "best", "random")
_KNOWN = ("features", "contexts")  # files that need not be there


@dataclass(frozen=True, eq=False)
class TableProblem:
    """A table to be played, with what is known in hindsight.

    Attributes
    ----------
    environment
        The rows that may be played; in given order, the first ``horizon`` rows of the file.
    k, horizon, order
        Arms in a set, rounds in a run, and the order of the rows.
    best, random
        Shape (n_rounds,): what the best fixed set and, on average, a random set get in each row.
    known
        What is known beside the table.
    """

    environment: ReplayEnvironment
    k: int
    horizon: int
    order: Order
    best: FloatArray
    random: FloatArray
    known: Known = NOTHING

    @property
    def model(self) -> Model:
        """The belief of the policies that use features and contexts."""
        return model_for(self.environment.table, self.known)

    @cached_property
    def gap(self) -> float:
        """By how much the best fixed set beats a random set in ``horizon`` rounds."""
        table = self.environment
        return self.horizon * (table.best_fixed(self.k) - table.random_set(self.k))

    def save(self, folder: Path) -> None:
        """Write the arrays where worker processes map them: there is one table for all of them."""
        for name, values in zip(
            _FILES, (self.environment.table, self.best, self.random), strict=True
        ):
            np.save(folder / f"{name}.npy", values)
        for name in _KNOWN:
            if (known := getattr(self.known, name)) is not None:
                np.save(folder / f"{name}.npy", known)


def prepare(
    cells: NDArray[Any], names: Sequence[str], k: int, horizon: int, order: Order
) -> TableProblem:
    """The problem of a table. In given order, only the rows that are played count in hindsight."""
    played = cells[:horizon] if order == "given" else cells
    environment = ReplayEnvironment(played, names=names, order=order)
    # Hindsight is computed once here, not once per run: it depends on the table alone.
    members = environment.best_arms(k)
    best, random = np.empty(environment.n_rounds), np.empty(environment.n_rounds)
    step = max(1, _CELLS_AT_ONCE // environment.n_arms)
    for start in range(0, environment.n_rounds, step):
        strip = environment.table[start : start + step].astype(np.float64)
        # A missing cell counts as the mean of its arm, for every set alike. Otherwise arms with
        # many missing cells would look worse than they are.
        filled = np.where(np.isnan(strip), environment.means, strip)
        best[start : start + step] = filled[:, members].sum(axis=1)
        random[start : start + step] = k * filled.mean(axis=1)
    return TableProblem(environment, k, horizon, order, best, random)


def run(cell: Cell) -> Recorded:
    """Play ``settings["policy"]`` over the table that ``settings["folder"]`` holds.

    The row has, at the checkpoints, the total rewards of the policy, of the best fixed set and of
    the random baseline in the same rows, and in how many rounds each arm was picked.
    """
    s = cell.settings
    problem = _saved(s["folder"], s["k"], s["horizon"], s["order"])
    return Recorded(play(problem, s["policy"], cell.run, seed=cell.seed, prior=s.get("prior")), {})


def play(
    problem: TableProblem,
    policy: str,
    number: int,
    *,
    seed: int,
    prior: Prior | None = None,
) -> dict[str, Any]:
    """The row of one run; ``prior`` is that of `thompson` and `cts`.

    Its random streams are those that `superarm.replicate` would give it.
    """
    rng, environment_rng = (
        np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(number, stream)))
        # Stream 0 draws instances, and a table is no random instance.
        for stream in (1, 2)
    )
    environment = problem.environment.fresh()
    task = Task(LinearReward(environment.n_arms), problem.k, problem.horizon, DELTA, prior=prior)
    player = part_of(policy, problem).make(task)
    played: Any = environment
    if policy == "contexts":
        assert problem.known.contexts is not None
        played = ContextualReplay(environment, problem.known.contexts)
    at = checkpoints(problem.horizon)
    reward, n_shown = np.empty(len(at)), np.zeros(environment.n_arms, np.intp)
    total, done = 0.0, 0
    while done < problem.horizon:
        with warnings.catch_warnings():
            # The report says this once.
            warnings.filterwarnings("ignore", "outcomes are far below 1")
            trace = simulate(
                player,
                played,
                horizon=min(_ROUNDS_AT_ONCE, problem.horizon - done),
                rng=rng,
                world_rng=environment_rng,
            )
        totals = total + np.cumsum(environment.rewards(trace.arms, trace.outcomes))
        # The checkpoints that lie in this part of the rounds.
        here = (at > done) & (at <= done + len(totals))
        reward[here] = totals[at[here] - done - 1]
        n_shown += np.bincount(trace.arms.ravel(), minlength=environment.n_arms)
        total, done = float(totals[-1]), done + len(totals)
    # The best fixed set and the baseline are scored in the rows that this run met, in its own
    # order. This pairing removes the luck of the rows from the difference.
    rows = environment.rows[: problem.horizon]
    return {
        "checkpoints": at.tolist(),
        "reward": reward.tolist(),
        "best": _totals(problem.best, rows, at),
        "random": _totals(problem.random, rows, at),
        "n_shown": n_shown.tolist(),
        "gap": problem.gap,
    }


def part_of(policy: str, problem: TableProblem) -> PolicyPart:
    """The entry of a policy in the catalog, or that of a policy of this table."""
    if policy in POLICIES:
        return POLICIES[policy]
    uses_contexts = policy == "contexts"
    words = "contexts" if uses_contexts else "features"
    if uses_contexts and problem.known.features is not None:
        words = "features and contexts"

    def make(task: Task) -> Policy:
        table = problem.environment.table
        belief = belief_of(table, task.k, problem.known, uses_contexts=uses_contexts)
        return Policy(belief, task.exact_oracle(), task.reward, task.k)

    sentence = f"Thompson sampling that learns what the {words} tell, and what each arm shows."
    # No policy of the catalog looks like this.
    colour = "#56B4E9" if uses_contexts else "#E69F00"
    return PolicyPart(policy, f"Thompson, {words}", sentence, make, colour, "-.")


def _totals(values: FloatArray, rows: IndexArray, at: IndexArray) -> list[float]:
    """The sums of ``values`` over the rows that were played up to each checkpoint."""
    totals: list[float] = np.cumsum(values[rows])[at - 1].tolist()
    return totals


# A process plays one table. Mapping it instead of reading it lets all processes share the memory.
@lru_cache(maxsize=1)
def _saved(folder: str, k: int, horizon: int, order: Order) -> TableProblem:
    """The problem that `TableProblem.save` wrote, mapped into memory once per process."""
    table, best, random = (np.load(Path(folder) / f"{name}.npy", mmap_mode="r") for name in _FILES)
    paths = [Path(folder) / f"{name}.npy" for name in _KNOWN]
    known = [np.load(path, mmap_mode="r") if path.exists() else None for path in paths]
    replay = ReplayEnvironment(table, order=order)
    return TableProblem(replay, k, horizon, order, best, random, Known(*known))

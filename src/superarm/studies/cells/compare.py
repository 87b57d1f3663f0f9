"""The cell of the comparison: one run of one policy on one problem."""

from __future__ import annotations

from typing import Any

import numpy as np

from superarm.catalog import Task
from superarm.core import Environment, Policy
from superarm.environments import ContextualReplay, ReplayEnvironment
from superarm.simulation import run_one
from superarm.studies.cell import Cell, Recorded
from superarm.studies.cells.knowing import belief_of
from superarm.studies.cells.outside import make_policy
from superarm.studies.cells.problems import ProblemInstance, draw

KNOWING = ("features", "contexts")  # policies that play problems with such, beside the catalog's
# Streams 0 to 2 of a run are those of `run_one`.
_INSTANCE_STREAM, _BASELINE_STREAM = 0, 3


class _DoesNotPlayError(Exception):
    """A policy from outside answered None."""


def run(cell: Cell) -> Recorded:
    """Play the policy ``settings["policy"]`` on ``settings["problem"]``.

    The row has the regret against the best fixed set, the expected regret of the random baseline
    (``chance``), and the evaluations; it is empty if the policy does not play this problem. All
    policies of a run meet the same instance, because its random streams follow from the seed and
    the run of the cell alone.
    """
    problem = cell.settings["problem"]
    horizon = problem["horizon"]
    instances: list[ProblemInstance] = []
    # A stream of its own: estimating the baseline must not change what the policy meets.
    baseline_rng = _stream(cell, _BASELINE_STREAM)

    def make(rng: np.random.Generator) -> tuple[Policy, Environment]:
        instance = draw(problem, rng=rng, baseline_rng=baseline_rng)
        # `run_one` returns the trace only, and the row needs the instance.
        instances.append(instance)
        task = Task(instance.reward, instance.k, horizon, **cell.settings["task"])
        if cell.settings["policy"] in KNOWING:
            return _knowing(cell.settings["policy"], task, instance)
        policy = make_policy(cell.settings["policy"], task)
        if policy is None:
            raise _DoesNotPlayError
        return policy, instance.environment

    try:
        trace = run_one(make, horizon, cell.seeds())
    except _DoesNotPlayError:
        return Recorded({}, {})
    instance = instances[0]
    row: dict[str, Any] = {
        "n_arms": instance.reward.n_arms,
        "regret": horizon * instance.best - float(trace.values.sum()),
        "chance": horizon * (instance.best - instance.random),
        "evaluations": int(trace.evaluations.sum()),
    }
    return Recorded(row, {"ask_s": float(trace.ask_s.sum())})


def _knowing(name: str, task: Task, instance: ProblemInstance) -> tuple[Policy, Environment]:
    """A policy that uses what is known of a table, and the table, with contexts if it has them."""
    replay = instance.environment
    assert isinstance(replay, ReplayEnvironment)
    contexts = instance.known.contexts if name == "contexts" else None
    belief = belief_of(replay.table, task.k, instance.known, uses_contexts=contexts is not None)
    policy = Policy(belief, task.exact_oracle(), task.reward, task.k)
    return policy, replay if contexts is None else ContextualReplay(replay, contexts)


def instance_of(cell: Cell) -> ProblemInstance:
    """The instance that the policies of this run meet."""
    streams = [_stream(cell, number) for number in (_INSTANCE_STREAM, _BASELINE_STREAM)]
    return draw(cell.settings["problem"], rng=streams[0], baseline_rng=streams[1])


def _stream(cell: Cell, number: int) -> np.random.Generator:
    return np.random.default_rng(np.random.SeedSequence(cell.seed, spawn_key=(cell.run, number)))

"""Where recorded cells come from: engines and machines, what ran alone, and how long it took."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from superarm.studies.cell import Cell, Recorded, canonical
from superarm.studies.run import is_timed
from superarm.studies.store import Recording


def provenance(sweeps: Mapping[str, Sequence[Cell]], store: Recording) -> dict[str, Any]:
    """What a manifest says about recorded cells.

    Parameters
    ----------
    sweeps
        The cells by experiment; all of them are recorded.
    store
        Where they are recorded.

    Returns
    -------
    dict
        ``groups``, one per engine and machine, where timed cells are groups of their own;
        ``cells``, ``processor_s`` and ``wall_s`` of all cells together.
    """
    names: dict[str, list[str]] = {}
    cells = {cell.key: cell for sweep in sweeps.values() for cell in sweep}
    for name, sweep in sweeps.items():
        for key in {cell.key for cell in sweep}:
            names.setdefault(key, []).append(name)
    groups: dict[str, dict[str, Any]] = {}
    members: dict[str, list[Recorded]] = {}
    for key, cell in cells.items():
        recorded = store.get(cell)
        about = {
            "engine": recorded.row.get("engine", "process"),
            "timed_alone": is_timed(cell),
            "machine": recorded.times["machine"],
        }
        group = canonical(about)
        experiments = groups.setdefault(group, {**about, "experiments": []})["experiments"]
        experiments += [name for name in names[key] if name not in experiments]
        members.setdefault(group, []).append(recorded)
    return {
        # Sorted, so that the order in which cells were requested leaves the manifest the same.
        "groups": [
            {**groups[group], "experiments": sorted(groups[group]["experiments"]), **_spent(part)}
            for group, part in sorted(members.items())
        ],
        **_spent([recorded for part in members.values() for recorded in part]),
    }


def _spent(part: Sequence[Recorded]) -> dict[str, Any]:
    return {
        "cells": len(part),
        "processor_s": round(sum(one.times["processor_s"] for one in part), 1),
        "wall_s": round(_union((one.times["started"], one.times["ended"]) for one in part), 1),
    }


def _union(spans: Iterable[tuple[float, float]]) -> float:
    """How long at least one of the spans lasted.

    A study may be recorded in several calls, some of which were killed. The pauses between them do
    not count.
    """
    total, until = 0.0, float("-inf")
    for start, end in sorted(spans):
        total += max(0.0, end - max(start, until))
        until = max(until, end)
    return total

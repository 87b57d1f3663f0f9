"""What is known about single arms, as plain JSON and back."""

from __future__ import annotations

from typing import Any

import numpy as np

from superarm.core.arguments import FloatArray, IndexArray, as_finite, as_unit
from superarm.core.states import as_saved_array, as_saved_number, refusing
from superarm.oracles._lazy.single_arms import Audits, SingleArms

_IN_STATE = ("monotone", "concave", "used", "warned")


def state_of(known: SingleArms) -> dict[str, Any]:
    """All of it, as plain JSON: the points of the first arm, then of the second, and so on."""
    there = np.arange(len(known.x))[:, None] < known.n
    return {
        "memory": {
            "n": known.n.tolist(),
            "x": known.x.T[there.T].tolist(),
            "f": known.f.T[there.T].tolist(),
            "lipschitz": known.lipschitz.tolist(),
        },
        "monotone": known.monotone,
        "concave": known.concave,
        "used": known.used,
        "warned": known.warned,
        "empty": known.empty,
        "audits": known.audits.state(),
    }


@refusing("LazySingletons")
def from_state(state: dict[str, Any], n_points: int) -> SingleArms:
    """What `state_of` described. Refused if it is not that, or of other points per arm."""
    if state.get("n_points") != n_points or any(name not in state for name in _IN_STATE):
        raise ValueError(
            f"state must have n_points={n_points} and {', '.join(_IN_STATE)}, "
            f"got n_points={state.get('n_points')} and {sorted(state)}"
        )
    memory = state["memory"]
    n, lipschitz = _counts(memory, n_points)
    monotone, concave = bool(state["monotone"]), bool(state["concave"])
    known = SingleArms(lipschitz, n_points, monotone=monotone, concave=concave)
    there = np.arange(n_points) < n[:, None]
    for name, array in (("x", known.x), ("f", known.f)):
        values = as_saved_array(memory[name], name, (int(n.sum()),))
        array.T[there] = as_unit(values, "state['x']", values.shape) if name == "x" else values
    known.n = n
    known.used, known.warned = as_saved_number(state["used"], "used"), bool(state["warned"])
    empty = state.get("empty")
    known.empty = None if empty is None else as_saved_number(empty, "empty")
    known.audits = Audits.of(state.get("audits"))
    return known


def _counts(memory: dict[str, Any], n_points: int) -> tuple[IndexArray, FloatArray]:
    """How many points each arm has, and its B, shape (n_arms,) each."""
    missing = [name for name in ("n", "x", "f", "lipschitz") if name not in memory]
    if missing:
        raise ValueError(f"state must have {missing[0]!r}, got only {sorted(memory)}")
    n = as_finite(memory["n"], "state['n']", ndim=1, least=0.0).astype(np.intp)
    lipschitz = as_finite(memory["lipschitz"], "state['lipschitz']", ndim=1, least=0.0)
    if n.max() > n_points:
        raise ValueError(
            f"state must have at most {n_points} points per arm (n_points), got {n.max()}"
        )
    if lipschitz.shape != n.shape:
        raise ValueError(
            f"state must have a lipschitz for each of {len(n)} arms, got {len(lipschitz)}"
        )
    return n, lipschitz

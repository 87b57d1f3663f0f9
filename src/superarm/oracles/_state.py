"""What oracles have in common that save a state: its checks, and the state of an inner oracle."""

from __future__ import annotations

from typing import Any

from superarm.core import Oracle, Reward
from superarm.core.declarations import is_noisy
from superarm.core.optional import Forgetful, Stateful


def check_state(state: Any, oracle: str, *keys: str) -> None:
    """Refuse what is not a state of this oracle with these keys.

    Called before anything is assigned, so that a refused state leaves the oracle as it was.
    """
    # A state may come from a file that a user edited: it need not even be a dict.
    kind = state.get("oracle") if isinstance(state, dict) else None
    if kind != oracle or any(key not in state for key in keys):
        article = "an" if oracle[0] in "AEIOU" else "a"
        raise ValueError(f"state must be that of {article} {oracle}, got {state!r:.60}")


def check_loaded(n_arms: int, reward: Reward) -> None:
    """Refuse a loaded state of ``n_arms`` arms for a reward of other arms."""
    if n_arms != reward.n_arms:
        raise ValueError(f"the loaded state is of {n_arms} arms, got a reward of {reward.n_arms}")


def inner_state(inner: Oracle | None) -> dict[str, Any] | None:
    """The state of an oracle inside another one; None if it has none."""
    return inner.state() if isinstance(inner, Stateful) else None


def load_inner(inner: Oracle | None, state: dict[str, Any] | None) -> None:
    """Load what `inner_state` returned. Older files may lack it."""
    if state is not None and isinstance(inner, Stateful):
        inner.load(state)


def forget_inner(inner: Oracle | None) -> None:
    """Let an oracle inside another one forget its reward, if it remembers one."""
    if isinstance(inner, Forgetful):
        inner.forget()


def refuse_noisy(oracle: object, reward: Reward, instead: str) -> None:
    """Refuse a reward that declares ``noisy``, before the first evaluation."""
    if is_noisy(reward):
        raise ValueError(
            f"{type(oracle).__name__} needs a reward without noise, because it remembers answers, "
            f"and the reward declares noisy; use {instead}"
        )

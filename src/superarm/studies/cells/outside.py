"""Policies and problems of other programs: functions that are named MODULE:FUNCTION."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any

from superarm.catalog import POLICIES, Task
from superarm.core import Policy


def load(name: str) -> Callable[..., Any]:
    """The function MODULE:FUNCTION. Modules are also looked for in the current folder."""
    # Workers are started in the same folder, so they find the same module.
    if "" not in sys.path:
        sys.path.insert(0, "")
    module, _, attribute = name.partition(":")
    found: Any = import_module(module)
    for part in attribute.split("."):
        found = getattr(found, part)
    return found


def make_policy(name: str, task: Task) -> Policy | None:
    """A policy of the catalog or of MODULE:FUNCTION; None if it does not play such a reward."""
    if ":" not in name:
        part = POLICIES[name]
        return None if part.additive and not task.reward.additive else part.make(task)
    policy = load(name)(task)
    if not isinstance(policy, Policy | None):
        raise TypeError(
            f"{name} must return a superarm.Policy, or None for problems that it does not play, "
            f"got {policy!r}"
        )
    return policy

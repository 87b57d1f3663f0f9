"""A reward of the operator that is evaluated in another process."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from superarm.core import Pools
from superarm.core.arguments import FloatArray, as_theta
from superarm.service.processes.child import Made, Wanted
from superarm.service.processes.pool import Processes

Factory = Callable[..., Any]
_OURS = "superarm.rewards."  # rewards of the library need no process


class RemoteReward:
    """Says what the reward in the other process says.

    It has the declarations of that reward, and the name of its class, by which the files of
    sessions recognise their rewards.
    """

    def __init__(
        self, processes: Processes, made: Made, params: dict[str, Any], declared: dict[str, Any]
    ) -> None:
        self._processes, self._made, self._params = processes, made, params
        vars(self).update(declared)

    def ask(self, verb: str, *values: Any) -> Any:
        """What the other process says."""
        return self._processes.ask(Wanted(self._made, self._params, verb, values))

    def __call__(self, arms: ArrayLike, means: ArrayLike) -> float:
        """The value of one set."""
        return self.ask("value", np.asarray(arms), np.asarray(means))

    def batch(self, pools: Pools, theta: ArrayLike) -> FloatArray:
        """The values of many sets, in one message."""
        means, members = as_theta(theta, pools.n_arms, pools), pools.members
        # Rewards look at members alone, and theta may have a million values.
        if len(members) < pools.n_arms:
            means = means[members]
        return self.ask("batch", members, pools.offsets, means)


def remote_rewards(own: Mapping[str, Factory], processes: Processes) -> dict[str, Factory]:
    """Rewards that are evaluated in processes."""
    return {name: _remote(name, factory, processes) for name, factory in own.items()}


def _remote(name: str, factory: Factory, processes: Processes) -> Factory:
    @functools.wraps(factory)  # whose signature says which parameters fit
    def make(n_arms: int, **params: Any) -> Any:
        made = Made(name, n_arms, json.dumps(params, sort_keys=True))
        declared = processes.ask(Wanted(made, params, "declare"))
        kind, module = declared.pop("class"), declared.pop("module")
        # Oracles know more about the rewards of the library, and these do not call user's code.
        if module.startswith(_OURS) and kind != "BlackBox":
            return factory(n_arms, **params)
        return type(kind, (RemoteReward,), {})(processes, made, params, declared)

    return make

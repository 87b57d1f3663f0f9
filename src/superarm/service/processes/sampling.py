"""Samples for propensities in other processes, so that they take no time from other bandits."""

from __future__ import annotations

import io
import os
import pickle
from contextlib import AbstractContextManager, closing, nullcontext
from typing import Any

from superarm.core import Policy, Pools
from superarm.offpolicy import Propensities
from superarm.service.processes.child import Wanted
from superarm.service.processes.pool import Helpers
from superarm.service.processes.remote import RemoteReward

_WORTH_SENDING = 1 << 20  # less takes milliseconds, as does sending it
_OF_A_SAMPLE = 1000  # a sample of few arms costs as much as drawing this many values
_OURS = "superarm."


class Sampling:
    """Draws the samples of `superarm.offpolicy.propensities` in processes: the same samples.

    The processes are started when they are first needed. Policies with rewards of the operator are
    sampled where these rewards are evaluated.

    Parameters
    ----------
    most
        How many processes there may be.
    least_work
        Less work is not sent: values that are drawn, where a sample is 1,000 more.

    Attributes
    ----------
    helpers
        The processes.
    """

    def __init__(self, most: int, least_work: int = _WORTH_SENDING) -> None:
        self._least_work = least_work
        self.helpers = Helpers(
            "superarm", most, "drew the samples", "repeat, or ask for fewer propensities"
        )

    def __call__(self, policy: Policy, n_samples: int, **options: Any) -> Propensities | None:
        """The samples; None if they are to be drawn here."""
        n_arms, reward = policy.reward.n_arms, policy.reward.uncounted
        work = n_samples * (n_arms + _OF_A_SAMPLE)
        if work < self._least_work or not _may_go(reward):
            return None
        try:
            sent = _pickled((policy, n_samples, options), reward)
        except (pickle.PicklingError, TypeError, AttributeError):
            return None  # a part that can only be copied
        members, offsets, evaluations, state = self._ask(reward, sent)
        options["rng"].bit_generator.state = state
        return Propensities(Pools(members, offsets, n_arms), evaluations)

    def _ask(self, reward: Any, sent: bytes) -> Any:
        if isinstance(reward, RemoteReward):
            return reward.ask("sample", sent)
        return self.helpers.ask(Wanted(None, {}, "sample", (sent,)))

    def close(self) -> None:
        """End the processes."""
        self.helpers.close()


def _may_go(reward: Any) -> bool:
    """Whether another process has the reward, or the code of it."""
    # The code of BlackBox is ours, but not that of the function in it.
    ours = type(reward).__module__.startswith(_OURS) and type(reward).__name__ != "BlackBox"
    return isinstance(reward, RemoteReward) or ours


class _Pickler(pickle.Pickler):
    """Leaves out a reward of the operator, which the other process has."""

    def __init__(self, to: io.BytesIO, reward: Any) -> None:
        super().__init__(to, protocol=pickle.HIGHEST_PROTOCOL)
        self._left_out = reward if isinstance(reward, RemoteReward) else None

    def persistent_id(self, one: Any) -> str | None:
        # Wherever it is in the policy: oracles know their reward by identity.
        return "reward" if one is not None and one is self._left_out else None


def _pickled(work: Any, reward: Any) -> bytes:
    to = io.BytesIO()
    _Pickler(to, reward).dump(work)
    return to.getvalue()


def opened(most: int) -> AbstractContextManager[Sampling | None]:
    """Processes for samples, at most one per core; None for none."""
    # Windows cannot fork.
    if not most or not hasattr(os, "fork"):
        return nullcontext()
    return closing(Sampling(min(most, os.cpu_count() or 1)))

"""Begin with what a log knows."""

from __future__ import annotations

import numpy as np

from superarm.core import Policy
from superarm.offpolicy import ShownLog
from superarm.policies import thompson
from superarm.rewards import LinearReward
from superarm.sessions.decisions import Name


def taught_policy(
    log: ShownLog,
    k: int | None = None,
    *,
    policy: Policy | None = None,
    strength: float = 1.0,
    seed: int | None = None,
) -> tuple[Policy, list[Name]]:
    """A policy that has learned from a log, and the names of its arms: for `Session.from_log`.

    Parameters
    ----------
    log
        What was shown, and what it did.
    k, policy
        Items per decision, for ``thompson`` with a sum as reward; or a policy of your own over the
        items of the log.
    strength
        The share of the log's rounds that count: see `ShownLog.teach`.
    seed
        A whole number from which all random draws follow.

    Examples
    --------
    >>> import superarm as sa
    >>> rows = {"day": [1, 1, 2, 2], "item": ["tea", "jam", "tea", "pie"], "sold": [1, 0, 1, 0]}
    >>> log = ShownLog.of(rows, item="item", outcome="sold", round="day")
    >>> sa.Session.from_log(log, k=2, seed=1).names
    ('jam', 'pie', 'tea')
    """
    if not isinstance(log, ShownLog):
        raise TypeError(
            f"log must be a ShownLog, got {type(log).__name__}; make one with "
            f"superarm.offpolicy.ShownLog.of(rows, item=..., outcome=..., round=...)"
        )
    if policy is None:
        if k is None:
            raise TypeError("a session from a log needs k, or a policy, got neither")
        policy = thompson(LinearReward(log.n_arms), k)
    elif k is not None:
        raise TypeError(f"a session from a log needs k or a policy, got both: k={k}")
    log.teach(policy, strength=strength, rng=np.random.default_rng(seed))
    return policy, [name if isinstance(name, str | int) else str(name) for name in log.names]

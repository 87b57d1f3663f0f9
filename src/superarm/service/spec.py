"""What a bandit is made of: the body of its creation, checked, completed, and turned into a session."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Mapping
from typing import Any

from superarm.core import Policy, Reward
from superarm.service import registry
from superarm.service.bodies import CreateBody
from superarm.service.problems import Problem, shown
from superarm.sessions import Expiry, Session

Spec = dict[str, Any]
_KEPT_NUMBERS = 2_000_000  # explanations keep about as many sampled values in memory


def complete(body: CreateBody, own: Mapping[str, registry.Factory], *, most_arms: int) -> Spec:
    """A spec with every default written out, so that the log says all; refuses what no session can be made of."""
    n_arms = body.arms if isinstance(body.arms, int) else len(body.arms)
    if not 1 <= n_arms <= most_arms:
        raise Problem(
            422,
            f"arms must be between 1 and {most_arms} here, got {n_arms}",
            fix="serve with --most-arms",
        )
    if body.k > n_arms:
        raise Problem(422, f"k must be between 1 and {n_arms} (the number of arms), got {body.k}")
    if not isinstance(body.arms, int) and len(set(body.arms)) < n_arms:
        raise Problem(
            422, f"names of arms must be distinct, got {shown(_repeated(body.arms))} more than once"
        )
    reward = {"name": body.reward} if isinstance(body.reward, str) else dict(body.reward)
    oracle: Any = body.oracle
    if oracle is None:
        oracle = "top_k" if registry.reward(reward, n_arms, own).additive else "lazy_singletons"
    spec = {
        "name": body.name,
        "arms": body.arms,
        "k": body.k,
        "belief": {"kind": body.belief} if isinstance(body.belief, str) else dict(body.belief),
        "oracle": {"kind": oracle} if isinstance(oracle, str) else dict(oracle),
        "reward": reward,
        "prior": None if body.prior is None else list(body.prior),
        "expiry": None if body.expiry is None else body.expiry.model_dump(),
        "seed": secrets.randbits(64) if body.seed is None else body.seed,
        "keep": body.keep,
        "explain_last": max(1, min(100, _KEPT_NUMBERS // n_arms))
        if body.explain_last is None
        else body.explain_last,
    }
    try:
        json.dumps(spec, allow_nan=False)
    except ValueError:
        raise Problem(422, "parameters must be finite numbers, got a NaN or an infinity") from None
    return spec


def policy_of(spec: Spec, own: Mapping[str, registry.Factory]) -> Callable[[int], Policy]:
    """Makes the policy of a spec for so many arms."""

    def make(n_arms: int) -> Policy:
        reward = registry.reward(spec["reward"], n_arms, own)
        oracle = registry.oracle(spec["oracle"])
        if spec["oracle"]["kind"] == "top_k" and not reward.additive:
            raise Problem(
                422,
                "oracle top_k must have an additive reward, got one that is not",
                fix="take the oracle lazy_singletons or greedy",
            )
        return Policy(
            registry.belief(spec["belief"], n_arms, spec["prior"]), oracle, reward, spec["k"]
        )

    return make


def rewards_of(spec: Spec, own: Mapping[str, registry.Factory]) -> Callable[[int], Reward]:
    """Makes the reward of a spec for so many arms."""
    return lambda n_arms: registry.reward(spec["reward"], n_arms, own)


def session_of(
    id: str, spec: Spec, own: Mapping[str, registry.Factory], clock: Callable[[], float]
) -> Session:
    """A new session; the ids of its decisions begin with the bandit's."""
    arms = spec["arms"]
    names = [str(number) for number in range(arms)] if isinstance(arms, int) else arms
    try:
        return Session(
            policy_of(spec, own)(len(names)),
            names,
            seed=spec["seed"],
            expiry=None if spec["expiry"] is None else Expiry(**spec["expiry"]),
            rewards=rewards_of(spec, own),
            keep=spec["keep"],
            explain_last=spec["explain_last"],
            clock=clock,
            key=id,
        )
    except (ValueError, TypeError, OverflowError) as error:
        raise Problem(422, registry.shown_error(error)) from None


def _repeated(names: list[str]) -> str:
    seen: set[str] = set()
    return next(name for name in names if name in seen or seen.add(name))  # type: ignore[func-returns-value]

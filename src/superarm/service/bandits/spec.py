"""What a bandit is made of: the request of its creation, checked, completed, made a session."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Mapping
from typing import Any

from superarm import policies
from superarm.core import Policy, Reward
from superarm.rewards import LinearReward
from superarm.service.bandits import parts, warm_start
from superarm.service.bandits.constraints import check_k
from superarm.service.bandits.features import check_size, rows_of
from superarm.service.problems import Problem, shown, shown_error
from superarm.sessions import Expiry, Holdout, Session
from superarm.sessions.arms import repeated

Spec = dict[str, Any]
_KEPT_NUMBERS = 2_000_000  # sampled values that explanations keep in memory, about
_LEAST_SIZE = 1e-100  # of a parameter that is not 0
_SEED_BITS = 53  # larger whole numbers are not exact in every JSON reader
_MOST_SEED = 2**128
_MOST_EXPLAINED = 100  # decisions that can be explained by default


def complete(given: Spec, own: parts.Factories, *, most_arms: int) -> Spec:
    """A spec with every default filled in, so that the log is self-contained.

    ``given`` has the members of a request for a new bandit. Raises Problem for a spec that no
    session can be made of.
    """
    n_arms = _check_arms(given["arms"], given["k"], most_arms)
    reward = _with_name(given["reward"], "name")
    oracle = given["oracle"]
    if oracle is None:
        oracle = _default_oracle(reward, n_arms, own)
    belief, prior = _belief_and_prior(given["belief"], given["prior"], given["k"])
    explain_last = given["explain_last"]
    if explain_last is None:
        explain_last = max(1, min(_MOST_EXPLAINED, _KEPT_NUMBERS // n_arms))
    spec = {
        "name": given["name"],
        "arms": given["arms"],
        "k": given["k"],
        "belief": belief,
        "oracle": _with_name(oracle, "kind"),
        "reward": reward,
        "prior": prior,
        "expiry": given["expiry"],
        # A drawn seed is logged, too, so that replay needs nothing else.
        "seed": _seed(given["seed"]),
        "keep": given["keep"],
        "explain_last": explain_last,
    }
    if given.get("holdout") is not None:  # no member without one, as before there were any
        spec["holdout"] = given["holdout"]
    if given["features"] is not None:
        spec["features"] = rows_of(given["features"], names_of(spec), belief)
    if given.get("warm_start") is not None:
        spec["warm_start"] = warm_start.stored(given["warm_start"], names_of(spec))
    check_size(spec, n_arms)
    _check_inner(spec, n_arms, own)
    try:
        # JSON has no NaN. Parameters of rewards may contain one at any depth. Names may be many.
        json.dumps({**spec, "arms": None}, allow_nan=False)
    except ValueError:
        raise Problem(422, "parameters must be finite numbers, got a NaN or an infinity") from None
    for part in ("belief", "oracle", "reward", "prior"):
        _check_sizes(part, spec[part])
    return spec


def _check_sizes(name: str, value: Any) -> None:
    """Refuse numbers whose squares or inverses overflow. Not when a bandit is loaded, either."""
    if isinstance(value, Mapping):
        for member, inner in value.items():
            _check_sizes(f"{name}.{member}", inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            _check_sizes(name, inner)
    elif isinstance(value, float) and value and not _LEAST_SIZE <= abs(value) <= 1 / _LEAST_SIZE:
        raise Problem(
            422, f"numbers of {name} must be 0, or from 1e-100 to 1e100 in size, got {value}"
        )


def _check_arms(arms: list[str] | int, k: int, most_arms: int) -> int:
    n_arms = arms if isinstance(arms, int) else len(arms)
    if not 1 <= n_arms <= most_arms:
        raise Problem(
            422,
            f"arms must be between 1 and {most_arms} here, got {n_arms}",
            fix="serve with --most-arms",
        )
    check_k(k, n_arms)
    if not isinstance(arms, int) and (twice := repeated(arms)) is not None:
        raise Problem(422, f"names of arms must be distinct, got {shown(twice)} more than once")
    return n_arms


def _seed(given: int | str | None) -> int:
    if given is None:
        return secrets.randbits(_SEED_BITS)
    seed = int(given)
    if seed >= _MOST_SEED:
        raise Problem(422, f"seed must be below 2**128, got {shown(given)}")
    return seed


def _with_name(part: str | Mapping[str, Any], member: str) -> dict[str, Any]:
    return {member: part} if isinstance(part, str) else dict(part)


def _belief_and_prior(
    belief: str | Mapping[str, Any] | None, prior: Any, k: int
) -> tuple[dict[str, Any], list[float] | None]:
    """The belief and the prior of a spec; a prior that is learned is a part of the belief.

    Without a belief they are those of `thompson`. A prior in words is for `thompson`, and for `cts`
    where the belief is ``beta``.
    """
    given = None if belief is None else _with_name(belief, "kind")
    if given is not None and (given != {"kind": "beta"} or prior not in ("learned", "flat")):
        if isinstance(prior, str):
            raise Problem(
                422,
                f"prior must be two numbers for this belief, got {shown(prior)}",
                fix='leave out the belief, or take "beta" without parameters',
            )
        return given, None if prior is None else list(prior)
    pair = (1.0, 1.0) if prior == "flat" else None if isinstance(prior, str) else prior
    make = policies.thompson if given is None else policies.cts
    # Beliefs of k arms are small, and their settings depend on k alone.
    made = make(LinearReward(k), k, prior="learned" if pair is None else tuple(pair)).belief
    return parts.settings_of(made), None if pair is None else list(pair)


def names_of(spec: Spec) -> list[str]:
    """The names of the arms that a bandit is created with."""
    arms = spec["arms"]
    return [str(number) for number in range(arms)] if isinstance(arms, int) else arms


def _holdout_of(given: float | Mapping[str, Any] | None) -> Holdout | float | None:
    return Holdout(**given) if isinstance(given, Mapping) else given


def _default_oracle(reward: Spec, n_arms: int, own: parts.Factories) -> str:
    return "top_k" if parts.reward(reward, n_arms, own).additive else "lazy_singletons"


def _check_inner(spec: Spec, n_arms: int, own: parts.Factories) -> None:
    """Refuse top_k within other oracles, too. Not when a bandit is loaded: older ones have it."""
    inner: Any = spec["oracle"]
    while isinstance(inner, Mapping) and (more := inner.get("oracle", inner.get("start"))):
        inner = more
    kind = inner.get("kind") if isinstance(inner, Mapping) else inner
    if kind == "top_k" and not parts.reward(spec["reward"], n_arms, own).additive:
        raise _not_additive()


def _not_additive() -> Problem:
    return Problem(
        422,
        "oracle top_k must have an additive reward, got one that is not",
        fix="take the oracle lazy_singletons or greedy",
    )


def policy_of(spec: Spec, own: parts.Factories) -> Callable[[int], Policy]:
    """Makes the policy of a spec for a number of arms."""

    def make(n_arms: int) -> Policy:
        reward = parts.reward(spec["reward"], n_arms, own)
        oracle = parts.oracle(spec["oracle"])
        # TopK would pick silently wrong sets.
        if spec["oracle"]["kind"] == "top_k" and not reward.additive:
            raise _not_additive()
        features = spec.get("features")
        # If arms were added, the checkpoint that is loaded next has the features of all arms.
        if features is not None and len(features) != n_arms:
            features = None
        belief = parts.belief(spec["belief"], n_arms, spec["prior"], features)
        return Policy(belief, oracle, reward, spec["k"])

    return make


def rewards_of(spec: Spec, own: parts.Factories) -> Callable[[int], Reward]:
    """Makes the reward of a spec for a number of arms."""
    return lambda n_arms: parts.reward(spec["reward"], n_arms, own)


def session_of(id: str, spec: Spec, own: parts.Factories, clock: Callable[[], float]) -> Session:
    """A new session. The ids of its decisions begin with the id of the bandit."""
    names = names_of(spec)
    try:
        policy = policy_of(spec, own)(len(names))
        warm_start.teach(policy, spec)
        return Session(
            policy,
            names,
            seed=spec["seed"],
            expiry=None if spec["expiry"] is None else Expiry(**spec["expiry"]),
            rewards=rewards_of(spec, own),
            keep=spec["keep"],
            explain_last=spec["explain_last"],
            clock=clock,
            key=id,
            holdout=_holdout_of(spec.get("holdout")),
        )
    except (ValueError, TypeError, OverflowError) as error:
        raise Problem(422, shown_error(error)) from None

"""What a bandit may be made of, by name: nothing that comes over HTTP names code."""

from __future__ import annotations

import importlib
import inspect
import logging
from collections.abc import Callable, Mapping
from typing import Any

import superarm as sa
from superarm.core.arguments import as_count
from superarm.service.problems import Problem, shown

_log = logging.getLogger("superarm.service")
Factory = Callable[..., Any]
_DEEPEST = 3  # oracles within oracles


def _beta(n_arms: int, prior: Any = (1.0, 1.0)) -> Any:
    return sa.BetaBelief(n_arms, prior)


def _discounted(n_arms: int, prior: Any = (1.0, 1.0), discount: float = 0.99) -> Any:
    return sa.DiscountedBetaBelief(n_arms, discount, prior)


def _sliding(n_arms: int, prior: Any = (1.0, 1.0), window: int = 1000) -> Any:
    return sa.SlidingBetaBelief(n_arms, _at_most(window, "window", 1_000_000), prior)


def _gaussian(n_arms: int, prior: Any = (0.5, 0.25), noise_var: float = 0.25) -> Any:
    return sa.GaussianBelief(n_arms, prior=prior, noise_var=noise_var)


def _ucb(n_arms: int, exploration: float = 1.5) -> Any:
    return sa.UCBBelief(n_arms, exploration)


def _kl_ucb(n_arms: int, c: float = 0.0) -> Any:
    return sa.KLUCBBelief(n_arms, c)


def _mean(n_arms: int, unseen: float = 1.0) -> Any:
    return sa.MeanBelief(n_arms, unseen)


def _single_seed(n_arms: int, prior: Any = (1.0, 1.0)) -> Any:
    return sa.SingleSeedBelief(n_arms, prior)


BELIEFS: dict[str, Factory] = {
    "beta": _beta,
    "discounted": _discounted,
    "gaussian": _gaussian,
    "kl_ucb": _kl_ucb,
    "mean": _mean,
    "single_seed": _single_seed,
    "sliding": _sliding,
    "ucb": _ucb,
}


def _top_k() -> Any:
    return sa.TopK()


def _singletons(budget: int | None = None) -> Any:
    return sa.Singletons(budget=budget)


def _lazy_singletons(n_points: int = 16, batch: int = 1, budget: int | None = None) -> Any:
    return sa.LazySingletons(
        n_points=_at_most(n_points, "n_points", 64), batch=batch, budget=budget
    )


def _greedy(budget: int | None = None) -> Any:
    return sa.Greedy(budget=budget)


def _lazy_greedy(
    n_points: int = 16, n_answers: int = 64, batch: int = 1, budget: int | None = None
) -> Any:
    points, answers = _at_most(n_points, "n_points", 64), _at_most(n_answers, "n_answers", 4096)
    return sa.LazyGreedy(n_points=points, n_answers=answers, batch=batch, budget=budget)


def _local_search(start: Any = None, budget: int | None = None, *, depth: int) -> Any:
    return sa.LocalSearch(None if start is None else oracle(start, depth + 1), budget=budget)


def _exhaustive(limit: int = 100_000, budget: int | None = None) -> Any:
    return sa.Exhaustive(_at_most(limit, "limit", 1_000_000), budget=budget)


def _group_testing(
    delta: float,
    p: float | None = None,
    n_tests: Any = "order",
    failure: float = 1e-4,
    q: Any = 1.0,
    quantize: bool = True,
    decoder: Any = "sum",
    tests: Any = "all",
    budget: int | None = None,
) -> Any:
    return sa.GroupTesting(
        delta=delta,
        p=p,
        n_tests=n_tests,
        failure=failure,
        q=q,
        quantize=quantize,
        decoder=decoder,
        tests=tests,
        budget=budget,
    )


def _random_sets() -> Any:
    return sa.RandomSets()


def _rarely(oracle_: Any, when: int, *, depth: int) -> Any:
    return sa.Rarely(oracle(oracle_, depth + 1), when=as_count(when, "when", least=1))


def _epsilon_random(oracle_: Any, epsilon: float = 0.1, *, depth: int) -> Any:
    if not isinstance(epsilon, int | float):
        raise TypeError(f"epsilon must be a number in [0, 1], got {shown(epsilon)}")
    return sa.EpsilonRandom(oracle(oracle_, depth + 1), epsilon)


ORACLES: dict[str, Factory] = {
    "epsilon_random": _epsilon_random,
    "exhaustive": _exhaustive,
    "greedy": _greedy,
    "group_testing": _group_testing,
    "lazy_greedy": _lazy_greedy,
    "lazy_singletons": _lazy_singletons,
    "local_search": _local_search,
    "random_sets": _random_sets,
    "rarely": _rarely,
    "singletons": _singletons,
    "top_k": _top_k,
}


def _linear(n_arms: int, weights: Any = None) -> Any:
    return sa.LinearReward(n_arms, weights)


def _any_success(n_arms: int) -> Any:
    return sa.AnySuccess(n_arms)


def _coverage(n_arms: int, reach: Any, weights: Any = None) -> Any:
    return sa.CoverageReward(reach, weights)


def _network(n_arms: int, W1: Any, w2: Any) -> Any:
    return sa.NetworkReward(W1, w2)


REWARDS: dict[str, Factory] = {
    "any_success": _any_success,
    "coverage": _coverage,
    "linear": _linear,
    "network": _network,
}


def own_rewards(module: str) -> dict[str, Factory]:
    """The rewards of an operator's module: its public functions and classes, called as ``NAME(n_arms, **params)``.

    Only what the module itself defines counts, or what its ``__all__`` names.

    Examples
    --------
    >>> sorted(own_rewards("superarm.rewards.any_success"))
    ['AnySuccess', 'log_failure']
    """
    found = importlib.import_module(module)
    chosen = getattr(found, "__all__", None)
    names = (
        [name for name in vars(found) if not name.startswith("_")]
        if chosen is None
        else list(chosen)
    )
    things = {name: getattr(found, name) for name in names}
    own = {
        name: thing
        for name, thing in things.items()
        if callable(thing)
        and (chosen is not None or getattr(thing, "__module__", None) == found.__name__)
    }
    if not own:
        raise ValueError(
            f"{module} must have public functions NAME(n_arms, **params) that give a reward, got none"
        )
    if taken := sorted(set(own) & set(REWARDS)):
        raise ValueError(
            f"rewards of {module} must have names of their own, got {taken[0]!r}, which is built in"
        )
    return own


def belief(described: Mapping[str, Any], n_arms: int, prior: Any = None) -> Any:
    """The belief of ``{"kind": ..., ...}``."""
    params = {name: value for name, value in described.items() if name != "kind"}
    if prior is not None:
        params["prior"] = prior
    if "prior" in params:
        params["prior"] = _as_prior(params["prior"])
    return _make(BELIEFS, described.get("kind"), "belief", params, n_arms)


def oracle(described: Any, depth: int = 0) -> Any:
    """The oracle of ``{"kind": ..., ...}`` or of a name."""
    if depth >= _DEEPEST:
        raise Problem(422, f"oracles must be within each other at most {_DEEPEST} deep, got more")
    described = {"kind": described} if isinstance(described, str) else described
    if not isinstance(described, Mapping):
        raise Problem(
            422, f"an oracle must be a name or an object with kind, got {shown(described)}"
        )
    params = {name: value for name, value in described.items() if name != "kind"}
    factory = ORACLES.get(str(described.get("kind")))
    if factory is not None and "depth" in inspect.signature(factory).parameters:
        if "depth" in params or "oracle_" in params:
            raise Problem(422, "an oracle has no parameter depth or oracle_")
        params["depth"] = depth
        if "oracle" in params:
            params["oracle_"] = params.pop("oracle")
    return _make(ORACLES, described.get("kind"), "oracle", params)


def reward(described: Mapping[str, Any], n_arms: int, own: Mapping[str, Factory]) -> Any:
    """The reward of ``{"name": ..., ...}``, built in or the operator's own."""
    params = {name: value for name, value in described.items() if name != "name"}
    made = _make({**REWARDS, **own}, described.get("name"), "reward", params, n_arms)
    if getattr(made, "n_arms", None) != n_arms:
        raise Problem(
            422, f"reward must be of {n_arms} arms, got one of {getattr(made, 'n_arms', None)}"
        )
    return made


def _make(
    table: Mapping[str, Factory], name: Any, what: str, params: dict[str, Any], *args: Any
) -> Any:
    factory = table.get(name) if isinstance(name, str) else None
    if factory is None:
        known = ", ".join(sorted(table))
        raise Problem(
            422,
            f"{what} must be one that is known, got {shown(name)}",
            expected=known,
            got=shown(name),
        )
    try:
        inspect.signature(factory).bind(*args, **params)
    except TypeError as error:
        detail = f"the parameters of {what} {name} do not fit: {error}".replace("oracle_", "oracle")
        raise Problem(422, detail) from None
    try:
        return factory(*args, **params)
    except (ValueError, TypeError, OverflowError, MemoryError) as error:
        if what == "reward" and name not in REWARDS:  # what it says is for the operator
            _log.warning("fault", exc_info=error, extra={"fields": {"reward": name}})
            raise Problem(
                422, f"reward {name} refuses its parameters", fix="the log of the server says why"
            ) from None
        raise Problem(422, f"{what} {name}: {shown_error(error)}") from None


def shown_error(error: Exception) -> str:
    """The message of an error of the library, which is for people; short."""
    text = str(error) or type(error).__name__
    text = text.encode("ascii", "backslashreplace").decode() if not text.isprintable() else text
    return text if len(text) <= 500 else f"{text[:497]}..."


def _at_most(value: Any, name: str, most: int) -> int:
    number = as_count(value, name, least=1)
    if number > most:
        raise ValueError(f"{name} must be at most {most}, got {shown(value)}")
    return number


def _as_prior(prior: Any) -> tuple[float, float]:
    plain = (
        isinstance(prior, list | tuple)
        and len(prior) == 2
        and all(type(x) in (int, float) for x in prior)
    )
    if not plain:
        raise Problem(422, f"prior must be two numbers, got {shown(prior)}", expected="[a, b]")
    return float(prior[0]), float(prior[1])

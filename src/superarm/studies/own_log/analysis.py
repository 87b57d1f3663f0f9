"""What a log can say: by the honest method for what is in it."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy.special import chdtrc

from superarm.core.arguments import FloatArray, IndexArray
from superarm.offpolicy import Log, Target, evaluate
from superarm.offpolicy.shown import ShownLog
from superarm.policies import thompson
from superarm.rewards import LinearReward

Method = Literal["replay", "estimates", "warm start"]
_LEVEL = 0.95


@dataclass(frozen=True)
class Valued:
    """A policy and its estimated reward per round, or why there is none."""

    policy: str
    value: float | None
    low: float | None = None
    high: float | None = None
    warning: str | None = None


@dataclass(frozen=True)
class Finding:
    """What was found in a log.

    Attributes
    ----------
    method, why
        How the log was used, and why.
    items
        One row per item, best first: name, shown, rate, and mean and 95% interval of the posterior.
    valued
        Estimates of policies, if the log has propensities.
    places
        The rate of each place, if the log has positions.
    places_luck
        How probable rates that differ as much are if the place does not matter.
    n_missing, n_incomplete
        How many rows have no outcome, and how many rounds have such a row. Estimates leave out
        these rounds.
    size
        The mean outcome, each weighted by itself: the size of outcomes that are not 0.
    """

    method: Method
    why: str
    items: list[dict[str, Any]]
    valued: list[Valued]
    places: list[dict[str, Any]]
    places_luck: float
    n_missing: int
    n_incomplete: int
    size: float


def method_of(log: ShownLog) -> tuple[Method, str]:
    """How a log can be used, and why."""
    if log.is_whole:
        return "replay", "Every round has the outcome of every item, so policies can be replayed."
    shown = f"A round shows {log.share_shown:.1%} of the items"
    if log.propensities is not None:
        return "estimates", (
            f"{shown}, and the log has the probability of each: so other sets can be valued by "
            f"weighing what was shown."
        )
    return "warm start", (
        f"{shown}, and nothing says with which probability: what other sets would have earned "
        f"cannot be told from this log. It can start a policy that then learns by itself."
    )


def analyse(log: ShownLog, k: int, *, seed: int) -> Finding:
    """Everything that can be said of a log."""
    method, why = method_of(log)
    valued = _valued(log, k) if method == "estimates" else []
    places = _places(log)
    luck = luck_of_rates([one["shown"] for one in places], [one["rate"] for one in places])
    missing = np.isnan(log.outcomes)
    n_incomplete = len(np.unique(log.rounds[missing]))
    total = float(np.nansum(log.outcomes))
    size = float(np.nansum(log.outcomes**2)) / total if total else 1.0
    return Finding(
        method,
        why,
        _items(log, k, seed),
        valued,
        places,
        luck,
        int(missing.sum()),
        n_incomplete,
        size,
    )


def _items(log: ShownLog, k: int, seed: int) -> list[dict[str, Any]]:
    policy = thompson(LinearReward(log.n_arms), k)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "outcomes are far below 1")  # the report says this
        log.teach(policy, rng=np.random.default_rng(seed))
    posterior: Any = policy.belief.posterior(np.arange(log.n_arms))
    means, (lows, highs) = posterior.mean(), posterior.interval(_LEVEL)
    sums, counts = log.counts()
    order = np.argsort(-means, kind="stable")
    return [
        {
            "item": log.names[arm],
            "shown": int(counts[arm]),
            "rate": float(sums[arm] / counts[arm]) if counts[arm] else None,
            "mean": float(means[arm]),
            "low": float(lows[arm]),
            "high": float(highs[arm]),
        }
        for arm in order.tolist()
    ]


def _valued(log: ShownLog, k: int) -> list[Valued]:
    """The logged policy, random sets, and the best set of one half of the log on the other half."""
    try:
        first, second = (half.log().complete() for half in log.halves())
        whole = log.log().complete()
    except ValueError as error:  # too few rounds, or none with all its outcomes
        return [Valued("as logged", None, warning=str(error))]
    best = Target.fixed(_best(first, k), log.n_arms)
    earned = np.nansum(whole.outcomes, axis=1)
    reach = 1.96 * float(earned.std(ddof=1)) / np.sqrt(len(earned)) if len(earned) > 1 else np.inf
    mean = float(earned.mean())
    logged = Valued("as logged", mean, mean - reach, mean + reach)
    random, chosen = (
        ("1 random item", "the best") if k == 1 else (f"{k} random items", f"the {k} best")
    )
    return [
        logged,
        _estimated(random, whole, Target.uniform(k, log.n_arms)),
        _estimated(f"{chosen}, chosen on other rounds", second, best),
    ]


def _best(log: Log, k: int) -> IndexArray:
    """The arms with the largest weighted rates."""
    there = log.there
    arms, weights = log.arms[there], 1 / log.propensities[there]
    n_shown = np.bincount(arms, weights, log.n_arms)
    sums = np.bincount(arms, weights * log.outcomes[there], log.n_arms)
    rates: FloatArray = np.divide(sums, n_shown, out=np.zeros(log.n_arms), where=n_shown > 0)
    return np.argsort(-rates, kind="stable")[:k]


def _estimated(policy: str, log: Log, target: Target) -> Valued:
    try:
        found = evaluate(log, target)
    except ValueError as error:  # no overlap: the message says what is missing
        return Valued(policy, None, warning=str(error))
    return Valued(policy, found.value, found.low, found.high, found.warning)


def _places(log: ShownLog) -> list[dict[str, Any]]:
    if log.positions is None:
        return []
    known = ~np.isnan(log.outcomes)
    # Numbered, because ids in place of places would take a bin for every smaller number.
    places, which, shown = np.unique(log.positions[known], return_inverse=True, return_counts=True)
    sums = np.bincount(which, log.outcomes[known], len(places))
    return [
        {"place": place, "shown": n, "rate": total / n}
        for place, n, total in zip(places.tolist(), shown.tolist(), sums.tolist(), strict=True)
    ]


def luck_of_rates(shown: Sequence[int], rates: Sequence[float]) -> float:
    """The p-value of Pearson's chi-squared test that all rates are the same.

    Outcomes between 0 and 1 vary less than coins of the same rate, so it is too large for them.
    """
    n, each = np.asarray(shown, np.float64), np.asarray(rates, np.float64)
    common = float(n @ each / n.sum()) if len(n) else 0.0
    if len(n) < 2 or not 0 < common < 1:
        return 1.0
    distance = float(n @ (each - common) ** 2) / (common * (1 - common))
    return float(chdtrc(len(n) - 1, distance))

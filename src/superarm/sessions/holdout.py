r"""A hold-out: a share of the decisions that the policy does not make, and what the policy gains.

Decision t is of the hold-out with probability h, whatever happened before. Let x_t be the mean of
its outcomes, m and m' the means so far of the decisions of the policy and of the hold-out, and

    gain_t = m - m' + (x_t - m) / (1 - h)    if the policy decided,
    gain_t = m - m' - (x_t - m') / h         if it is of the hold-out.

The mean of gain_t, given all before, is what the policy's set gains over the set of the hold-out in
decision t, also while the policy learns. With b = 1 / min(h, 1 - h), each (gain_t - (m - m')) / b
is at least -1 and at most 1, so that for 0 <= c < 1

    exp(c · sum of (gain_t - its mean) / b - psi(c) · sum of ((gain_t - (m - m')) / b)^2)

with psi(c) = -log(1 - c) - c is a supermartingale (Howard, Ramdas, McAuliffe, Sekhon:
"Time-uniform, nonparametric, nonasymptotic confidence sequences", Annals of Statistics 2021,
Theorem 4), and so is an average over several c. By Ville's inequality the interval that follows
holds at all times at once, except with probability delta. It is exact, not only in the limit of
many decisions.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from superarm.core import FeasibleSets, Policy, Pools
from superarm.core.arguments import FloatArray, IndexArray, as_fraction
from superarm.offpolicy import Propensities, propensities
from superarm.oracles import RandomSets
from superarm.sessions.decisions import Name

# Halves, for sums of any size: the first is for few decisions, the last for millions.
_FACTORS = 0.5 ** np.arange(1, 17)
_WEIGHTS = 1 / (np.arange(1, 17) * np.arange(2, 18))
_LOG_WEIGHTS = np.log(_WEIGHTS / _WEIGHTS.sum())
_PSI = -np.log1p(-_FACTORS) - _FACTORS


@dataclass(frozen=True)
class Lift:
    """What the policy gains over the hold-out, in mean outcome per arm that was shown.

    Attributes
    ----------
    lift, low, high
        The gain per decision, on average over the decisions so far, and its interval. The interval
        may be looked at any time and as often as one likes.
    delta
        The probability that the interval ever leaves out the true gain, at most.
    policy, holdout
        The mean outcome of the decisions of either kind; None if there are none.
    n_policy, n_holdout
        How many decisions of either kind are complete.
    """

    lift: float
    low: float
    high: float
    delta: float
    policy: float | None
    holdout: float | None
    n_policy: int
    n_holdout: int

    def __str__(self) -> str:
        if self.policy is None or self.holdout is None:
            return "no lift yet: it needs complete decisions of the policy and of the hold-out"
        return (
            f"lift {self.lift:+.3g} ({self.low:+.3g} to {self.high:+.3g}): mean outcome "
            f"{self.policy:.3g} in {self.n_policy} decisions, {self.holdout:.3g} in "
            f"{self.n_holdout} of the hold-out"
        )


@dataclass(frozen=True)
class Holdout:
    """Which decisions the policy does not make.

    Parameters
    ----------
    share
        The probability of a decision to be of the hold-out, above 0 and below 1.
    arms
        The names of the arms that the hold-out gets, in the order in which to show them. None for
        a random set. A random set also stands in if these arms are not feasible in a round.
    """

    share: float
    arms: tuple[Name, ...] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "share", as_fraction(self.share, "share"))
        if self.arms is not None:
            if isinstance(self.arms, str | bytes):
                raise TypeError(
                    f"arms of a hold-out must be several names, got {self.arms!r}; put it in a list"
                )
            object.__setattr__(self, "arms", tuple(self.arms))


@dataclass
class Trial:
    """A hold-out in use: draws its sets, and counts what decisions gained.

    Attributes
    ----------
    arms
        The numbers of its arms; None for random sets.
    counts, sums
        Of the decisions of the policy, and of the hold-out: how many are complete, and the sum of
        their mean outcomes.
    gain, var
        The sum of the gains, and of their squared deviations.
    """

    holdout: Holdout
    arms: IndexArray | None
    counts: list[int] = field(default_factory=lambda: [0, 0])
    sums: list[float] = field(default_factory=lambda: [0.0, 0.0])
    gain: float = 0.0
    var: float = 0.0

    @classmethod
    def of(
        cls,
        given: float | Holdout | None,
        numbers: Callable[[Sequence[Name] | None], IndexArray | None],
        feasible: FeasibleSets,
    ) -> Trial | None:
        """A trial of a hold-out, or of a share with random sets; None for no share."""
        if given is None or given == 0:
            return None
        holdout = given
        if not isinstance(holdout, Holdout):
            holdout = Holdout(as_fraction(holdout, "holdout"))
        arms = numbers(holdout.arms)
        if arms is not None and not feasible.is_feasible(np.sort(arms)):
            raise ValueError(
                f"arms of a hold-out must be a set that the policy could pick, {feasible}, got "
                f"{list(holdout.arms or ())}"
            )
        return cls(holdout, arms)

    def is_due(self, *, rng: np.random.Generator) -> bool:
        """Whether the next decision is of the hold-out; one draw."""
        return bool(rng.random() < self.holdout.share)

    def draw(
        self, policy: Policy, feasible: FeasibleSets, *, rng: np.random.Generator
    ) -> IndexArray:
        """The arms of a decision of the hold-out, in the order in which to show them."""
        if self.arms is not None and feasible.is_feasible(np.sort(self.arms)):
            return self.arms.copy()
        n_arms = policy.reward.n_arms
        return rng.permutation(
            RandomSets().select(policy.reward, np.zeros(n_arms), feasible, rng=rng)
        )

    def sampled(
        self,
        policy: Policy,
        n: int,
        feasible: FeasibleSets,
        context: ArrayLike | None,
        *,
        rng: np.random.Generator,
    ) -> Propensities:
        """Sets that could be decided now, of the policy and of the hold-out."""
        # As many of the hold-out as in n decisions, so that the samples have the law of decisions.
        n_held = int(rng.binomial(n, self.holdout.share))
        held = [np.sort(self.draw(policy, feasible, rng=rng)) for _ in range(n_held)]
        sets = Pools.of(held, policy.reward.n_arms)
        if n_held == n:
            return Propensities(sets)
        made = propensities(policy, n - n_held, rng=rng, feasible=feasible, context=context)
        return Propensities(made.sets.join(sets), made.evaluations)

    def add(self, outcomes: Sequence[float], is_holdout: bool) -> None:
        """Count a complete decision."""
        if not len(outcomes):
            return
        x, share = float(np.mean(outcomes)), self.holdout.share
        # A half before the first decision. Predictions only: they must not use x.
        mine, its = (
            (total + 0.5) / (n + 1) for total, n in zip(self.sums, self.counts, strict=True)
        )
        off = -(x - its) / share if is_holdout else (x - mine) / (1 - share)
        self.gain += mine - its + off
        self.var += (off * min(share, 1 - share)) ** 2
        self.counts[is_holdout] += 1
        self.sums[is_holdout] += x

    def lift(self, delta: float = 0.05) -> Lift:
        """The gain so far, and its interval."""
        delta, n = as_fraction(delta, "delta"), sum(self.counts)
        means = [
            total / count if count else None
            for total, count in zip(self.sums, self.counts, strict=True)
        ]
        known = {"delta": delta, "policy": means[0], "holdout": means[1]}
        counted = {"n_policy": self.counts[0], "n_holdout": self.counts[1]}
        if not n:
            return Lift(lift=0.0, low=-1.0, high=1.0, **known, **counted)  # type: ignore[arg-type]
        share = self.holdout.share
        half = width(self.var, delta) / min(share, 1 - share) / n
        lift = self.gain / n
        # Outcomes are in [0, 1], and so is no gain beyond 1.
        low, high = max(-1.0, lift - half), min(1.0, lift + half)
        return Lift(lift=lift, low=low, high=high, **known, **counted)  # type: ignore[arg-type]

    def fresh(self) -> Trial:
        """A hold-out with the same settings and no decisions, for a fork."""
        return Trial(self.holdout, self.arms)

    def state(self) -> dict[str, Any]:
        """Everything as plain JSON; arms by number."""
        return {
            "share": self.holdout.share,
            "arms": None if self.arms is None else self.arms.tolist(),
            "counts": list(self.counts),
            "sums": list(self.sums),
            "gain": self.gain,
            "var": self.var,
        }

    def load(self, state: dict[str, Any]) -> None:
        """Take over what was counted."""
        self.counts = [int(count) for count in state["counts"]]
        self.sums = [float(total) for total in state["sums"]]
        self.gain, self.var = float(state["gain"]), float(state["var"])


def width(var: float, delta: float) -> float:
    """How large the sum of gains, divided by b, may be above its mean, except with delta / 2.

    Examples
    --------
    >>> round(width(100.0, 0.05), 1)
    36.3
    """
    from scipy.optimize import brentq  # slow to import, and few programs need it

    goal = math.log(2 / delta)

    def excess(u: float) -> float:
        exponents: FloatArray = _LOG_WEIGHTS + _FACTORS * u - _PSI * var
        most = float(exponents.max())
        return most + math.log(float(np.exp(exponents - most).sum())) - goal

    # The largest factor alone gives a bound, so that the solution is between 0 and it.
    most = (goal - _LOG_WEIGHTS[0] + _PSI[0] * var) / _FACTORS[0]
    return float(brentq(excess, 0.0, most + 1.0))

"""Are we done? Which arms are the best, and how sure that is, whenever one looks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from superarm.beliefs.learned_prior import LearnedPosterior
from superarm.beliefs.outcome_counts import OutcomeCounts
from superarm.beliefs.posteriors import BetaMixturePosterior, BetaPosterior
from superarm.core import Policy
from superarm.core.arguments import FloatArray, IndexArray, as_fraction
from superarm.core.optional import CountsOutcomes, HasPosterior
from superarm.sessions.decisions import Name
from superarm.theory import best_k

_N_DRAWS = 2000  # of all means from their posterior, for the probability and the loss
_MOST_DRAWN = 500  # arms that are drawn; those with lower means hardly ever matter
_REACH = 4.0  # standard deviations above the mean, for choosing them
_SEED = 0  # the same answer whenever the same session is asked


@dataclass(frozen=True)
class Verdict:
    """Which arms have the largest means, and how sure that is.

    Attributes
    ----------
    arms
        The k arms with the largest means so far, the best first.
    done
        Whether these are the best, except with probability ``delta``. The rule may be asked at any
        time and as often as one likes: in a whole run it is wrong with probability ``delta``.
    delta
        The error probability that is allowed.
    error
        The least ``delta`` at which it would be done now; 1 if nothing is known.
    closest
        The arm of the set and the arm outside of it that are hardest to tell apart.
    probability
        The posterior probability that these arms are the best, which is a statement about this
        moment: looking often makes it too sure. None for beliefs without such posteriors.
    loss
        What stopping now is expected to cost per decision, by the same posterior.
    """

    arms: tuple[Name, ...]
    done: bool
    delta: float
    error: float
    closest: tuple[Name, Name]
    probability: float | None
    loss: float | None

    def __str__(self) -> str:
        names = ", ".join(map(str, self.arms))
        if self.done:
            return f"done: {names} are the best, except with probability {self.error:.2g}"
        inside, outside = self.closest
        said = f"not done: {names} so far, and {inside} may not be better than {outside}"
        if self.probability is None or self.loss is None:
            return said
        return f"{said}; probability {self.probability:.0%}, stopping now costs {self.loss:.2g}"


def verdict_of(
    policy: Policy, names: list[Name], kept: IndexArray, k: int, delta: float
) -> Verdict:
    """The verdict on some arms of a policy, by their numbers."""
    delta = as_fraction(delta, "delta")
    belief: Any = policy.belief
    if not (isinstance(belief, CountsOutcomes) and isinstance(belief.outcomes, OutcomeCounts)):
        raise TypeError(
            f"a verdict needs a belief that counts its outcomes, such as that of thompson, got "
            f"{type(belief).__name__}"
        )
    if k >= len(kept):
        raise ValueError(f"a verdict needs more arms than k={k}, got {len(kept)}")
    outcomes = belief.outcomes
    counts, sums = outcomes.counts[kept], outcomes.sums[kept]
    arms, (inside, outside), error = best_k(counts, sums, k)
    means = sums[arms] / np.maximum(counts[arms], 1)
    ranked = arms[np.argsort(-means, kind="stable")]
    probability, loss = _by_posterior(belief, kept, arms)
    return Verdict(
        arms=tuple(names[kept[arm]] for arm in ranked.tolist()),
        done=error <= delta,
        delta=delta,
        error=error,
        closest=(names[kept[inside]], names[kept[outside]]),
        probability=probability,
        loss=loss,
    )


def _by_posterior(
    belief: Any, kept: IndexArray, arms: IndexArray
) -> tuple[float | None, float | None]:
    """The probability that a set is best, and the expected loss, from draws of the posterior."""
    law = _law(belief.posterior(kept)) if isinstance(belief, HasPosterior) else None
    if law is None:
        return None, None
    reach = _reach(law)
    n_drawn = min(_MOST_DRAWN, len(reach))
    drawn = np.union1d(arms, np.argpartition(-reach, n_drawn - 1)[:n_drawn])
    thetas = _draws(law, drawn, rng=np.random.default_rng(_SEED))
    mine = thetas[:, np.isin(drawn, arms)].sum(axis=1)
    n_others = len(drawn) - len(arms)
    best = np.partition(thetas, n_others, axis=1)[:, n_others:].sum(axis=1)
    # Sums of the same numbers in two orders may differ by rounding.
    lost = np.where(np.isclose(best, mine, rtol=1e-12), 0.0, best - mine)
    return float((lost == 0).mean()), float(lost.mean())


def _law(posterior: Any) -> BetaMixturePosterior | None:
    """The posterior as a mixture of Betas; None if it is of another kind."""
    if isinstance(posterior, LearnedPosterior):
        return posterior.prior.given(posterior.counts, posterior.sums)
    if isinstance(posterior, BetaPosterior):
        a, b = posterior.a[:, None], posterior.b[:, None]
        return BetaMixturePosterior(np.ones_like(a), a, b)
    return None


def _reach(law: BetaMixturePosterior) -> FloatArray:
    """How high the means of arms may be, for choosing those that are drawn."""
    means = law.a / (law.a + law.b)
    squares = means * (law.a + 1) / (law.a + law.b + 1)
    mean = law.mean()
    var = (law.weights * squares).sum(axis=1) - mean**2
    return np.asarray(mean + _REACH * np.sqrt(np.maximum(var, 0.0)), np.float64)


def _draws(law: BetaMixturePosterior, arms: IndexArray, *, rng: np.random.Generator) -> FloatArray:
    """Shape (n_draws, n): independent draws of the means of some arms."""
    # Which part of the mixture each draw is from.
    ends = np.cumsum(law.weights[arms], axis=1)[None, :, :-1]
    parts = (rng.random((_N_DRAWS, len(arms), 1)) > ends).sum(axis=2)
    rows = np.arange(len(arms))
    return rng.beta(law.a[arms][rows, parts], law.b[arms][rows, parts])

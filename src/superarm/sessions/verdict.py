"""Are we done? Which arms are the best, and how sure that is, whenever one looks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from superarm.beliefs import BetaBelief, LogisticBelief, SharedSeedBelief, SingleSeedBelief
from superarm.beliefs.learned_prior import LearnedPosterior
from superarm.beliefs.outcome_counts import OutcomeCounts
from superarm.beliefs.posteriors import BetaMixturePosterior, BetaPosterior
from superarm.core import FeasibleSets, Policy, is_uniform
from superarm.core.arguments import FloatArray, IndexArray, as_flag, as_fraction
from superarm.core.contexts import uses_contexts
from superarm.core.optional import CountsOutcomes, HasPosterior
from superarm.oracles import TopTwo
from superarm.sessions.arms import size_of
from superarm.sessions.decisions import Name
from superarm.sets import Feasible
from superarm.theory.evidence import best_k, n_pairs_of

if TYPE_CHECKING:
    from superarm.sessions.session import Session
    from superarm.sessions.unlocked import UnlockedSession

_N_DRAWS = 2000  # of all means from their posterior, for the probability and the loss
_MOST_DRAWN = 500  # arms that are drawn; those with lower means hardly ever matter
_REACH = 4.0  # standard deviations above the mean, for choosing them
_SEED = 0  # the same answer whenever the same session is asked


Late = Literal["any", "alike"]


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
        `Session.verdict` says for which outcomes this is proved.
    delta
        The error probability that is allowed.
    error
        The least ``delta`` at which it would be done now; 1 if nothing is known.
    closest
        The arm of the set and the arm outside of it that are hardest to tell apart.
    probability
        The posterior probability that these arms are the best, by the outcomes that are known. It
        is a statement about this moment: looking often makes it too sure. None for beliefs without
        such posteriors.
    loss
        What stopping now is expected to cost per decision, by the same posterior: the sum of the
        means of the best arms less that of these arms.
    n_awaited
        How many outcomes of open decisions count as the least favourable.
    """

    arms: tuple[Name, ...]
    done: bool
    delta: float
    error: float
    closest: tuple[Name, Name]
    probability: float | None
    loss: float | None
    n_awaited: int = 0

    def __str__(self) -> str:
        names = ", ".join(map(str, self.arms))
        if self.done:
            verb = "is" if len(self.arms) == 1 else "are"
            return f"done: {names} {verb} the best, except with probability {self.error:.2g}"
        inside, outside = self.closest
        said = f"not done: {names} so far, and {inside} may not be better than {outside}"
        if self.probability is not None and self.loss is not None:
            said += f"; probability {self.probability:.0%}, stopping now costs {self.loss:.2g}"
        if self.n_awaited:
            said += f"; {self.n_awaited} outcomes are awaited and count as the least favourable"
        return said


def verdict_of(
    session: UnlockedSession, delta: float, *, dependent: bool, late: Late
) -> Callable[[], Verdict]:
    """A function with the verdict on the arms of a session that are not retired.

    Most of the work is done when the function is called, which any thread may do. The verdict is
    that on what the session knows now.
    """
    delta, policy, arms = as_fraction(delta, "delta"), session.policy, session.arms
    if late not in ("any", "alike"):
        raise ValueError(f'late must be "any" or "alike", got {late!r}')
    # Half of the evidence is left if outcomes of one round may depend on each other.
    part = 0.5 if as_flag(dependent, "dependent") else 1.0
    _check_is_proved(policy)
    kept = _compared(policy.feasible, arms.is_retired)
    k = _sought(policy)
    if k >= len(kept):
        raise ValueError(f"a verdict needs more arms than k={k}, got {len(kept)}")
    belief: Any = policy.belief
    counts, sums = (each[kept] for each in _counted(belief))
    awaited = _awaited(session)[kept] if late == "any" else np.zeros(len(kept))
    n_pairs, n_added = None, len(arms) - arms.n_first
    if n_added or arms.any_retired:
        n_pairs = n_pairs_of(len(arms), n_added)
    posterior = belief.posterior(kept) if isinstance(belief, HasPosterior) else None
    names = arms.names

    def judge() -> Verdict:
        best, (inside, outside), error = best_k(
            part * counts, part * sums, k, awaited=part * awaited, n_pairs=n_pairs
        )
        means = sums[best] / np.maximum(counts[best], 1)
        ranked = best[np.argsort(-means, kind="stable")]
        probability, loss = _by_posterior(posterior, best)
        return Verdict(
            arms=tuple(names[kept[arm]] for arm in ranked.tolist()),
            done=error <= delta,
            delta=delta,
            error=error,
            closest=(names[kept[inside]], names[kept[outside]]),
            probability=probability,
            loss=loss,
            n_awaited=int(awaited.sum()),
        )

    return judge


def verdict_later(
    session: Session, delta: float = 0.05, *, dependent: bool = False, late: Late = "any"
) -> Callable[[], Verdict]:
    """A function with what `Session.verdict` says now, which any thread may call later."""
    with session._lock:
        return verdict_of(session._unlocked, delta, dependent=dependent, late=late)


def _check_is_proved(policy: Policy) -> None:
    """Refuse what the proof in `superarm.theory.evidence` is not about."""
    belief: Any = policy.belief
    _counted(belief)
    if uses_contexts(belief):
        raise TypeError(
            f"a verdict needs arms whose means do not depend on a context, got a "
            f"{type(belief).__name__} with contexts"
        )
    if isinstance(belief, LogisticBelief) and belief.discount < 1:
        raise ValueError(
            f"a verdict needs arms whose means do not change, got a LogisticBelief with "
            f"discount={belief.discount:g}"
        )
    if not policy.reward.additive:
        raise ValueError(
            "a verdict is about the k largest means, which are the best set for additive rewards, "
            f"got {type(policy.reward.uncounted).__name__}, which is not"
        )


def _counted(belief: Any) -> tuple[FloatArray, FloatArray]:
    """How many outcomes each arm has, and their sum; refuses beliefs that do not count them."""
    if isinstance(belief, CountsOutcomes) and isinstance(belief.outcomes, OutcomeCounts):
        return belief.outcomes.counts, belief.outcomes.sums
    # Not subclasses, which may learn in another way.
    if type(belief) not in (BetaBelief, SharedSeedBelief, SingleSeedBelief):
        raise TypeError(
            f"a verdict needs a belief that counts its outcomes, such as that of thompson, got "
            f"{type(belief).__name__}"
        )
    # A coin has the mean of its outcome, so that the proof is about coins as well.
    coins = (belief if type(belief) is BetaBelief else belief.posteriors).coins()
    if coins is None:
        raise ValueError(
            f"a verdict needs to tell outcomes from the prior, got a {type(belief).__name__} "
            "whose a and b were changed by hand, or saved by a version that did not keep the prior"
        )
    return coins


def _compared(feasible: FeasibleSets, is_retired: NDArray[np.bool_]) -> IndexArray:
    """The arms that are compared. Refuses sets with other constraints than which arms there are."""
    if is_uniform(feasible):
        return np.flatnonzero(~is_retired)
    if isinstance(feasible, Feasible) and feasible.is_plain:
        return np.flatnonzero(feasible.undecided & ~is_retired)
    raise ValueError(
        f"a verdict is about the best k of all arms, got a policy with constraints, {feasible!r}; "
        "clucb certifies the best set with constraints"
    )


def _sought(policy: Policy) -> int:
    """How many arms are looked for."""
    oracle = policy.oracle
    if isinstance(oracle, TopTwo) and oracle.best is not None:
        return oracle.best
    return size_of(policy.feasible)


def _awaited(session: UnlockedSession) -> FloatArray:
    """Shape (n_arms,): how many outcomes of open decisions are not known yet."""
    late = [
        np.array(record.missing(), np.intp) if record.outcomes else record.arms
        for record in session.ledger.open.values()
    ]
    arms = np.concatenate([np.zeros(0, np.intp), *late])
    return np.bincount(arms, minlength=len(session.arms)).astype(np.float64)


def _by_posterior(posterior: Any, arms: IndexArray) -> tuple[float | None, float | None]:
    """The probability that a set is best, and the expected loss, from draws of the posterior."""
    law = _law(posterior)
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

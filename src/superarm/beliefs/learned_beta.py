"""A Beta belief that learns its prior and its noise from all arms, and explores in sets.

The prior is learned by marginal likelihood (empirical Bayes; Efron, Morris 1975). The optimism of a
score follows the approximation of Gittins' index by Brezzi, Lai ("Optimal learning and
experimentation in bandit problems", 2002): a function of the rounds to come per outcome of the arm,
here a simpler one. Sharing a part of the scores is between Thompson sampling and the single seed of
Jin, Zhao, Tan, Gu (2026). To stay with an arm that succeeds is right for an index (Berry, Fristedt,
"Bandit problems", 1985), and new noise in every round would give the arm up.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from superarm.beliefs import _learned_many
from superarm.beliefs._beta import as_prior
from superarm.beliefs._equal_arms import EqualArms, Key
from superarm.beliefs._few_outcomes import FEW, count_few
from superarm.beliefs._score_settings import NAMES, OfScores, ScoreSettings
from superarm.beliefs._scores import BoolArray, MixedPosteriors
from superarm.beliefs._top_of_groups import whole_is_faster
from superarm.beliefs.learned_prior import (
    PER_OUTCOME,
    LearnedPosterior,
    LearnedPrior,
    are_in_steps,
    next_fit,
)
from superarm.beliefs.outcome_counts import OutcomeCounts
from superarm.core.arguments import (
    FloatArray,
    IndexArray,
    as_count,
    as_feedback,
    as_finite,
    as_flag,
    as_k,
)
from superarm.core.k_of_m import top_k
from superarm.core.showing import one_line
from superarm.core.states import as_numbers, refusing

_ALL = slice(None)


class LearnedBetaBelief:
    """theta_i ~ Beta(a + s_i / d, b + f_i / d), with (a, b) and d learned from all arms.

    s_i and f_i are the sums of the outcomes of arm i and of 1 - outcome. The dispersion d is the
    variance of outcomes relative to coins of the same means. It is 1 for outcomes of 0 and 1, and
    less for measured outcomes, which therefore count for more. No coin is flipped.

    A sample takes each posterior at a score z_i, as its quantile at Phi(z_i):

        z_i = optimism · log(1 + 0.3 t / n_i) + spread · (sqrt(shared) z_0 + sqrt(1 - shared) e_i)

    z_0 and all e_i are standard normal, and z_0 is the same for all arms. n_i counts the outcomes
    of the arm and those that the prior is worth. t is a guess of the number of rounds to come: as
    many as so far, and as many as give each arm one outcome; or that number itself, if ``horizon``
    is given. So an arm is explored only as far as there is time to make use of it. While the last
    ``stay_after`` outcomes of an arm were at least its posterior mean, its e_i is
    sqrt(2 log n_arms), about the largest of all e_i: the belief stays with an arm that does well.

    A learned prior would exclude an arm far above all arms so far. So an arm comes from Beta(1, 1)
    instead with the probability ``wide_share``, which is learned, too, from a guess of 0.1. The
    value of an arm is the larger of the quantiles of both parts of its posterior, each with its own
    n_i. In the wide part, what scores are above 1.5 counts for a tenth (`MixedPosteriors`).

    ``sample`` costs n_arms inverse distribution functions. ``sample_top`` costs a few comparisons
    for each distinct pair (s_i, f_i), up to steps of a 16th, and about four of those functions per
    place of the set (`LargeValues`). ``update`` costs O(arms updated), and a fit of the prior
    whenever there is a quarter more outcomes. Takes 20 bytes per arm, and after ``sample_top`` 8
    more, and about 300 bytes per distinct pair.

    Parameters
    ----------
    n_arms
        How many arms there are.
    shared
        From 0 to 1: the correlation of the scores of two arms.
    optimism, spread
        What the scores of rarely seen arms are raised by, and the standard deviation of a score.
        With optimism 0, spread 1, stay_after 0 and not ``wide``, samples have the law of the
        posteriors.
    horizon
        The number of rounds in all, if it is known.
    stay_after
        How many outcomes in a row make the belief stay with an arm; 0 for never.
    wide
        Whether an arm may come from Beta(1, 1).

    Attributes
    ----------
    prior, dispersion, wide_share
        The learned (a, b), d, and share. They are (1, 1), 1 and 0 before the first outcomes.
    outcomes
        The counts and sums of the outcomes of each arm.

    Examples
    --------
    >>> belief, rng = LearnedBetaBelief(200), np.random.default_rng(0)
    >>> means = rng.beta(2, 38, 200)
    >>> for _ in range(100):
    ...     belief.update(np.arange(200), rng.random(200) < means, rng=rng)
    >>> np.round(belief.prior, 1), belief.dispersion
    (array([ 2.2, 41.1]), 1.0)
    >>> belief.add_arms(1)  # a new arm starts from the learned prior
    >>> belief.posterior(np.array([200])).mean().round(3)
    array([0.054])
    """

    shared, optimism, spread, horizon = OfScores(), OfScores(), OfScores(), OfScores()

    __repr__ = one_line
    sample_top_many, update_many = _learned_many.sample_top_many, _learned_many.update_many
    sample_tops = _learned_many.sample_tops

    def __init__(
        self,
        n_arms: int,
        *,
        shared: float = 0.8,
        optimism: float = 0.4,
        spread: float = 0.5,
        horizon: int | None = None,
        stay_after: int = 2,
        wide: bool = True,
    ) -> None:
        self.n_arms = as_count(n_arms, "n_arms", least=1)
        self.scores = ScoreSettings.checked(shared, optimism, spread, horizon)
        self.outcomes = OutcomeCounts.empty(self.n_arms)
        self.stay_after, self.wide = as_count(stay_after, "stay_after"), as_flag(wide, "wide")
        self.prior, self.dispersion, self.wide_share = (1.0, 1.0), 1.0, 0.0
        self._last_learned = LearnedPrior(self.prior, self.dispersion, self.wide_share)
        self._squares, self._n_fitted, self._n_outcomes = 0.0, 0.0, 0.0
        # The good outcomes in a row of each arm, at most stay_after.
        self._streaks = np.zeros(self.n_arms, np.int32)
        self._groups: EqualArms | None = None  # built at the first sample_top
        self._in_steps = True  # whether all sums are such that arms of a group are equal

    def mean(self) -> FloatArray:
        """The posterior means, shape (n_arms,)."""
        # Most arms may have no outcomes, and then all have the same mean.
        means = np.repeat(self._learned().given(np.zeros(1), np.zeros(1)).mean(), self.n_arms)
        seen = np.flatnonzero(self.outcomes.counts)
        means[seen] = self.posterior(seen).mean()
        return means

    def posterior(self, arms: IndexArray) -> LearnedPosterior:
        """The posteriors of some arms as they are at this moment, and the learned prior."""
        counts, sums = self.outcomes.counts[arms], self.outcomes.sums[arms]
        return LearnedPosterior(self._learned(), counts, sums)

    def sample(self, *, rng: np.random.Generator) -> FloatArray:
        """The quantile of every posterior at the arm's score."""
        counts, sums = self.outcomes.counts, self.outcomes.sums
        return self._mixed(counts, sums).at(self._scores(rng=rng))

    def sample_top(self, k: int, *, rng: np.random.Generator) -> tuple[IndexArray, FloatArray]:
        """The arms of the k largest values of a sample, ascending, and these values.

        The law is that of ``sample`` followed by the k largest; the draws differ. For many places
        a whole sample is drawn, which then costs less.
        """
        k = as_k(k, self.n_arms)
        if whole_is_faster(k, self.n_arms, _learned_many.ARMS_PER_PLACE):
            theta = self.sample(rng=rng)
            arms = top_k(theta, k, rng=rng)
            return arms, theta[arms]
        return _learned_many.tops_of(self).draw(k, rng=rng)

    def update(self, arms: ArrayLike, outcomes: ArrayLike, *, rng: np.random.Generator) -> None:
        """Count the outcomes, and fit the prior when there are a quarter more; draws nothing."""
        arms, outcomes = as_feedback(arms, outcomes, self.n_arms)
        if len(arms) <= FEW:
            feedback = list(zip(arms.tolist(), outcomes.tolist(), strict=True))
            learned = self.prior, self.dispersion
            keys = count_few(self.outcomes, self._streaks, feedback, *learned, self.stay_after)
        else:
            keys = self._count(arms, outcomes)
        self._squares += float(outcomes @ outcomes)
        self._n_outcomes += len(arms)
        self._in_steps = self._in_steps and are_in_steps(outcomes)
        if self._groups is not None:
            self._groups.move(arms.tolist(), *keys)
        if self._n_outcomes >= next_fit(self._n_fitted):
            self._fit()
            self._n_fitted = self._n_outcomes

    def add_arms(self, n: int, prior: None = None) -> None:
        """Append n arms without outcomes, which start from the learned prior. O(n_arms)."""
        what = "LearnedBetaBelief, whose new arms start from the learned prior,"
        self.n_arms = self.outcomes.add_arms(n, prior, what)
        self._streaks = np.append(self._streaks, np.zeros(n, np.int32))
        self._groups = None

    def state(self) -> dict[str, Any]:
        """The counts, the settings, and what was learned as plain JSON."""
        # Outcomes off the steps may add up to sums on them: draws differ, so this is saved.
        is_back = not self._in_steps and are_in_steps(self.outcomes.sums)
        return self.outcomes.state(
            "LearnedBetaBelief",
            **self.scores.state(),
            stay_after=self.stay_after,
            wide=self.wide,
            prior=list(self.prior),
            learned=[self.dispersion, self.wide_share, self._squares, self._n_fitted],
            streaks=as_numbers(self._streaks),
            **({"in_steps": False} if is_back else {}),
        )

    @refusing("LearnedBetaBelief")
    def load(self, state: dict[str, Any]) -> None:
        """Become what ``state()`` described."""
        names = (*NAMES, "stay_after", "wide")
        outcomes = OutcomeCounts.from_state(
            state,
            "LearnedBetaBelief",
            self.n_arms,
            settings=(*names, "prior", "learned", "streaks"),
        )
        # A new belief checks the settings before anything changes here.
        new = LearnedBetaBelief(self.n_arms, **{name: state[name] for name in names})
        a, b = as_prior(tuple(state["prior"]), 1)
        new.prior, new.outcomes = (float(a[0]), float(b[0])), outcomes
        learned = as_finite(state["learned"], "state['learned']", ndim=1, least=0.0)
        if len(learned) != 4 or not 0 < learned[0] <= 1 or learned[1] > 1:
            raise ValueError("state['learned'] must be dispersion and share up to 1, and two sums")
        new.dispersion, new.wide_share, new._squares, new._n_fitted = learned.tolist()
        new._n_outcomes = float(outcomes.counts.sum())
        streaks = as_finite(state["streaks"], "state['streaks']", ndim=1, least=0.0)
        if streaks.shape != (self.n_arms,) or (streaks > new.stay_after).any():
            raise ValueError("state['streaks'] must have one number up to stay_after per arm")
        new._streaks = streaks.astype(np.int32)
        new._in_steps = are_in_steps(outcomes.sums) and bool(state.get("in_steps", True))
        self.__dict__.update(new.__dict__)

    def _learned(self) -> LearnedPrior:
        known, now = self._last_learned, (self.prior, self.dispersion, self.wide_share)
        if (known.beta, known.dispersion, known.wide_share) != now:
            self._last_learned = LearnedPrior(*now)  # it keeps what follows from it
        return self._last_learned

    def _mixed_of(self, arms: IndexArray) -> MixedPosteriors:
        return self._mixed(self.outcomes.counts[arms], self.outcomes.sums[arms])

    def _mixed(self, counts: FloatArray, sums: FloatArray) -> MixedPosteriors:
        """The posteriors with the wide part of the prior."""
        a, b, wide_a, wide_b, weight, known, known_wide = self._learned().parts(counts, sums)
        lift = self._rise(known_wide) - self._rise(known)
        return MixedPosteriors(a, b, wide_a, wide_b, weight, lift)

    def _optimism(self, counts: FloatArray) -> FloatArray:
        return self._rise(self._learned().per_known(counts, self.prior))

    def _rise(self, per_known: FloatArray) -> FloatArray:
        # After this many rounds, each arm has one outcome on average.
        more = self.n_arms * self.outcomes.rounds / max(1.0, self._n_outcomes)
        return self.scores.rise(per_known, self.outcomes.rounds, more=more)

    def _scores(self, *, rng: np.random.Generator) -> FloatArray:
        drawn = self.scores.law.draw(self.n_arms, self._is_held(), rng=rng)
        return self._optimism(self.outcomes.counts) + drawn

    def _is_held(self, arms: IndexArray | slice = _ALL) -> BoolArray:
        """Whether the belief stays with some arms."""
        return (self._streaks[arms] >= self.stay_after) & (self.stay_after > 0)

    def _columns(self, arms: IndexArray | slice) -> tuple[FloatArray, FloatArray, FloatArray]:
        """The counts of some arms, their sums rounded up, and whether the belief stays with them.

        Arms that agree in these form a group. Its posterior bounds theirs, and for outcomes of 0
        and 1 it is theirs.
        """
        sums = np.ceil(PER_OUTCOME * self.outcomes.sums[arms]) / PER_OUTCOME
        return self.outcomes.counts[arms], sums, self._is_held(arms).astype(np.float64)

    def _keys(self, arms: IndexArray) -> list[Key]:
        if self._groups is None:
            return []
        return list(zip(*(column.tolist() for column in self._columns(arms)), strict=True))

    def _count(self, arms: IndexArray, outcomes: FloatArray) -> tuple[list[Key], list[Key]]:
        before = self._keys(arms)
        longer = np.minimum(self._streaks[arms] + 1, self.stay_after)
        counts, sums = self.outcomes.counts[arms], self.outcomes.sums[arms]
        usual = self._learned().usual_mean(counts, sums)
        self._streaks[arms] = np.where(outcomes >= usual, longer, 0)
        self.outcomes.add(arms, outcomes)
        return before, self._keys(arms)

    def _fit(self) -> None:
        """Learn the dispersion, and then the prior, from the arms that have outcomes."""
        new = self._learned().fitted(
            self.outcomes.counts, self.outcomes.sums, self._squares, wide=self.wide
        )
        self.prior, self.dispersion, self.wide_share = new.beta, new.dispersion, new.wide_share

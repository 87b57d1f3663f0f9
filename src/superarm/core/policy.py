"""A policy: a belief and an oracle, joined by a reward.

`Policy.decide` is the paper's round. The oracle gets theta as a `Sample` and the reward as a
`Counted`, both below.
"""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from superarm.core import notebook
from superarm.core.acts_as_array import ActsAsArray
from superarm.core.arguments import (
    FloatArray,
    IndexArray,
    as_generator,
    as_value,
    as_values,
    shown_arms,
)
from superarm.core.contexts import Contextual
from superarm.core.declarations import SameDeclarations
from superarm.core.k_of_m import as_feasible, top_k
from superarm.core.members import check_parts
from superarm.core.optional import SamplesTop, check_sets, kind_has, offers
from superarm.core.places import LearnsLists, LearnsPlaces
from superarm.core.pools import Pools
from superarm.core.progress import one_round
from superarm.core.protocols import Belief, FeasibleSets, KOrSets, Oracle, Reward
from superarm.core.stopping import LOOK


@dataclass
class Policy:
    """A belief and an oracle, joined by a reward: asks for ``k`` arms, and learns their outcomes.

    Attributes
    ----------
    belief, oracle
        What knows about the means, and what picks the set.
    reward
        The given reward, wrapped in `Counted`.
    k
        How many arms a set has, the paper's K; or `FeasibleSets`, such as a `Feasible`.
    feasible
        The sets to choose from: ``k``, for the arms of the reward.

    Examples
    --------
    >>> import superarm as sa
    >>> rng = np.random.default_rng(0)
    >>> policy = Policy(sa.BetaBelief(6), sa.Singletons(), sa.LinearReward(6), k=2)
    >>> arms = policy.ask(rng=rng)
    >>> arms
    array([2, 3])
    >>> policy.tell(arms, [1.0, 0.0], rng=rng)
    >>> policy.belief.mean()[arms], policy.evaluations
    (array([0.66666667, 0.33333333]), 6)
    """

    # Any, so that programs may call what their own parts have, such as policy.belief.mean().
    belief: Any
    oracle: Any
    reward: Any  # a Reward when given, a Counted from then on
    k: KOrSets
    feasible: FeasibleSets = field(init=False, repr=False)

    if TYPE_CHECKING:  # the types that must be given

        def __init__(self, belief: Belief, oracle: Oracle, reward: Reward, k: KOrSets) -> None: ...

    def __post_init__(self) -> None:
        # Each policy counts its own evaluations.
        if isinstance(self.reward, Counted):
            self.reward = self.reward.uncounted
        check_parts(self.belief, self.oracle, self.reward)
        self.feasible = as_feasible(self.k, self.reward.n_arms)
        check_sets(self.oracle, self.feasible)
        # What the user gave, but a numpy integer as a plain one, and sets for these arms.
        self.k = int(self.k) if isinstance(self.k, int | np.integer) else self.feasible
        self.reward = Counted(self.reward)

    def __repr__(self) -> str:
        return f"Policy({self.belief!r}, {self.oracle!r}, {self.reward!r}, k={self.k!r})"

    def _repr_html_(self) -> str:
        rows = [[name, repr(getattr(self, name))] for name in ("belief", "oracle", "reward", "k")]
        rows.append(["evaluations", f"{self.evaluations:,}"])
        return notebook.table(["", ""], rows, title="Policy", left=2)

    @property
    def evaluations(self) -> int:
        """For how many sets the reward has been evaluated so far."""
        return self.reward.evaluations

    def ask(
        self,
        *,
        rng: np.random.Generator,
        feasible: KOrSets | None = None,
        context: ArrayLike | None = None,
    ) -> IndexArray:
        """The k arms to pull now, ascending; ``feasible`` replaces ``k`` in this round.

        ``context`` is what is known of this round: a vector, or one row per arm. The belief must
        be `Contextual`.
        """
        return self.decide(rng=rng, feasible=feasible, context=context)[0]

    def decide(
        self,
        *,
        rng: np.random.Generator,
        feasible: KOrSets | None = None,
        context: ArrayLike | None = None,
    ) -> tuple[IndexArray, Sample]:
        """The arms that ``ask`` returns, and theta as far as the oracle looked at it."""
        if (look := LOOK.get()) is not None:
            look()  # raises if the caller wants to stop: see `may_stop`
        sets = self.feasible
        if feasible is not None and feasible is not sets:
            sets = as_feasible(feasible, self.reward.n_arms)
        theta = Sample(belief_at(self.belief, context), as_generator(rng))
        with one_round() if self.reward.shows_progress else nullcontext():
            arms = self.oracle.select(self.reward, theta, sets, rng=rng)
        theta.close()
        if not sets.is_feasible(arms):
            raise ValueError(
                f"{type(self.oracle).__name__} must pick a set that is feasible for {sets}, "
                f"got {shown_arms(arms)}"
            )
        if not isinstance(arms, np.ndarray) or np.count_nonzero(arms[1:] < arms[:-1]):
            arms = np.sort(np.asarray(arms, np.intp))  # of an oracle that gives the best arm first
        return arms, theta

    def tell(
        self,
        arms: ArrayLike,
        outcomes: ArrayLike,
        *,
        rng: np.random.Generator,
        context: ArrayLike | None = None,
        places: ArrayLike | None = None,
        n_before: int = 0,
    ) -> None:
        """Learn what arms did, one outcome in [0, 1] per arm.

        The arms may be any distinct ones, not only those of the last `ask`. ``context`` is that of
        the round in which they were pulled. ``places`` are the places in which they were shown, 0
        for the first, if not all of them are given in that order. Only beliefs that need places
        get them (`LearnsPlaces`). The outcomes of the first ``n_before`` arms are already learned:
        beliefs that look at the whole list need them once more (`LearnsLists`), and no other
        belief may get any.
        """
        belief = belief_at(self.belief, context)
        as_generator(rng)
        if n_before:
            if not offers(belief, LearnsLists):
                raise TypeError(f"n_before needs a belief with update_list, got {belief!r}")
            belief.update_list(arms, outcomes, rng=rng, places=places, n_before=n_before)
        elif places is None or not offers(belief, LearnsPlaces):
            belief.update(arms, outcomes, rng=rng)
        else:
            belief.update(arms, outcomes, rng=rng, places=places)


def belief_at(belief: Belief, context: ArrayLike | None) -> Any:
    """The belief of a round with this context; None is a round without one."""
    if kind_has(type(belief), Contextual):
        return belief.at(context)  # type: ignore[attr-defined]
    if context is not None:
        raise TypeError(
            f"a context needs a belief with at(context), such as LinearBelief, got a "
            f"{type(belief).__name__}; leave the context out, or use another belief"
        )
    return belief


class Sample(ActsAsArray):
    """What `Policy` passes to an oracle as theta: a sample of a belief, drawn at the first look.

    An oracle that uses it as an array, with ``np.asarray``, an index, an operator or a method of
    arrays, gets the whole sample. An oracle that needs only the k largest values calls ``top``. A
    belief that has ``sample_top`` then draws no more than these.

    The first look must come before ``select`` returns and the policy calls ``close``. Later the
    belief may have learned, and a first look would show another sample, so it is refused.

    Examples
    --------
    >>> import superarm as sa
    >>> arms, values = Sample(sa.BetaBelief(4), np.random.default_rng(0)).top(2)
    >>> arms, values.round(3)
    (array([2, 3]), array([0.997, 0.962]))
    """

    def __init__(self, belief: Any, rng: np.random.Generator) -> None:
        self.n_arms: int = belief.n_arms
        self._belief: Any = belief
        self._rng: Any = rng
        self._theta: FloatArray | None = None
        self.is_whole = False  # whether the values of all arms have been drawn
        self._top: tuple[IndexArray, FloatArray] | None = None

    @classmethod
    def of_top(cls, n_arms: int, arms: IndexArray, values: FloatArray) -> Sample:
        """A sample of which these are the largest values, and the others were not drawn."""
        made = object.__new__(cls)
        made.n_arms, made._top, made.is_whole = n_arms, (arms, values), False
        made._belief = made._rng = made._theta = None
        return made

    def __repr__(self) -> str:
        # Without a look: that would draw.
        n_top = 0 if self._top is None else len(self._top[0])
        n_drawn = n_top if self._theta is None else self.n_arms
        return f"Sample({n_drawn:,} of {self.n_arms:,} values drawn)"

    def top(self, k: int) -> tuple[IndexArray, FloatArray]:
        """The k arms of the largest values, ascending, and these values; ties as in `top_k`."""
        if self._top is not None and len(self._top[0]) == k:
            return self._top
        if self._belief is None or (self._top is not None and self._theta is None):
            raise self._late_look()
        # Without sample_top, or if all values are known, the top comes from the whole sample.
        if self._theta is not None or not kind_has(type(self._belief), SamplesTop):
            theta = self.whole()
            arms = top_k(theta, k, rng=self._rng)
            self._top = arms, theta[arms]
        else:
            self._top = self._belief.sample_top(k, rng=self._rng)
        return self._top

    def whole(self) -> FloatArray:
        """The values of all arms, shape (n_arms,)."""
        if self._theta is None:
            if self._belief is None or self._top is not None:
                raise self._late_look()
            theta, wanted = np.asarray(self._belief.sample(rng=self._rng)), (self.n_arms,)
            if theta.shape != wanted:
                raise ValueError(f"a belief's sample must have shape {wanted}, got {theta.shape}")
            self._theta, self.is_whole = theta, True
        return self._theta

    def drawn(self, arms: IndexArray) -> FloatArray | None:
        """The values of some arms, shape (len(arms),), if they have been drawn; else None."""
        if self._theta is not None:
            return self._theta[arms]
        if self._top is not None and (self._top[0] is arms or np.array_equal(self._top[0], arms)):
            return self._top[1]
        return None

    def _late_look(self) -> ValueError:
        if self._top is not None:
            return ValueError(
                "theta must be looked at as a whole before its top, or not at all: "
                f"only the {len(self._top[0])} largest were drawn"
            )
        return ValueError("theta must be looked at before select returns: the belief has changed")

    def close(self) -> None:
        """Refuse first looks from now on."""
        self._belief = self._rng = None


class Counted(SameDeclarations):
    """A reward that counts its evaluations, and refuses answers that are not finite numbers.

    `Policy` wraps it around the reward that it is given. Evaluations are counted nowhere else.
    """

    def __init__(self, reward: Reward) -> None:
        super().__init__(reward)
        self.evaluations = 0
        self.hear: Any = None  # is called with the sets and the answers; sessions log them

    def __repr__(self) -> str:
        return f"{self.uncounted!r}"

    def __call__(self, arms: ArrayLike, means: ArrayLike) -> float:
        """The value of one set; counts one evaluation, or as many as the reward averages."""
        if (look := LOOK.get()) is not None:
            look()
        self.evaluations += self.repeats
        value = as_value(self.uncounted(arms, means), arms)
        return value if self.hear is None else self.hear(arms, value)

    def batch(self, pools: Pools, theta: ArrayLike) -> FloatArray:
        """The values of many sets; counts one evaluation per set, times ``repeats`` if it has."""
        if (look := LOOK.get()) is not None:
            look()
        self.evaluations += len(pools) * self.repeats
        values = as_values(self.uncounted.batch(pools, theta), pools)
        return values if self.hear is None else self.hear(pools, values)

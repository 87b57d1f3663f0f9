"""What parts may offer beyond `protocols`: every optional member that some other code looks for.

Those of rewards are in `declarations`, those of environments in `environments`, those about places
of arms in `places`, those about contexts in `contexts`, those about many rounds at a time in
`bulk`, and one of oracles in `replays`. There is nothing to inherit.

``isinstance(part, Protocol)`` is slow. Code that runs in every round asks `kind_has`, or `offers`
if the Protocol has more than methods.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from superarm.core.arguments import FloatArray, IndexArray
from superarm.core.protocols import FeasibleSets, Reward

# What `offers` has found out, by the type of the part.
_OFFERED: dict[tuple[type, type], bool] = {}


kind_has: Callable[[type, type], bool] = cache(issubclass)
"""Whether a type has the methods of a Protocol, looked up only once per type.

``issubclass`` itself takes ten times as long since Python 3.12.
"""


def has(part: object, protocol: type) -> bool:
    """Whether the type of a part has the methods of a Protocol."""
    return kind_has(type(part), protocol)


def offers(part: object, protocol: type) -> bool:
    """The same as isinstance, looked up only once per type of part."""
    asked = type(part), protocol
    if asked not in _OFFERED:
        _OFFERED[asked] = isinstance(part, protocol)
    return _OFFERED[asked]


# Beliefs


@runtime_checkable
class SamplesTop(Protocol):
    """A belief that draws the k largest of a sample without drawing all of it; `TopK` uses this."""

    def sample_top(self, k: int, *, rng: np.random.Generator) -> tuple[IndexArray, FloatArray]:
        """The k arms of the largest values of a sample, ascending, and these values."""


@runtime_checkable
class SamplesMany(Protocol):
    """A belief that draws many samples at a time; propensities use this."""

    def sample_many(self, n: int, *, rng: np.random.Generator) -> FloatArray:
        """n independent samples, shape (n, n_arms)."""


@runtime_checkable
class HasMean(Protocol):
    """A belief that shows one number per arm; tables and the service use this."""

    def mean(self) -> FloatArray:
        """The means of all arms, or what stands for them, shape (n_arms,)."""


@runtime_checkable
class HasPosterior(Protocol):
    """A belief whose uncertainty about each arm can be shown; explanations use this."""

    def posterior(self, arms: ArrayLike) -> Posterior:
        """What is known about some arms."""


class Posterior(Protocol):
    """The distribution of the means of some arms."""

    def mean(self) -> FloatArray:
        """Shape (len(arms),)."""

    def interval(self, probability: float) -> tuple[FloatArray, FloatArray]:
        """The ends of the equal-tailed interval of this probability, each of shape (len(arms),)."""


@runtime_checkable
class Growable(Protocol):
    """A belief that arms can join later; `Session.add_arms` uses this."""

    def add_arms(self, n: int, prior: Any = None) -> None:
        """Append n arms; None for the usual prior."""


@runtime_checkable
class HasLevel(Protocol):
    """A belief whose next sample depends on a value outside ``state``; session logs use this."""

    level: tuple[int, float] | None
    """The value after the last sample; None if there is none."""


@runtime_checkable
class CountsOutcomes(Protocol):
    """A belief that counts its feedback; `ESCBIndex` uses this."""

    n_arms: int
    outcomes: Any
    """``counts``, shape (n_arms,): outcomes per arm; and ``rounds``: the number of updates."""


# Oracles


@runtime_checkable
class Stateful(Protocol):
    """An oracle whose memory decides, or is expensive to lose; sessions save and load it."""

    def state(self) -> dict[str, Any]:
        """All it remembers, as plain JSON."""

    def load(self, state: dict[str, Any]) -> None:
        """Become exactly what ``state()`` described."""


@runtime_checkable
class Forgetful(Protocol):
    """An oracle that remembers its reward; a session calls this when the reward is replaced."""

    def forget(self) -> None:
        """Forget the reward and the answers of the reward."""


@runtime_checkable
class SelectsMany(Protocol):
    """An oracle that selects for many thetas at a time; propensities use this."""

    def select_many(
        self, reward: Reward, theta: FloatArray, k: int | FeasibleSets, *, rng: np.random.Generator
    ) -> IndexArray:
        """One set of k arms per row of theta: (n, n_arms) gives (n, k)."""


@runtime_checkable
class Adopts(Protocol):
    """An oracle whose memory follows from its sets; a session that replays its log uses this."""

    def adopt(self, arms: IndexArray, k: int | FeasibleSets, n_arms: int) -> None:
        """Go on as if ``select`` had returned these arms, without an evaluation."""


@runtime_checkable
class ChecksSets(Protocol):
    """An oracle that cannot choose from all feasible sets; policies and sessions refuse these."""

    def check_sets(self, feasible: FeasibleSets) -> None:
        """Refuse feasible sets that ``select`` would refuse. Draws and changes nothing."""


def check_sets(oracle: Any, feasible: FeasibleSets) -> None:
    """Refuse feasible sets that an oracle cannot choose from, if it says so."""
    if kind_has(type(oracle), ChecksSets):
        oracle.check_sets(feasible)


# Feasible sets


@runtime_checkable
class Uniform(Protocol):
    """Feasible sets that are all sets of ``n_most`` arms: the order of the values decides."""

    def best(
        self, values: ArrayLike, *, rng: np.random.Generator, tolerance: float = 0.0
    ) -> IndexArray:
        """The arms of the largest values; those within ``tolerance`` of the last are tied."""

    def random_set(self, *, rng: np.random.Generator) -> IndexArray:
        """One of the sets, each with the same probability."""


@runtime_checkable
class BestOfTop(Protocol):
    """Feasible sets whose best set is among a few of the largest values; `TopK` uses this."""

    def n_top(self) -> int:
        """How many of the largest values contain the best set; 0 if all arms are cheaper."""

    def best_of_top(
        self, arms: IndexArray, values: FloatArray, *, rng: np.random.Generator
    ) -> tuple[IndexArray, FloatArray]:
        """The best set and its values, given the arms of the ``n_top`` largest values."""


@runtime_checkable
class Extendable(Protocol):
    """Feasible sets that can be built arm by arm; `Greedy` and `LazyGreedy` need this."""

    def extend(self, chosen: ArrayLike) -> NDArray[np.bool_]:
        """Shape (n_arms,): which arms may join the chosen ones, on the way to a set."""

    @property
    def must(self) -> IndexArray:
        """The arms that are in every set, ascending."""

    @property
    def weights(self) -> FloatArray | None:
        """Shape (n_arms,): what each arm uses of a budget; None without a budget."""


@runtime_checkable
class Completable(Protocol):
    """Feasible sets whose last arm can be exchanged; `LocalSearch` needs this."""

    def completed_by(self, chosen: ArrayLike) -> NDArray[np.bool_]:
        """Shape (n_arms,): which arms complete the chosen ones to a set."""


@runtime_checkable
class Enumerable(Protocol):
    """Feasible sets that can be listed; `Exhaustive` needs this, and `ESCBIndex` mostly."""

    @property
    def n_candidates(self) -> int:
        """An upper bound on the number of sets: how many candidates ``blocks`` looks at."""

    def blocks(self, order: ArrayLike | None = None) -> Iterator[IndexArray]:
        """All sets, in arrays of shape (n_sets, size), rows ascending; larger sets first.

        Sets of one size come in the lexicographic order of the arms in ``order`` (ascending).
        """


@runtime_checkable
class ChangesTogether(Protocol):
    """Feasible sets in which single arms can't be exchanged, such as paths; `cts` warns of them."""

    @property
    def n_together(self) -> int:
        """How many arms may have to be exchanged at once."""

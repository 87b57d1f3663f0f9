"""The arms of a session: their names, which are retired, constraints by name, and new arms."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from superarm.core import Counted, FeasibleSets, KOfM, Policy, Reward, as_feasible
from superarm.core.arguments import IndexArray, as_number
from superarm.core.optional import Forgetful, Growable, check_sets
from superarm.sessions.decisions import Name
from superarm.sets import Feasible, Group
from superarm.sets.clash import ClashError

_PIECE = 10_000  # names


class NamedArms:
    """Names by number, numbers by name, and which arms are retired.

    Arms are added at the end and never removed, so a number always means the same arm. The first
    ``n_first`` were there from the start.
    """

    def __init__(self, names: Iterable[Name]) -> None:
        self.names = as_names(names)
        self.numbers = {name: number for number, name in enumerate(self.names)}
        self.is_retired = np.zeros(len(self.names), bool)
        self.n_first = len(self.names)

    def __len__(self) -> int:
        return len(self.names)

    @property
    def is_retired(self) -> NDArray[np.bool_]:
        """Shape (n_arms,): which arms are retired. Assign a new array to change it."""
        return self._is_retired

    @is_retired.setter
    def is_retired(self, which: NDArray[np.bool_]) -> None:
        # Every round asks whether there is any, so that it is found out here.
        self._is_retired, self.any_retired = which, bool(which.any())

    @property
    def retired(self) -> IndexArray:
        """The numbers of the retired arms, ascending."""
        return np.flatnonzero(self.is_retired)

    def copy(self) -> NamedArms:
        """A copy of these arms."""
        other = object.__new__(NamedArms)  # the names are known to be valid
        other.names, other.numbers = self.names[:], self.numbers.copy()
        other.is_retired, other.n_first = self.is_retired.copy(), self.n_first
        return other

    def new_names(self, names: Iterable[Name]) -> list[Name]:
        """Names for new arms. Refuses names that are taken."""
        given = as_names(names)
        taken = [name for name in given if name in self.numbers]
        if taken:
            raise ValueError(
                f"names must be new, got {taken[0]!r}; restore brings a retired arm back"
            )
        return given

    def add(self, names: list[Name]) -> None:
        """Add arms with names that `new_names` has checked."""
        self.numbers.update({name: len(self.names) + place for place, name in enumerate(names)})
        # A new list and a new array: states and feasible sets made before refer to the old ones.
        self.names = [*self.names, *names]
        self.is_retired = np.append(self.is_retired, np.zeros(len(names), bool))

    def of(self, names: Iterable[Name]) -> list[int]:
        """The numbers of some arms."""
        given = _as_list(names)
        # True equals 1 as a key, but nobody means arm 1 by it.
        try:
            unknown = [name for name in given if isinstance(name, bool) or name not in self.numbers]
        except TypeError:  # a list cannot be looked up, nor a tuple that has one
            wrong = next(name for name in given if not isinstance(name, str | int | np.integer))
            raise TypeError(
                f"a name must be a string or a whole number, got {wrong!r}; write *{wrong!r} for "
                f"several names"
            ) from None
        if unknown:
            raise ValueError(f"names must be of the session's arms, got {unknown[0]!r}")
        return [self.numbers[name] for name in given]

    def fixed_set(self, names: Iterable[Name] | None) -> IndexArray | None:
        """The numbers of some distinct arms, in their order; None for none."""
        if names is None:
            return None
        numbers = self.of(names)
        if len(set(numbers)) < len(numbers):
            raise ValueError(f"arms of a hold-out must be distinct, got {list(names)!r}")
        return np.array(numbers, np.intp)

    def retiring(self, names: Iterable[Name], retired: bool) -> NDArray[np.bool_]:
        """Which arms are retired once some more, or some fewer, are."""
        changed = self.is_retired.copy()
        changed[self.of(names)] = retired
        return changed

    def without(self, feasible: FeasibleSets, retired: NDArray[np.bool_]) -> FeasibleSets:
        """The feasible sets without some retired arms. Refuses if no set is left."""
        if isinstance(feasible, KOfM):
            return Feasible(feasible.k, available=~retired)
        if isinstance(feasible, Feasible):
            with _by_name(self.names):
                return feasible.but(available=feasible.available & ~retired)
        raise ValueError(
            f"arms can be retired where sets are those of a number or a Feasible, got "
            f"{type(feasible).__name__}; restore the retired arms, or make the structure without "
            f"them"
        )

    def constraints(
        self,
        k: int,
        *,
        available: Iterable[Name] | None = None,
        must: Iterable[Name] = (),
        must_not: Iterable[Name] = (),
        groups: Iterable[Group] = (),
        weights: Mapping[Name, float] | None = None,
        budget: float | None = None,
        at_most: bool = False,
    ) -> Feasible:
        """A `Feasible` from names. Arms without a weight weigh 0."""
        by_number = None
        if weights is not None:
            by_number = np.zeros(len(self))
            by_number[self.of(weights)] = [
                as_number(+heavy if isinstance(heavy, bool) else heavy, f"the weight of {name!r}")
                for name, heavy in weights.items()
            ]
        constraints: dict[str, Any] = {
            "available": None if available is None else self._each(available, "available"),
            "must": self._each(must, "must"),
            "must_not": self._each(must_not, "must_not"),
            "groups": [self._numbered(number, group) for number, group in enumerate(groups)],
        }
        size: dict[str, Any] = {"k": k, "at_most": at_most, "n_arms": len(self)}
        with _by_name(self.names):
            return Feasible(**size, **constraints, weights=by_number, budget=budget)

    def _numbered(self, number: int, group: Group) -> Group:
        if not isinstance(group, Group):
            raise TypeError(f"groups must be of Group, such as Group(['a', 'b']), got {group!r}")
        what = f"the group {group.name!r}" if group.name else f"group {number}"
        return replace(group, arms=self._each(group.arms, what))

    def _each(self, names: Any, what: str) -> list[int]:
        """The numbers of distinct arms; ``what`` the names are of."""
        given = _as_list(names)
        numbers = self.of(given)
        if len(set(numbers)) < len(numbers):
            twice = Counter(given).most_common(1)[0][0]
            raise ValueError(f"{what}: arms must be distinct, got arm {twice!r} more than once")
        return numbers


@contextmanager
def _by_name(names: Sequence[Name]) -> Iterator[None]:
    """Errors of constraints tell names of arms instead of their numbers."""
    try:
        yield
    except ClashError as error:
        raise error.named(names) from None


def size_of(feasible: FeasibleSets) -> int:
    """The k of feasible sets that have one."""
    if isinstance(feasible, KOfM | Feasible):
        return feasible.k
    raise TypeError(f"k must be given, since {type(feasible).__name__} has no k")


def add_arms(
    policy: Policy,
    n_new: int,
    prior: Any,
    reward: Reward | None,
    rewards: Callable[[int], Reward] | None,
) -> None:
    """Add arms to a policy. Refuses before anything has changed."""
    belief, oracle = policy.belief, policy.oracle
    if not isinstance(belief, Growable):
        raise TypeError(f"the belief must be able to grow: {type(belief).__name__} has no add_arms")
    total = policy.reward.n_arms + n_new
    if reward is None and rewards is None:
        raise ValueError(
            f"reward must be given, that of {total} arms, since the session has no rewards to call"
        )
    larger = reward if rewards is None or reward is not None else rewards(total)
    counted = larger if isinstance(larger, Counted) else Counted(larger)  # type: ignore[arg-type]
    if counted.n_arms != total:
        raise ValueError(f"reward must be of {total} arms, got one of {counted.n_arms}")
    sets = grown(policy.feasible, total)
    check_sets(oracle, sets)
    # The belief checks the prior: the last step that can fail, and the first that changes anything.
    belief.add_arms(n_new, prior)
    counted.evaluations = policy.evaluations  # the policy's count goes on
    policy.reward = counted
    policy.feasible = sets
    if isinstance(policy.k, FeasibleSets):
        policy.k = sets
    if isinstance(oracle, Forgetful):
        oracle.forget()  # its cached answers are about the old reward


def grown(feasible: FeasibleSets, n_arms: int) -> FeasibleSets:
    """These feasible sets for more arms. Refuses what does not say how to treat new arms."""
    if isinstance(feasible, KOfM):
        return as_feasible(feasible.k, n_arms)
    why = f"{type(feasible).__name__} are of given arms"
    if isinstance(feasible, Feasible):
        try:
            return feasible.but(n_arms=n_arms)
        except ValueError as error:  # something was given per arm: weights, or who is available
            why = str(error)
    raise ValueError(
        f"no arms can be added to the policy's {feasible!r}: {why}; make the policy with a plain "
        "k, and give the constraints to each ask"
    )


def as_names(names: Iterable[Name]) -> list[Name]:
    """Distinct strings or whole numbers."""
    given = _as_list(names)
    if not set(map(type, given)) <= {str, int}:  # one quick pass, for sessions of a million arms
        for name in given:
            if isinstance(name, bool) or not isinstance(name, str | int | np.integer):
                raise TypeError(f"a name must be a string or a whole number, got {name!r}")
        # Names of numpy become plain ones, so that they can be written as JSON.
        given = [str(name) if isinstance(name, str) else int(name) for name in given]
    twice = repeated(given)
    if twice is not None:
        raise ValueError(f"names must be distinct, got {twice!r} more than once")
    return given


def repeated(names: Sequence[Name]) -> Name | None:
    """The first name that comes twice; None if all are distinct.

    Other threads may run after each piece: a set of a million names takes a tenth of a second.
    """
    seen: set[Name] = set()
    for start in range(0, len(names), _PIECE):
        seen.update(names[start : start + _PIECE])
    if len(seen) == len(names):
        return None
    seen.clear()
    for name in names:
        if name in seen:
            return name
        seen.add(name)
    return None


def _as_list(names: Iterable[Name]) -> list[Name]:
    if isinstance(names, str):
        raise TypeError(f"names must be several names, got the string {names!r}; write [{names!r}]")
    return list(names)

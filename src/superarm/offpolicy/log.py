"""What was decided, with which probability, and what came of it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from superarm.core.arguments import FloatArray, IndexArray, as_count
from superarm.offpolicy.events import as_json, decided


class Log:
    """Rounds of sets, the probabilities with which they were picked, and the outcomes of their arms.

    Parameters
    ----------
    arms
        Shape (n_rounds, most): the arms of each set; -1 where a set has fewer.
    outcomes
        The same shape: in [0, 1], and NaN where an outcome is missing.
    propensities
        The same shape: with which probability the arm was in the set of that round, above 0.
    n_arms
        How many arms there are.
    set_propensities
        Shape (n_rounds,): with which probability exactly this set was picked, above 0; None if that is not known. Only
        `set_ips` and `set_snips` need them.
    names
        The arms' names; 0, 1, 2, ... unless given.

    Examples
    --------
    >>> log = Log([[0, 1], [1, 2]], [[1.0, 0.0], [0.5, np.nan]], [[0.9, 0.5], [0.5, 0.6]], n_arms=3)
    >>> log
    Log(2 rounds, 3 arms, 1 outcome missing)
    >>> log.filled(0.0).outcomes.tolist()
    [[1.0, 0.0], [0.5, 0.0]]
    """

    def __init__(
        self,
        arms: ArrayLike,
        outcomes: ArrayLike,
        propensities: ArrayLike,
        *,
        n_arms: int,
        set_propensities: ArrayLike | None = None,
        names: Sequence[str | int] | None = None,
    ) -> None:
        self.n_arms = as_count(n_arms, "n_arms", least=1)
        self.arms = _as_sets(arms, self.n_arms)
        there = self.there
        self.outcomes = _as_numbers(outcomes, "outcomes", self.arms.shape)
        self.propensities = _as_numbers(propensities, "propensities", self.arms.shape)
        _refuse(
            "outcomes",
            self.outcomes[there],
            lambda x: np.isnan(x) | ((x >= 0) & (x <= 1)),
            "in [0, 1], or NaN",
        )
        _refuse(
            "propensities",
            self.propensities[there],
            lambda p: (p > 0) & (p <= 1),
            "above 0 and at most 1",
        )
        self.set_propensities: FloatArray | None = None
        if set_propensities is not None:
            self.set_propensities = _as_numbers(
                set_propensities, "set_propensities", (len(self.arms),)
            )
            _refuse(
                "set_propensities",
                self.set_propensities,
                lambda p: (p > 0) & (p <= 1),
                "above 0 and at most 1",
            )
        self.names = tuple(range(self.n_arms)) if names is None else tuple(names)
        if len(set(self.names)) != self.n_arms:
            raise ValueError(
                f"names must be {self.n_arms} distinct names (n_arms), got {len(set(self.names))}"
            )

    @classmethod
    def of(cls, rows: Iterable[Mapping[str, Any]], names: Sequence[str | int] | int) -> Log:
        """A log from its rounds: ``arms`` by name, their ``outcomes`` (None where missing) and ``propensities``.

        ``set_propensity`` is taken where every round has it. ``names`` are the names of all arms, or their number where
        the arms are called 0, 1, 2, ...
        """
        known = list(range(names)) if isinstance(names, int) else list(names)
        numbers = {name: number for number, name in enumerate(known)}
        found = [_as_row(row, place, numbers) for place, row in enumerate(rows, start=1)]
        if not found:
            raise ValueError("a log must have a round at least, got none")
        most = max(1, *(len(row[0]) for row in found))
        arms = np.full((len(found), most), -1, np.intp)
        outcomes, chances = np.full(arms.shape, np.nan), np.full(arms.shape, np.nan)
        for place, (picked, told, p, _) in enumerate(found):
            (
                arms[place, : len(picked)],
                outcomes[place, : len(picked)],
                chances[place, : len(picked)],
            ) = picked, told, p
        of_sets = [row[3] for row in found if row[3] is not None]
        whole = of_sets if len(of_sets) == len(found) else None
        return cls(arms, outcomes, chances, n_arms=len(known), set_propensities=whole, names=known)

    @classmethod
    def from_session(cls, session: Any) -> Log:
        """The decisions of a `Session` that were asked for with ``propensities``, as far as it remembers them (keep).

        Outcomes that have not been told are missing.
        """
        made = [decision for decision in session.decisions if decision.propensities is not None]
        if not made:
            raise ValueError(
                "the session must have decisions with propensities, got none; ask(propensities=1000)"
            )
        rows = []
        for decision in made:
            told = session.outcomes(decision)
            rows.append(
                {
                    "arms": decision.arms,
                    "outcomes": [told.get(arm) for arm in decision.arms],
                    "propensities": decision.propensities,
                    "set_propensity": decision.set_propensity,
                }
            )
        return cls.of(rows, session.names)

    @classmethod
    def from_events(
        cls, events: str | Path | Iterable[str | bytes | Mapping[str, Any]], *, after: int = 0
    ) -> Log:
        """The decisions with propensities of a bandit of the service, from its log: a file of JSON lines, or events.

        All of the log, from the bandit's creation on, as ``GET /v1/bandits/{id}/log`` or ``client.log(bandit)`` gives
        it. The arms are all that ever were, in the order of their coming. Outcomes that have not been told are missing,
        also where the bandit's expiry has counted them as something.

        Parameters
        ----------
        events
            The path of the file; or the events in order, each as a dict or as a line.
        after
            Only decisions of events with a larger ``seq``, such as that of the last change of the arms: what arms would
            have done before they came, or after they went, no log knows.

        Examples
        --------
        >>> made = {"id": "d-1", "arms": ["ant"], "propensities": [0.8], "set_propensity": 0.8, "n_samples": 100}
        >>> Log.from_events(
        ...     [
        ...         {"seq": 1, "bandit": "d", "kind": "created", "spec": {"arms": ["ant", "bee"]}},
        ...         {"seq": 2, "bandit": "d", "kind": "decided", "decisions": [made]},
        ...         {"seq": 3, "bandit": "d", "kind": "told", "decision": "d-1", "outcomes": {"ant": 1.0}},
        ...     ]
        ... )
        Log(1 rounds, 2 arms)
        """
        if isinstance(events, str | Path):
            with Path(events).open(encoding="utf-8") as lines:
                return cls.from_events(lines, after=after)
        return cls.of(*decided(events, as_count(after, "after")))

    @classmethod
    def read(cls, path: str | Path, names: Sequence[str | int] | int) -> Log:
        """A log from a file of JSON lines, a round each, as `of` takes them; what else is in a line is left alone."""
        with Path(path).open(encoding="utf-8") as lines:
            return cls.of(
                (as_json(line, place) for place, line in enumerate(lines, start=1) if line.strip()),
                names,
            )

    def write(self, path: str | Path) -> None:
        """The same as JSON lines."""
        Path(path).write_text(
            "".join(json.dumps(row) + "\n" for row in self.rows()), encoding="utf-8"
        )

    def rows(self) -> list[dict[str, Any]]:
        """The rounds, as `of` takes them."""
        rows = []
        for place, there in enumerate(self.there):
            told = self.outcomes[place, there].tolist()
            row = {
                "arms": [self.names[arm] for arm in self.arms[place, there].tolist()],
                "outcomes": [None if np.isnan(outcome) else outcome for outcome in told],
                "propensities": self.propensities[place, there].tolist(),
            }
            if self.set_propensities is not None:
                row["set_propensity"] = float(self.set_propensities[place])
            rows.append(row)
        return rows

    @property
    def there(self) -> NDArray[np.bool_]:
        """Shape (n_rounds, most): where there is an arm."""
        return self.arms >= 0

    @property
    def n_missing(self) -> int:
        """How many outcomes are missing."""
        return int(np.isnan(self.outcomes[self.there]).sum())

    def __len__(self) -> int:
        return len(self.arms)

    def __repr__(self) -> str:
        missing = (
            f", {self.n_missing} outcome{'s' * (self.n_missing > 1)} missing"
            if self.n_missing
            else ""
        )
        return f"Log({len(self)} rounds, {self.n_arms} arms{missing})"

    def filled(self, value: float) -> Log:
        """The same with a value in place of the missing outcomes: 0 where no news is that nothing happened."""
        outcomes = np.where(np.isnan(self.outcomes) & self.there, value, self.outcomes)
        return self._but(slice(None), outcomes)

    def complete(self) -> Log:
        """The rounds without a missing outcome. Biased, unless whether one is missing has nothing to do with it."""
        whole = ~(np.isnan(self.outcomes) & self.there).any(axis=1)
        if not whole.any():
            raise ValueError("a log must have a round with all its outcomes, got none; see filled")
        return self._but(whole, self.outcomes)

    def _but(self, rounds: Any, outcomes: FloatArray) -> Log:
        of_sets = None if self.set_propensities is None else self.set_propensities[rounds]
        return Log(
            self.arms[rounds],
            outcomes[rounds],
            self.propensities[rounds],
            n_arms=self.n_arms,
            set_propensities=of_sets,
            names=self.names,
        )


def _as_sets(arms: ArrayLike, n_arms: int) -> IndexArray:
    given = np.asarray(arms)
    if given.ndim != 2 or not given.size or given.dtype.kind not in "iu":
        raise ValueError(
            f"arms must be whole numbers of shape (n_rounds, most), got {given.dtype} of shape {given.shape}; "
            f"for one arm a round write arms[:, None]"
        )
    sets = given.astype(np.intp)
    if sets.min() < -1 or sets.max() >= n_arms:
        raise ValueError(
            f"arms must be between 0 and {n_arms - 1}, or -1 for none, got {sets.min()} to {sets.max()}"
        )
    ordered = np.sort(sets, axis=1)
    twice = np.flatnonzero(
        ((ordered[:, 1:] == ordered[:, :-1]) & (ordered[:, 1:] >= 0)).any(axis=1)
    )
    if twice.size:
        raise ValueError(
            f"arms must be distinct in a round, got {sets[twice[0]].tolist()} in round {twice[0] + 1}"
        )
    return sets


def _as_numbers(values: ArrayLike, name: str, shape: tuple[int, ...]) -> FloatArray:
    given = np.asarray(values)
    if given.shape != shape:
        raise ValueError(f"{name} must have shape {shape}, as the arms have, got {given.shape}")
    if given.dtype.kind not in "biuf":
        raise TypeError(f"{name} must be real numbers, got dtype {given.dtype}")
    return given.astype(np.float64)


def _refuse(name: str, values: FloatArray, is_good: Any, wanted: str) -> None:
    bad = values[~is_good(values)]
    if bad.size:
        raise ValueError(f"{name} must be {wanted}, got {bad[0]}")


def _as_row(
    row: Mapping[str, Any], place: int, numbers: dict[Any, int]
) -> tuple[list[int], list[float], list[float], float | None]:
    missing = [key for key in ("arms", "outcomes", "propensities") if key not in row]
    if missing:
        raise ValueError(f"round {place} must have {missing[0]!r}, got only {sorted(row)}")
    names = list(row["arms"])
    unknown = [name for name in names if name not in numbers]
    if unknown:
        raise ValueError(f"the arms of round {place} must be among the names, got {unknown[0]!r}")
    told = [np.nan if outcome is None else float(outcome) for outcome in row["outcomes"]]
    chances = [float(p) for p in row["propensities"]]
    if not len(names) == len(told) == len(chances):
        raise ValueError(
            f"round {place} must have an outcome and a propensity for each arm, got {len(names)} arms, "
            f"{len(told)} outcomes and {len(chances)} propensities"
        )
    return [numbers[name] for name in names], told, chances, row.get("set_propensity")

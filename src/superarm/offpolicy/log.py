"""What was decided, with which probability, and with which outcomes."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from superarm.core import frames
from superarm.core.arguments import FloatArray, IndexArray, as_count
from superarm.offpolicy.events import logged_rows
from superarm.offpolicy.export import read_export
from superarm.offpolicy.rows import (
    as_columns,
    as_contexts,
    as_json,
    as_outcomes,
    as_propensities,
    as_samples,
    as_sets,
)


class Log:
    """Rounds with their sets, the probabilities that they were picked, and the outcomes.

    Parameters
    ----------
    arms
        Shape (n_rounds, most): the arms of each set; -1 where a set has fewer.
    outcomes
        The same shape: in [0, 1], or NaN where an outcome is missing.
    propensities
        The same shape: the probability, above 0, that the arm was in the set of that round.
    n_arms
        How many arms there are.
    set_propensities
        Shape (n_rounds,): the probability, above 0, that exactly this set was picked. None if it
        is not known. Only `set_ips` and `set_snips` need it.
    names
        The names of the arms. The default is 0, 1, 2, ...
    contexts
        What was known of each round: shape (n_rounds, c), or (n_rounds, n_arms, c) with one row
        per arm. None without contexts.
    n_samples
        How many samples the propensities are shares of: a number, or shape (n_rounds,). None if
        the propensities are exact.

    Examples
    --------
    >>> outcomes, propensities = [[1.0, 0.0], [0.5, np.nan]], [[0.9, 0.5], [0.5, 0.6]]
    >>> log = Log([[0, 1], [1, 2]], outcomes, propensities, n_arms=3)
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
        contexts: ArrayLike | None = None,
        n_samples: ArrayLike | None = None,
    ) -> None:
        self.n_arms = as_count(n_arms, "n_arms", least=1)
        self.arms = as_sets(arms, self.n_arms)
        self.outcomes = as_outcomes(outcomes, self.there)
        self.propensities = as_propensities(propensities, "propensities", self.there)
        self.set_propensities: FloatArray | None = None
        if set_propensities is not None:
            every = np.ones(len(self.arms), bool)
            self.set_propensities = as_propensities(set_propensities, "set_propensities", every)
        self.names = tuple(range(self.n_arms)) if names is None else tuple(names)
        if len(set(self.names)) != self.n_arms:
            raise ValueError(
                f"names must be {self.n_arms} distinct names (n_arms), got {len(set(self.names))}"
            )
        self.contexts: FloatArray | None = None
        if contexts is not None:
            self.contexts = as_contexts(contexts, len(self.arms), self.n_arms)
        self.n_samples: IndexArray | None = None
        if n_samples is not None:
            self.n_samples = as_samples(n_samples, len(self.arms))

    @classmethod
    def of(cls, rows: Iterable[Mapping[str, Any]], names: Sequence[str | int] | int) -> Log:
        """A log from plain data, one row per round.

        Parameters
        ----------
        rows
            Each with ``arms`` by name, their ``outcomes`` (None if missing) and their
            ``propensities``. ``set_propensity`` and ``n_samples`` are used if every row has them.
            ``context`` is in all rows or in none.
        names
            The names of all arms; or their number, if the arms are called 0, 1, 2, ...
        """
        known = list(range(names)) if isinstance(names, int) else list(names)
        numbers = {name: number for number, name in enumerate(known)}
        found = as_columns(list(rows), numbers)
        return cls(**vars(found), n_arms=len(known), names=known)

    @classmethod
    def from_session(cls, session: Any) -> Log:
        """The decisions of a `Session` that were made with ``ask(propensities=...)``.

        Only decisions that the session remembers (``keep``). Outcomes that are not known yet are
        missing.
        """
        made = [decision for decision in session.decisions if decision.propensities is not None]
        if not made:
            raise ValueError(
                "the session must have decisions with propensities, got none; "
                "ask(propensities=1000)"
            )
        rows = []
        for decision in made:
            known = session.outcomes(decision)
            outcomes = [known.get(arm) for arm in decision.arms]
            rows.append({**decision.as_dict(), "outcomes": outcomes})
        return cls.of(rows, session.names)

    @classmethod
    def from_events(
        cls, events: str | Path | Iterable[str | bytes | Mapping[str, Any]], *, after: int = 0
    ) -> Log:
        """The decisions with propensities of a bandit of the service, from its log of events.

        Give the whole log, from the bandit's creation on, as ``GET /v1/bandits/{id}/log`` or
        ``client.log(bandit)`` returns it. The arms are all arms that the bandit ever had, in the
        order in which they were added. Outcomes that were never told are missing, even if the
        bandit's expiry replaced them.

        Parameters
        ----------
        events
            The path of a file of JSON lines; or the events in order, each as a dict or a line.
        after
            Use only decisions of events with a larger ``seq``: for example that of the last change
            of the arms, because no log knows the outcomes of an arm while it was not there.

        Examples
        --------
        >>> made = {"id": "d-1", "arms": ["ant"], "propensities": [0.8], "set_propensity": 0.8}
        >>> events = [
        ...     {"seq": 1, "kind": "created", "spec": {"arms": ["ant", "bee"]}},
        ...     {"seq": 2, "kind": "decided", "decisions": [made]},
        ...     {"seq": 3, "kind": "told", "decision": "d-1", "outcomes": {"ant": 1.0}},
        ... ]
        >>> Log.from_events([{**event, "bandit": "d"} for event in events])
        Log(1 rounds, 2 arms)
        """
        if isinstance(events, str | Path):
            with Path(events).open(encoding="utf-8") as lines:
                return cls.from_events(lines, after=after)
        return cls.of(*logged_rows(events, as_count(after, "after")))

    @classmethod
    def from_parquet(cls, folder: str | Path) -> Log:
        """The decisions with propensities of ``Session.to_parquet`` or of ``superarm export``.

        Outcomes that were not known then are missing.
        """
        return cls.of(*read_export(folder))

    @classmethod
    def read(cls, path: str | Path, names: Sequence[str | int] | int) -> Log:
        """A log from a file of JSON lines, one row per line, as `of` takes them.

        Other members of a line are ignored.
        """
        with Path(path).open(encoding="utf-8") as lines:
            numbered = enumerate(lines, start=1)
            return cls.of((as_json(line, place) for place, line in numbered if line.strip()), names)

    def write(self, path: str | Path) -> None:
        """Write the log as JSON lines, for `read`."""
        lines = (json.dumps(row) + "\n" for row in self.rows())
        Path(path).write_text("".join(lines), encoding="utf-8")

    def rows(self) -> list[dict[str, Any]]:
        """The rounds as plain data, as `of` takes them."""
        rows = []
        for place, there in enumerate(self.there):
            outcomes = self.outcomes[place, there].tolist()
            row = {
                "arms": [self.names[arm] for arm in self.arms[place, there].tolist()],
                "outcomes": [None if np.isnan(outcome) else outcome for outcome in outcomes],
                "propensities": self.propensities[place, there].tolist(),
            }
            if self.set_propensities is not None:
                row["set_propensity"] = float(self.set_propensities[place])
            if self.n_samples is not None:
                row["n_samples"] = int(self.n_samples[place])
            if self.contexts is not None:
                row["context"] = self.contexts[place].tolist()
            rows.append(row)
        return rows

    @property
    def there(self) -> NDArray[np.bool_]:
        """Shape (n_rounds, most): where there is an arm."""
        return self.arms >= 0

    @cached_property
    def distinct_contexts(self) -> tuple[FloatArray | None, IndexArray]:
        """Each context once, and for each round which of them it has, shape (n_rounds,).

        A log without contexts has None once.
        """
        if self.contexts is None:
            return None, np.zeros(len(self), np.intp)
        found, which = np.unique(self.contexts, axis=0, return_inverse=True)
        return found, which.reshape(-1).astype(np.intp)

    @property
    def n_missing(self) -> int:
        """How many outcomes are missing."""
        return int(np.isnan(self.outcomes[self.there]).sum())

    def to_pandas(self) -> Any:
        """A DataFrame with one row per arm of each round, in the order of the places."""
        return frames.to_pandas(self._columns())

    def to_arrow(self) -> Any:
        """The same as `to_pandas`, as a ``pyarrow.Table``."""
        return frames.to_arrow(self._columns())

    def _columns(self) -> dict[str, Any]:
        rounds, places = np.nonzero(self.there)
        of_sets = self.set_propensities
        return {
            "round": rounds + 1,
            "place": places,
            "arm": [self.names[arm] for arm in self.arms[rounds, places].tolist()],
            "outcome": self.outcomes[rounds, places],
            "propensity": self.propensities[rounds, places],
            **({} if of_sets is None else {"set_propensity": of_sets[rounds]}),
        }

    def __len__(self) -> int:
        return len(self.arms)

    def __repr__(self) -> str:
        missing = ""
        if self.n_missing:
            missing = f", {self.n_missing} outcome{'s' * (self.n_missing > 1)} missing"
        return f"Log({len(self)} rounds, {self.n_arms} arms{missing})"

    def filled(self, value: float) -> Log:
        """A log with a value for missing outcomes: 0 if silence means that nothing happened."""
        outcomes = np.where(np.isnan(self.outcomes) & self.there, value, self.outcomes)
        return self._with(slice(None), outcomes)

    def complete(self) -> Log:
        """The rounds whose outcomes are all known.

        Estimates from them are biased if outcomes are missing for a reason that affects them.
        """
        known = ~(np.isnan(self.outcomes) & self.there).any(axis=1)
        if not known.any():
            raise ValueError("a log must have a round with all its outcomes, got none; see filled")
        return self._with(known, self.outcomes)

    def _with(self, rounds: Any, outcomes: FloatArray) -> Log:
        def some(of_rounds: Any) -> Any:
            return None if of_rounds is None else of_rounds[rounds]

        return Log(
            self.arms[rounds],
            outcomes[rounds],
            self.propensities[rounds],
            n_arms=self.n_arms,
            set_propensities=some(self.set_propensities),
            names=self.names,
            contexts=some(self.contexts),
            n_samples=some(self.n_samples),
        )

"""What was decided, with which probability, and with which outcomes."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from superarm.core.arguments import FloatArray, as_count
from superarm.offpolicy.events import logged_rows
from superarm.offpolicy.rows import as_json, as_outcomes, as_propensities, as_row, as_sets


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

    @classmethod
    def of(cls, rows: Iterable[Mapping[str, Any]], names: Sequence[str | int] | int) -> Log:
        """A log from plain data, one row per round.

        Parameters
        ----------
        rows
            Each with ``arms`` by name, their ``outcomes`` (None if missing) and their
            ``propensities``. ``set_propensity`` is used if every row has it.
        names
            The names of all arms; or their number, if the arms are called 0, 1, 2, ...
        """
        known = list(range(names)) if isinstance(names, int) else list(names)
        numbers = {name: number for number, name in enumerate(known)}
        found = [as_row(row, place, numbers) for place, row in enumerate(rows, start=1)]
        if not found:
            raise ValueError("a log must have at least one round, got none")
        most = max(1, *(len(row.arms) for row in found))
        arms = np.full((len(found), most), -1, np.intp)
        outcomes, propensities = np.full(arms.shape, np.nan), np.full(arms.shape, np.nan)
        for place, row in enumerate(found):
            here = place, slice(len(row.arms))
            arms[here], outcomes[here], propensities[here] = row[:3]
        # All or none: an estimator of sets needs the propensity of every round.
        of_sets = [row.set_propensity for row in found if row.set_propensity is not None]
        all_of_sets = of_sets if len(of_sets) == len(found) else None
        return cls(
            arms,
            outcomes,
            propensities,
            n_arms=len(known),
            set_propensities=all_of_sets,
            names=known,
        )

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
        missing = ""
        if self.n_missing:
            missing = f", {self.n_missing} outcome{'s' * (self.n_missing > 1)} missing"
        return f"Log({len(self)} rounds, {self.n_arms} arms{missing})"

    def filled(self, value: float) -> Log:
        """The same with a value for the missing outcomes: 0 if silence means nothing happened."""
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
        of_sets = None if self.set_propensities is None else self.set_propensities[rounds]
        return Log(
            self.arms[rounds],
            outcomes[rounds],
            self.propensities[rounds],
            n_arms=self.n_arms,
            set_propensities=of_sets,
            names=self.names,
        )

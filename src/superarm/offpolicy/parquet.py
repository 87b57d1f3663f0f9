"""Logs that do not fit into memory: counts and estimates from Parquet files, by DuckDB.

Every figure is a sum over rounds. So parts of the files can be read one after the other, or on any
number of machines, and the sums added. Needs ``superarm[logs]``.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar

from superarm.core.arguments import as_fraction
from superarm.offpolicy.estimate import Estimate
from superarm.offpolicy.export import FILES, need_duckdb
from superarm.offpolicy.parquet_rows import Facts, Rows
from superarm.offpolicy.parts import Part, parts_of
from superarm.offpolicy.sums import Sums, estimate_of

__all__ = ["ParquetLog", "Sums", "estimate_of"]

T = TypeVar("T")
Each = Callable[..., Iterable[Any]]  # what is read of each part, in their order

_FLOATS = {"DOUBLE": 53, "FLOAT": 24}  # bits of whole numbers that a type has exactly


class ParquetLog:
    """A log with one row per shown item, in one or many Parquet files.

    Memory stays small if the rounds are about in order, such as numbers or times that grow, with
    files and groups of rows one after the other: then parts of the files are read one by one.
    Otherwise DuckDB writes to the disk what does not fit into ``memory``.

    Parameters
    ----------
    files
        A path, with ``*`` for many files, or several paths.
    item, outcome, round
        The columns with the item, with what it did, from 0 to 1, and what rows of one round have in
        common, perhaps several columns. Nothing checks that an item is in a round only once.
    propensity
        The column with the probability that the item was shown; `snips` needs it.
    where
        A condition in SQL that rows must meet, such as ``"country = 'DE'"``; the rounds that it
        leaves must be whole.
    memory
        How much memory DuckDB may use, such as ``"4GB"``.
    """

    def __init__(
        self,
        files: str | Path | Sequence[str | Path],
        *,
        item: str,
        outcome: str,
        round: str | Sequence[str],
        propensity: str | None = None,
        where: str | None = None,
        memory: str = "1GB",
    ) -> None:
        need_duckdb("ParquetLog")
        given = [files] if isinstance(files, str | Path) else list(files)
        self.files, self.memory = [str(file) for file in given], memory
        by = (round,) if isinstance(round, str) else tuple(round)
        with connected(memory) as connection:
            kinds = _kinds_of(connection, self.files, (item, outcome, *by, propensity))
            kind = kinds[by[0]]
            self.rows = Rows(item, outcome, by, propensity, where, kind)
            for column in (item, *by):
                if kinds[column] in _FLOATS:
                    self.rows.refuse_rounded(connection, self.files, column, _FLOATS[kinds[column]])
            # The parts of the files that are read one after the other.
            self.parts = parts_of(connection, self.files, by[0], kind)
            self._is_complete = self.rows.is_complete(connection, self.files)
            self._n_rows = self.rows.n_rows(connection, self.files)
        self._facts: list[Facts] | None = None

    @classmethod
    def exported(cls, folder: str | Path) -> ParquetLog:
        """The decisions of `superarm.offpolicy.export` with propensities and all outcomes."""
        return cls(
            (Path(folder) / FILES).as_posix(),
            item="arm",
            outcome="outcome",
            round="number",
            propensity="propensity",
            where="propensity IS NOT NULL AND status = 'told'",
        )

    def counts(self, *, executor: Executor | None = None) -> dict[Any, tuple[float, int]]:
        """The sum of the outcomes of each item, and how many outcomes it has.

        ``executor`` reads the parts at the same time, on other machines, too.
        """
        found: dict[Any, tuple[float, int]] = {}
        with self._reading(executor) as each:
            rows = list(chain.from_iterable(each(Rows.counts)))
            if self._lacks(sum(row[3] for row in rows)):
                rows = list(chain.from_iterable(each(Rows.counts)))
        for item, total, n, _ in rows:
            before = found.get(item, (0.0, 0))
            found[item] = before[0] + total, before[1] + n
        return {item: found[item] for item in sorted(found, key=lambda one: (one is None, one))}

    def snips(
        self, target: Mapping[Any, float], *, level: float = 0.95, executor: Executor | None = None
    ) -> Estimate:
        """What `superarm.offpolicy.snips` gives for the same log in memory.

        Parameters
        ----------
        target
            The probability that each item is in the target's set; 0 for missing items.
        level
            The probability with which the interval should cover the true value.
        executor
            Reads the parts at the same time: an executor of `concurrent.futures`, or on the
            machines of a dask cluster ``client.get_executor()``. They must see the files.
        """
        level, size = as_fraction(level, "level"), _size(target)
        with self._reading(executor) as each:
            logged = frozenset[Any]().union(*(one.items for one in self._known(each)))
            with self._kept(executor) as kept:
                # Twice: the spread is summed around the value, which keeps its digits.
                sums = self._sums(each, target, self._sums(each, target, None, kept), kept)
        unseen = sum(p for one, p in target.items() if one not in logged) / size
        return estimate_of(sums, size, level=level, unseen=unseen)

    def sums(
        self,
        target: Mapping[Any, float],
        around: Sums | None = None,
        *,
        executor: Executor | None = None,
    ) -> Sums:
        """The sums of the log for a target, around the value of other sums if they are given.

        Sums of several logs that share no round can be added. `estimate_of` takes those around the
        sums of all logs.
        """
        with self._reading(executor) as each:
            return self._sums(each, target, around)

    def _sums(
        self,
        each: Each,
        target: Mapping[Any, float],
        around: Sums | None,
        kept: Sequence[Path] | None = None,
    ) -> Sums:
        weights = {item: float(p) for item, p in target.items() if p}
        read = partial(Rows.sums, weights=weights, size=_size(target), around=around)
        n_rounds = [one.n_rounds for one in self._known(each)]
        found = each(read, n_rounds) if kept is None else each(read, n_rounds, kept)
        return sum(found, start=Sums(0, 0, 0, 0))

    def _known(self, each: Each) -> list[Facts]:
        """What is known of each part, once: bad rows are refused, instead of left out silently."""
        if self.rows.propensity is None:
            raise ValueError("estimates need the column of the propensities: propensity=...")
        if self._facts is None:
            if not self._is_complete:
                with connected(self.memory) as connection:
                    self.rows.refuse_missing(connection, self.files)
            found = list(each(Rows.facts))
            if self._lacks(sum(one.n_rows for one in found)):
                found = list(each(Rows.facts))
            sum(found, start=Facts()).refuse()
            self._facts = found
        return self._facts

    def _lacks(self, n_rows: int) -> bool:
        """Whether the parts lack rows. Then the files are not what they say: one part has all."""
        if n_rows == self._n_rows:
            return False
        self.parts = [Part(tuple(self.files))]
        return True

    @contextmanager
    def _reading(self, executor: Executor | None) -> Iterator[Each]:
        """A function that returns what ``read`` finds in each part."""
        if executor is not None:
            yield lambda read, *more: executor.map(
                partial(_alone, read, self.rows, self.memory), self.parts, *more
            )
            return
        with connected(self.memory) as connection:
            yield lambda read, *more: (
                read(self.rows, connection, part, *others)
                for part, *others in zip(self.parts, *more, strict=True)
            )

    @contextmanager
    def _kept(self, executor: Executor | None) -> Iterator[list[Path] | None]:
        """Files for the rounds of each part, so that they are found once; none elsewhere."""
        if executor is not None:
            yield None
            return
        with tempfile.TemporaryDirectory(prefix="superarm-rounds-") as folder:
            yield [Path(folder) / f"{place}.parquet" for place in range(len(self.parts))]


def _kinds_of(
    connection: Any, files: Sequence[str], wanted: Sequence[str | None]
) -> dict[str, str]:
    """The types of the columns, once all that are wanted are known to be there."""
    rows = connection.execute("DESCRIBE SELECT * FROM read_parquet(?)", [files]).fetchall()
    kinds = {row[0]: row[1] for row in rows}
    unknown = [name for name in wanted if name is not None and name not in kinds]
    if unknown:
        raise ValueError(f"columns must be among {', '.join(kinds)}, got {unknown[0]!r}")
    return kinds


@contextmanager
def connected(memory: str) -> Iterator[Any]:
    """A connection of its own: nothing is shared with other users of DuckDB in this process."""
    import duckdb

    with tempfile.TemporaryDirectory(prefix="superarm-duckdb-") as folder:
        config: dict[str, Any] = {"memory_limit": memory, "temp_directory": folder}
        with duckdb.connect(config=config) as connection:
            yield connection


def _alone(read: Callable[..., T], rows: Rows, memory: str, part: Part, *more: Any) -> T:
    """What ``read`` finds in a part, in any process."""
    with connected(memory) as connection:
        return read(rows, connection, part, *more)


def _size(target: Mapping[Any, float]) -> float:
    size = float(sum(target.values()))
    if not (size > 0 and all(0 <= p <= 1 for p in target.values())):
        raise ValueError(f"a target must have probabilities, one of them above 0, got {target}")
    return size

"""Decisions and their outcomes as Parquet files, one per day: written and read by DuckDB.

A folder has ``date=YYYY-MM-DD/part.parquet`` for each day (UTC) with decisions, in the order of
their numbers, and ``log.json`` with the names of all arms. Needs ``superarm[logs]``.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Self

# One row per arm of each decision.
SCHEMA = {
    "decision": "VARCHAR",  # the id
    "number": "BIGINT",  # of the decision: 1, 2, 3, ...; from 2^53 on at the edge
    "round": "BIGINT",  # decisions of one call of ask share it
    "time": "DOUBLE",  # seconds since 1970
    "status": "VARCHAR",  # open, told (all outcomes are known) or expired
    "place": "BIGINT",  # from 1, as in the logs of shops; none if the arms are not ranked
    "arm": "VARCHAR",  # a BIGINT if all names are whole numbers
    "value": "DOUBLE",  # the sampled theta
    "outcome": "DOUBLE",  # none if it is not known
    "propensity": "DOUBLE",  # the probability of the arm; none if it was not asked for
    "set_propensity": "DOUBLE",  # of exactly this set
    "n_samples": "BIGINT",  # samples that the propensities are shares of
    "context": "DOUBLE[][]",  # one row for all arms, or one row per arm of the bandit
}
FILES = "date=*/*.parquet"
_DECISION = {
    **{name: SCHEMA[name] for name in ("decision", "number", "round", "time", "status")},
    **{name: SCHEMA[name] for name in ("set_propensity", "n_samples", "context")},
    "ranked": "BOOLEAN",
    "logged": "DOUBLE",  # the time whose day is that of the file
    **dict.fromkeys(("values", "outcomes", "propensities"), "DOUBLE[]"),
}
_FIRST_REMOTE, _MOST_PER_EVENT = 2**53, 2**14
_SMALLEST_OBJECT = 16 << 20  # bytes of a JSON line that DuckDB takes without being told


class Export:
    """Collects decisions in temporary files, and writes them as Parquet: memory stays small.

    Parameters
    ----------
    whole_numbers
        Whether the names of the arms are whole numbers, and not texts.
    """

    def __init__(self, *, whole_numbers: bool = False) -> None:
        need_duckdb("an export")
        self._arm = "BIGINT" if whole_numbers else "VARCHAR"
        self._folder = tempfile.TemporaryDirectory(prefix="superarm-export-")
        names = ("decisions", "told", "expired")
        self._files = {
            name: (Path(self._folder.name) / f"{name}.json").open("w", encoding="utf-8")
            for name in names
        }
        self._longest = _SMALLEST_OBJECT

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for file in self._files.values():
            file.close()
        self._folder.cleanup()

    def decide(self, plain: Mapping[str, Any], *, number: int, **more: Any) -> None:
        """Add a decision as `superarm.sessions.Decision.as_dict` gives it.

        ``more`` may have its ``status`` and ``outcomes``, in the order of the arms; `tell` and
        `expire` say what comes later.
        """
        context = plain.get("context")
        if context is not None and not isinstance(context[0], list):
            context = [context]
        row = {"logged": plain["time"], **plain, **more}
        row |= {"decision": plain["id"], "number": number, "context": context}
        self._write("decisions", row)

    def remote(self, plain: Mapping[str, Any], *, seq: int, place: int, logged: float) -> None:
        """Add a closed decision of a client, with its outcomes by arm.

        ``seq`` and ``logged`` are the number and the time of the event that has it, and ``place``
        is its place in the event. Files of removed events must stay as they are. So its number and
        its file follow from the event: clients count anew, and may send a decision days later.
        """
        known = [plain["outcomes"].get(arm) for arm in plain["arms"]]
        status = "expired" if None in known else "told"
        number = _FIRST_REMOTE + seq * _MOST_PER_EVENT + place
        self.decide(plain, number=number, status=status, outcomes=known, logged=logged)

    def tell(self, number: int, outcomes: Mapping[Any, float]) -> None:
        """Add outcomes of a decision, by arm."""
        for arm, outcome in outcomes.items():
            self._write("told", {"number": number, "arm": arm, "outcome": outcome})

    def expire(self, number: int) -> None:
        """Say that a decision has expired."""
        self._write("expired", {"number": number})

    def write(self, folder: str | Path, arms: Sequence[Any], **about: Any) -> list[Path]:
        """Write the files of a folder, and return their paths, the first day first.

        ``log.json`` has the names of all ``arms``, and ``about``. Files of an earlier export into
        the same folder are replaced.
        """
        import duckdb

        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        for file in self._files.values():
            file.flush()
        # In a file, so that DuckDB does not need memory for all rows.
        with duckdb.connect(str(Path(self._folder.name) / "rows.duckdb")) as database:
            database.execute(f"CREATE TABLE log AS {self._query()}")
            days = database.execute("SELECT DISTINCT date FROM log ORDER BY 1").fetchall()
            files = [_write_day(database, folder, day) for (day,) in days]
        text = json.dumps({**about, "arms": list(arms)}, ensure_ascii=False) + "\n"
        (folder / "log.json").write_text(text, encoding="utf-8")
        return files

    def _write(self, name: str, row: dict[str, Any]) -> None:
        line = json.dumps(row)
        self._longest = max(self._longest, len(line) + 1)
        self._files[name].write(f"{line}\n")

    def _query(self) -> str:
        """All rows, with the outcomes that came later."""
        decisions = self._rows("decisions", {**_DECISION, "arms": f"{self._arm}[]"})
        told = self._rows("told", {"number": "BIGINT", "arm": self._arm, "outcome": "DOUBLE"})
        expired = self._rows("expired", {"number": "BIGINT"})
        return f"""
            WITH shown AS (
                -- Lists of a row are taken apart together; a missing one gives nothing.
                SELECT * EXCLUDE (arms, "values", outcomes, propensities),
                    unnest(arms) AS arm, unnest("values") AS value, unnest(outcomes) AS known,
                    unnest(propensities) AS propensity, unnest(range(1, len(arms) + 1)) AS nth
                FROM {decisions}),
            rows AS (
                SELECT shown.*, coalesce(told.outcome, known) AS outcome,
                    number IN (SELECT number FROM {expired}) AS late
                FROM shown LEFT JOIN {told} AS told USING (number, arm)),
            complete AS (
                SELECT number, bool_and(outcome IS NOT NULL) AS told FROM rows GROUP BY number)
            SELECT decision, number, round, "time",
                coalesce(status, CASE WHEN late THEN 'expired' WHEN told THEN 'told'
                    ELSE 'open' END) AS status,
                CASE WHEN ranked THEN nth END AS place, arm, value, outcome, propensity,
                set_propensity, n_samples, context, nth,
                strftime(make_timestamp(CAST(logged * 1e6 AS BIGINT)), '%Y-%m-%d') AS date
            FROM rows JOIN complete USING (number)"""

    def _rows(self, name: str, columns: Mapping[str, str]) -> str:
        path = str(Path(self._folder.name) / f"{name}.json").replace("'", "''")
        types = ", ".join(f"\"{column}\": '{kind}'" for column, kind in columns.items())
        return (
            f"read_json('{path}', format = 'newline_delimited', columns = {{{types}}}, "
            f"maximum_object_size = {self._longest})"
        )


def _write_day(database: Any, folder: Path, day: str) -> Path:
    path = folder / f"date={day}" / "part.parquet"
    path.parent.mkdir(exist_ok=True)
    chosen = f"SELECT * EXCLUDE (date, nth) FROM log WHERE date = '{day}' ORDER BY number, nth"
    database.sql(chosen).write_parquet(str(path))
    return path


def read_export(folder: str | Path) -> tuple[list[dict[str, Any]], list[Any]]:
    """The decisions with propensities of an export, as `Log.of` takes them, and all names."""
    need_duckdb("an export")
    import duckdb

    folder = Path(folder)
    names = json.loads((folder / "log.json").read_text(encoding="utf-8"))["arms"]
    if not any(folder.glob(FILES)):
        return [], names
    lists = ", ".join(
        f"list({column} ORDER BY place, arm) AS {name}"
        for name, column in (("arms", "arm"), ("outcomes", "outcome"))
    )
    query = f"""
        SELECT {lists}, list(propensity ORDER BY place, arm) AS propensities,
            any_value(set_propensity) AS set_propensity, any_value(n_samples) AS n_samples,
            any_value(context) AS context
        FROM read_parquet(?, union_by_name = true) WHERE propensity IS NOT NULL
        GROUP BY number ORDER BY number"""
    with duckdb.connect() as connection:
        found = connection.execute(query, [str(folder / FILES)])
        columns = [one[0] for one in found.description or []]
        rows = [dict(zip(columns, row, strict=True)) for row in found.fetchall()]
    for row in rows:
        if row["context"] is not None and len(row["context"]) == 1 < len(names):
            row["context"] = row["context"][0]
    return rows, names


def need_duckdb(what: str) -> None:
    """Refuse to go on without DuckDB, which is optional."""
    if find_spec("duckdb") is None:
        raise ModuleNotFoundError(
            f"{what} needs duckdb, which is not installed: pip install duckdb", name="duckdb"
        )

"""What follows from the rows: exponents, ratios, and break-even costs of an evaluation."""

from __future__ import annotations

import math
from typing import Any

from suite.timing import exponent

Row = dict[str, Any]

# Below this many arms a call is mostly overhead, which does not grow.
_LARGE = 10_000


def of_part(results: Row, part: str, **wanted: Any) -> list[Row]:
    """The rows of one part of the benchmark, with these values."""
    return [
        row
        for row in results["rows"]
        if row["part"] == part and all(row[key] == x for key, x in wanted.items())
    ]


def names(rows: list[Row]) -> list[str]:
    """The names that occur, in the order of their first rows."""
    return list(dict.fromkeys(row["name"] for row in rows))


def growth(rows: list[Row], key: str = "median_s") -> float:
    """The exponent over the sizes from 10,000 arms on; over all sizes if fewer than two are."""
    large = [row for row in rows if row["n_arms"] >= _LARGE]
    used = large if len(large) > 1 else rows
    return exponent([row["n_arms"] for row in used], [row[key] for row in used])


def ratios(results: Row) -> list[tuple[str, str, float]]:
    """What was timed: the round, the program, and its time as a multiple of superarm's."""
    timed = [row for row in results["rows"] if row["part"] in ("thompson", "group testing")]
    return [(_round(row), row["name"], row["ratio"]) for row in timed if row["name"] != "superarm"]


def _round(row: Row) -> str:
    what = f"group testing, p = {row['p']}" if "p" in row else "Thompson sampling"
    return f"{what}, {row['n_arms']:,} arms"


def overtakes(one: Row, other: Row) -> tuple[float, float]:
    """The costs of an evaluation between which a round of ``one`` is cheaper than one of ``other``.

    In seconds. A round costs its own time and its evaluations. ``(low, high)`` with low >= high
    means never.

    Examples
    --------
    >>> lazy, plain = {"median_s": 3.0, "evaluations": 1.0}, {"median_s": 1.0, "evaluations": 5.0}
    >>> overtakes(lazy, plain), overtakes(plain, lazy)
    ((0.5, inf), (0.0, 0.5))
    """
    slower, fewer = one["median_s"] - other["median_s"], other["evaluations"] - one["evaluations"]
    if fewer == 0:
        return (0.0, math.inf) if slower < 0 else (0.0, 0.0)
    cost = slower / fewer
    return (max(0.0, cost), math.inf) if fewer > 0 else (0.0, max(0.0, cost))

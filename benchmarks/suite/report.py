"""The page of the documentation, made of the rows and of a template."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

from suite.ratios import growth, names, of_part, overtakes
from suite.timing import TURN_S
from superarm.reporting import files
from superarm.reporting.tables import Table, compact

Row = dict[str, Any]

_TEMPLATE = Path(__file__).parent / "performance.md"
_PLACE = ("system", "processor")
_OURS = "superarm"


def render(results: Row) -> str:
    """`docs/performance.md` for these results, as Markdown."""
    machine = results["machine"]
    thompson, oracles = (of_part(results, part) for part in ("thompson", "oracles"))
    operations = of_part(results, "operations")
    page = files.render(
        _TEMPLATE,
        quick=results["quick"],
        place=" ".join(machine[name] for name in _PLACE),
        versions=", ".join(
            f"{name} {what}" for name, what in machine.items() if name not in _PLACE
        ),
        turn_ms=f"{1000 * TURN_S:g}",
        limit_s=f"{results['scale']['limit_s']:g}",
        missing=", ".join(results["not_installed"]),
        n_rounds=results["scale"]["n_rounds"],
        n_tested=of_part(results, "group testing")[0]["n_arms"],
        thompson=_thompson_table(thompson),
        group_testing=_group_testing_table(results),
        oracles=_oracles_table(oracles),
        break_even=_break_even(oracles, "LazySingletons", "Singletons"),
        growth_size=max(_sizes(operations)),
        operations=_growth_table(operations),
        memory=_memory_table("program", of_part(results, "memory")),
    )
    return compact(page)


def _thompson_table(rows: list[Row]) -> Table:
    sizes = _sizes(rows)

    def time(row: Row) -> str:
        ratio = "" if row["name"] == _OURS else f" ({_times(row['ratio'])})"
        return _ms(row["median_s"]) + ratio

    lines = [
        [name, *(_at(rows, name, m, time) for m in sizes), _power(rows, name)]
        for name in names(rows)
    ]
    return Table(["program", *map(_arms, sizes), "exponent"], lines)


def _group_testing_table(results: Row) -> Table:
    lines = []
    for p in dict.fromkeys(row["p"] for row in of_part(results, "group testing")):
        ours, theirs = (
            of_part(results, "group testing", p=p, name=name)[0] for name in (_OURS, "plain numpy")
        )
        times = [_ms(ours["median_s"]), _ms(theirs["median_s"])]
        lines.append([p, *times, _times(theirs["ratio"]), _times(theirs["cold_ratio"])])
    return Table(["p", "superarm", "plain numpy", "ratio", "ratio, cold"], lines, n_texts=0)


def _oracles_table(rows: list[Row]) -> Table:
    """Evaluations and times at the two largest sizes, memory at the largest."""
    sizes = _sizes(rows)[-2:]

    def memory(row: Row) -> str:
        return f"{row['peak_bytes'] / row['n_arms']:,.0f}"

    lines = [
        [name]
        + [_at(rows, name, m, lambda row: _count(row["evaluations"])) for m in sizes]
        + [_at(rows, name, m, lambda row: _ms(row["median_s"])) for m in sizes]
        + [_at(rows, name, sizes[-1], memory)]
        for name in names(rows)
    ]
    first, *others = (f"{m:,}" for m in sizes)
    heading = [f"{what}, m = {first}" for what in ("evaluations", "ms")]
    columns = [column for name in heading for column in (name, *others)]
    return Table(["oracle", *columns, "bytes per arm"], lines)


def _growth_table(rows: list[Row]) -> Table:
    """Name, time at the largest size, and the exponents expected and measured."""
    size = max(_sizes(rows))
    lines = []
    for name in names(rows):
        expected = _of(rows, name, "power")
        powers = ["–" if expected is None else f"{expected:.2g}", _power(rows, name)]
        time = _at(rows, name, size, lambda row: _ms(row["median_s"]))
        lines.append([name, time, *powers])
    return Table(["operation", "ms", "expected", "measured"], lines)


def _memory_table(what: str, rows: list[Row]) -> Table:
    """Bytes per arm at the peak."""
    sizes = _sizes(rows)

    def per_arm(row: Row) -> str:
        return f"{row['peak_bytes'] / row['n_arms']:,.0f}"

    lines = [[name, *(_at(rows, name, m, per_arm) for m in sizes)] for name in names(rows)]
    return Table([what, *map(_arms, sizes)], lines)


def _break_even(rows: list[Row], name: str, other: str) -> Row:
    """The largest size at which both oracles were measured, and when the first one is cheaper."""
    both = {m for m in _sizes(rows) if _at(rows, name, m, str) != "–" != _at(rows, other, m, str)}
    size = max(both)
    one, two = (
        next(row for row in rows if (row["name"], row["n_arms"]) == (label, size))
        for label in (name, other)
    )
    return {"n_arms": size, "when": _cheaper(one, two)}


def _cheaper(one: Row, other: Row) -> str:
    low, high = overtakes(one, other)
    if low >= high:
        return "never"
    if high < math.inf:
        return f"if an evaluation costs less than {_cost(high)}"
    return f"if an evaluation costs more than {_cost(low)}" if low > 0 else "always"


def _sizes(rows: list[Row]) -> list[int]:
    return sorted({row["n_arms"] for row in rows})


def _arms(m: int) -> str:
    return f"m = {m:,}"


def _at(rows: list[Row], name: str, m: int, show: Callable[[Row], str]) -> str:
    return next((show(row) for row in rows if row["name"] == name and row["n_arms"] == m), "–")


def _of(rows: list[Row], name: str, key: str) -> Any:
    return next(row[key] for row in rows if row["name"] == name)


def _times(ratio: float) -> str:
    return f"{ratio:.2g}×" if ratio < 99.5 else f"{ratio:,.0f}×"


def _ms(seconds: float) -> str:
    milliseconds = 1000 * seconds
    return f"{milliseconds:,.0f}" if milliseconds >= 99.5 else f"{milliseconds:.2g}"


def _count(number: float) -> str:
    return f"{number:,.0f}" if number >= 100 or number == int(number) else f"{number:.1f}"


def _power(rows: list[Row], name: str) -> str:
    found = growth([row for row in rows if row["name"] == name])
    return "–" if math.isnan(found) else f"{round(found, 2) + 0.0:.2f}"  # + 0.0: never -0.00


def _cost(seconds: float) -> str:
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-9:.3g} ns"

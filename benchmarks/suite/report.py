"""The page of the documentation, made of the rows and of a template."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

from suite.ratios import growth, names, of_part, overtakes
from suite.timing import TURN_S
from superarm.reporting import pages
from superarm.reporting.tables import Table

Row = dict[str, Any]

_TEMPLATE = Path(__file__).parent / "performance.md"
_PLACE = ("system", "processor")
_RATIOS = ("ratio", "ratio_low", "ratio_high")


def render(results: Row) -> str:
    """`docs/performance.md` for these results, as Markdown."""
    machine = results["machine"]
    thompson, oracles = (of_part(results, part) for part in ("thompson", "oracles"))
    memory = of_part(results, "memory")
    mine = [row for row in memory if row["name"] == "superarm"]
    break_even_size, break_even = _break_even(oracles)
    return pages.render(
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
        ratios=_ratio_table(thompson, _ratio),
        cold_ratios=_ratio_table(thompson, lambda row: _ratio(_cold(row))),
        group_testing=_group_testing_table(results),
        evaluations=_evaluations_table(oracles),
        oracle_times=_growth_table("oracle", oracles),
        oracle_memory=_memory_table("oracle", oracles),
        break_even_size=break_even_size,
        break_even=break_even,
        operations=_growth_table("operation", of_part(results, "operations")),
        memory=_memory_table("program", memory),
        largest=max(mine, key=lambda row: row["n_arms"]),
    )


def _thompson_table(rows: list[Row]) -> Table:
    sizes = _sizes(rows)
    lines = [
        [
            name,
            _of(rows, name, "note"),
            *(_at(rows, name, m, _spread) for m in sizes),
            _power(rows, name),
        ]
        for name in names(rows)
    ]
    return Table(["program", "how", *map(_arms, sizes), "exponent"], lines, n_texts=2)


def _ratio_table(rows: list[Row], show: Callable[[Row], str]) -> Table:
    sizes = _sizes(rows)
    others = [name for name in names(rows) if name != "superarm"]
    lines = [[name, *(_at(rows, name, m, show) for m in sizes)] for name in others]
    return Table(["program", *map(_arms, sizes)], lines)


def _group_testing_table(results: Row) -> Table:
    lines = []
    for p in dict.fromkeys(row["p"] for row in of_part(results, "group testing")):
        ours, theirs = (
            of_part(results, "group testing", p=p, name=name)[0]
            for name in ("superarm", "plain numpy")
        )
        cold_ms, cold = _ms(ours["cold_median_s"]), _ratio(_cold(theirs))
        lines.append([p, _spread(ours), _spread(theirs), _ratio(theirs), cold_ms, cold])
    heading = ["p", "superarm", "plain numpy", "numpy / superarm", "superarm, cold", "ratio, cold"]
    return Table(heading, lines, n_texts=0)


def _evaluations_table(rows: list[Row]) -> Table:
    sizes = _sizes(rows)
    lines = [
        [name, _of(rows, name, "evaluations_law")]
        + [_at(rows, name, m, lambda row: _count(row["evaluations"])) for m in sizes]
        for name in names(rows)
    ]
    return Table(["oracle", "law", *map(_arms, sizes)], lines, n_texts=2)


def _growth_table(what: str, rows: list[Row]) -> Table:
    """Name, law, times, and the exponents expected and measured."""
    sizes = _sizes(rows)
    lines = []
    for name in names(rows):
        expected = _of(rows, name, "power")
        powers = ["–" if expected is None else f"{expected:g}", _power(rows, name)]
        times = [_at(rows, name, m, _spread) for m in sizes]
        lines.append([name, _of(rows, name, "law"), *times, *powers])
    heading = [what, "law", *map(_arms, sizes), "exponent expected", "measured"]
    return Table(heading, lines, n_texts=2)


def _memory_table(what: str, rows: list[Row]) -> Table:
    """Bytes per arm at the peak."""
    sizes = _sizes(rows)

    def per_arm(row: Row) -> str:
        return f"{row['peak_bytes'] / row['n_arms']:,.0f}"

    lines = [[name, *(_at(rows, name, m, per_arm) for m in sizes)] for name in names(rows)]
    return Table([what, *map(_arms, sizes)], lines)


def _break_even(rows: list[Row]) -> tuple[int, Table]:
    """The largest size at which all oracles were measured, and when which oracle is cheaper."""
    complete = [
        m
        for m in _sizes(rows)
        if {row["name"] for row in rows if row["n_arms"] == m} == set(names(rows))
    ]
    size = max(complete)
    here = [row for row in rows if row["n_arms"] == size and row["name"] != "RandomSets"]
    lines = [[one["name"], *(_cheaper(one, other) for other in here)] for one in here]
    return size, Table(["cheaper", *(f"than {row['name']}" for row in here)], lines)


def _cheaper(one: Row, other: Row) -> str:
    if one is other:
        return ""
    low, high = overtakes(one, other)
    if low >= high:
        return "never"
    if high == math.inf:
        return f"above {_cost(low)}" if low > 0 else "always"
    return f"below {_cost(high)}"


def _sizes(rows: list[Row]) -> list[int]:
    return sorted({row["n_arms"] for row in rows})


def _arms(m: int) -> str:
    return f"m = {m:,}"


def _at(rows: list[Row], name: str, m: int, show: Callable[[Row], str]) -> str:
    return next((show(row) for row in rows if row["name"] == name and row["n_arms"] == m), "–")


def _of(rows: list[Row], name: str, key: str) -> Any:
    return next(row[key] for row in rows if row["name"] == name)


def _spread(row: Row) -> str:
    return f"{_ms(row['median_s'])} ({_ms(row['low_s'])}–{_ms(row['high_s'])})"


def _ratio(row: Row) -> str:
    middle, low, high = (
        f"{row[key]:.2g}" if row[key] < 99.5 else f"{row[key]:.0f}" for key in _RATIOS
    )
    return f"{middle}× ({low}–{high})"


def _cold(row: Row) -> Row:
    return {key: row[f"cold_{key}"] for key in _RATIOS}


def _ms(seconds: float) -> str:
    milliseconds = 1000 * seconds
    return f"{milliseconds:,.0f}" if milliseconds >= 99.5 else f"{milliseconds:.2g}"


def _count(number: float) -> str:
    return f"{number:,.0f}" if number >= 100 or number == int(number) else f"{number:.1f}"


def _power(rows: list[Row], name: str) -> str:
    found = growth([row for row in rows if row["name"] == name])
    return "–" if math.isnan(found) else f"{found:.2f}"


def _cost(seconds: float) -> str:
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-9:.3g} ns"

"""The page of the documentation, made of the rows and of nothing else."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from superarm.bench.findings import growth, names, of_part, overtakes
from superarm.bench.timing import TURN_S

Row = dict[str, Any]


def render(results: Row) -> str:
    """`docs/performance.md` for these results, as Markdown."""
    sections = (_head, _thompson, _group_testing, _oracles, _dear, _operations, _memory)
    return "\n\n".join(section(results) for section in sections) + "\n"


def _head(results: Row) -> str:
    machine = ", ".join(
        f"{name} {what}" for name, what in results["machine"].items() if name not in _PLACE
    )
    place = " ".join(results["machine"][name] for name in _PLACE)
    quick = (
        "\n\n**Small sizes (`--quick`): this shows that all works, and little else.**"
        if results["quick"]
        else ""
    )
    return f"""# Performance

What superarm costs, measured by `superarm bench`, which also wrote this page. [Costs](costs.md) has the laws, this page
has what one machine made of them. Run it on yours: absolute times will differ, ratios and exponents much less.

```console
$ superarm bench            # some minutes; --quick takes some seconds
```{quick}

- Everything is measured in one run, in one process with one BLAS thread. This one: {place},
  {machine}.
- Programs that are compared take turns, and the order is reversed every other turn. A turn repeats a short call until
  {1000 * TURN_S:g} ms are over. What is given is the median turn, with the quartiles in brackets.
- Times are processor times, so that other programs on the machine count little.
- A measured exponent is the slope of time against m on the log-log scale, from 10,000 arms on; below, a call is mostly
  overhead."""


def _thompson(results: Row) -> str:
    rows = of_part(results, "thompson")
    sizes = _sizes(rows)
    times = [
        [
            name,
            _of(rows, name, "note"),
            *(_at(rows, name, m, _spread) for m in sizes),
            _power(rows, name),
        ]
        for name in names(rows)
    ]
    others = [name for name in names(rows) if name != "superarm"]
    ratios = [[name, *(_at(rows, name, m, _ratio) for m in sizes)] for name in others]
    cold = [
        [name, *(_at(rows, name, m, lambda row: _ratio(_cold(row))) for m in sizes)]
        for name in others
    ]
    missing = ", ".join(results["not_installed"])
    left_out = f" Not installed, so not measured: {missing}." if missing else ""
    return f"""## Thompson sampling side by side

A round of Thompson sampling that picks 5 of m arms: draw, pick, learn what they did. Milliseconds:

{_table(["program", "how", *map(_arms, sizes), "exponent"], times)}

As multiples of superarm's time in the same turn:

{_table(["program", *map(_arms, sizes)], ratios)}

The same *cold*: single calls, one of each program in turn. The arrays of the others have then just emptied the caches,
which a short call feels most:

{_table(["program", *map(_arms, sizes)], cold)}

A dash: a round was expected to take longer than {results["scale"]["limit_s"]:g} s.{left_out}

![Milliseconds of a round of Thompson sampling against the number of arms](performance-thompson.png)"""


def _group_testing(results: Row) -> str:
    rows = of_part(results, "group testing")
    lines = []
    for p in dict.fromkeys(row["p"] for row in rows):
        ours, theirs = (
            of_part(results, "group testing", p=p, name=name)[0]
            for name in ("superarm", "plain numpy")
        )
        cold = _ratio(_cold(theirs))
        lines.append(
            [p, _spread(ours), _spread(theirs), _ratio(theirs), _ms(ours["cold_median_s"]), cold]
        )
    return f"""## A round of group testing

`GroupTesting.select` (tests drawn, scored, quantized and decoded; 302 tests of {rows[0]["n_arms"]:,} arms, linear
reward) against the straightforward numpy program: floats compared with p, and two matrix products. Milliseconds:

{_table(["p", "superarm", "plain numpy", "numpy / superarm", "superarm, cold", "ratio, cold"], lines)}

*Cold*: single calls, one of each program in turn, instead of turns of {1000 * TURN_S:g} ms. The numpy program's arrays
have then just emptied the caches, which a short call feels most."""


def _oracles(results: Row) -> str:
    rows = of_part(results, "oracles")
    sizes = _sizes(rows)
    n_rounds = results["scale"]["n_rounds"]
    evaluations = [
        [name, _of(rows, name, "evaluations_law")]
        + [_at(rows, name, m, lambda row: _count(row["evaluations"])) for m in sizes]
        for name in names(rows)
    ]
    times = _grown(rows, sizes)
    memory = [
        [
            name,
            *(
                _at(rows, name, m, lambda row: f"{row['peak_bytes'] / row['n_arms']:,.0f}")
                for m in sizes
            ),
        ]
        for name in names(rows)
    ]
    return f"""## Oracles

5 of m arms, a network with 20 hidden neurons as the reward, {n_rounds} rounds of Thompson sampling. Evaluations a
round, mean of the second half of the rounds:

{_table(["oracle", "law", *map(_arms, sizes)], evaluations)}

Milliseconds of one `select`, without the time spent in the reward. Each is timed alone, after the other oracles have
had their turn, so that fixed costs weigh more than above:

{_table(["oracle", "law", *map(_arms, sizes), "exponent expected", "measured"], times)}

Bytes an arm that one `select` held at its peak beyond what the oracle keeps from round to round, those of the reward's
`batch` included:

{_table(["oracle", *map(_arms, sizes)], memory)}

![Evaluations a round, and milliseconds a round without the reward, against the number of arms](performance-oracles.png)

A cheap round is not a good one: `RandomSets` learns nothing, and how little `GroupTesting` finds out is in
[the reproduction](reproduction.md)."""


def _dear(results: Row) -> str:
    rows = of_part(results, "oracles")
    complete = [
        m
        for m in _sizes(rows)
        if {row["name"] for row in rows if row["n_arms"] == m} == set(names(rows))
    ]
    m = max(complete)
    here = [row for row in rows if row["n_arms"] == m and row["name"] != "RandomSets"]
    lines = [[one["name"], *(_cell(one, other) for other in here)] for one in here]
    return f"""## What an evaluation must cost

A round costs the oracle's own time and its evaluations. From these two, at {m:,} arms: for which cost of an evaluation
is a round of the oracle on the left cheaper than one of the oracle above?

{_table(["cheaper", *(f"than {row['name']}" for row in here)], lines)}

This compares costs alone, not how good the sets are."""


def _operations(results: Row) -> str:
    rows = of_part(results, "operations")
    sizes = _sizes(rows)
    return f"""## Growth

Each operation with its law, milliseconds, and the exponent of m that the law says and that was measured. n is 302
tests, k is 5, h is 20 hidden neurons. What is linear may show an exponent above 1 where its arrays outgrow a cache.

{_table(["operation", "law", *map(_arms, sizes), "exponent expected", "measured"], _grown(rows, sizes))}"""


def _memory(results: Row) -> str:
    rows = of_part(results, "memory")
    sizes = _sizes(rows)
    lines = [
        [
            name,
            *(
                _at(rows, name, m, lambda row: f"{row['peak_bytes'] / row['n_arms']:,.0f}")
                for m in sizes
            ),
        ]
        for name in names(rows)
    ]
    largest = max((row for row in rows if row["name"] == "superarm"), key=lambda row: row["n_arms"])
    return f"""## Memory

Thompson sampling built and one round played: bytes an arm at the peak, as Python and numpy account for them.

{_table(["program", *map(_arms, sizes)], lines)}

For superarm with {largest["n_arms"]:,} arms that is {largest["peak_bytes"] / 2**30:.2f} GiB."""


_PLACE = ("system", "processor")
_RATIOS = ("ratio", "ratio_low", "ratio_high")


def _table(head: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    texts = sum(
        name in ("program", "how", "oracle", "operation", "law", "cheaper") for name in head
    )
    rule = ["---"] * texts + ["---:"] * (len(head) - texts)
    return "\n".join("| " + " | ".join(line) + " |" for line in (head, rule, *lines))


def _sizes(rows: list[Row]) -> list[int]:
    return sorted({row["n_arms"] for row in rows})


def _arms(m: int) -> str:
    return f"m = {m:,}"


def _at(rows: list[Row], name: str, m: int, show: Callable[[Row], str]) -> str:
    return next((show(row) for row in rows if row["name"] == name and row["n_arms"] == m), "–")


def _of(rows: list[Row], name: str, key: str) -> Any:
    return next(row[key] for row in rows if row["name"] == name)


def _grown(rows: list[Row], sizes: list[int]) -> list[list[str]]:
    """Name, law, times, and the exponents expected and measured."""
    found = []
    for name in names(rows):
        expected = _of(rows, name, "power")
        powers = ["–" if expected is None else f"{expected:g}", _power(rows, name)]
        found.append(
            [name, _of(rows, name, "law"), *(_at(rows, name, m, _spread) for m in sizes), *powers]
        )
    return found


def _spread(row: Row) -> str:
    return f"{_ms(row['median_s'])} ({_ms(row['low_s'])} to {_ms(row['high_s'])})"


def _ratio(row: Row) -> str:
    middle, low, high = (
        f"{row[key]:.2g}" if row[key] < 99.5 else f"{row[key]:.0f}" for key in _RATIOS
    )
    return f"{middle}× ({low} to {high})"


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


def _cell(one: Row, other: Row) -> str:
    if one is other:
        return ""
    low, high = overtakes(one, other)
    if low >= high:
        return "never"
    if high == math.inf:
        return f"above {_cost(low)}" if low > 0 else "always"
    return f"below {_cost(high)}"


def _cost(seconds: float) -> str:
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-9:.3g} ns"

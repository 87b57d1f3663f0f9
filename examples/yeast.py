"""Which 4 of 14 functions does a gene of yeast have? An easy case: few arms, many rounds.

    python examples/yeast.py [--quick] [--out FOLDER]

A round is a gene. An arm is a class of function. Its outcome is whether the gene has that function.
Nothing is known about the gene itself, so a policy can only learn which classes are common. There
are 2,417 genes, in random order. The table is read from the package river.
"""

from __future__ import annotations

from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

import superarm as sa
from common import interval, options, save, show
from replaying import LEARNERS, Learner, believing, beside, closed, draw, play
from superarm.environments import ReplayEnvironment, datasets
from superarm.reporting.figures import panels
from superarm.reporting.palette import FAINT, GREEN, INK

K = 4
LEARNERS_HERE: dict[str, Learner] = {**LEARNERS, "KL-UCB": partial(believing, sa.KLUCBBelief)}


@cache
def world() -> ReplayEnvironment:
    """All genes, in an order that is drawn for each run."""
    data = datasets.yeast()
    return ReplayEnvironment(data.table, names=data.names, order="shuffled")


def main(*, quick: bool = False, out: Path = Path()) -> dict[str, Any]:
    """How many of four are right; a table and a picture."""
    n_runs, horizon = (4, 300) if quick else (20, world().n_rounds)
    low, best = world().random_set(K), world().best_fixed(K)
    got = play(world, LEARNERS_HERE, K, n_runs=n_runs, horizon=horizon)
    gaps = {name: 100 * closed(runs, low, best) for name, runs in got.items()}
    ends = {name: gap[:, -1] for name, gap in gaps.items()}
    early = min(100, horizon)
    rows = [
        [
            name,
            f"{runs.mean():.2f}",
            interval(gaps[name][:, early - 1]),
            interval(gaps[name][:, -1]),
            beside(ends, name),
        ]
        for name, runs in got.items()
    ]
    rows.append(["the best fixed set, in hindsight", f"{best:.2f}", "", "100"])
    each = np.minimum(world().table.sum(axis=1, dtype=int), K).mean()
    rows.append(
        [
            "the best of each gene, in hindsight",
            f"{each:.2f}",
            "",
            f"{100 * (each - low) / (best - low):.1f}",
        ]
    )
    head = [
        "policy",
        "right, of the four",
        f"% of the gap closed after {early}",
        f"after {horizon:,}",
        "minus CTS's",
    ]
    show(f"{K} of {world().n_arms} classes, {horizon:,} genes, {n_runs} runs", head, rows)
    path = save(partial(picture, gaps), out / "case-yeast.svg")
    return {"got": got, "low": low, "best": best, "picture": path}


def picture(gaps: dict[str, np.ndarray], figure: Any) -> None:
    """How common the classes are, and the gap closed over the rounds."""
    left, right = panels(figure, 2, n_names=3)
    chosen = np.isin(np.arange(world().n_arms), world().best_arms(K))
    left.bar(np.arange(1, 15), 100 * world().means, color=np.where(chosen, GREEN, FAINT))
    left.set_xticks(range(1, 15))
    left.set(xlabel="class; green: the best fixed set", ylabel="genes of the class, %")
    draw(
        right,
        gaps,
        "genes so far",
        "gap closed, %",
        log=True,
        first=10,
    )
    right.axhline(0, color=INK, linewidth=1)
    right.axhline(100, color=GREEN, linewidth=1, linestyle=":")


if __name__ == "__main__":
    main(**options(__doc__))

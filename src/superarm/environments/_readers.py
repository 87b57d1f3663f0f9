"""Reading the files of `datasets`: columns of CSV files, and what two of the files count."""

from __future__ import annotations

import csv
import gzip
import io
import zipfile
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date, timedelta
from functools import cache
from operator import itemgetter
from pathlib import Path
from typing import IO, cast

import numpy as np
from numpy.typing import NDArray

N_DAYS = 365  # of 2013
LATE_MINUTES = 15  # later than this counts as late
EVENING_HOUR = 17  # delays of a day add up until the evening

_PerDay = dict[str, list[int]]


# The counts and the purchases are kept, 10 MB together, because reading takes seconds.
@cache
def flights_per_day(path: Path) -> tuple[_PerDay, _PerDay]:
    """The number of flights, and of late flights, of each connection on each day of the year."""
    n_flights: _PerDay = defaultdict(lambda: [0] * N_DAYS)
    n_late: _PerDay = defaultdict(lambda: [0] * N_DAYS)
    year = [date(2013, 1, 1) + timedelta(days=day) for day in range(N_DAYS)]
    days = {(str(day.month), str(day.day)): number for number, day in enumerate(year)}
    wanted = ("month", "day", "arr_delay", "carrier", "origin", "dest")
    for month, day, delay, carrier, origin, destination in columns(path, wanted):
        arm, today = f"{origin}-{destination} {carrier}", days[month, day]
        n_flights[arm][today] += 1
        # A flight without a delay was cancelled or diverted.
        n_late[arm][today] += delay in ("", "NA") or float(delay) > LATE_MINUTES
    return n_flights, n_late


@cache
def flight_features(path: Path, names: tuple[str, ...]) -> NDArray[np.float64]:
    """What the schedule says about connections, one row each: see `datasets.flights`."""
    hours: dict[str, list[int]] = defaultdict(list)
    miles: dict[str, float] = {}
    wanted = ("sched_dep_time", "distance", "carrier", "origin", "dest")
    for time, distance, carrier, origin, destination in columns(path, wanted):
        arm = f"{origin}-{destination} {carrier}"
        hours[arm].append(int(time) // 100)
        miles[arm] = float(distance)
    origins = sorted({name[:3] for name in names})
    carriers = sorted({name.split()[1] for name in names})
    return np.array(
        [
            [name[:3] == origin for origin in origins]
            + [name.split()[1] == carrier for carrier in carriers]
            + [np.log(miles[name]), np.mean(hours[name])]
            + [np.mean(np.array(hours[name]) >= EVENING_HOUR), np.log(len(hours[name]))]
            for name in names
        ],
        np.float64,
    )


@cache
def purchases(path: Path) -> tuple[NDArray[np.int32], NDArray[np.int32], tuple[str, ...]]:
    """The row and the product of each purchase, and the names of the products.

    Rows are baskets in the order of the days. Products are numbered from the most frequent one on.
    """
    baskets: dict[tuple[str, str], int] = {}
    products: dict[str, int] = {}
    # Both numbers in one, so that a product that is in a basket twice is found by sorting.
    pairs = (
        baskets.setdefault((when, customer), len(baskets)) << 32
        | products.setdefault(product, len(products))
        for when, customer, product in columns(
            path, ("TRANSACTION_DT", "CUSTOMER_ID", "PRODUCT_ID")
        )
    )
    basket, product = np.divmod(np.unique(np.fromiter(pairs, np.int64)), 1 << 32)
    n_baskets = np.bincount(product).tolist()
    names = sorted(products, key=lambda name: (-n_baskets[products[name]], name))
    place = np.empty(len(names), np.int32)
    place[[products[name] for name in names]] = np.arange(len(names))
    # Baskets of the same day keep the order of the file.
    row = np.empty(len(baskets), np.int32)
    days = {when: _day(when) for when, _ in baskets}
    row[[baskets[key] for key in sorted(baskets, key=lambda key: days[key[0]])]] = np.arange(
        len(baskets)
    )
    return row[basket], place[product], tuple(names)


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

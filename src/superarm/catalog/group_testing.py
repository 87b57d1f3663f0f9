"""The variants of GT+QTS that the paper's figures compare."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from superarm import policies
from superarm.catalog.entries import PolicyPart, Task
from superarm.core import Policy


def _gt(
    name: str,
    label: str,
    sentence: str,
    colour: str,
    dash: str = "-",
    # A function, since p may depend on the number of arms, which is known only with the task.
    p: Callable[[Task], float | None] = lambda task: 0.5,
    **options: Any,
) -> PolicyPart:
    """A variant of GT+QTS; ``p`` may depend on the task."""

    def make(task: Task) -> Policy:
        return policies.gt_qts(
            task.reward, task.k, delta=task.delta, p=p(task), n_tests=task.n_tests, **options
        )

    return PolicyPart(name, label, sentence, make, colour, dash, code="`gt_qts`")


def _k_of_m(task: Task) -> float:
    return _below_one(task.k / task.reward.n_arms)


def _one_of_m(task: Task) -> float:
    return _below_one(1 / task.reward.n_arms)


def _below_one(p: float) -> float:
    # p = 1 is k = n_arms, or one arm: there is nothing to choose, so that any p will do.
    return p if p < 1 else 0.5


GROUP_TESTING = (
    _gt(
        "gt-qts",
        "GT+QTS, p=1/2",
        "The paper's literal algorithm: Thompson sampling with random tests of half of the arms.",
        "#E69F00",
    ),
    _gt(
        "gt-qts-two-thirds",
        # p⁴ (1-p)² of Lemma 1 is largest at p = 2/3.
        "GT+QTS, p=2/3",
        "The paper's algorithm with the p for which Lemma 1 asks for the fewest tests.",
        "#E69F00",
        "--",
        lambda task: 2 / 3,
    ),
    _gt(
        "gt-qts-k-of-m",
        "GT+QTS, p=K/m",
        "The paper's algorithm with tests of K arms on average.",
        "#CC79A7",
        p=_k_of_m,
    ),
    _gt(
        "gt-qts-one-of-m",
        # Close to Oracle+, which tests every arm alone.
        "GT+QTS, p=1/m",
        "The paper's algorithm with tests of one arm on average.",
        "#CC79A7",
        "--",
        _one_of_m,
    ),
    _gt(
        "gt-naive",
        # Isolates the effect of the quantizer: all else is as in gt-qts.
        "naive GT, p=1/2",
        "The paper's group testing without the quantizer.",
        "#E69F00",
        ":",
        quantize=False,
    ),
    _gt(
        "gt-centred",
        "centred, p=1/2",
        "Group testing that subtracts the mean score before it decodes.",
        "#D55E00",
        decoder="centred",
    ),
    _gt(
        "gt-centred-k-of-m",
        "centred, p=K/m",
        "The same with tests of K arms on average.",
        "#D55E00",
        "--",
        _k_of_m,
        decoder="centred",
    ),
    _gt(
        "gt-qts-regression",
        "GT+QTS, regression",
        "The paper's tests, remembered: a regression over the tests of all rounds.",
        "#882255",
        # None: the regression learns from tests of several sizes.
        p=lambda task: None,
        decoder="regression",
    ),
)

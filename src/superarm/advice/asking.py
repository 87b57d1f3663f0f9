"""What a probe asks for, and how many probes are evaluated at the same time.

A probe is a generator: it draws its sets and means, yields an `Ask`, and is sent the values. It
draws before its first `Ask` only, so that probes that run at the same time draw what they would
draw one after the other.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from superarm.advice.random_inputs import RandomInputs
from superarm.advice.results import Witness
from superarm.core.arguments import FloatArray, IndexArray

if TYPE_CHECKING:
    from superarm.advice.evaluator import Evaluator


@dataclass(frozen=True, eq=False)
class Ask:
    """Sets to evaluate, in this order.

    Attributes
    ----------
    sets, means
        The arms of each set, and their means in the same order.
    theta
        Shape (n_arms,): the sets are to be one batch at these means. None for single calls.
    sort
        Whether the arms are sorted for each single call.
    split
        Whether a batch may be split into single calls, because only the values matter.
    """

    sets: Sequence[IndexArray]
    means: Sequence[FloatArray]
    theta: FloatArray | None = None
    sort: Sequence[bool] = ()
    split: bool = False


def singles(
    sets: Sequence[IndexArray], means: Sequence[FloatArray], sort: Sequence[bool] = ()
) -> Ask:
    """One call per set."""
    return Ask(sets, means, None, sort or [True] * len(sets))


def batch(sets: Sequence[IndexArray], theta: FloatArray, *, split: bool = False) -> Ask:
    """All sets at once."""
    return Ask(sets, [theta[arms] for arms in sets], theta, [True] * len(sets), split)


@dataclass(frozen=True, eq=False)
class Probe:
    """Evaluations, and by how much they violate a property.

    ``excess`` is at most 0 if they do not violate it.
    """

    sets: list[IndexArray]
    means: list[FloatArray]
    values: list[float]
    excess: float
    what: str
    sort: bool = True  # whether the arms were sorted for the evaluations
    n_noisy: int = 0  # how many values the noise of the comparison comes from; 0: all

    def witness(self) -> Witness:
        """The probe as plain data, with the arms in the order of the evaluations."""
        orders = [np.argsort(arms) if self.sort else np.arange(len(arms)) for arms in self.sets]
        sets = [arms[order] for arms, order in zip(self.sets, orders, strict=True)]
        means = [row[order] for row, order in zip(self.means, orders, strict=True)]
        return Witness.of(sets, means, self.values, self.what)


# What a probe found about each property that it is about; None where the reward failed.
Findings: TypeAlias = dict[str, Probe | None]
Asking: TypeAlias = Generator[Ask, FloatArray, Probe | None]
AskingMany: TypeAlias = Generator[Ask, FloatArray, Findings]
ProbeOnce: TypeAlias = Callable[[RandomInputs], Asking]


def probe(
    sets: Sequence[IndexArray],
    means: Sequence[FloatArray],
    values: Sequence[float] | FloatArray,
    excess: float,
    what: str,
    *,
    sort: bool = True,
    n_noisy: int = 0,
) -> Probe | None:
    """The probe, if every evaluation gave a number."""
    if not all(map(math.isfinite, values)):
        return None
    numbers = [float(value) for value in values]
    return Probe(list(sets), list(means), numbers, float(excess), what, sort, n_noisy)


def same(
    arms: IndexArray,
    means: FloatArray,
    values: Sequence[float],
    what: str = "the same set at the same means has another value",
) -> Probe | None:
    """Answers that should be equal, to questions about one set at the same means."""
    n = len(values)
    return probe([arms] * n, [means] * n, values, max(values) - min(values), what)


def run_block(
    evaluate: Evaluator, probes: Sequence[Generator[Ask, FloatArray, object]]
) -> list[object]:
    """Run probes side by side: their first questions together, then their second ones, ..."""
    if len(probes) == 1:
        return [_run_alone(evaluate, probes[0])]
    found: list[object] = [None] * len(probes)
    # A generator is sent None before its first question.
    answers: list[tuple[int, FloatArray | None]] = [(j, None) for j in range(len(probes))]
    while answers:
        asks: list[tuple[int, Ask]] = []
        for number, values in answers:
            try:
                asks.append((number, probes[number].send(values)))  # type: ignore[arg-type]
            except StopIteration as end:
                found[number] = end.value
        values_of = evaluate.answer([ask for _, ask in asks])
        answers = [(number, values) for (number, _), values in zip(asks, values_of, strict=True)]
    return found


def _run_alone(evaluate: Evaluator, one: Generator[Ask, FloatArray, object]) -> object:
    values: FloatArray | None = None
    while True:
        try:
            ask = one.send(values)  # type: ignore[arg-type]
        except StopIteration as end:
            return end.value
        (values,) = evaluate.answer([ask])

"""Time programs side by side, so that a noisy machine disturbs all of them alike."""

from __future__ import annotations

import math
import time
import tracemalloc
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

Program = Callable[[], object]

TURN_S = 0.02


@dataclass(frozen=True)
class Timing:
    """The median seconds of a call with its quartiles, over ``n_turns`` turns.

    ``ratio``, with quartiles too, is the time as a multiple of that of the first program in the
    same turn.
    """

    median_s: float
    low_s: float
    high_s: float
    n_turns: int
    ratio: float = 1.0
    ratio_low: float = 1.0
    ratio_high: float = 1.0


def side_by_side(
    programs: Mapping[str, Program],
    *,
    n_turns: int,
    turn_s: float | None = None,
    most_s: float = math.inf,
) -> dict[str, Timing]:
    """How long a call of each program takes. The programs take turns.

    Every other turn has the reversed order. Seconds are those of the processor, so that other
    programs on the machine count little. A turn repeats a short program until about ``turn_s``
    (default: `TURN_S`) are over, and counts the mean of its calls. So a call is timed among its
    like, and not just after another program has emptied the caches. Turns end once ``most_s`` are
    over, but not before the third.

    Examples
    --------
    >>> programs = {"short": lambda: sum(range(10)), "long": lambda: sum(range(10_000))}
    >>> found = side_by_side(programs, n_turns=5)
    >>> found["short"].median_s < found["long"].median_s
    True
    """
    begin, turn_s = time.perf_counter(), TURN_S if turn_s is None else turn_s
    repeats = {
        name: max(1, round(turn_s / max(_warm_s(program), 1e-9)))
        for name, program in programs.items()
    }
    turns: dict[str, list[float]] = {name: [] for name in programs}
    for turn in range(n_turns):
        if turn >= 3 and time.perf_counter() - begin > most_s:
            break
        for name in reversed(list(programs)) if turn % 2 else programs:
            turns[name].append(_seconds(programs[name], repeats[name]))
    first = next(iter(turns.values()), [])
    return {name: _timing(seconds, first) for name, seconds in turns.items()}


def exponent(sizes: Sequence[float], seconds: Sequence[float]) -> float:
    """The b of seconds ~ sizes^b that fits best on logarithmic scales; NaN for less than two sizes.

    Examples
    --------
    >>> round(exponent([10, 100, 1000], [0.3, 3.0, 30.0]), 6)
    1.0
    """
    if len(sizes) < 2:
        return math.nan
    x, y = np.log(np.asarray(sizes, np.float64)), np.log(np.asarray(seconds, np.float64))
    x -= x.mean()
    return float(x @ (y - y.mean()) / (x @ x))


def peak_bytes(program: Program) -> int:
    """The largest memory of a call beyond what was held before it, as Python and numpy count it."""
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        kept = program()
        peak = tracemalloc.get_traced_memory()[1]
        del kept
        return peak - before
    finally:
        tracemalloc.stop()


def _warm_s(program: Program) -> float:
    """Seconds of a call after the first calls, which set things up: the least of several."""
    begin, calls = time.perf_counter(), [_seconds(program, 1)]
    while len(calls) < 10 and time.perf_counter() - begin < 1.0:
        calls.append(_seconds(program, 1))
    return min(calls)


def _seconds(program: Program, repeats: int) -> float:
    start = time.process_time()
    for _ in range(repeats):
        program()
    return (time.process_time() - start) / repeats


def _timing(seconds: list[float], first: list[float]) -> Timing:
    low, median, high = np.quantile(seconds, [0.25, 0.5, 0.75]).tolist()
    # A clock that did not move in a turn says nothing about ratios, but must not divide by zero.
    ratios = np.array(seconds) / np.maximum(first, 1e-9)
    ratio_low, ratio, ratio_high = np.quantile(ratios, [0.25, 0.5, 0.75]).tolist()
    return Timing(median, low, high, len(seconds), ratio, ratio_low, ratio_high)

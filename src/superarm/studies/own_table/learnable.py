"""Which part of the gap of a table can be learned, and which part is luck.

The best fixed set is chosen by the rows in which it is valued. So it beats the random baseline even
if all arms are alike: of many means, the largest are large by luck. Two estimates avoid this. Sets
are chosen on some rows and valued on other rows. And a permutation test compares the table with
tables whose outcomes are shuffled among the arms of each row.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from superarm.core.arguments import FloatArray, IndexArray
from superarm.reporting.statistics import Interval, mean_interval

LEVEL = 0.05  # of the test: the share of tables of equal arms that pass for tables with differences
_FOLDS = 10
_CELLS_AT_ONCE = 2**20
# Fewer shuffled tables if the table is large. 19 are the fewest that a test at 5% needs.
_MOST_SHUFFLED, _LEAST_SHUFFLED, _SHUFFLED_CELLS = 199, 19, 2 * 10**8
_ROUNDING = 1e-9
_STREAM = 2**31  # runs have the streams of their numbers, which are below


@dataclass(frozen=True)
class Learnable:
    """What the rows say about sets that were chosen without them, all in reward per round.

    Attributes
    ----------
    gap
        By how much a set chosen on other rows beats the random baseline, with its 95% interval.
    hindsight
        By how much the best fixed set beats it, in the rows by which the set was chosen.
    luck
        By how much the best fixed set beats it in shuffled tables, where all arms are alike.
    p_value
        The probability that a shuffled table has arms at least as different as the table.
    is_luck
        Whether the arms may all be alike, by the permutation test.
    is_sure
        Whether the arms differ, and sets chosen on other rows beat the random baseline.
    """

    gap: Interval
    hindsight: float
    luck: float
    p_value: float
    is_luck: bool
    is_sure: bool


def estimate(table: NDArray[Any], k: int, *, seed: int) -> Learnable:
    """What can be learned from a table of outcomes, NaN where missing, about sets of k arms."""
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(_STREAM,)))
    gap = _held_out(table, k, rng.permutation(len(table)) % min(_FOLDS, len(table)))
    n_known = np.sum([(cells == cells).sum(axis=0) for _, cells in _centred_strips(table)], axis=0)
    n_shuffled = min(
        _MOST_SHUFFLED, max(_LEAST_SHUFFLED, _SHUFFLED_CELLS // max(1, int(n_known.sum())))
    )
    own, shuffled, var = _sums(table, n_shuffled, rng)
    # Sums of arms that have more outcomes are larger by luck.
    scores = 1 / np.sqrt(np.where(var > 0, var, np.inf))
    # The table itself counts as one of the shuffled ones, which makes the test exact. Equal sums
    # may differ by rounding.
    least = _largest(own * scores, k) - _ROUNDING
    n_above = int(np.count_nonzero(_largest(shuffled * scores, k) >= least))
    p_value = (1 + n_above) / (1 + n_shuffled)
    return Learnable(
        gap,
        hindsight=float(_largest(own / n_known, k)),
        luck=float(_largest(shuffled / n_known, k).mean()),
        p_value=p_value,
        is_luck=p_value > LEVEL,
        is_sure=p_value <= LEVEL and gap.low > 0,
    )


def rows_for(learnable: Learnable, n_rows: int, least: float) -> int:
    """About how many rows make the gap by luck as small as ``least``."""
    # Luck falls like the standard error of a mean.
    return math.ceil(n_rows * (learnable.luck / least) ** 2)


def _held_out(table: NDArray[Any], k: int, fold: IndexArray) -> Interval:
    """By how much sets chosen on other rows beat the random baseline.

    Each fold in the second half is valued with the set that is best in all folds before it; then
    the same with the folds in reverse order.
    """
    n_folds = int(fold.max()) + 1
    if n_folds < _FOLDS:
        return Interval(0.0, -np.inf, np.inf)
    sums, counts = _fold_sums(table, fold, n_folds)
    ways = []
    for order in (range(n_folds), range(n_folds)[::-1]):
        gains = []
        for place in range(n_folds // 2, n_folds):
            before = list(order[:place])
            n_known = counts[before].sum(axis=0)
            # Rounded, so that the first of equal arms is chosen whatever the order of the sums.
            means = np.round(sums[before].sum(axis=0) / np.maximum(n_known, 1), 9)
            # An arm without outcomes is never chosen before one with outcomes.
            chosen = np.argsort(-np.where(n_known > 0, means, -np.inf), kind="stable")[:k]
            gains.append(_gains(table, np.flatnonzero(fold == order[place]), chosen))
        # A set is fixed before the rows that value it, so that the rows of one way spread like
        # independent ones. (In cross-validation they would not, and intervals would be too short.)
        ways.append(mean_interval(np.concatenate(gains)))
    # The two ways depend on each other. The mean of two numbers never has a larger standard error
    # than the mean of their standard errors.
    return Interval(*np.mean(ways, axis=0).tolist())


def _fold_sums(
    table: NDArray[Any], fold: IndexArray, n_folds: int
) -> tuple[FloatArray, FloatArray]:
    """Sums of centred outcomes and numbers of outcomes, each of shape (n_folds, n_arms)."""
    sums, counts = np.zeros((2, n_folds, table.shape[1]))
    for rows, cells in _centred_strips(table):
        # One product of matrices adds up the rows of all folds.
        member = (fold[rows, None] == np.arange(n_folds)).astype(np.float64)
        sums += member.T @ np.nan_to_num(cells)
        counts += member.T @ (cells == cells)
    return sums, counts


def _gains(table: NDArray[Any], rows: IndexArray, chosen: IndexArray) -> FloatArray:
    """By how much the chosen arms beat each row's baseline; missing cells count as their mean."""
    centred = np.concatenate([cells[:, chosen] for _, cells in _centred_strips(table, rows)])
    known = centred == centred
    n_known = known.sum(axis=0)
    means = np.where(known, centred, 0.0).sum(axis=0) / np.maximum(n_known, 1)
    # Each known cell stands for the missing ones of its arm, so that the rows spread as they should
    # and the mean over the rows is the sum of the means of the arms.
    weights = len(rows) / np.maximum(n_known, 1)
    return np.where(known, (centred - means) * weights, 0.0).sum(axis=1) + means.sum()


def _sums(
    table: NDArray[Any], n_shuffled: int, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Sums of the arms over the rows, each row minus its mean; in the table and if shuffled.

    Shapes (n_arms,) and (n_shuffled, n_arms). The last array has the variance of the shuffled sums.
    """
    n_arms = table.shape[1]
    own, shuffled, var = np.zeros(n_arms), np.zeros((n_shuffled, n_arms)), np.zeros(n_arms)
    for _, cells in _centred_strips(table):
        rows, arms = np.nonzero(cells == cells)
        values = cells[rows, arms]
        counts = np.bincount(rows, minlength=len(cells))
        firsts = np.repeat(np.cumsum(counts) - counts, counts)
        sizes, places = np.repeat(counts, counts), np.arange(len(rows)) - firsts
        own += np.bincount(arms, values, n_arms)
        row_var = np.bincount(rows, values**2, len(cells)) / np.maximum(counts, 1)
        var += np.bincount(arms, row_var[rows], n_arms)
        for sums in shuffled:
            # The known cells of a row are turned by a random number of places. If the arms are
            # alike, no turn is more probable than another; and turning is faster than shuffling.
            turns = np.repeat(rng.integers(0, np.maximum(counts, 1)), counts)
            sums += np.bincount(arms, values[firsts + (places + turns) % sizes], n_arms)
    return own, shuffled, var


def _centred_strips(
    table: NDArray[Any], rows: IndexArray | None = None
) -> Iterator[tuple[IndexArray, FloatArray]]:
    """Some rows, by default all, and their cells minus the mean of the row, in strips.

    Rows in which all arms do well say nothing about arms. Strips of rows, so that no second table
    is made.
    """
    rows = np.arange(len(table)) if rows is None else rows
    step = max(1, _CELLS_AT_ONCE // table.shape[1])
    for start in range(0, len(rows), step):
        strip = rows[start : start + step]
        cells = table[strip].astype(np.float64)
        known = cells == cells
        n_known = np.maximum(known.sum(axis=1, keepdims=True), 1)
        yield strip, cells - np.where(known, cells, 0.0).sum(axis=1, keepdims=True) / n_known


def _largest(values: FloatArray, k: int) -> FloatArray:
    """The sums of the k largest values along the last axis."""
    return np.partition(values, -k)[..., -k:].sum(axis=-1)

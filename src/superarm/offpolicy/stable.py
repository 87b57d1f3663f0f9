"""Variance-stabilised weights of rounds, for logs of policies that learn.

A policy that learns gives arms up. Late rounds then say little about these arms, and a few large
weights decide. Hadad, Hirshberg, Zhan, Wager, Athey ("Confidence intervals for policy evaluation in
adaptive experiments", PNAS 2021) weigh round t by h_t, in proportion to V_t^(-1/2), where V_t is
the variance of what the round contributes. Any h_t that depends only on earlier rounds is allowed.
"""

from __future__ import annotations

import numpy as np

from superarm.core.arguments import FloatArray, IndexArray
from superarm.offpolicy.log import Log


def stable_weights(log: Log, squares: FloatArray) -> FloatArray:
    """The weight h_t of each round, shape (n_rounds,), 1 on average.

    V_t is the sum over arms of q_i² / p_ti, and ``squares``, shape (n_arms,), has q_i². A log knows
    p_ti only of the arms that were picked, which depends on round t. So 1 / p_ti is guessed from
    earlier rounds: 1 / p of the last round that had the arm, plus the rounds since then. This is
    the posterior mean of 1 / p if p does not change and nothing else is known.
    """
    there = log.there
    rounds, arms, found = np.nonzero(there)[0], log.arms[there], 1 / log.propensities[there]
    first = log.n_arms * len(log) / max(1, len(arms))  # as if all arms were equally likely
    guessed = _guessed(rounds, arms, found, first)
    # From one round to the next, each guess grows by 1, or becomes what was found.
    changes = np.bincount(rounds, squares[arms] * (found - guessed - 1), minlength=len(log))
    steps = squares.sum() + changes
    var = first * squares.sum() + np.concatenate([[0.0], np.cumsum(steps)[:-1]])
    # Never below the smallest possible value, by rounding.
    weights = np.maximum(var, squares.sum()) ** -0.5
    return weights / weights.mean()


def _guessed(rounds: IndexArray, arms: IndexArray, found: FloatArray, first: float) -> FloatArray:
    """The guess of 1 / p for each picked arm, from the rounds before."""
    order = np.lexsort((rounds, arms))
    t, arm, inverse = rounds[order], arms[order], found[order]
    since = first + t.astype(np.float64)  # if the arm was never picked
    again = np.flatnonzero(arm[1:] == arm[:-1]) + 1
    since[again] = inverse[again - 1] + (t[again] - t[again - 1] - 1)
    guesses = np.empty(len(order))
    guesses[order] = since
    return guesses

"""What happens when an answer about a single arm contradicts what the reward declares.

A B that is too small is raised, and a wrong ``monotone`` or ``concave`` is given up, with one
warning. An answer that is another one the second time is an error. Answers that are all equal are
worth a warning, too.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from superarm.core.arguments import FloatArray, IndexArray
from superarm.core.warn import warn_user

if TYPE_CHECKING:
    from superarm.oracles._lazy.single_arms import SingleArms

# Evaluates an arm alone at a mean once more; None if the budget is used up.
Again = Callable[[int, float], float | None]

# Two answers to the same question may differ by this share: batches and single calls round
# differently.
SLACK = 1e-9
# Values are the same up to this share of what B allows. Fewer arms may be so by accident, and all
# arms in early rounds, where all means may be below a threshold.
_SAME, _ENOUGH, EARLY = 1e-12, 3, 8
# By what factor a B of 0 is raised, and a margin for rounding when B is raised.
_RAISE_ZERO, _MARGIN = 2.0, 1 + 1e-9


def not_concave(
    known: SingleArms,
    arms: IndexArray,
    x: FloatArray,
    values: FloatArray,
    off: NDArray[np.bool_],
) -> bool:
    """Give up ``concave``, if answers on the wrong side of a chord contradict nothing else.

    Parameters
    ----------
    known
        What is known, without these answers.
    arms, x, values, off
        Shape (n,) each: the arms, their means, the answers, and which answers are off.
    """
    lower, upper = known.bounds(x, arms, chords=False)
    slack = SLACK * np.abs(values)
    # An answer beyond these bounds contradicts B or monotone, not concave.
    bent = off & (values >= lower - slack) & (values <= upper + slack)
    if bent.any():
        known.concave = False
        first = int(np.argmax(bent))
        _warn(
            known,
            f"the reward declares concave, but arm {arms[first]} alone is worth "
            f"{float(values[first])} at {float(x[first])}, which is beyond a chord of its other "
            "values",
        )
    return bool(bent.any())


def correct(
    known: SingleArms, arm: int, new: tuple[float, float], old: tuple[float, float], again: Again
) -> None:
    """Correct the declaration that two answers (x, f) contradict: B, ``monotone`` or both."""
    (x, f), (x0, f0) = new, old
    rise, reach = f - f0, known.lipschitz[arm] * abs(x - x0)
    slack = SLACK * max(abs(f), abs(f0))
    _refuse_noise(arm, x0, f0, slack, again)
    what = f"arm {arm} alone is worth {f0!r} at {x0!r} and {f!r} at {x!r}"
    if abs(rise) > reach + slack:
        factor = abs(rise) / reach if reach > 0 else _RAISE_ZERO
        known.lipschitz *= max(factor, 1.0) * _MARGIN
        # A B of 0 stays 0 under any factor.
        known.lipschitz[arm] = max(known.lipschitz[arm], _MARGIN * abs(rise / (x - x0)))
        _warn(
            known,
            f"the declared lipschitz is too small, by a factor of {factor:.3g} at least: {what}",
        )
    if known.monotone and rise * (x - x0) < 0 and abs(rise) > slack:
        known.monotone = False
        _warn(known, f"the reward declares monotone, but {what}")


def warn_of_equal(known: SingleArms, theta: FloatArray) -> None:
    """Warn if the means of arms differ, and all arms were worth the same in all answers."""
    if known.n_arms < _ENOUGH or np.ptp(theta) == 0 or not known.n.all():
        return
    there = np.arange(len(known.x))[:, None] < known.n
    x, f = known.x[there], known.f[there]
    # Means that differ so much may change values by so much, and rounding by far less.
    if np.ptp(x) > 0 and np.ptp(f) <= _SAME * known.lipschitz.max() * np.ptp(x) < math.inf:
        warn_user(
            f"each of the {known.n_arms} arms is worth {f[0]:g} alone, at means from {x.min():.2g} "
            f"to {x.max():.2g}, so that LazySingletons picks at random; if arms are worth more "
            "together than alone, use LocalSearch, and see what superarm.inspect says"
        )


def _refuse_noise(arm: int, x: float, f: float, slack: float, again: Again) -> None:
    """Evaluate an arm once more at the same mean: another answer means a noisy reward."""
    second = again(arm, x)
    if second is not None and abs(second - f) > slack:
        raise ValueError(
            f"the reward answered {f!r} and then {second!r} for arm {arm} alone with mean "
            f"{x!r}: it is noisy or changing (or declares zero_is_absent wrongly), so "
            "remembered answers prove nothing; use Singletons, or NoisySingletons if it is noisy"
        )


def _warn(known: SingleArms, message: str) -> None:
    if not known.warned:
        warn_user(f"{message}. LazySingletons corrects the value")
    known.warned = True

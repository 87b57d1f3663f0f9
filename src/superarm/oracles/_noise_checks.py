"""What the first answers say about an assumption on the noise."""

from __future__ import annotations

import numpy as np

from superarm.core import Reward
from superarm.core.arguments import FloatArray
from superarm.core.declarations import is_noisy
from superarm.core.warn import warn_user

_FEW_VALUES = 2
_ENOUGH = 4  # answers: fewer may be equal by accident


def warn_of_few_values(reward: Reward, answers: FloatArray) -> None:
    """Warn if answers about one set are one or two numbers, such as 0 and 1.

    Such noise is not symmetric, except by accident. If one of the numbers is rare, all answers may
    be equal for a long time, and bounds for symmetric noise are then far too narrow. Rewards that
    do not declare noise may have equal answers.
    """
    n_values = len(np.unique(answers))
    if not is_noisy(reward) or len(answers) < _ENOUGH or n_values > _FEW_VALUES:
        return
    found = "are all equal" if n_values == 1 else "are only two different numbers"
    warn_user(
        f"the noise should be symmetric, but {len(answers)} answers about the same set {found}; "
        f"if the answers have a known range, such as 0 to 1, set answers_in=(low, high), which "
        f"allows any noise; otherwise certified sets may be wrong more often than delta says"
    )

"""A good guess of the best k arms, where the budget is too small to certify any set."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from superarm.core.arguments import FloatArray, IndexArray


def halve(
    evaluate: Callable[[int, int], None],
    looks: Callable[[], FloatArray],
    arms: IndexArray,
    k: int,
    n_answers: int,
) -> None:
    """Spend n_answers on the arms, and more on arms that look better.

    Successive halving: all arms get the same number of answers, the better half of the arms the
    same number in all again, and so on, down to 2k arms. (Karnin, Koren, Somekh, "Almost optimal
    exploration in multi-armed bandits", ICML 2013, find one arm like this.)

    ``evaluate(arm, times)`` evaluates, ``looks()`` says what each arm seems to be worth, and the
    arms come in the order in which they are evaluated if there are fewer answers than arms.
    """
    while n_answers > 0 and len(arms):
        n_phases = 1 + max(0, int(np.ceil(np.log2(len(arms) / (2 * k)))))
        times = max(1, n_answers // (n_phases * len(arms)))
        for arm in arms[:n_answers].tolist():
            evaluate(arm, times)
        n_answers -= times * len(arms[:n_answers])
        if n_phases > 1:
            best = np.argsort(-looks()[arms], kind="stable")
            arms = arms[np.sort(best[: max(2 * k, (len(arms) + 1) // 2)])]

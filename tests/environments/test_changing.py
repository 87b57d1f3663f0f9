import numpy as np
import pytest

from superarm.environments import (
    ChangingArms,
)


def test_changes_come_when_they_are_due():
    environment, rng = (
        ChangingArms([(0, [0, 1]), (3, [1, 0]), (4, [1, 1])]),
        np.random.default_rng(0),
    )
    seen = [(environment.mu.tolist(), environment.pull([1, 0], rng=rng).tolist()) for _ in range(6)]
    assert seen == [([0, 1], [1, 0])] * 3 + [([1, 0], [0, 1])] + [([1, 1], [1, 1])] * 2
    assert environment.rounds == 6


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: ChangingArms([]), "pairs"),
        (lambda: ChangingArms([(1, [0.5])]), r"begin with 0 and ascend, got \[1\]"),
        (lambda: ChangingArms([(0, [0.5]), (5, [0.5]), (5, [0.1])]), "ascend"),
        (lambda: ChangingArms([(0, [0.5]), (5, [0.5, 0.1])]), r"mu must have shape \(1,\)"),
        (lambda: ChangingArms([(0, [0.5]), (5, [-0.5])]), r"mu must be in \[0, 1\]"),
        (lambda: ChangingArms([(0, [0.5], 3)]), "pairs"),
    ],
)
def test_refuses(call, says):
    with pytest.raises((ValueError, TypeError), match=says):
        call()

"""Rewards that nearly always fail: the inspection ends soon, and says what to do."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import superarm as sa


def counted(fn):
    """A reward of 40 arms, and the list of its calls."""
    calls = []

    def count(arms, means):
        calls.append(len(arms))
        return fn(arms, means)

    return sa.BlackBox(count, n_arms=40, lipschitz=1.0, upper=40.0), calls


BROKEN = {
    "wrong index": (lambda arms, means: means["x"], "IndexError"),
    "a message with arms": (lambda arms, means: {}[tuple(arms)], "KeyError"),
    "NaN": (lambda arms, means: float("nan"), "answered nan"),
}


@pytest.mark.parametrize("budget", [None, 3000])
@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_reward_ends_the_inspection(name, budget):
    fn, error = BROKEN[name]
    reward, calls = counted(fn)
    found = sa.inspect(reward, k=3, budget=budget)
    assert len(calls) <= 10
    assert found.failing
    assert found.stopped
    assert not found.ok
    text = str(found)
    assert error in text
    assert "because 10 of 10 evaluations failed" in text
    arms = list(found["answers"].witness.sets[0])
    assert f"Call it as reward({arms}, [" in text
    assert "Recommended" not in text
    assert "No oracle is recommended" in found._repr_html_()


@pytest.mark.parametrize("budget", [None, 500])
def test_an_executor_ends_at_the_same_evaluation(budget):
    reward, _ = counted(lambda arms, means: means["x"])
    alone = sa.inspect(reward, k=3, budget=budget)
    with ThreadPoolExecutor(2) as executor:
        found = sa.inspect(reward, k=3, budget=budget, executor=executor)
    assert found.as_dict() == alone.as_dict()


def test_few_failures_end_nothing():
    """A quarter of the calls fails, as with a service that is overloaded."""
    rng = np.random.default_rng(0)
    reward, _ = counted(lambda arms, means: float(means.sum()) if rng.random() < 0.75 else 1 / 0)
    found = sa.inspect(reward, k=3, budget=300)
    assert not found.stopped
    assert not found.failing
    assert found.recommendation.fix_first[0].startswith("answers: every subset")


def test_auto_refuses_a_broken_reward():
    reward, calls = counted(lambda arms, means: means["x"])
    with pytest.raises(ValueError, match=r"10 of 10 evaluations failed.*IndexError.*Call it as"):
        sa.auto(reward, 3)
    assert len(calls) == 10

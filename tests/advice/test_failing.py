"""Rewards that nearly always fail: the inspection ends soon, and says what to do."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import superarm as sa
from superarm.advice import n_evaluations


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
    # About a quarter of the evaluations, not of the batches: one failure hides no other answer.
    assert found["answers"].n_violated < found.evaluations / 2
    assert "failed evaluations had an answer when repeated" in found["answers"].note
    assert "BlackBox(retries=3)" in found.recommendation.fix_first[0]


def test_sets_that_always_fail_are_no_matter_of_retries():
    reward, calls = counted(lambda arms, means: float(means.sum()) if len(arms) else 1 / 0)
    found = sa.inspect(reward, k=3, probes=20)
    assert found["answers"].note.startswith("0 of ")
    assert found.recommendation.fix_first[0].startswith("answers: every subset")
    assert "retries" not in found.recommendation.fix_first[0]
    assert len(calls) <= found.evaluations <= n_evaluations(40, 3, 20)


class Vectorized:
    """A reward whose batches fail as a whole if they have arm 7."""

    n_arms, lipschitz, upper = 40, 1.0, 40.0
    monotone = zero_is_absent = additive = False

    def __call__(self, arms, means):
        if 7 in arms:
            raise RuntimeError("7")
        return float(np.sum(means))

    def batch(self, pools, theta):
        return np.array([self(arms, theta[arms]) for arms in pools])


def test_one_failed_set_does_not_hide_the_others_of_its_batch():
    """With an executor, every set is evaluated by itself: the same rows without one."""
    one = sa.inspect(Vectorized(), k=3, budget=400)
    with ThreadPoolExecutor(2) as executor:
        other = sa.inspect(Vectorized(), k=3, budget=400, executor=executor)
    assert one.rows == other.rows
    assert 0 < one["answers"].n_violated < one.evaluations / 2


def test_auto_refuses_a_broken_reward():
    reward, calls = counted(lambda arms, means: means["x"])
    with pytest.raises(ValueError, match=r"10 of 10 evaluations failed.*IndexError.*Call it as"):
        sa.auto(reward, 3)
    assert len(calls) == 10

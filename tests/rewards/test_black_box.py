"""Functions that are noisy or fail at times: repeats, retries, time limits, and who refuses."""

import contextlib
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import superarm as sa
from superarm.core.stopping import stopping
from worker_processes import worker_processes

POOLS, THETA = sa.Pools.singletons(np.arange(6), 6), np.linspace(0.1, 0.6, 6)


def box(fn, **settings):
    return sa.BlackBox(fn, n_arms=6, lipschitz=1, upper=6, backoff_s=1e-6, **settings)


class Flaky:
    """The sum of the means, but every third call fails, each time in another way."""

    def __init__(self):
        self.calls = 0

    def __call__(self, arms, means):
        self.calls += 1
        value = float(means.sum())
        means[:] = 9.0  # a rude function: the next attempt must not see this
        if self.calls % 3 == 0:
            if self.calls % 2:
                raise ConnectionError("the simulator is away")
            return float("nan")
        return value


def always_fails(arms, means):
    if 4 in arms:
        raise ConnectionError("no route")
    return float(means.sum())


def test_repeats_are_averaged_and_counted():
    rng = np.random.default_rng(0)
    reward = box(lambda arms, means: means.sum() + rng.normal(), noisy=True, repeats=400)
    counted = sa.Counted(reward)
    # Off by more than 5 standard errors in one of 7 answers: a probability below 1e-5.
    np.testing.assert_allclose(counted.batch(POOLS, THETA), THETA, atol=5 / 20)
    assert counted([0, 1], [0.1, 0.2]) == pytest.approx(0.3, abs=5 / 20)
    assert counted.evaluations == 7 * 400
    policy = sa.cts(box(lambda arms, means: 0.5, repeats=3), 2, oracle=sa.Singletons())
    policy.ask(rng=rng)
    assert policy.evaluations == 6 * 3


def test_failed_calls_are_retried_and_the_round_is_kept():
    fn = Flaky()
    reward = box(fn, retries=1, repeats=2)
    np.testing.assert_allclose(reward.batch(POOLS, THETA), THETA)
    assert reward([1, 0], [0.25, 0.5]) == 0.75
    assert reward.n_failed == fn.calls - 2 * 7 > 0


@pytest.mark.parametrize("start", [lambda: ThreadPoolExecutor(2), lambda: worker_processes(2)])
def test_the_last_failure_names_the_arms_with_any_executor(start):
    with start() as executor:
        reward = box(always_fails, retries=2, executor=executor)
        some = sa.Pools.singletons(np.arange(4), 6)
        np.testing.assert_array_equal(reward.batch(some, THETA), THETA[:4])
        with pytest.raises(
            RuntimeError, match=r"arms \[4\].* all 3 attempts.*ConnectionError: no route"
        ):
            reward.batch(POOLS, THETA)


@pytest.mark.parametrize(
    "start", [lambda: None, lambda: ThreadPoolExecutor(2), lambda: worker_processes(2)]
)
def test_without_retries_the_error_is_the_functions_own_and_a_note_names_the_arms(start):
    with contextlib.ExitStack() as stack:
        executor = start()
        reward = box(always_fails, executor=executor and stack.enter_context(executor))
        with pytest.raises(ConnectionError, match="no route") as found:
            reward.batch(POOLS, THETA)
    noted = "".join(found.value.__notes__)
    assert "arms [4] with means [0.5]" in noted
    assert "set retries= of BlackBox" in noted
    with pytest.raises(ConnectionError) as found:
        box(always_fails)([5, 4], [0.25, 0.5])
    assert "arms [4 5] with means [0.5  0.25]" in "".join(found.value.__notes__)


def test_every_message_about_a_failed_call_names_retries():
    with pytest.raises(RuntimeError, match=r"arms \[4\].*no route.*set retries= of BlackBox"):
        box(always_fails, repeats=2)([4], [0.5])
    with pytest.raises(RuntimeError, match=r"all 2 attempts.*retries= and backoff_s= of BlackBox"):
        box(always_fails, retries=1)([4], [0.5])
    nothing = sa.Counted(box(lambda arms, means: float("nan")))
    for ask in (lambda: nothing([0], [0.5]), lambda: nothing.batch(POOLS, THETA)):
        with pytest.raises(ValueError, match=r"got nan for the arms \[0\]; .*retries= of BlackBox"):
            ask()
    with pytest.raises(TypeError) as found:
        box(lambda arms, means: None).batch(POOLS, THETA)
    assert "arms [0]" in "".join(found.value.__notes__)


def test_means_looked_up_by_arm_are_answered_with_what_means_are():
    def by_arm(arms, means):
        return float(means[arms].sum())

    with pytest.raises(IndexError) as found:
        box(by_arm)([4], [0.5])
    noted = "".join(found.value.__notes__)
    assert "means[i] is that of arms[i]" in noted
    assert "retries" not in noted
    with pytest.raises(RuntimeError, match=r"IndexError.*means\[i\] is that of arms\[i\]"):
        box(by_arm, repeats=2)([4], [0.5])


def test_a_call_that_takes_too_long_has_failed():
    free, calls = threading.Event(), []

    def slow(arms, means):
        calls.append(1)
        # The first call waits for the end of the test, later ones answer at once.
        return 0.5 if len(calls) > 1 or not free.wait(60) else 0.0

    try:
        reward = box(slow, retries=100, timeout_s=0.05)
        assert reward([0], [0.5]) == 0.5
        # Exactly one on a quiet machine; a busy one may start a thread too late.
        assert 1 <= reward.n_failed < len(calls)
    finally:
        free.set()
    with pytest.raises(RuntimeError, match=r"TimeoutError: no answer within.*retries="):
        box(lambda arms, means: threading.Event().wait(60), timeout_s=0.01)([0], [0.5])
    with pytest.raises(RuntimeError, match="with KeyError"):
        box(lambda arms, means: {}["gone"], timeout_s=60.0)([0], [0.5])


def test_waits_double_and_a_request_to_stop_is_not_retried(monkeypatch):
    waits = []
    monkeypatch.setattr("superarm.rewards._attempts.time.sleep", waits.append)
    with pytest.raises(RuntimeError, match="all 5 attempts"):
        box(always_fails, retries=4)([4], [0.5])
    np.testing.assert_allclose(waits, 1e-6 * 2.0 ** np.arange(4))

    def stop():
        raise InterruptedError("the client has left")

    with stopping(stop), pytest.raises(InterruptedError):
        box(always_fails, retries=4)([0], [0.5])


@pytest.mark.parametrize(
    ("oracle", "instead"),
    [
        ("LazySingletons", "use NoisySingletons or Singletons"),
        ("LazyGreedy", "use NoisyGreedy or Greedy"),
        ("LocalSearch", "use NoisyLocalSearch, or another start"),
    ],
)
def test_oracles_that_remember_refuse_noise_before_the_first_evaluation(oracle, instead):
    calls = []
    reward = box(lambda arms, means: calls.append(1) or 0.5, noisy=True, zero_is_absent=True)
    policy = sa.cts(reward, 2, oracle=getattr(sa.oracles, oracle)())
    with pytest.raises(ValueError, match=f"{oracle} needs a reward without noise.*{instead}"):
        policy.ask(rng=np.random.default_rng(0))
    assert not calls
    policy = sa.cts(reward, 2, oracle=sa.Singletons())
    assert len(policy.ask(rng=np.random.default_rng(0))) == 2


def test_settings_are_checked():
    for wrong in ({"repeats": 0}, {"retries": -1}, {"timeout_s": 0}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            box(always_fails, **wrong)
    with pytest.raises(TypeError, match="noisy must be True or False"):
        box(always_fails, noisy=0.1)
    with pytest.raises(ValueError, match="backoff_s"):
        sa.BlackBox(always_fails, n_arms=6, lipschitz=1, upper=6, backoff_s=-1)


@pytest.mark.parametrize("answer", [None, [0.5], np.array([0.5]), np.zeros(2), 1j, "much"])
@pytest.mark.parametrize("options", [{}, {"timeout_s": 5.0}])
def test_what_is_no_number_is_named(answer, options):
    """Not as numpy says it: "float() argument must be a string or a real number"."""
    reward = sa.BlackBox(lambda arms, means: answer, n_arms=3, lipschitz=1.0, upper=3.0, **options)
    with pytest.raises((TypeError, RuntimeError), match=r"one number per set, got .*return float"):
        sa.thompson(reward, 2).ask(rng=np.random.default_rng(0))


@pytest.mark.parametrize("answer", [np.float32(0.5), np.array(0.5), True, np.True_])
def test_numbers_of_all_kinds_are_values(answer):
    reward = sa.BlackBox(lambda arms, means: answer, n_arms=3, lipschitz=1.0, upper=3.0)
    assert reward([0, 1], [0.5, 0.5]) == float(answer)

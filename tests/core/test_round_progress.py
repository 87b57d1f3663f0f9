"""Progress of the evaluations of a round: what is shown, where, and that nothing depends on it."""

import io
import pickle
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from os import terminal_size

import numpy as np
import pytest

import superarm as sa
from superarm.core import progress
from superarm.core.progress import current_round, one_round
from superarm.oracles import NoisyGreedy, NoisyLocalSearch, NoisySingletons

N_ARMS = 8
NOISY = {
    "arms": lambda: NoisySingletons(tolerance=0.1, budget=2000),
    "greedy": lambda: NoisyGreedy(tolerance=0.2, budget=2000),
    "search": lambda: NoisyLocalSearch(tolerance=0.3, budget=2000),
}


def noisy(**settings):
    """The sum of the means with noise that depends on the number of the call only."""
    rng = np.random.default_rng(5)
    return sa.BlackBox(
        lambda arms, means: float(means.sum() + rng.normal(0, 0.1)),
        n_arms=N_ARMS,
        lipschitz=1.0,
        upper=float(N_ARMS),
        noisy=True,
        **settings,
    )


def played(oracle, reward):
    """Two rounds: the sets, the state of the session, and the evaluations."""
    session = sa.Session(sa.cts(reward, 2, oracle=oracle), seed=3, clock=lambda: 0.0)
    decisions = [session.ask().arms for _ in range(2)]
    return decisions, session.to_bytes(), session.policy.evaluations


class Terminal(io.StringIO):
    """Text that was written to a terminal."""

    def isatty(self):
        return True


@pytest.fixture
def at_once(monkeypatch):
    """Every evaluation is shown, also in quick rounds."""
    monkeypatch.setattr(progress, "_EVERY_S", 0.0)
    monkeypatch.setattr(progress, "_AFTER_S", 0.0)
    monkeypatch.setattr(progress.shutil, "get_terminal_size", lambda: terminal_size((200, 24)))


@pytest.mark.parametrize("kind", NOISY)
def test_a_function_is_called_in_every_round_and_nothing_depends_on_it(kind, at_once):
    seen = []
    plain, shown = NOISY[kind](), NOISY[kind]()
    evaluations = played(plain, noisy(repeats=2))
    assert played(shown, noisy(repeats=2, progress=seen.append)) == evaluations
    ends = [one for one in seen if one.ended]
    assert len(ends) == 2
    assert not any(one.failed for one in ends)
    assert sum(one.evaluations for one in ends) == evaluations[2]
    assert all(one.evaluations == one.asked for one in ends)
    assert {one.most for one in seen} == {2000}
    # Every value took two calls, and all of them were seen.
    first = seen[: seen.index(ends[0])]
    assert [one.evaluations for one in first] == list(range(2, ends[0].evaluations + 1, 2))
    said = [one.undecided for one in first]
    assert " of 8 arms" in said[0] if kind == "arms" else " of 8 sets, step 1" in said[0]
    if kind == "search":
        assert " sets, swap 1" in said[-1]


def test_an_executor_and_plain_oracles_are_counted_too(at_once):
    seen, rng = [], np.random.default_rng(0)
    with ThreadPoolExecutor(2) as executor:
        reward = sa.BlackBox(
            lambda arms, means: float(means.sum()),
            n_arms=N_ARMS,
            lipschitz=1.0,
            upper=8.0,
            executor=executor,
            progress=seen.append,
        )
        sa.cts(reward, 3, oracle=sa.Greedy()).ask(rng=rng)
    # All steps of a decision are one round. Without a budget, what was asked for so far is shown.
    assert [one.evaluations for one in seen] == [*range(1, 8 + 7 + 6 + 1), 21]
    assert [seen[at].asked for at in (0, 7, 8, 21)] == [8, 8, 15, 21]
    assert seen[-1].ended
    assert (seen[-1].most, seen[-1].undecided) == (None, "")
    # A batch by itself is a round. A single value is none, but counts within one.
    seen.clear()
    reward([0], [0.5])
    assert not seen
    with one_round():
        reward([0], [0.5])
    assert [one.evaluations for one in seen] == [1, 1]


def test_calls_are_rare(monkeypatch):
    seconds = iter(range(10**6))
    monkeypatch.setattr(progress.time, "perf_counter", lambda: next(seconds) / 64)
    seen = []
    noisy(progress=seen.append).batch(sa.Pools.of([[0]] * 80, 8), np.ones(8))
    # 80 evaluations of 1/64 s each, and at most one call per 0.1 s.
    assert [one.evaluations for one in seen] == [*range(7, 80, 7), 80]
    assert seen[4].per_s == 64


def test_the_line_is_replaced_on_a_terminal_and_removed(monkeypatch, at_once):
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    seconds = iter(range(10**6))
    monkeypatch.setattr(progress.time, "perf_counter", lambda: float(next(seconds)))
    reward = noisy(progress=True)
    sa.cts(reward, 2, oracle=sa.Singletons()).ask(rng=np.random.default_rng(0))
    *lines, blank, end = stream.getvalue().split("\r")[1:]
    assert lines == [f"{n} of 8 evaluations, 1/s" for n in range(1, 9)]
    assert blank == " " * len(lines[-1])
    assert end == ""
    monkeypatch.setattr(progress.shutil, "get_terminal_size", lambda: terminal_size((10, 24)))
    reward.batch(sa.Pools.singletons([0], 8), np.ones(8))
    assert stream.getvalue().split("\r")[-3] == "1 of 1 ev"


def test_an_interrupted_round_keeps_its_line(monkeypatch, at_once):
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    calls = []

    def interrupted(arms, means):
        calls.append(1)
        if len(calls) == 4:
            raise KeyboardInterrupt
        return 0.5

    reward = sa.BlackBox(interrupted, n_arms=8, lipschitz=1.0, upper=1.0, progress=True)
    policy, rng = sa.cts(reward, 2, oracle=sa.Singletons()), np.random.default_rng(0)
    with pytest.raises(KeyboardInterrupt):
        policy.ask(rng=rng)
    assert stream.getvalue().split("\r")[-1].startswith("3 of 8 evaluations")
    assert stream.getvalue().endswith("/s\n")
    assert current_round() is None
    policy.ask(rng=rng)  # and the next round begins anew
    assert "\r8 of 8 evaluations" in stream.getvalue()


def test_in_a_file_lines_are_rare_and_by_default_there_is_none(monkeypatch, capsys):
    stream, pools = io.StringIO(), sa.Pools.of([[0]] * 80, 8)
    seconds = iter(range(10**6))
    monkeypatch.setattr(progress.time, "perf_counter", lambda: float(next(seconds)))
    noisy().batch(pools, np.ones(8))
    assert capsys.readouterr() == ("", "")
    monkeypatch.setattr(sys, "stderr", stream)
    reward = noisy(progress=True)
    for _ in range(2):
        reward.batch(pools, np.ones(8))
    assert (
        stream.getvalue().splitlines()
        == [
            "30 of 80 evaluations, 1/s",
            "60 of 80 evaluations, 1/s",
        ]
        * 2
    )
    monkeypatch.setattr(sys, "stderr", None)
    reward.batch(pools, np.ones(8))


def test_threads_have_rounds_of_their_own():
    found = []
    with one_round() as outer:
        thread = threading.Thread(target=lambda: found.append(current_round()))
        thread.start()
        thread.join()
        with one_round() as inner:
            assert inner is outer
        assert current_round() is outer
    assert found == [None]
    assert current_round() is None


def test_progress_is_checked_and_pickled():
    with pytest.raises(TypeError, match="progress must be True, False or a function, got 3"):
        noisy(progress=3)
    reward = sa.BlackBox(max, n_arms=2, lipschitz=1.0, upper=1.0, progress=True)
    assert pickle.loads(pickle.dumps(reward)).progress is True

"""When edge bandits sync: the rule, and the thread that follows it."""

import math
import threading

import numpy as np
import pytest

from edge_clients import Line, merged, play
from serving import client_of, create, decide, tell
from superarm.client import UnreachableError
from superarm.client.edge_syncs import Syncs
from superarm.sessions.pace import Pace


def times(pace, until, n_known):
    """The times of the syncs, where the bandit knows n_known(time) decisions."""
    found = [0.0]
    pace.saw(n_known(0.0), 0.0)
    while (time := pace.due_at()) < until:
        pace.saw(n_known(time), time)
        found.append(time)
    return np.array(found)


@pytest.mark.parametrize("rate", [1.0, 7.0, 100.0])
def test_waits_grow_with_the_age_of_the_bandit(rate):
    found = times(Pace(60.0, 0.05, 0.5), 5000.0, lambda time: rate * time)
    waits = np.diff(found)
    assert waits.min() >= 0.5 - 1e-9
    assert waits.max() <= 60.0 + 1e-9
    old, middle = found[:-1] >= 1300, (found[:-1] >= 50) & (found[:-1] < 1000)
    assert np.allclose(waits[old], 60.0)
    # At a constant rate the wait is the share of the age.
    assert np.allclose(waits[middle], 0.05 * found[:-1][middle])
    most = (0.05 * 1300 / 0.5 + math.log(1300 / 10) / 0.05) + (5000 - 1300) / 60
    assert len(found) <= 1.2 * most


def test_a_bandit_that_nobody_uses_has_few_syncs():
    found = times(Pace(60.0, 0.02), 3600.0, lambda time: 1_000_000)
    assert len(found) <= 3600 / 60 + math.log2(60) + 2
    # When a crowd comes, the next waits are short.
    pace = Pace(60.0, 0.02)
    times(pace, 3600.0, lambda time: 1000)
    pace.saw(100_000, 3600.0)
    assert pace.wait_s == pytest.approx(0.02 * 100_000 * 60 / 99_000, rel=0.1)


def test_own_decisions_make_a_sync_due():
    pace = Pace(60.0, 0.02)
    assert pace.due_at() == -math.inf
    pace.saw(900, 0.0)
    pace.saw(1000, 50.0)
    assert pace.wait_s == 2.0  # twice the first
    pace.saw(1000, 60.0)
    assert (pace.n_much, pace.due_at(19), pace.due_at(20)) == (20, 64.0, 61.0)
    pace.saw(1000, 60.0, cut=0.25)
    assert pace.due_at() == 60.0 + 0.75 * 8.0


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"every": 0}, "every must be"),
        ({"every": 60, "share": 0}, "share must be"),
        ({"every": 60, "least": -1}, "least must be"),
    ],
)
def test_settings_are_checked(line, settings, words):
    with pytest.raises(ValueError, match=words):
        line.edge(create(line.service, name=f"{settings}"), **settings)


@pytest.fixture(scope="module")
def line(tmp_path_factory):
    with client_of(tmp_path_factory.mktemp("pace") / "bandits.db") as client:
        yield Line(client)


def after(line, noun, n):
    """Wait until so many more answers about a noun have passed."""
    wanted = n + sum(one == noun for one, *_ in line.passed)
    for _ in range(2000):
        if sum(one == noun for one, *_ in line.passed) >= wanted:
            return
        threading.Event().wait(0.01)
    raise AssertionError(f"{n} {noun} must pass within 20 s")


def test_snapshots_say_how_much_they_know(line):
    bandit = create(line.service, name="known")
    edge = line.edge(bandit)
    play(edge, 3)
    edge.sync()
    made = decide(line.service, bandit)
    tell(line.service, made["id"], dict.fromkeys(made["arms"], 1.0))
    decide(line.service, bandit)  # stays open
    edge.sync()
    assert line.passed[-1][2].json()["decisions"] == 4


def test_a_thread_syncs(line):
    bandit = create(line.service, name="thread")
    edge = line.edge(bandit, every=3600.0, least=0.001)
    sent = play(edge, 20)  # much, compared with what the bandit knows
    after(line, "batches", 1)
    line.lost = "request"
    sent += play(edge, 20)
    for _ in range(2000):
        if edge.error is not None:
            break
        threading.Event().wait(0.01)
    assert isinstance(edge.error, UnreachableError)
    line.lost = None
    after(line, "snapshots", 2)
    edge.close()
    assert edge.error is None
    assert sorted(one["id"] for one in merged(line, bandit)) == sorted(one.id for one in sent)
    assert not any(one.name == "superarm-edge" for one in threading.enumerate())


class Failing:
    """A sync that fails, and says when it was called as often as a test waits for."""

    def __init__(self, error, n):
        self.n_calls, self.enough = 0, threading.Event()
        self._error, self._n = error, n

    def __call__(self):
        self.n_calls += 1
        if self.n_calls == self._n:
            self.enough.set()
        raise self._error


def test_no_failure_ends_the_thread_unnoticed():
    """Also one that is not of the client, such as a reward that fails for a new snapshot."""
    sync = Failing(ZeroDivisionError("a bug"), 3)
    syncs = Syncs(sync, lambda: 0, Pace(0.001, least_s=0.001))
    syncs.start()
    assert sync.enough.wait(20)
    syncs.end()
    assert isinstance(syncs.error, ZeroDivisionError)


def test_decisions_do_not_shorten_the_pause_after_a_failure():
    """A service that refuses a batch must not get it again and again."""
    pace = Pace(3600.0, least_s=3600.0)
    pace.saw(0, -math.inf)  # a sync is due at once
    sync = Failing(UnreachableError("refused"), 1)
    syncs = Syncs(sync, lambda: 1, pace)
    syncs.start()
    assert sync.enough.wait(20)
    for _ in range(20):  # each would wake the thread while it waits for the next sync
        syncs.closed(pace.n_much)
        threading.Event().wait(0.005)
    syncs.end()
    assert sync.n_calls == 1

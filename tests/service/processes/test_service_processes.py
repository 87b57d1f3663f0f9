"""The operator's rewards in processes: the same values, and they can be stopped at any time."""

import os
import signal
import threading
import time

import numpy as np
import pytest

import gated_rewards
import superarm as sa
from serving import client_of, create, decide
from superarm.core import Pools
from superarm.core.declarations import evaluations_per_value, is_noisy
from superarm.core.stopping import stopping
from superarm.service.bandits import parts
from superarm.service.processes import pool
from superarm.service.processes.pool import EvaluationError, Processes
from superarm.service.processes.remote import remote_rewards

OWN = parts.own_rewards("gated_rewards")


class StopError(Exception):
    """Raised by a look."""


@pytest.fixture(scope="module")
def processes():
    made = Processes("gated_rewards", most=2)
    yield made
    made.close()


@pytest.fixture(scope="module")
def remote(processes):
    return remote_rewards(OWN, processes)


def test_values_are_the_same(remote):
    here, there = (make["total"](6, weight=0.3) for make in (OWN, remote))
    theta = np.random.default_rng(0).random(6)
    assert there([4, 1], theta[[4, 1]]) == here([4, 1], theta[[4, 1]])
    for sets in ([[0, 5], [2]], [[0, 1, 2], [3, 4, 5], [], [1, 2]]):  # few members, and many
        pools = Pools.of(sets, 6)
        assert np.array_equal(there.batch(pools, theta), here.batch(pools, theta))
    said = [(type(one).__name__, one.lipschitz, one.upper, one.monotone) for one in (here, there)]
    assert said[0] == said[1]


def test_noise_and_repeats_are_declared_there_as_well(remote):
    reward = remote["averaged"](3)
    assert is_noisy(reward)
    assert evaluations_per_value(reward) == 3
    counted = sa.Counted(reward)
    assert counted([0, 2], [0.25, 0.5]) == 0.75
    assert counted.evaluations == 3
    with pytest.raises(ValueError, match="noisy"):
        sa.cts(reward, 1, oracle=sa.LazySingletons()).ask(rng=np.random.default_rng(0))


def test_failures_are_those_of_the_reward(remote):
    with pytest.raises(ZeroDivisionError) as caught:
        remote["broken"](3)([0], [0.5])
    assert "gated_rewards.py" in str(caught.value.__cause__)
    with pytest.raises(ValueError, match="size must be at least 1"):
        remote["choosy"](3, size=0)


def test_rewards_of_the_library_need_no_process(remote):
    assert type(remote["choosy"](3)) is type(gated_rewards.choosy(3))


def test_a_reward_is_killed_when_nobody_waits_for_it(remote, tmp_path):
    def look():
        if list(tmp_path.iterdir()):
            raise StopError

    with stopping(look), pytest.raises(StopError):
        remote["gated"](3, folder=str(tmp_path))([0], [0.5])
    (begun,) = tmp_path.iterdir()
    pid = int(begun.name.partition("-")[2])
    while True:  # until the system has removed it
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            break
        time.sleep(0.005)


def test_more_requests_than_processes_wait_for_one(remote, tmp_path):
    given_up = threading.Event()
    ended = []

    def look():
        if given_up.is_set():
            raise StopError

    def work(folder):
        folder.mkdir()
        with stopping(look), pytest.raises(StopError):
            remote["gated"](3, folder=str(folder))([0], [0.5])
        ended.append(folder)

    folders = [tmp_path / "one", tmp_path / "two"]
    threads = [threading.Thread(target=work, args=(folder,)) for folder in folders]
    for thread in threads:
        thread.start()
    while not all(folder.is_dir() and list(folder.iterdir()) for folder in folders):
        time.sleep(0.005)
    # Both processes are taken: a request that may not wait gets none.
    looks = iter(range(2))
    with stopping(lambda: next(looks)), pytest.raises(StopIteration):
        remote["total"](3)
    given_up.set()
    for thread in threads:
        thread.join()
    assert remote["total"](3)([0], [0.5]) == 0.5


def test_bandits_decide_the_same_as_without_processes(remote, tmp_path):
    made = []
    for name, own in (("here", OWN), ("there", remote)):
        with client_of(tmp_path / name, own=own) as client:
            bandit = create(client, reward={"name": "total", "weight": 0.5}, seed=3)
            made.append([decide(client, bandit)["values"] for _ in range(3)])
            failing = create(client, name="broken", reward="broken")
            answer = client.post(f"/v1/bandits/{failing}/decisions")
            assert answer.status_code == 500
            assert "reward or the oracle" in answer.json()["detail"]
            bad = {"name": "x", "arms": 3, "k": 1, "reward": {"name": "choosy", "size": 0}}
            assert client.post("/v1/bandits", json=bad).status_code == 422
            bad["reward"] = {"name": "total", "height": 1}
            assert client.post("/v1/bandits", json=bad).status_code == 422
    assert made[0] == made[1]


def test_processes_that_are_killed_are_replaced(processes, remote):
    reward = remote["total"](3)
    assert processes._free
    for child in processes._free:
        os.kill(child._pid, signal.SIGKILL)
        assert child._connection.poll(20)  # it has ended
    assert reward([0], [0.5]) == 0.5


def test_a_process_that_is_killed_at_work_fails_its_request(processes, monkeypatch):
    def kill(child, wanted):
        os.kill(child._pid, signal.SIGKILL)
        return ask(child, wanted)

    ask = pool._Child.ask
    made = remote_rewards(OWN, processes)["total"](3)
    with monkeypatch.context() as patch:
        patch.setattr(pool._Child, "ask", kill)
        with pytest.raises(EvaluationError, match="has ended"):
            made([0], [0.5])
    assert made([0], [0.5]) == 0.5


def test_the_number_of_a_process_that_has_ended_is_not_killed(monkeypatch):
    """Another process may have the number now."""
    killed, made = [], Processes("gated_rewards", most=1)
    remote_rewards(OWN, made)["total"](3)([0], [0.5])
    (child,) = made._free
    os.kill(child._pid, signal.SIGKILL)
    assert child._connection.poll(20)
    monkeypatch.setattr(pool.os, "kill", lambda pid, _: killed.append(pid))
    made.close()  # ends the process that it forks of, which is there
    assert child._pid not in killed

"""Samples for propensities in other processes: the same ones, and other bandits do not wait."""

import asyncio
import os
import pickle
import signal
import threading
from pathlib import Path

import numpy as np
import pytest

import superarm as sa
from gated_oracles import GatedSingletons
from serving import client_of, create, decide, events_of
from superarm.catalog import Part
from superarm.core.stopping import stopping
from superarm.offpolicy import propensities
from superarm.service.bandits import parts
from superarm.service.bandits.spec import complete, policy_of
from superarm.service.http.bodies import CreateBody
from superarm.service.processes import pool
from superarm.service.processes.pool import Processes
from superarm.service.processes.remote import remote_rewards
from superarm.service.processes.sampling import Sampling, opened

N_SAMPLES = 20
# What parts cannot be made without, or would take long without.
BELIEFS = {"position_biased": {"weights": [1.0, 0.5]}}
ORACLES = {
    "group_testing": {"delta": 0.1, "n_tests": 30},
    **{f"noisy_{one}": {"budget": 200} for one in ("greedy", "local_search", "singletons")},
    "epsilon_random": {"oracle": "singletons"},
    "rarely": {"oracle": "greedy", "when": 3},
}


class StopError(Exception):
    """Raised by a look."""


@pytest.fixture(scope="module")
def everywhere():
    """Processes to which even the smallest work is sent."""
    made = Sampling(2, least_work=0)
    yield made
    made.close()


def policy(belief, oracle, reward="linear", own=None):
    """A policy of the service that has learned from some rounds."""
    made = CreateBody(
        name="any",
        arms=6,
        k=2,
        seed=1,
        belief={"kind": belief, **BELIEFS.get(belief, {})},
        oracle={"kind": oracle, **ORACLES.get(oracle, {})},
        reward=reward,
    )
    spec = complete(made.model_dump(), own or {}, most_arms=10)
    found, rng = policy_of(spec, own or {})(6), np.random.default_rng(0)
    for _ in range(4):
        found.tell(found.ask(rng=rng), [1.0, 0.0], rng=rng)
    return found


def drawn(one, **options):
    """Samples, what they took, and where the generator is after them."""
    rng = np.random.default_rng(5)
    found = propensities(one, N_SAMPLES, rng=rng, **options)
    return [arms.tolist() for arms in found.sets], found.evaluations, rng.random()


@pytest.mark.parametrize(
    ("belief", "oracle"),
    [*((belief, "lazy_singletons") for belief in parts.BELIEFS)]
    + [("beta", oracle) for oracle in parts.ORACLES],
)
def test_every_part_arrives_as_it_was(belief, oracle):
    """A policy and its copy by pickle, as another process gets it."""
    one = policy(belief, oracle)
    assert drawn(pickle.loads(pickle.dumps(one))) == drawn(one)


def compare(sampler, one, **options):
    rng = np.random.default_rng(5)
    before = one.evaluations
    found = sampler(one, N_SAMPLES, rng=rng, feasible=None, context=None, **options)
    wanted = [arms.tolist() for arms in found.sets], found.evaluations, rng.random()
    assert wanted == drawn(one)
    assert one.evaluations == before


def test_samples_are_the_same_there(everywhere):
    for belief, oracle in (("learned_beta", "top_k"), ("beta", "lazy_singletons")):
        compare(everywhere, policy(belief, oracle))


def test_own_rewards_are_sampled_where_they_are_evaluated(everywhere):
    processes = Processes("gated_rewards", most=1)
    try:
        own = remote_rewards(parts.own_rewards("gated_rewards"), processes)
        one = policy("beta", "lazy_singletons", {"name": "total", "weight": 0.5}, own)
        assert type(one.reward.uncounted).__name__ == "BlackBox"
        compare(everywhere, one)
    finally:
        processes.close()


def test_little_work_and_code_of_others_stay_here():
    with opened(2) as made:
        few = policy("beta", "singletons")
        assert made(few, 1000, rng=None) is None
        reward = sa.BlackBox(lambda *_: 0.0, n_arms=6, lipschitz=1.0, upper=6.0)
        other = sa.Policy(sa.BetaBelief(6), sa.Singletons(), reward, 2)
        assert made(other, 10_000, rng=None) is None
        assert not made.helpers.is_started
    with opened(0) as none:
        assert none is None


def test_what_cannot_be_sent_is_drawn_here(everywhere):
    one = policy("beta", "singletons")
    one.oracle.lock = threading.Lock()
    assert everywhere(one, 10, rng=np.random.default_rng(0), feasible=None, context=None) is None


def test_another_bandit_does_not_wait(everywhere, tmp_path, monkeypatch):
    """One bandit's samples are stopped in the other process while another bandit decides."""
    gate = tmp_path / "gate"
    part = Part("random_sets", "Gated", lambda: GatedSingletons(gate), "")
    monkeypatch.setitem(parts.ORACLES, "random_sets", part)
    with client_of(tmp_path / "bandits.db", sampling=everywhere) as client:
        slow = create(client, name="slow", oracle="random_sets")
        other = create(client, name="other")

        async def both():
            path, body = f"/v1/bandits/{slow}/decisions", {"propensities": 9}
            waiting = asyncio.create_task(client.async_request("POST", path, json=body))
            while not waiting.done() and not Path(f"{gate}-begun").exists():
                await asyncio.sleep(0.005)
            said = await client.async_request("POST", f"/v1/bandits/{other}/decisions")
            assert not waiting.done()
            gate.touch()
            return said, await waiting

        said, sampled = client.run(both())
        assert (said.status_code, sampled.status_code) == (201, 201)
        assert sampled.json()["n_samples"] == 10


def test_the_log_is_the_same_as_without(everywhere, tmp_path):
    logs = []
    for name, sampler in (("here", None), ("there", everywhere)):
        with client_of(tmp_path / name, sampling=sampler) as client:
            bandit = create(client, oracle="lazy_singletons", seed=3, holdout=0.5)
            for body in ({"propensities": 30}, {"n": 2, "propensities": 20, "must": ["cat"]}, {}):
                decide(client, bandit, **body)
            made = [event["decisions"] for event in events_of(client, bandit)[1:]]
            logs.append([{**one, "id": None} for many in made for one in many])
    assert logs[0] == logs[1]
    assert [one.get("n_samples") for one in logs[0]] == [31, 21, 21, None]


@pytest.mark.parametrize("n", [1, 2])
def test_a_process_that_is_killed_is_a_problem_that_passes(everywhere, tmp_path, monkeypatch, n):
    def kill(child, wanted):
        if n_left.pop():
            os.kill(child._pid, signal.SIGKILL)
        return ask(child, wanted)

    ask, n_left, body = pool._Child.ask, [True, *[False] * (n - 1)], {"n": n, "propensities": 20}
    with client_of(tmp_path / "bandits.db", sampling=everywhere) as client:
        one, twin = (create(client, name=name, seed=3) for name in ("one", "twin"))
        with monkeypatch.context() as patch:
            patch.setattr(pool._Child, "ask", kill)
            path = f"/v1/bandits/{one}/decisions"
            refused = client.post(path, json=body)  # with n=2 after the first is made
        assert (refused.status_code, refused.headers["Retry-After"]) == (503, "1")
        assert "samples has ended" in refused.json()["detail"]
        made = [
            [{**each, "id": 0, "bandit": 0, "time": 0} for each in decisions["decisions"]]
            for decisions in (decide(client, bandit, **body) for bandit in (one, twin))
        ]
        assert made[0] == made[1]
        assert not n_left


def test_samples_end_when_nobody_waits(everywhere, tmp_path):
    gate = tmp_path / "gate"
    one = sa.Policy(sa.BetaBelief(6), GatedSingletons(gate), sa.LinearReward(6), 2)

    def look():
        if Path(f"{gate}-begun").exists():
            raise StopError

    options = {"rng": np.random.default_rng(0), "feasible": None, "context": None}
    with stopping(look), pytest.raises(StopError):
        everywhere(one, 10, **options)
    compare(everywhere, policy("beta", "singletons"))  # in another process

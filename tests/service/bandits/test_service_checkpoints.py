"""Checkpoints are caches: they may fail, they delay no request, and they are made again."""

import asyncio
import itertools
import json
import logging
import math
from dataclasses import replace
from pathlib import Path

import numpy as np

import superarm as sa
from serving import client_of, create, play
from superarm.service.bandits import loading
from superarm.service.bandits.live import _dumps
from superarm.service.log.sqlite import SQLiteStore
from superarm.sessions import files


def fails(*args):
    raise MemoryError


def decide(client, bandit):
    """The status of a request for a decision, with a timeout."""

    async def ask():
        return await asyncio.wait_for(client._client.post(f"/v1/bandits/{bandit}/decisions"), 60)

    return client._runner.run(ask()).status_code


def test_a_checkpoint_says_what_the_file_of_the_session_says():
    session = sa.Session(sa.cts(sa.LinearReward(70), k=66), seed=1, key='ü"NaN')
    for _ in range(20):
        decision = session.ask()
        session.tell(decision, {arm: 1 / (2.0 + arm) for arm in decision.arms[:-1]})
    # A value that is infinite, as that of an arm without outcomes may be.
    record = session._unlocked.ledger.open[decision.id]
    record.decision = replace(decision, values=(math.inf, -0.0, 1e-7, 5e-324, 1e22))
    checkpoint, file = session.snapshot(_dumps)(), session.to_bytes()
    assert files.decode(checkpoint, Path("a")) == files.decode(file, Path("b"))


def test_a_snapshot_that_fails_is_no_failure_of_the_bandit(path, caplog):
    with (
        caplog.at_level(logging.WARNING, "superarm.service"),
        client_of(path, checkpoint_every=3) as client,
    ):
        bandit = create(client)
        client.app.state.service.engine._actors[bandit].live.snapshot = fails
        assert [decide(client, bandit) for _ in range(5)] == [201] * 5
        assert "checkpoint_failed" in caplog.text


def test_whatever_fails_a_bandit_goes_on(path):
    with client_of(path) as client:
        bandit, engine = create(client), client.app.state.service.engine
        turn, engine._turn = engine._turn, fails
        assert decide(client, bandit) == 500
        engine._turn = turn
        assert decide(client, bandit) == 201
        assert client.get(f"/v1/bandits/{bandit}").json()["decisions"] == 1


def kept(client, bandit):
    """The seq of the checkpoint and of the last event."""
    engine = client.app.state.service.engine
    engine.checkpoints.wait()
    number = engine.store.bandit(bandit).number
    checkpoint = engine.store.checkpoint(number)
    return 0 if checkpoint is None else json.loads(checkpoint.meta)["seq"], engine.store.last(
        number
    ).seq


def flaky(n_arms):
    """A reward that fails after 60 evaluations."""
    n_calls = itertools.count()

    def value(arms, means):
        if next(n_calls) >= 60:
            raise RuntimeError("a file is gone")
        return float(np.sum(means))

    return sa.BlackBox(
        value, n_arms=n_arms, lipschitz=1.0, upper=float(n_arms), monotone=True, zero_is_absent=True
    )


def test_a_reward_that_fails_often_keeps_no_checkpoint_away(path):
    with client_of(path, own={"flaky": flaky}, checkpoint_every=30) as client:
        bandit = create(client, reward="flaky", oracle="greedy")
        statuses = [decide(client, bandit) for _ in range(60)]
        assert 500 in statuses[:25]  # and again, each time before 30 events are made
        assert statuses.count(500) >= 3
        at, last = kept(client, bandit)
        assert last - at <= 30 < last


def test_a_damaged_checkpoint_is_made_again(path):
    with client_of(path) as client:
        bandit = create(client)
        play(client, bandit, 5)
    with client_of(path) as client:
        client.app.state.service.engine.store._write([("UPDATE checkpoints SET data = x'00'", ())])
        assert client.get(f"/v1/bandits/{bandit}").status_code == 200
    store = SQLiteStore(path, "read")
    row = store.bandit(bandit)
    found = loading.from_checkpoint(store, row, {}, store.checkpoint(row.number))
    store.close()
    assert found.seq > 1


def test_many_open_decisions_make_checkpoints_rarer(path):
    """Each checkpoint has all open decisions, so there must be as many events between two."""
    with client_of(path, checkpoint_every=2) as client:
        bandit = create(client)
        for _ in range(40):
            assert decide(client, bandit) == 201
        client.app.state.service.engine.checkpoints.wait()
        text = client.get("/metrics").text
    found = [line for line in text.splitlines() if line.startswith("superarm_checkpoints_total ")]
    # At 2, 4, 8, 16 and 32 events or so, not at every second one of 41.
    assert 3 <= float(found[0].split()[1]) <= 6

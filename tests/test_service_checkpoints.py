"""Checkpoints: caches that may fail and hold nobody up, and that are made again."""

import asyncio
import logging

import pytest

from serving import client_of, create


@pytest.fixture
def path(tmp_path):
    return tmp_path / "bandits.db"


def fails(*args):
    raise MemoryError


def decide(client, bandit):
    """The status of a decision; a bandit that hangs is found out."""

    async def ask():
        return await asyncio.wait_for(client._client.post(f"/v1/bandits/{bandit}/decisions"), 20)

    return client._runner.run(ask()).status_code


def test_a_snapshot_that_fails_is_no_failure_of_the_bandit(path, caplog):
    with caplog.at_level(logging.WARNING, "superarm.service"), client_of(path, checkpoint_every=3) as client:
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

"""``superarm replay`` beside a running server, and without a reward of the operator."""

import sqlite3

import pytest
from click.testing import CliRunner

import superarm as sa
from forked_server import ForkedServer
from serving import client_of, create, play
from superarm.cli import app
from superarm.service.bandits.replay import replay
from superarm.service.log import chain
from superarm.service.log.sqlite import SQLiteStore


def basket(n_arms):
    return sa.BlackBox(
        lambda arms, means: float(means.sum()),
        n_arms=n_arms,
        lipschitz=1.0,
        upper=2.0,
        monotone=True,
    )


@pytest.fixture
def half_known(path):
    """A database with two bandits; the reward of the first one is unknown."""
    with client_of(path, own={"basket": basket}) as client:
        ids = [
            create(client, name=name, reward=name, oracle="singletons")
            for name in ("basket", "linear")
        ]
        for bandit in ids:
            play(client, bandit, 3)
        return ids


@pytest.mark.parametrize("checkpoint_every", [4, 10_000])
def test_a_server_may_go_on_meanwhile(path, monkeypatch, checkpoint_every):
    with client_of(path, checkpoint_every=checkpoint_every) as client:
        bandit = create(client, seed=1)
        play(client, bandit, 10)
        engine, read = client.app.state.service.engine, chain.events_after

        def and_more(*args):
            yield from read(*args)
            engine.checkpoints.every = 4
            play(client, bandit, 10)
            engine.checkpoints.wait()

        monkeypatch.setattr(chain, "events_after", and_more)
        store = SQLiteStore(path, "read")
        found = replay(store, store.bandit(bandit), {})
        store.close()
        assert found.same is (True if checkpoint_every == 4 else None)


def test_replay_goes_on_where_a_reward_is_not_there(path, half_known):
    basket, linear = half_known
    found = CliRunner().invoke(app, ["replay", str(path)])
    assert found.exit_code == 1
    assert isinstance(found.exception, SystemExit)
    assert f"{basket} basket: not rebuilt: " in found.output
    assert "--rewards" in found.output
    assert f"{linear} linear: 6 events" in found.output


def test_compact_names_the_option_for_a_reward_that_is_not_there(path, half_known, caplog):
    words = ["compact", str(path), half_known[0], "--before", "2026-01-01", "--no-export"]
    found = CliRunner().invoke(app, words)
    assert found.exit_code == 1
    assert "got 'basket'; say --rewards MODULE\n" in found.output
    assert caplog.messages == []  # no checkpoint is to blame


def test_a_server_without_a_reward_says_so_and_serves_the_others(path, half_known, tmp_path):
    basket, linear = half_known
    with client_of(path) as client:
        refused = client.post(f"/v1/bandits/{basket}/decisions")
        assert (refused.status_code, refused.json()["fix"]) == (
            500,
            "start with the --rewards that it was made with",
        )
        assert client.post(f"/v1/bandits/{linear}/decisions").status_code == 201
    with ForkedServer(str(path), tmp_path / "log") as server:
        server.stop()
        missing = [line for line in server.said.splitlines() if "reward_missing" in line]
        assert len(missing) == 1
        assert basket in missing[0]


ORACLES = [
    {"kind": "lazy_singletons", "budget": 2},
    {"kind": "lazy_greedy"},
    {"kind": "group_testing", "delta": 0.25, "n_tests": 12, "decoder": "regression"},
    {"kind": "group_testing", "delta": 0.25, "failure": "round"},
    {"kind": "rarely", "when": 3, "oracle": "lazy_singletons"},
    {"kind": "epsilon_random", "oracle": {"kind": "rarely", "when": 4, "oracle": "greedy"}},
    {"kind": "local_search", "restarts": 1},
]


@pytest.mark.parametrize("oracle", ORACLES, ids=lambda oracle: oracle["kind"])
def test_a_bandit_from_its_log_decides_as_one_that_never_stopped(path, tmp_path, oracle):
    """A server that was killed has no checkpoint of its last events: the log is all there is."""
    options = {"reward": "any_success", "oracle": oracle, "seed": 1}
    arms = [f"a{number}" for number in range(7)]

    def decided(client, bandit, made):
        for number in range(30):
            decision = client.post(f"/v1/bandits/{bandit}/decisions").json()
            outcomes = {arm: (int(arm[1:]) + number) % 3 / 2 for arm in decision["arms"]}
            told = {"outcomes": outcomes}
            assert client.post(f"/v1/decisions/{decision['id']}/outcomes", json=told).is_success
            made.append((decision["id"], decision["arms"], decision["values"]))
        return made

    with client_of(path, checkpoint_every=10_000) as client:
        bandit = create(client, arms=arms, k=2, **options)
        play(client, bandit, 15)
        copy = tmp_path / "killed.db"
        with sqlite3.connect(path) as one, sqlite3.connect(copy) as other:
            one.backup(other)
        wanted = decided(client, bandit, [])
    with client_of(copy) as client:
        assert decided(client, bandit, []) == wanted

"""Bandits that begin with a log: what they know, and that it is in their own log."""

import json

import numpy as np
import pytest

import superarm as sa
from commands import run
from serving import client_of, create, decide, play
from superarm.beliefs import PositionBiasedBelief
from superarm.offpolicy import ShownLog
from superarm.service import server
from superarm.service.bandits.engine import Engine
from superarm.service.bandits.replay import replay
from superarm.service.bandits.warm_start import rounds_of
from superarm.service.http.first_bandit import make_first
from superarm.service.log.sqlite import SQLiteStore
from superarm.service.problems import Problem

ARMS = ["ant", "bee", "cat", "dog"]
ROWS = {
    "request": [1, 1, 2, 2, 3, 3, 4],
    "item": ["bee", "ant", "bee", "cat", "dog", "ant", "bee"],
    "click": [1, 0, 1, 0, None, 0.25, 1],
    "place": [1, 2, 2, 1, 1, 2, 1],
}
COLUMNS = {"item": "item", "outcome": "click", "round": "request", "position": "place"}
LOG = ShownLog.of(ROWS, **COLUMNS)
WARM = {"rounds": rounds_of(LOG)}
OPTIONS = ("--item", "item", "--outcome", "click", "--round", "request", "--position", "place")


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    with client_of(tmp_path_factory.mktemp("warm") / "bandits.db") as client:
        yield client


@pytest.fixture
def csv_file(tmp_path):
    path = tmp_path / "shop.csv"
    rows = zip(*ROWS.values(), strict=True)
    lines = [",".join("" if cell is None else str(cell) for cell in row) for row in rows]
    path.write_text("\n".join([",".join(ROWS), *lines]))
    return path


def test_rounds_are_in_the_order_of_their_places():
    assert WARM["rounds"][1] == {"arms": ["cat", "bee"], "outcomes": [0.0, 1.0]}
    assert WARM["rounds"][2] == {"arms": ["dog", "ant"], "outcomes": [None, 0.25]}


def test_a_bandit_knows_and_decides_what_a_session_from_the_log_does(client):
    bandit = create(client, name="like a session", warm_start=WARM, seed=3)
    session = sa.Session.from_log(LOG, k=2, seed=3)
    decision = session.ask()
    made = decide(client, bandit)
    assert (tuple(made["arms"]), tuple(made["values"])) == (decision.arms, decision.values)
    state = client.get(f"/v1/bandits/{bandit}").json()
    assert state["spec"]["warm_start"] == {"strength": 1.0, "rounds": 4}
    found = {row["arm"]: row["mean"] for row in state["posterior"]}
    frame = session.to_pandas()
    assert found == dict(zip(frame["arm"], frame["mean"], strict=True))


def test_a_belief_about_places_gets_them(client):
    belief = {"kind": "position_biased", "weights": [1.0, 0.5]}
    bandit = create(client, name="places", warm_start=WARM, belief=belief)
    twin = PositionBiasedBelief(4, belief["weights"])
    for one in WARM["rounds"]:
        told = [place for place, outcome in enumerate(one["outcomes"]) if outcome is not None]
        arms = [ARMS.index(one["arms"][place]) for place in told]
        outcomes = [one["outcomes"][place] for place in told]
        twin.update(arms, outcomes, places=told, rng=np.random.default_rng(0))
    rows = client.get(f"/v1/bandits/{bandit}").json()["posterior"]
    # The outcome of 0.25 becomes a draw, which moves the ant alone.
    means = dict(zip(ARMS, twin.mean().tolist(), strict=True))
    for row in rows:
        if row["arm"] != "ant":
            assert row["mean"] == pytest.approx(means[row["arm"]])


def test_the_log_of_the_bandit_has_the_warm_start(tmp_path):
    """Rebuilt bit for bit, and every decision made again."""
    path = tmp_path / "bandits.db"
    with client_of(path) as client:
        bandit = create(client, warm_start={**WARM, "strength": 0.5})
        play(client, bandit, 5)
        first = json.loads(client.get(f"/v1/bandits/{bandit}/log").text.splitlines()[0])
    assert first["spec"]["warm_start"]["strength"] == 0.5
    assert 0 < len(first["spec"]["warm_start"]["arms"]) < 4
    store = SQLiteStore(path, "read")
    try:
        # The end of the server has made a checkpoint.
        assert replay(store, store.bandit(bandit), {}, decide=True).same is True
    finally:
        store.close()


def test_the_same_request_makes_the_same_bandit(client):
    weak = {**WARM, "strength": 0.5}
    assert create(client, name="again", warm_start=weak) == create(
        client, name="again", warm_start=weak
    )
    other = {"name": "again", "arms": ARMS, "k": 2, "warm_start": WARM}
    assert client.post("/v1/bandits", json=other).status_code == 409


@pytest.mark.parametrize(
    ("rounds", "says"),
    [
        ([{"arms": ["eel"], "outcomes": [1]}], "must be of the arms, got one of 'eel'"),
        ([{"arms": ["ant", "ant"], "outcomes": [1, 1]}], "distinct arms with an outcome each"),
        ([{"arms": ["ant", "bee"], "outcomes": [1]}], "distinct arms with an outcome each"),
        ([{"arms": ["ant"], "outcomes": [2]}], "must be at most 1"),
        ([], "at least 1 item"),
    ],
)
def test_bad_rounds_are_refused(client, rounds, says):
    body = {"name": "bad", "arms": ARMS, "k": 2, "warm_start": {"rounds": rounds}}
    answer = client.post("/v1/bandits", json=body)
    assert answer.status_code == 422
    assert says in answer.text


def test_a_long_warm_start_is_refused(client, monkeypatch):
    monkeypatch.setattr("superarm.service.bandits.warm_start._MOST_OUTCOMES", 6)
    body = {"name": "long", "arms": ARMS, "k": 2, "warm_start": WARM}
    answer = client.post("/v1/bandits", json=body)
    assert answer.status_code == 422
    assert "at most 6 outcomes, got 7" in answer.text


def test_serve_makes_the_bandit_once(csv_file, tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr(server, "serve", asked.append)
    more = ("--k", 2, "--name", "shop", "--strength", 1, *OPTIONS)
    done = run("serve", "--warm-start", csv_file, *more)
    assert done.exit_code == 0, done.output
    store = SQLiteStore(tmp_path / "bandits.db")
    engine = Engine(store)
    try:
        for _ in range(2):  # the second start finds it
            make_first(engine, asked[0].first, 10)
        (bandit,) = store.bandits(10)
        first = json.loads(store.events(bandit.number, 0, 1)[0].body)
        with pytest.raises(Problem, match="k must be between 1 and 4"):
            make_first(engine, {**asked[0].first, "name": "broken", "k": 9}, 10)
    finally:
        engine.close()
    assert (bandit.name, bandit.k, first["spec"]["arms"]) == ("shop", 2, ARMS)
    assert first["spec"]["warm_start"]["outcomes"] == [one["outcomes"] for one in WARM["rounds"]]


def test_serve_answers_with_the_right_command(csv_file):
    refused = run("serve", "--warm-start", csv_file, "--k", 2)
    assert refused.exit_code == 2
    wanted = f"superarm serve --warm-start {csv_file.as_posix()} --k 2 {' '.join(OPTIONS)}"
    assert wanted in " ".join(refused.output.split())
    assert "needs --k" in run("serve", "--warm-start", csv_file, *OPTIONS).output
    assert "are for --warm-start" in run("serve", "--k", 2).output

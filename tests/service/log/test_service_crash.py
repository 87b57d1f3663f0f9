"""The server is killed under load, and the clients' record is compared with the log."""

import copy
import json

import pytest

import crash
from forked_server import ForkedServer


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request, tmp_path):
    if request.param == "sqlite":
        yield str(tmp_path / "service.db")
    else:
        yield request.getfixturevalue("postgres_database")


def test_nothing_acknowledged_is_lost_or_counted_twice(database, tmp_path):
    """Five kills at random moments; `benchmarks/crash.py` does the same with hundreds."""
    found = crash.kill_repeatedly(database, tmp_path, kills=5, most_s=0.15, kind=ForkedServer)
    assert found["kills"] == 6
    assert found["decisions"] > 0
    assert found["outcomes"] > 0
    assert found["decisions at the edge"] > 0


def test_nothing_is_lost_when_workers_are_killed(database, tmp_path):
    """The other worker goes on; then one more worker serves the same bandits."""
    found = crash.kill_repeatedly(
        database, tmp_path, kills=2, clients=2, most_s=0.15, workers=2, kind=ForkedServer
    )
    assert found["kills"] == 3
    assert found["decisions"] > 0
    assert found["outcomes"] > 0
    assert found["decisions at the edge"] > 0


RECORD = [
    {"do": "ask", "key": "0-1", "n": None},
    {"did": "ask", "key": "0-1", "decisions": [{"id": "b-1", "arms": ["0", "1", "2"]}]},
    {"did": "tell", "id": "b-1", "outcomes": {"0": 1.0}},
    {"did": "tell", "id": "b-1", "outcomes": {"0": 1.0}},
    {"did": "tell", "id": "b-1", "outcomes": {"1": 0.0}},
    {"did": "add", "arm": "new"},
    {"did": "merge", "decisions": [{"id": "b.s-1", "arms": ["3"], "outcomes": {"3": 1.0}}]},
]
EVENTS = [
    {"seq": 1, "kind": "created"},
    {
        "seq": 2,
        "kind": "decided",
        "key": "0-1",
        "decisions": [{"id": "b-1", "arms": ["0", "1", "2"], "values": None}],
    },
    {"seq": 3, "kind": "told", "decision": "b-1", "outcomes": {"0": 1.0}},
    {"seq": 4, "kind": "told", "decision": "b-1", "outcomes": {"1": 0.0}},
    {
        "seq": 5,
        "kind": "merged",
        "decisions": [{"id": "b.s-1", "arms": ["3"], "outcomes": {"3": 1.0}, "round": 1}],
    },
    {"seq": 6, "kind": "arms_added", "arms": ["new"]},
]
STATE = {str(arm): (1.0, 1.0) for arm in range(crash.N_ARMS)} | {
    "0": (2.0, 1.0),
    "1": (1.0, 2.0),
    "3": (2.0, 1.0),
    "new": (1.0, 1.0),
}


def test_the_judge_takes_what_is_right():
    counts = crash.judge(RECORD, EVENTS, STATE)
    assert (counts["decisions"], counts["outcomes"], counts["tells"]) == (1, 3, 3)
    assert counts["decisions at the edge"] == 1


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda events, state: events.pop(), "the arms"),
        (lambda events, state: events.pop(1), "seqs"),
        (lambda events, state: events.append({**events[1], "seq": 7}), "keys"),
        (lambda events, state: events.append({**events[2], "seq": 7}), "outcomes"),
        (lambda events, state: events[3].update(outcomes={"1": 1.0}), "outcomes"),
        (lambda events, state: events[3].update(outcomes={}), "outcomes"),
        (
            lambda events, state: events[1]["decisions"][0].update(arms=["0", "1", "3"]),
            "decisions of key",
        ),
        (lambda events, state: events.append({**events[4], "seq": 7}), "batches"),
        (lambda events, state: events[4].update(decisions=[]), "batches"),
        (
            lambda events, state: events[4]["decisions"][0].update(outcomes={"3": 0.0}),
            "batches",
        ),
        (lambda events, state: state.update({"0": (3.0, 1.0)}), "belief"),
        (lambda events, state: state.pop("new"), "belief"),
    ],
)
def test_the_judge_finds_what_is_wrong(spoil, words):
    events, state = json.loads(json.dumps(EVENTS)), copy.copy(STATE)
    spoil(events, state)
    with pytest.raises(AssertionError, match=words):
        crash.judge(RECORD, events, state)

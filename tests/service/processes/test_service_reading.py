"""Long bodies are read in another process: the same there, and no other request waits."""

import asyncio
import json
import pickle
import signal
import threading

import pytest

from serving import client_on, create
from superarm.core.stopping import stopping
from superarm.service.bandits.engine import Engine
from superarm.service.http.app import ENDPOINTS
from superarm.service.http.service import Service
from superarm.service.log.sqlite import SQLiteStore
from superarm.service.problems import Problem
from superarm.service.processes import reading
from superarm.service.processes.reading import LONG, Reading, dumps, loads

BY_NAME = {one.name: one for one in ENDPOINTS}
MANY = 1200  # items in more than two pieces
NAMES = [f"arm {number}" for number in range(MANY)]
BODIES = [
    ("create_bandit", {"name": "many", "arms": NAMES, "k": 2}),
    ("create_bandit", {"name": "many", "arms": MANY, "k": 2, "features": [[0.5, 1]] * MANY}),
    ("create_bandit", {"name": "many", "arms": [*NAMES, 7], "k": 2}),
    ("create_bandit", {"name": "many", "arms": 3, "k": 2, "unknown": list(range(MANY))}),
    ("add_arms", {"arms": NAMES, "features": {name: [0.5] for name in NAMES}}),
    ("decide", {"available": NAMES, "groups": [{"arms": NAMES, "most": 1}] * 3}),
    ("decide_all", {"decisions": [{"bandit": "a", "metadata": {"x": 2**63}}] * MANY}),
    ("decide_all", {"decisions": [{"bandit": "a"}, {"bandit": 7}, {"zz": 1}] * MANY}),
    ("decide_all", {"decisions": []}),
    ("tell_all", {"outcomes": [{"decision": "a-1", "outcomes": dict.fromkeys(NAMES, 1)}] * 3}),
]


@pytest.fixture(scope="module")
def everywhere():
    made = Reading(1)
    yield made
    made.close()


def comparable(read):
    """What was read. Problems have no equality."""
    try:
        given = read()
    except Problem as problem:
        return problem.body()
    body = given.pop("body")
    members = {name: getattr(body, name) for name in body.model_fields_set}
    for name, value in members.items():
        if isinstance(value, list):
            members[name] = [one.body() if isinstance(one, Problem) else one for one in value]
    return members, given


@pytest.mark.parametrize(("name", "body"), BODIES)
def test_bodies_and_problems_are_the_same_there(everywhere, name, body):
    arguments = BY_NAME[name].arguments
    raw = json.dumps(body).encode()
    for content in ((raw, "application/json", "key"), (raw[:-2], "application/json", None)):
        here = comparable(lambda content=content: arguments(*content))
        assert comparable(lambda content=content: everywhere(arguments, *content)) == here


def test_lines_are_read_there(everywhere):
    arguments = BY_NAME["decide_all"].arguments
    for lines in (b'{"bandit": "a"}\n' * MANY, b'{"bandit": 7}\n\n{"bandit": "b"}', b"\n{"):
        content = lines, "application/x-ndjson", None
        here = comparable(lambda content=content: arguments(*content))
        assert comparable(lambda content=content: everywhere(arguments, *content)) == here


def test_no_piece_is_large(monkeypatch):
    """The interpreter is free between two pieces, so each must be short."""
    sizes, read = [], reading.loads
    monkeypatch.setattr(reading, "loads", lambda piece: sizes.append(len(piece)) or read(piece))
    deep = [[[0.5] * 400] * 400] * 20  # few lists are long, and there are three million numbers
    deep = pickle.loads(pickle.dumps([[list(row) for row in rows] for rows in deep]))
    value = {"deep": deep, "names": tuple(NAMES * 10), "by name": dict.fromkeys(NAMES, None)}
    assert read(dumps(value)) == value
    assert len(sizes) > 20
    assert max(sizes) < 3 << 20


def test_values_come_back_as_they_were():
    for value in ([], [1] * 2000, tuple(NAMES), {name: [name] * 600 for name in NAMES[:3]}, b"x"):
        found = loads(dumps(value))
        assert found == value
        assert type(found) is type(value)
    by_name = dict.fromkeys(reversed(NAMES))
    assert list(loads(dumps(by_name))) == list(by_name)


def test_nobody_waits_for_a_long_body(tmp_path):
    """A parser in the event loop used to stop all requests, for seconds with the longest body."""
    gate = threading.Event()

    class Gated(Reading):
        def __call__(self, function, *args):
            assert gate.wait(60)
            return function(*args)

    # One thread for all bandits, which a body that is read does not take.
    engine = Engine(SQLiteStore(tmp_path / "bandits.db"), n_threads=1)
    service = Service(engine, reading=Gated(1))
    long = json.dumps({"name": "many", "arms": NAMES, "k": 2}) + " " * LONG
    with client_on(service) as client:

        async def both():
            options = {"content": long, "headers": {"Content-Type": "application/json"}}
            waiting = asyncio.create_task(client.async_request("POST", "/v1/bandits", **options))
            await asyncio.sleep(0)
            other = await client.async_request("POST", f"/v1/bandits/{bandit}/decisions")
            assert not waiting.done()
            gate.set()
            return other, await waiting

        bandit = create(client)
        other, made = client.run(both())
    assert (other.status_code, made.status_code) == (201, 201)
    assert made.json()["n_arms"] == MANY
    service.reading.close()


def test_a_body_that_nobody_waits_for_is_not_read(everywhere):
    def refuse():
        raise InterruptedError

    with stopping(refuse), pytest.raises(InterruptedError):
        everywhere(pytest.fail, "read")


def test_a_process_that_is_killed_is_a_problem_that_passes():
    made = Reading(1)
    try:
        with pytest.raises(Problem) as caught:
            made(signal.raise_signal, signal.SIGKILL)
        assert made(len, "again") == 5
    finally:
        made.close()
    assert caught.value.status == 503

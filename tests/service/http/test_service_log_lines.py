"""The log of a bandit over HTTP."""

import json

from serving import create, events_of, play
from superarm.service.http import bandit_routes


def test_the_log_goes_on_from_an_event(client):
    bandit = create(client)
    play(client, bandit, 5)
    every = events_of(client, bandit)
    assert [event["seq"] for event in every] == list(range(1, len(every) + 1))
    assert events_of(client, bandit, after=4) == every[4:]
    assert "mark" not in json.dumps(every)


def test_a_log_is_whole_also_while_the_server_stops(client, monkeypatch):
    bandit = create(client)
    play(client, bandit, 5)
    every = events_of(client, bandit)
    monkeypatch.setattr(bandit_routes, "_EVENTS_PER_READ", 2)
    client.app.state.service.closing = lambda: True
    assert events_of(client, bandit) == every
    assert events_of(client, bandit, after=3) == every[3:]
    assert events_of(client, bandit, follow=True) == []


def test_a_log_ends_where_it_ended_when_it_was_asked_for(client, monkeypatch):
    bandit = create(client)
    play(client, bandit, 5)
    every, store = events_of(client, bandit), client.app.state.service.engine.store
    monkeypatch.setattr(
        store, "last", lambda number: store.events(number, 0, 3)[-1]
    )  # the others came later
    assert events_of(client, bandit) == every[:3]
    assert events_of(client, bandit, after=9) == []

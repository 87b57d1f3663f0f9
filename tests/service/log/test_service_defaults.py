"""A bandit keeps the belief with which it was made, whatever the default of the library becomes."""

import inspect

import pytest

import superarm as sa
from serving import client_of, create, events_of, play
from superarm import policies
from superarm.beliefs import LearnedBetaBelief
from superarm.catalog import BELIEFS
from superarm.service.bandits.live import Live
from superarm.service.bandits.replay import replay
from superarm.service.log.sqlite import SQLiteStore


def same(path, bandit):
    """Whether log and checkpoint lead to the same bandit, with every decision made again."""
    store = SQLiteStore(path, "read")
    try:
        return replay(store, store.bandit(bandit), {}, decide=True).same
    finally:
        store.close()


def decisions(client, bandit):
    return [
        (one["arms"], one["values"])
        for event in events_of(client, bandit)
        if event["kind"] == "decided"
        for one in event["decisions"]
    ]


def test_the_default_is_that_of_thompson_with_every_setting(path):
    with client_of(path) as client:
        bandit = create(client, arms=40, k=10)
        spec = events_of(client, bandit)[0]["spec"]
    belief = sa.thompson(sa.LinearReward(40), 10).belief
    names = [one.name for one in BELIEFS["learned_beta"].parameters]
    assert names == list(inspect.signature(LearnedBetaBelief).parameters)[1:]
    assert spec["belief"] == {
        "kind": "learned_beta",
        **{name: getattr(belief, name) for name in names},
    }
    assert spec["belief"]["shared"] == 0.9
    assert spec["prior"] is None


@pytest.mark.parametrize("given", [{}, {"prior": "flat"}, {"belief": "beta", "prior": "learned"}])
def test_other_defaults_do_not_change_a_bandit(path, monkeypatch, given):
    with client_of(path) as client, client_of(path.with_name("twin.db")) as twin:
        bandit, other = create(client, seed=1, **given), create(twin, seed=1, **given)
        play(client, bandit, 10)
        play(twin, other, 10)
        play(twin, other, 10)
        expected = decisions(twin, other)
    monkeypatch.setattr(policies, "_LEAST_SHARED", 0.1)
    settings = LearnedBetaBelief.__init__.__kwdefaults__
    others = {"shared": 0.3, "optimism": 2.0, "spread": 2.0, "horizon": 5, "stay_after": 7}
    monkeypatch.setattr(LearnedBetaBelief.__init__, "__kwdefaults__", {**settings, **others})
    with client_of(path) as client:
        play(client, bandit, 10)
        assert decisions(client, bandit) == expected
    assert same(path, bandit)


def test_a_log_without_a_belief_keeps_the_one_that_was_the_default(path, monkeypatch):
    with client_of(path.with_name("twin.db")) as twin:
        other = create(twin, seed=1, belief="beta")
        play(twin, other, 10)
        play(twin, other, 10)
        expected = decisions(twin, other)
    log = Live.log

    def without_belief(self, kind, body, **more):
        spec = {k: v for k, v in body.get("spec", {}).items() if k not in ("belief", "prior")}
        log(self, kind, {**body, "spec": spec} if kind == "created" else body, **more)

    with client_of(path) as client:
        with monkeypatch.context() as older:
            older.setattr(Live, "log", without_belief)
            bandit = create(client, seed=1, belief="beta")
        assert "belief" not in events_of(client, bandit)[0]["spec"]
        play(client, bandit, 10)
    with client_of(path) as client:
        play(client, bandit, 10)
        assert decisions(client, bandit) == expected
    assert same(path, bandit)


def test_a_repeated_request_gets_its_bandit_also_when_the_default_was_another_one(path):
    with client_of(path) as client:
        before = create(client, belief="beta", prior=[2.0, 3.0])  # as the request below was then
        assert create(client, prior=[2.0, 3.0]) == before
        body = {"name": "canteen", "arms": ["ant", "bee", "cat", "dog"], "k": 2}
        for other in ({"belief": "ucb"}, {}, {"prior": [2.0, 4.0]}):
            assert client.post("/v1/bandits", json={**body, **other}).status_code == 409


@pytest.mark.parametrize("belief", ["ucb", "sliding", {"kind": "beta", "prior": [2, 2]}])
def test_words_for_priors_are_refused_where_they_mean_nothing(path, belief):
    body = {"name": "x", "arms": 3, "k": 1, "belief": belief, "prior": "learned"}
    with client_of(path) as client:
        refused = client.post("/v1/bandits", json=body)
        unknown = client.post("/v1/bandits", json={**body, "prior": "wide"})
    assert (refused.status_code, unknown.status_code) == (422, 422)
    assert "prior must be two numbers for this belief" in refused.json()["detail"]

"""Both clients against a real service, in this process."""

import itertools

import httpx
import numpy as np
import pytest
from both_clients import async_client, sync_client

import superarm as sa
import superarm.client as sc
import superarm.offpolicy as op
from forked_server import ForkedServer
from serving import client_of

ARMS = ["a", "b/c", "ä ?#%", "..", "😀", "e&f=g"]


class OnLoop(httpx.BaseTransport):
    """Serves an ASGI application to a blocking client."""

    def __init__(self, app, runner):
        self.transport, self.runner = httpx.ASGITransport(app), runner

    def handle_request(self, request):
        async def answer():
            response = await self.transport.handle_async_request(request)
            return httpx.Response(
                response.status_code, headers=response.headers, content=await response.aread()
            )

        return self.runner.run(answer())


@pytest.fixture(params=["Client", "AsyncClient"])
def client(request, tmp_path):
    with client_of(tmp_path / "service.db") as served:
        if request.param == "Client":
            made = sync_client(transport=OnLoop(served.app, served._runner))
        else:
            made = async_client(transport=httpx.ASGITransport(served.app))
            made.loop.close()
            made.loop = served._runner.get_loop()  # the engine lives on that loop
        yield made
        if request.param == "Client":
            made.close()
        else:
            served._runner.run(made.client.close())


def test_a_bandit_from_creation_to_outcomes(client):
    bandit = client.create("life", ARMS, 2, seed=1, expiry={"after_s": 600})
    assert (bandit.name, bandit.n_arms, bandit.k) == ("life", 6, 2)
    decision = client.ask(bandit)
    assert decision.bandit == bandit.id
    first, second = decision.arms
    assert client.tell(decision, {first: 1.0}) == (first,)
    assert client.tell(decision, {first: 1.0, second: 0.5}) == (second,)
    known = client.decision(decision.id)
    assert (known.status, known.outcomes, known.values) == (
        "told",
        {first: 1.0, second: 0.5},
        decision.values,
    )
    assert "certified" in client.explain(decision)["text"]
    state = client.bandit(bandit, top=2)
    assert (state.rounds, state.told, state.open, len(state.posterior)) == (1, 1, 0, 2)
    assert client.health()["status"] == "ok"


def test_names_that_need_quoting_in_a_path(client):
    bandit = client.create("odd", ARMS, 2, seed=1)
    for name in ("b/c", "ä ?#%", "😀", ".."):
        client.retire(bandit, name)
        assert client.bandit(bandit).retired == [name]
        client.restore(bandit, name)
        assert client.bandit(bandit).retired == []
    client.restore(bandit, "a")  # not retired
    with pytest.raises(ValueError, match="got 'b'"):
        client.restore(bandit, "b")
    client.retire(bandit, "a", "e&f=g")
    assert client.bandit(bandit).retired == ["a", "e&f=g"]


def test_the_same_key_returns_the_same_decisions(client):
    bandit = client.create("keys", 5, 2)
    one, again, other = client.ask(bandit, key="x"), client.ask(bandit, key="x"), client.ask(bandit)
    assert one == again
    assert other.id != one.id
    batch = client.ask(bandit, 3, key="y")
    assert client.ask(bandit, 3, key="y") == batch
    with pytest.raises(sc.ConflictError):
        client.ask(bandit, 2, key="y")
    assert client.bandit(bandit).decisions == 5


def test_repeated_requests_take_effect_once(client):
    one = client.create("twice", ARMS, 2, belief="beta", seed=3)
    assert client.create("twice", ARMS, 2, belief="beta", seed=3) == one
    with pytest.raises(sc.ConflictError):
        client.create("twice", ARMS, 3, belief="beta", seed=3)
    client.add_arms(one, ["new"], prior=(2, 1))
    client.add_arms(one, ["new"], prior=(2, 1))
    client.retire(one, "new")
    client.retire(one, "new")
    assert [event["kind"] for event in client.log(one)] == ["created", "arms_added", "arms_retired"]


def test_refusals(client):
    bandit = client.create("no", 5, 2)
    decision = client.ask(bandit)
    client.tell(decision, {decision.arms[0]: 1.0})
    with pytest.raises(sc.ConflictError, match="already has the outcome 1"):
        client.tell(decision, {decision.arms[0]: 0.0})
    with pytest.raises(sc.InvalidError, match="outcomes"):
        client.tell(decision, {decision.arms[0]: 7.0})
    with pytest.raises(sc.NotFoundError, match="no bandit"):
        client.ask("nobody")
    with pytest.raises(sc.NotFoundError):
        client.decision(f"{bandit.id}-99")
    with pytest.raises(sc.InvalidError, match="k must be"):
        client.ask(bandit, k=6)
    with pytest.raises(sc.InvalidError):
        client.create("x\ud800", 5, 2)


def test_constraints_and_batches(client):
    bandit = client.create("rules", ARMS, 2)
    for decision in client.ask(
        bandit, 10, must=["a"], must_not=["b/c"], weights={"..": 3}, capacity=2.0
    ):
        assert "a" in decision.arms
        assert not {"b/c", ".."} & set(decision.arms)
    assert sorted(client.ask(bandit, available=["a", "😀"]).arms) == ["a", "😀"]


def test_a_log_with_propensities_equals_that_of_a_session(client):
    """Decisions, propensities and estimates equal those of a session with the same seed."""
    bandit = client.create("logged", ARMS, 2, seed=5)
    session = sa.Session(sa.thompson(sa.LinearReward(6), 2), ARMS, seed=5)
    rng = np.random.default_rng(0)
    for number in range(20):
        own, served = session.ask(propensities=30), client.ask(bandit, propensities=30)
        assert served == client.decision(served)
        for name in ("arms", "propensities", "set_propensity", "n_samples"):
            assert getattr(served, name) == getattr(own, name)
        outcomes = {arm: float(rng.random() < 0.5) for arm in own.arms[number % 10 == 0 :]}
        session.tell(own, outcomes)
        client.tell(served, outcomes)
    session.ask()
    client.ask(bandit)  # without propensities, so not part of the log
    log, known = op.Log.from_events(client.log(bandit)), op.Log.from_session(session)
    assert repr(log) == "Log(20 rounds, 6 arms, 2 outcomes missing)"
    assert (log.rows(), log.names) == (known.rows(), known.names)
    for estimator in (op.ips, op.doubly_robust):
        target = op.Target.uniform(2, n_arms=6)
        assert estimator(log.filled(0.0), target) == estimator(known.filled(0.0), target)


def test_features_and_contexts(client):
    features = np.arange(len(ARMS))[:, None]
    bandit = client.create(
        "shop", ARMS, 2, seed=1, belief={"kind": "linear", "context": 2}, features=features
    )
    one = client.ask(bandit, context=np.array([1, 0.5]))
    assert one.context == (1.0, 0.5)
    rows = [[float(place), 0.0] for place in range(len(ARMS))]
    (two,) = client.ask(bandit, 1, context=rows)
    assert two.context == client.decision(two).context == tuple(map(tuple, rows))
    assert len(client.tell(one, dict.fromkeys(one.arms, 1.0))) == 2
    client.add_arms(bandit, ["new"], features={"new": [2.0]})
    assert client.ask(bandit, context=(0, 0)).arms
    with pytest.raises(sc.InvalidError, match="must have 2 numbers, got 3"):
        client.ask(bandit, context=[1.0, 2.0, 3.0])


@pytest.mark.parametrize("n", [0, -1, 1e9, 2.5, "50", True, 10_001])
def test_invalid_numbers_of_samples_are_refused(client, n):
    bandit = client.create("bad", 4, 2)
    with pytest.raises(sc.InvalidError, match="propensities"):
        client.ask(bandit, propensities=n)
    assert client.bandit(bandit).decisions == 0


def test_long_lists_and_logs(client):
    made = [client.create(f"bandit {number}", 3, 1) for number in range(103)]
    assert [bandit.id for bandit in client.bandits()] == [bandit.id for bandit in made]
    assert [one.id for one in client.bandits(name=made[1].name)] == [made[1].id]
    assert client.bandits(name="nobody") == []
    for _ in range(5):
        client.ask(made[0])
    events = list(client.log(made[0]))
    assert [event["seq"] for event in events] == [1, 2, 3, 4, 5, 6]
    assert list(client.log(made[0], after=4)) == events[4:]


def test_all_arms_are_listed(client):
    bandit = client.create("arms", 10_002, 1)  # more than in one page
    client.retire(bandit, 10_001)
    rows = client.arms(bandit)
    assert [row["arm"] for row in rows] == [str(number) for number in range(10_002)]
    assert [row["arm"] for row in rows if row["retired"]] == ["10001"]
    assert [row["arm"] for row in client.arms(bandit, query="999")][:2] == ["999", "1999"]


def test_following_a_log(tmp_path):
    """Over a real connection, because the in-process transport waits for the whole answer."""
    with (
        ForkedServer(str(tmp_path / "s.db"), tmp_path / "log") as server,
        sync_client(server.url) as client,
    ):
        bandit = client.create("followed", 4, 2)
        following = client.log(bandit, follow=True)
        assert next(following)["kind"] == "created"
        decision = client.ask(bandit)
        assert next(following)["decisions"][0]["id"] == decision.id
        client.tell(decision, dict.fromkeys(decision.arms, 1.0))
        assert next(following)["kind"] == "told"
        client.add_arms(bandit, [".."])
        client.retire(bandit, "..")
        assert [next(following)["kind"] for _ in range(2)] == ["arms_added", "arms_retired"]
        server.kill()
        server.start()
        more = client.ask(bandit)
        assert next(following)["decisions"][0]["id"] == more.id
        following.close()
        assert list(itertools.islice(client.log(bandit, follow=True), 6))[5]["seq"] == 6
        assert server.stop() == 0

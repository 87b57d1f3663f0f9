"""Decisions at the edge: batches count once, however they come, and those that do not fit never."""

import threading

import duckdb
import numpy as np
import pytest

import superarm as sa
from edge_clients import Line, batch, belief_of, merged, play, taught
from serving import client_of, create, decide, events_of, tell
from superarm.client import ExpiredError, UnreachableError
from superarm.errors import ConflictError, ExpiredDecisionError
from superarm.offpolicy import Log
from superarm.service.export import export
from superarm.service.http.gate import _needed_role


@pytest.fixture(scope="module")
def line(tmp_path_factory):
    """A line to a service that the tests share. Each test has its own bandit."""
    with client_of(tmp_path_factory.mktemp("edge") / "bandits.db") as client:
        yield Line(client)


@pytest.fixture
def bandit(line, request):
    line.lost = None
    return create(line.service, name=request.node.name, seed=3)


def test_a_round_trip(line, bandit):
    edge, other = line.edge(bandit), line.edge(bandit)
    made = play(edge, 30, propensities=20)
    assert events_of(line.service, bandit)[-1]["kind"] == "created"
    assert (edge.n_unsent, edge.sync(), edge.n_unsent) == (30, 30, 0)
    play(other, 5)
    assert other.sync() == 5
    logged = merged(line, bandit)
    assert [one["id"] for one in logged[:30]] == [one.id for one in made]
    assert len({one["id"] for one in logged}) == 35
    assert [tuple(one["propensities"]) for one in logged[:30]] == [one.propensities for one in made]
    assert belief_of(line, bandit) == other.session.policy.belief.state() == taught(line, bandit)
    # Propensities at the edge serve off-policy evaluation as those of the service do.
    log = Log.from_events(events_of(line.service, bandit))
    assert len(log) == 30
    assert not np.isnan(log.outcomes).any()


def test_counts_tell_decisions_of_the_edge_apart(line, bandit):
    """A request is a round, whatever its n. Merged decisions are in no other number."""
    line.service.post(f"/v1/bandits/{bandit}/decisions", json={"n": 3})
    edge = line.edge(bandit)
    play(edge, 4)
    edge.sync()
    state = line.service.get(f"/v1/bandits/{bandit}").json()
    counts = {"rounds": 1, "decisions": 3, "open": 3, "told": 0, "expired": 0, "merged": 4}
    assert {name: state[name] for name in counts} == counts
    assert edge._client.bandit(bandit).merged == 4


def test_shares_have_own_ids_and_draws(line, bandit):
    first, second = line.edge(bandit), line.edge(bandit)
    firsts, seconds = ([one.ask() for _ in range(20)] for one in (first, second))
    assert {one.id for one in firsts}.isdisjoint(one.id for one in seconds)
    assert [one.values for one in firsts] != [one.values for one in seconds]
    assert decide(line.service, bandit)["id"] == f"{bandit}-1"
    # The seed of the bandit stays at the service: the draws of a share do not tell it.
    assert first.session._unlocked.seeding.entropy != 3


@pytest.mark.parametrize("lost", ["request", "answer"])
def test_a_batch_that_is_sent_twice_counts_once(line, bandit, lost):
    edge = line.edge(bandit)
    play(edge, 6)
    line.lost = lost
    with pytest.raises(UnreachableError):
        edge.sync()
    play(edge, 2)  # goes on without the service
    assert edge.n_unsent == 8
    line.lost = None
    assert edge.sync() == 8
    assert len(merged(line, bandit)) == 8
    assert edge.session.policy.belief.state() == taught(line, bandit)
    again = [answer for noun, _, answer in line.passed if noun == "batches"][-2]
    assert again.headers.get("Idempotent-Replayed") == ("true" if lost == "answer" else None)
    assert again.json() == {"decisions": 6, "outcomes": 12}


def test_the_same_batch_may_come_at_the_same_time(line, bandit):
    edge = line.edge(bandit)
    body = {"version": edge._version, "decisions": [plain(edge)]}
    sent = {"json": body, "headers": {"Idempotency-Key": "k2"}}
    answers = line.service.together([("POST", f"/v1/bandits/{bandit}/batches", sent)] * 4)
    assert [answer.status_code for answer in answers] == [200] * 4
    assert sum("Idempotent-Replayed" in answer.headers for answer in answers) == 3
    assert len(merged(line, bandit)) == 1
    assert belief_of(line, bandit) == taught(line, bandit)


def test_late_batches_are_learnt(line, bandit):
    late, early = line.edge(bandit), line.edge(bandit)
    play(late, 4, good="bee")
    open_one = late.ask()
    play(early, 4)
    early.sync()
    service = line.service
    service.post(f"/v1/bandits/{bandit}/arms", json={"arms": ["eel"]})
    service.delete(f"/v1/bandits/{bandit}/arms/dog")
    assert late.sync() == 4
    assert late.session.names[-1] == "eel"
    # The decision was made with an older snapshot, and is told to the newer one.
    assert late.session.open == [open_one]
    late.tell(open_one, dict.fromkeys(open_one.arms, 1.0))
    assert late.tell(open_one, dict.fromkeys(open_one.arms, 1.0)) == ()
    with pytest.raises(ConflictError):
        late.tell(open_one, {open_one.arms[0]: 0.0})
    late.sync()
    assert [one["id"] for one in merged(line, bandit)[8:]] == [open_one.id]
    assert all("dog" not in late.ask().arms for _ in range(20))


def test_constraints_outlive_a_sync_that_brings_arms(line, bandit):
    """A thread may sync at any moment between the constraints and the decision."""
    edge = line.edge(bandit)
    make = edge.session.feasible
    weights = {"ant": 1.0, "bee": 1.0, "cat": 1.0, "dog": 5.0}
    some, plain = make(must=["ant"]), make(2, must_not=["cat"], at_most=True)
    light = make(weights=weights, budget=3.0)
    line.service.post(f"/v1/bandits/{bandit}/arms", json={"arms": ["eel", "fox"]})
    edge.sync()
    known = {"ant", "bee", "cat", "dog"}
    assert all("ant" in one.arms for one in edge.ask(20, feasible=some))
    assert all(set(one.arms) <= known - {"cat"} for one in edge.ask(20, feasible=plain))
    assert all(set(one.arms) <= known - {"dog"} for one in edge.ask(20, feasible=light))
    with pytest.raises(ValueError, match="must be at least 1"):
        edge.ask(0)


def test_whole_numbers_are_names_as_over_http(line, request):
    """Names are texts in a service, and clients write 7 for "7"."""
    bandit = create(line.service, name=request.node.name, arms=4, k=2)
    edge = line.edge(bandit)
    weights = {0: 1.0, np.int64(1): 1.0, "2": 5.0}
    groups = [sa.Group([0, 2], most=1)]
    sets = edge.feasible(must=[1], must_not=[3], groups=groups, weights=weights, budget=2.0)
    decision = edge.ask(feasible=sets)
    assert sorted(decision.arms) == ["0", "1"]
    assert sorted(edge.tell(decision, {0: 1.0, 1: 0.0})) == ["0", "1"]
    made = edge.ask_many(3)
    told = edge.tell_many((one, {int(arm): 0.5 for arm in one.arms}) for one in made)
    assert [set(new) for new in told] == [set(one.arms) for one in made]
    pd = pytest.importorskip("pandas")
    last = edge.ask()
    assert len(edge.tell(last, pd.Series(0.5, index=[int(arm) for arm in last.arms]))) == 2
    assert edge.sync() == 5
    with pytest.raises(TypeError, match="outcomes must be a mapping"):
        edge.tell(edge.ask(), [1.0, 0.0])
    over_http = decide(line.service, bandit)
    with line.edge(bandit)._client as client:
        for teller in (client.tell, edge.tell):
            with pytest.raises(ValueError, match="outcomes must have each arm once, got 0 and '0'"):
                teller(over_http["id"], {"0": 1.0, 0: 0.0})
        with pytest.raises(ValueError, match="weights must have each arm once"):
            client.ask(bandit, weights={"0": 1.0, 0: 0.0}, capacity=2.0)


def test_a_batch_that_is_never_sent_changes_nothing(line, bandit):
    lost, edge = line.edge(bandit), line.edge(bandit)
    play(lost, 9, good="dog")
    del lost
    play(edge, 3)
    edge.sync()
    assert len(merged(line, bandit)) == 3
    assert belief_of(line, bandit) == taught(line, bandit)


def test_decisions_that_are_closed_during_a_sync_are_kept(line, bandit):
    edge = line.edge(bandit)
    play(edge, 2)
    line.before["snapshots"] = lambda: play(edge, 3)
    assert edge.sync() == 2
    assert edge.n_unsent == 3
    known = edge.session.policy.belief.outcomes.counts.sum()
    assert known == 10  # 2 arms of 5 decisions
    assert edge.sync() == 3


@pytest.mark.parametrize(
    "belief",
    [{"kind": "beta"}, {"kind": "cascading"}],
    ids=lambda belief: belief["kind"],
)
def test_outcomes_of_open_decisions_outlive_a_sync(line, request, belief):
    """The service learns them when the decision closes. Until then they are known here only."""
    bandit = create(line.service, name=request.node.name, belief=belief)
    edge = line.edge(bandit)
    first, second = edge.ask(), edge.ask()
    edge.tell(first, {first.arms[0]: 1.0})
    before = edge.session.policy.belief.state()
    for _ in range(2):
        assert edge.sync() == 0
        assert edge.session.policy.belief.state() == before
    edge.tell(first, {first.arms[1]: 0.0})
    edge.tell(second, dict.fromkeys(second.arms, 0.0))
    known = edge.session.policy.belief.state()
    assert edge.sync() == 2
    assert edge.session.policy.belief.state() == known == belief_of(line, bandit)


def test_threads_share_an_edge_bandit(line, bandit):
    edge = line.edge(bandit)
    threads = [threading.Thread(target=play, args=(edge, 10)) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert edge.sync() == 30
    assert len({one["id"] for one in merged(line, bandit)}) == 30


def test_long_batches_are_split_and_closing_sends_all(line, bandit, monkeypatch):
    monkeypatch.setattr("superarm.client.edge._MOST_SIZE", 7)
    with line.edge(bandit) as edge:
        play(edge, 7)
        open_one = edge.ask()
        edge.tell(open_one, {open_one.arms[0]: 1.0})
        assert edge.sync() == 7
        edge.ask(2)
    with pytest.raises(ExpiredDecisionError):
        edge.tell(open_one, {open_one.arms[1]: 1.0})
    kinds = [event["kind"] for event in events_of(line.service, bandit)]
    assert kinds == ["created", *["merged"] * 4]
    assert merged(line, bandit)[7]["outcomes"] == {open_one.arms[0]: 1.0}
    assert [one["outcomes"] for one in merged(line, bandit)[8:]] == [{}, {}]


def plain(edge, **more):
    one = edge.ask().as_dict()
    del one["values"]
    return {**one, "outcomes": dict.fromkeys(one["arms"], 1.0), **more}


BAD = [
    ({"arms": ["ant", "eel"], "outcomes": {}}, "eel"),
    ({"arms": ["ant", "ant"], "outcomes": {}}, "distinct"),
    ({"outcomes": {"eel": 1.0}}, "eel"),
    ({"outcomes": {"ant": 2.0}}, "must be at most 1"),
    ({"id": "aaaaaaaaaa.bbbbbbbbbb-1"}, "snapshot"),
    ({"values": [0.5]}, "values"),
    ({"propensities": [0.5, 0.5]}, "n_samples"),
    # What was picked had some probability, and a log with another number cannot be evaluated.
    ({"propensities": [0.5, 0.5], "set_propensity": 0.0, "n_samples": 1}, "must be above 0"),
    ({"propensities": [0.0, 0.5], "set_propensity": 0.5, "n_samples": 1}, "must be above 0"),
    ({"context": [1.0]}, "context"),
]


def test_what_does_not_fit_is_refused_as_a_whole(line, bandit):
    edge = line.edge(bandit)
    version, before = edge._version, belief_of(line, bandit)
    for more, words in BAD:
        answer = batch(line, bandit, [plain(edge), plain(edge, **more)], version)
        assert answer.status_code == 422, more
        assert words in answer.text
    assert batch(line, bandit, [plain(edge)], version, key=None).status_code == 422
    answer = batch(line, bandit, [plain(edge)] * 2, version)
    assert answer.status_code == 422
    assert "must be distinct, got" in answer.text
    assert len(events_of(line.service, bandit)) == 1
    assert belief_of(line, bandit) == before
    sent = [plain(edge)]
    assert batch(line, bandit, sent, version).status_code == 200
    assert batch(line, bandit, sent, version).headers["Idempotent-Replayed"] == "true"
    other = batch(line, bandit, [plain(edge)], version)
    assert (other.status_code, other.json()["type"]) == (409, "urn:superarm:key-taken")


def test_snapshots_of_another_history_are_refused(line, bandit):
    edge = line.edge(bandit)
    for version in ("1-0123456789abcdef", "9-0123456789abcdef"):
        answer = batch(line, bandit, [plain(edge)], version)
        assert (answer.status_code, answer.json()["type"]) == (409, "urn:superarm:snapshot-unknown")
    play(edge, 1)
    line.service.delete(f"/v1/bandits/{bandit}", params={"name": f"{_name(line, bandit)}"})
    with pytest.raises(ExpiredError, match="deleted"):
        edge.sync()
    assert edge.drop() == 1
    assert edge.n_unsent == 0


def _name(line, bandit):
    return line.service.get(f"/v1/bandits/{bandit}").json()["name"]


def test_batches_with_long_contexts_are_short(line, monkeypatch):
    monkeypatch.setattr("superarm.client.edge._MOST_SIZE", 25)
    belief = {"kind": "linear", "context": 2}
    bandit = create(line.service, name="long contexts", belief=belief)
    edge = line.edge(bandit)
    play(edge, 5, context=[[1.0, 0.5]] * 4)  # two arms and eight numbers each
    assert edge.sync() == 5
    kinds = [event["kind"] for event in events_of(line.service, bandit)]
    assert kinds == ["created", *["merged"] * 3]


def test_decisions_of_the_edge_are_exported(line, bandit, tmp_path):
    edge = line.edge(bandit)
    made = decide(line.service, bandit)
    tell(line.service, made["id"], dict.fromkeys(made["arms"], 1.0))
    remote = play(edge, 2, propensities=10)
    remote.append(edge.ask())
    edge.close()
    engine = line.service.app.state.service.engine
    export(engine.store, engine.store.bandit(bandit), tmp_path)
    query = f"SELECT decision, arm, outcome, status FROM read_parquet('{tmp_path}/*/*.parquet')"
    with duckdb.connect() as connection:
        rows = connection.sql(query).fetchall()
    assert len(rows) == 8
    assert [row[0] for row in rows[::2]] == [made["id"], *(one.id for one in remote)]
    assert [row[3] for row in rows[::2]] == ["told", "told", "told", "expired"]
    assert rows[2][2] == float(rows[2][1] == "ant")


def test_rewards_of_the_operator_are_given_to_the_edge(path):
    with client_of(path, own={"basket": sa.LinearReward}) as client:
        line, bandit = Line(client), create(client, reward="basket", oracle="top_k")
        with pytest.raises(ValueError, match="give it to EdgeBandit"):
            line.edge(bandit)
        edge = line.edge(bandit, rewards={"basket": sa.LinearReward})
        play(edge, 2)
        assert edge.sync() == 2


def test_who_may_decide_may_decide_at_the_edge():
    for noun in ("decisions", "snapshots", "batches"):
        assert _needed_role("POST", f"/v1/bandits/abcdefghij/{noun}") == "decide"

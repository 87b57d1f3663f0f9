"""Contexts of rounds over HTTP: decided, logged, replayed, explained."""

import json

import numpy as np
import pytest

import superarm as sa
from serving import client_of, create, decide, events_of, tell
from superarm.beliefs import LinearBelief, LogisticBelief
from superarm.core import Policy
from superarm.service.bandits.replay import replay
from superarm.service.log.sqlite import SQLiteStore

ARMS = ["ant", "bee", "cat", "dog"]
FEATURES = [[0.0, 1.5], [1.0, -0.5], [1.0, 2.0], [0.0, 0.25]]
KINDS = [
    {"belief": "linear", "features": FEATURES},
    {"belief": "logistic", "features": FEATURES},
    {"belief": {"kind": "linear", "context": 2}},
    {"belief": {"kind": "linear", "context": 2, "discount": 0.9}, "features": FEATURES},
    {"belief": {"kind": "linear", "context": 2, "structure": "shared"}, "features": FEATURES},
    {"belief": {"kind": "logistic", "context": 2}, "features": FEATURES},
    {"belief": {"kind": "logistic", "context": 2, "structure": "bilinear"}, "features": FEATURES},
    {"belief": {"kind": "logistic", "context": 2, "structure": "disjoint", "discount": 0.9}},
]


def has_contexts(parts):
    return isinstance(parts["belief"], dict) and "context" in parts["belief"]


def contexts_of(rng, n_arms, in_contexts):
    """The member ``context`` of a request: a vector, or one row per arm."""
    if not in_contexts:
        return {}
    shape = (2,) if rng.random() < 0.6 else (n_arms, 2)
    return {"context": rng.normal(size=shape).tolist()}


def play(client, bandit, n_rounds, *, seed, n_arms=4, in_contexts=True):
    """Decide with contexts; most outcomes come later and in another order. Returns the sets."""
    rng, waiting, sets = np.random.default_rng(seed), [], []
    for _ in range(n_rounds):
        more = {"propensities": 5} if rng.random() < 0.2 else {}
        made = decide(client, bandit, **contexts_of(rng, n_arms, in_contexts), **more)
        sets.append(made["arms"])
        waiting.append(made)
        while len(waiting) > 3:
            one = waiting.pop(int(rng.integers(len(waiting))))
            tell(client, one["id"], {arm: float(rng.random() < 0.4) for arm in one["arms"]})
    return sets


def replayed(path, bandit, *, decide=True):
    store = SQLiteStore(path, "read")
    found = replay(store, store.bandit(bandit), {}, decide=decide)
    store.close()
    return found


@pytest.mark.parametrize("parts", KINDS, ids=lambda parts: json.dumps(parts["belief"]))
def test_logs_give_the_same_decisions_bit_for_bit(path, parts):
    within = has_contexts(parts)
    with client_of(path, checkpoint_every=6) as client:
        bandit = create(client, seed=5, **parts)
        play(client, bandit, 15, seed=1, in_contexts=within)
        new = {"arms": ["eel", "fox"]}
        if "features" in parts:
            new["features"] = {"fox": [0.0, 3.0], "eel": [1.0, 1.0]}
        assert client.post(f"/v1/bandits/{bandit}/arms", json=new).status_code == 200
        play(client, bandit, 8, seed=2, n_arms=6, in_contexts=within)
        client.app.state.service.engine.checkpoints.wait()
        play(client, bandit, 4, seed=3, n_arms=6, in_contexts=within)
        before = client.get(f"/v1/bandits/{bandit}").json()
        log = events_of(client, bandit)
    found = replayed(path, bandit)
    assert found.same
    assert found.checkpoint is not None
    assert found.live.seq == len(log)
    # The same decisions after a restart, from a checkpoint and from the first event.
    futures = []
    for checkpoints in (True, False):
        copy = path.with_name(f"{checkpoints}.db")
        copy.write_bytes(path.read_bytes())
        with client_of(copy, checkpoints=checkpoints) as client:
            assert client.get(f"/v1/bandits/{bandit}").json() == before
            assert events_of(client, bandit) == log
            futures.append(play(client, bandit, 7, seed=4, n_arms=6, in_contexts=within))
        assert replayed(copy, bandit).live.seq > len(log)
    assert futures[0] == futures[1]


@pytest.mark.parametrize("belief", [LinearBelief, LogisticBelief])
def test_the_bandit_decides_what_a_session_decides(client, belief):
    kind = {LinearBelief: "linear", LogisticBelief: "logistic"}[belief]
    bandit = create(client, seed=9, belief={"kind": kind, "context": 2}, features=FEATURES)
    policy = Policy(belief(FEATURES, context=2), sa.TopK(), sa.LinearReward(4), 2)
    session = sa.Session(policy, ARMS, seed=9, rewards=sa.LinearReward)
    rng = np.random.default_rng(0)
    for number in range(30):
        if number == 20:
            new = {"arms": ["eel"], "features": [[0.5, 0.5]]}
            assert client.post(f"/v1/bandits/{bandit}/arms", json=new).json()["added"] == ["eel"]
            session.add_arms(["eel"], prior=[[0.5, 0.5]])
        context = contexts_of(rng, 5 if number >= 20 else 4, True)["context"]
        made = decide(client, bandit, context=context, propensities=20)
        wanted = session.ask(context=context, propensities=20)
        assert (made["arms"], made["values"]) == (list(wanted.arms), list(wanted.values))
        assert made["propensities"] == list(wanted.propensities)
        outcomes = {arm: float(rng.random() < 0.5) for arm in made["arms"]}
        tell(client, made["id"], outcomes)
        session.tell(wanted, outcomes)


def test_late_outcomes_are_learned_in_the_context_of_their_decision(client):
    """Where the first number of the context is 1 the ant wins, and where it is 0 the bee."""
    bandit = create(
        client, arms=["ant", "bee"], k=1, seed=3, belief={"kind": "linear", "context": 1}
    )
    rng, waiting = np.random.default_rng(1), []
    for number in range(150):
        context = [float(rng.integers(2))]
        waiting.append((decide(client, bandit, context=context), context))
        if number % 10 == 9:  # all of them at once, the newest first
            while waiting:
                made, (wins,) = waiting.pop()
                (arm,) = made["arms"]
                tell(client, made["id"], {arm: float((arm == "ant") == bool(wins))})
    # No noise in outcomes, so that 150 of them leave no doubt; seeded all the same.
    for wins, best in ((1.0, "ant"), (0.0, "bee")):
        sets = [decide(client, bandit, context=[wins])["arms"] for _ in range(10)]
        assert sets == [[best]] * 10


def test_the_context_is_in_the_decision_and_once_in_the_log(client):
    bandit = create(client, seed=1, belief={"kind": "linear", "context": 2})
    context = [[0.5, number] for number in range(4)]
    made = decide(client, bandit, n=3, context=context)["decisions"]
    for one in made:
        assert one["context"] == context
        assert client.get(f"/v1/decisions/{one['id']}").json()["context"] == context
        explained = client.get(f"/v1/decisions/{one['id']}/explanation").json()
        assert explained["complete"]
        assert all(reason["low"] <= reason["high"] for reason in explained["reasons"])
    listed = client.get(f"/v1/bandits/{bandit}/decisions").json()["decisions"]
    assert [one["context"] for one in listed] == [context] * 3
    event = events_of(client, bandit)[-1]
    assert event["ask"]["context"] == context
    assert all("context" not in one for one in event["decisions"])
    without = create(client, name="without", seed=1)
    assert "context" not in decide(client, without)


def test_the_same_key_is_the_same_decision_for_the_same_context_only(client):
    bandit = create(client, seed=1, belief={"kind": "linear", "context": 1})
    url, headers = f"/v1/bandits/{bandit}/decisions", {"Idempotency-Key": "visit-1"}
    first = client.post(url, json={"context": [1.0]}, headers=headers).json()
    assert client.post(url, json={"context": [1]}, headers=headers).json() == first
    assert client.post(url, json={"context": [2.0]}, headers=headers).status_code == 409


def test_closed_decisions_have_their_context_when_memory_has_forgotten_them(client):
    bandit = create(client, seed=1, keep=0, belief={"kind": "linear", "context": 1})
    made = decide(client, bandit, context=[0.25])
    tell(client, made["id"], dict.fromkeys(made["arms"], 1.0))
    found = client.get(f"/v1/decisions/{made['id']}").json()
    assert (found["status"], found["context"]) == ("told", [0.25])


@pytest.mark.parametrize(
    ("context", "words"),
    [
        (None, "needs a context of 2 numbers"),
        ([1.0], "must have 2 numbers, got 1"),
        ([1.0, 2.0, 3.0], "must have 2 numbers, got 3"),
        ([[1.0, 2.0]] * 3, "one row for each of 4 arms, got 3"),
        ([[1.0]] * 4, "must have 2 numbers, got 1"),
        ([[1.0, 2.0], [1.0]], "same length, got 1 and 2"),
        ([[[1.0]]], ""),
        ([], ""),
        ("sunny", ""),
        ([1.0, "2"], ""),
        ([1.0, 1e7], ""),
    ],
)
def test_contexts_that_do_not_fit_are_refused_and_change_nothing(client, context, words):
    bandit = create(client, seed=1, belief={"kind": "linear", "context": 2})
    body = {} if context is None else {"context": context}
    assert words in decide(client, bandit, 422, **body)["detail"]
    assert len(events_of(client, bandit)) == 1
    other = create(client, name="other", seed=1, belief={"kind": "linear", "context": 2})
    both = [decide(client, id, context=[1.0, 2.0])["values"] for id in (bandit, other)]
    assert both[0] == both[1]


@pytest.mark.parametrize("parts", [{}, {"belief": "ucb"}, {"belief": "linear"}])
def test_bandits_without_contexts_refuse_them(client, parts):
    bandit = create(client, **parts)
    problem = decide(client, bandit, 422, context=[1.0])
    assert "context" in problem["detail"]
    assert decide(client, bandit)["arms"]


@pytest.mark.parametrize(
    ("kind", "model"), [("linear", LinearBelief), ("logistic", LogisticBelief)]
)
def test_the_best_arms_of_a_bandit_are_those_at_the_average_context(client, kind, model):
    bandit = create(client, seed=1, belief={"kind": kind, "context": 1})
    rows = client.get(f"/v1/bandits/{bandit}").json()["posterior"]
    assert len({row["mean"] for row in rows}) == 1  # nothing is known yet
    twin = model(len(ARMS), context=1)
    for context in (1.0, 4.0, 2.0):
        decision = decide(client, bandit, context=[context])
        outcomes = [float(arm == ARMS[0]) for arm in decision["arms"]]
        tell(client, decision["id"], dict(zip(decision["arms"], outcomes, strict=True)))
        arms = [ARMS.index(arm) for arm in decision["arms"]]
        twin.at([context]).update(arms, outcomes, rng=np.random.default_rng(0))
    means = twin.at([7 / 3]).mean()
    rows = client.get(f"/v1/bandits/{bandit}").json()["posterior"]
    found = {row["arm"]: row["mean"] for row in rows}
    assert [found[arm] for arm in ARMS] == pytest.approx(means.tolist())
    assert [row["mean"] for row in rows] == sorted(found.values(), reverse=True)
    assert all(row["low"] <= row["mean"] <= row["high"] for row in rows)


def test_batches_of_large_contexts_are_refused(client):
    bandit = create(client, arms=2000, k=1, seed=1, belief={"kind": "linear", "context": 1})
    problem = decide(client, bandit, 422, n=501, context=[[1.0]] * 2000)
    assert "at most 1,000,000, got 1,002,000" in problem["detail"]


def test_decisions_of_one_request_do_not_repeat_too_much(client):
    """Each of them comes with the context and the metadata of the request."""
    bandit = create(client, seed=1)
    long = {f"{n}": "x" * 1000 for n in range(32)}  # 1,602 for 32,054 characters
    problem = decide(client, bandit, 422, n=625, metadata=long)
    assert "at most 1,000,000, got 1,001,250" in problem["detail"]
    # In lists, the items together.
    for item, detail in (
        ({"n": 300, "metadata": long}, "at most 1,000,000, got 1,441,800"),
        ({"n": 5_000}, "at most 10,000 decisions, got 10,001"),
    ):
        items = [{"bandit": bandit, **item} for _ in range(3)] + [{"bandit": bandit}]
        said = client.post("/v1/decisions", json={"decisions": items}).json()["results"]
        refused = [one["problem"]["detail"] for one in said if "problem" in one]
        assert any(detail in one for one in refused)
        assert len(refused) == (1 if "metadata" in item else 2)


def test_a_belief_that_fails_to_learn_is_loaded_again(client, monkeypatch):
    bandit = create(client, seed=1, belief={"kind": "linear", "context": 1})
    made = decide(client, bandit, context=[1.0])
    learn = LinearBelief._learn

    def and_fail(*args):
        learn(*args)
        raise np.linalg.LinAlgError("Singular matrix")

    outcomes = dict.fromkeys(made["arms"], 1.0)
    with monkeypatch.context() as patch:
        patch.setattr(LinearBelief, "_learn", and_fail)
        answer = client.post(f"/v1/decisions/{made['id']}/outcomes", json={"outcomes": outcomes})
        assert answer.status_code == 500
    assert len(tell(client, made["id"], outcomes)["new"]) == 2
    other = create(client, name="other", seed=1, belief={"kind": "linear", "context": 1})
    again = decide(client, other, context=[1.0])
    tell(client, again["id"], outcomes)
    both = [decide(client, id, context=[0.5])["values"] for id in (bandit, other)]
    assert both[0] == both[1]


@pytest.mark.parametrize("kind", ["linear", "logistic"])
def test_explanations_say_what_adds_up_to_a_mean(client, kind):
    bandit = create(client, seed=1, belief={"kind": kind, "context": 1}, features=FEATURES)
    belief = {"linear": LinearBelief, "logistic": LogisticBelief}[kind](FEATURES, context=1)
    rng = np.random.default_rng(2)
    for _ in range(12):
        made = decide(client, bandit, context=[0.5])
        tell(client, made["id"], {arm: float(arm in "ant cat") for arm in made["arms"]})
        # A session learns in the order of the arms, whatever their places are.
        arms = sorted(made["arms"], key=ARMS.index)
        told = np.array([float(arm in "ant cat") for arm in arms])
        belief.at([0.5]).update([ARMS.index(arm) for arm in arms], told, rng=rng)
    made = decide(client, bandit, context=[0.75])
    wanted = belief.at([0.75]).contributions([ARMS.index(arm) for arm in made["arms"]])
    url = f"/v1/decisions/{made['id']}/explanation"
    found = client.get(url).json()
    assert "by features and context" in found["text"]
    reasons = {reason["arm"]: reason for reason in found["reasons"]}
    for place, arm in enumerate(made["arms"]):
        reason = reasons[arm]
        assert reason["base"] == wanted.base
        assert reason["columns"] == wanted.columns[place].tolist()
        assert reason["own"] == wanted.own[place]
        assert reason["mostly"] == wanted.name_of(np.abs(wanted.columns[place]).argmax())
        assert f" by {reason['mostly']})" in found["text"]
    # They are those of the decision, whatever is learned later.
    tell(client, made["id"], dict.fromkeys(made["arms"], 0.0))
    assert client.get(url).json()["reasons"] == found["reasons"]
    without = create(client, name="without")
    reason = client.get(f"/v1/decisions/{decide(client, without)['id']}/explanation").json()
    assert {one["columns"] for one in reason["reasons"]} == {None}


def test_contexts_are_in_logs_for_evaluation(client):
    """Of vectors and of rows per arm, for all decisions of a request."""
    bandit = create(client, seed=5, **KINDS[3])
    given = [[1.0, 2.0], [[3.0, 4.0]] * 4, [5.0, 6.0]]
    for context in given:
        made = decide(client, bandit, context=context, propensities=5, n=2)["decisions"]
        tell(client, made[0]["id"], dict.fromkeys(made[0]["arms"], 1.0))
    log = sa.offpolicy.Log.from_events(events_of(client, bandit))
    rows = [np.broadcast_to(context, (4, 2)) for context in given]
    np.testing.assert_array_equal(log.contexts, np.repeat(rows, 2, axis=0))
    assert log.n_missing == 6
    assert log.n_samples.tolist() == [6] * 6
    target = lambda context: np.clip(context[:, 0] / 10, 0, 1)  # noqa: E731
    assert sa.offpolicy.ips(log.filled(0.0), target).n == 6

"""The requests that each verb sends."""

import inspect
import json

import httpx
import numpy as np
import pytest
from played_service import DECISION, SUMMARY, heard, ok

import superarm as sa
import superarm.client as sc
from superarm.client import bulk_verbs, verbs


@pytest.mark.parametrize(
    ("call", "answer", "method", "path", "body"),
    [
        (
            lambda c: c.create("n", ["a", 2], 1),
            SUMMARY,
            "POST",
            "/v1/bandits",
            {"name": "n", "arms": ["a", "2"], "k": 1},
        ),
        (
            lambda c: c.create(
                "n", 3, 1, prior=(2, 1), belief={"kind": "beta"}, seed=0, expiry={"late": "ignore"}
            ),
            SUMMARY,
            "POST",
            "/v1/bandits",
            {
                "name": "n",
                "arms": 3,
                "k": 1,
                "prior": [2, 1],
                "belief": {"kind": "beta"},
                "seed": 0,
                "expiry": {"late": "ignore"},
            },
        ),
        (
            lambda c: c.create("n", 2, 1, belief="linear", features=np.array([[1, 2], [3, 4]])),
            SUMMARY,
            "POST",
            "/v1/bandits",
            {
                "name": "n",
                "arms": 2,
                "k": 1,
                "belief": "linear",
                "features": [[1.0, 2.0], [3.0, 4.0]],
            },
        ),
        (
            lambda c: c.ask("b1", context=np.array([1, 0.5])),
            DECISION,
            "POST",
            "/v1/bandits/b1/decisions",
            {"context": [1.0, 0.5]},
        ),
        (
            lambda c: c.add_arms("b1", ["a", 2], features={"a": (1, 2), 2: (3, 4)}),
            {},
            "POST",
            "/v1/bandits/b1/arms",
            {"arms": ["a", "2"], "features": {"a": [1.0, 2.0], "2": [3.0, 4.0]}},
        ),
        (lambda c: c.bandit("b/1", top=5), SUMMARY, "GET", "/v1/bandits/b%2F1?top=5", None),
        (lambda c: c.ask("b1"), DECISION, "POST", "/v1/bandits/b1/decisions", {}),
        (
            lambda c: c.ask(
                "b1",
                2,
                k=3,
                available=["a", "b"],
                must=["a"],
                must_not=(),
                weights={1: 2.0},
                capacity=4.0,
            ),
            {"decisions": [DECISION]},
            "POST",
            "/v1/bandits/b1/decisions",
            {
                "n": 2,
                "k": 3,
                "available": ["a", "b"],
                "must": ["a"],
                "must_not": [],
                "weights": {"1": 2.0},
                "capacity": 4.0,
            },
        ),
        (
            lambda c: c.ask("b1", propensities=50),
            DECISION,
            "POST",
            "/v1/bandits/b1/decisions",
            {"propensities": 50},
        ),
        (
            lambda c: c.ask(
                "b1", groups=[sa.Group(["a", "b"], most=1), {"arms": ["c"], "least": 1}]
            ),
            DECISION,
            "POST",
            "/v1/bandits/b1/decisions",
            {"groups": [{"arms": ["a", "b"], "least": 0, "most": 1}, {"arms": ["c"], "least": 1}]},
        ),
        (
            lambda c: c.tell("d1", {"a": 1, 7: True}),
            {"new": ["a"]},
            "POST",
            "/v1/decisions/d1/outcomes",
            {"outcomes": {"a": 1.0, "7": 1.0}},
        ),
        (
            lambda c: c.tell(sc.Decision.from_json(DECISION), {}),
            {"new": []},
            "POST",
            "/v1/decisions/d1/outcomes",
            {"outcomes": {}},
        ),
        (lambda c: c.decision("d1"), DECISION, "GET", "/v1/decisions/d1", None),
        (lambda c: c.explain("d1"), {"text": "so"}, "GET", "/v1/decisions/d1/explanation", None),
        (
            lambda c: c.add_arms("b1", ["x"], prior=[3, 1]),
            {},
            "POST",
            "/v1/bandits/b1/arms",
            {"arms": ["x"], "prior": [3, 1]},
        ),
        (
            lambda c: c.retire("b1", "ä/é?"),
            {},
            "DELETE",
            "/v1/bandits/b1/arms/%C3%A4%2F%C3%A9%3F",
            None,
        ),
        (lambda c: c.health(), {"status": "ok"}, "GET", "/healthz", None),
    ],
)
def test_requests_of_each_verb(connect, call, answer, method, path, body):
    sent = []
    call(connect(heard(ok(answer), sent)))
    (request,) = sent
    assert (request.method, request.url.raw_path.decode()) == (method, path)
    assert (json.loads(request.content) if request.content else None) == body


def test_each_change_of_arms_has_its_own_key(connect):
    sent = []
    client = connect(heard(ok({}), sent))
    client.retire("b1", "x", "y")
    client.add_arms("b1", ["x"])
    client.add_arms("b1", ["y"], key="mine")
    keys = [request.headers["idempotency-key"] for request in sent]
    assert len(set(keys)) == 4
    assert keys[-1] == "mine"


def test_each_ask_has_its_own_key(connect):
    sent = []
    client = connect(heard(ok(DECISION), sent))
    client.ask("b1"), client.ask("b1"), client.ask("b1", key="mine")
    keys = [request.headers["Idempotency-Key"] for request in sent]
    assert len(set(keys)) == 3
    assert keys[2] == "mine"


def test_restore_adds_no_new_arms(connect):
    """One request, which the service refuses as a whole, however many arms there are."""
    sent = []
    client = connect(heard(ok({}), sent))
    client.restore("b1", "x", "y")
    client.restore("b1")
    assert [request.method for request in sent] == ["POST"]
    assert json.loads(sent[-1].content) == {"arms": ["x", "y"], "known_only": True}


def test_a_bandit_is_deleted(connect):
    """Its name confirms that."""
    sent = []

    def service(request):
        sent.append((request.method, request.url.path, dict(request.url.params)))
        return ok(SUMMARY) if request.method == "GET" else httpx.Response(204)

    client = connect(service)
    assert client.delete("b1") is None
    client.delete(sc.Bandit.from_json(SUMMARY))
    path = f"/v1/bandits/{SUMMARY['id']}"
    assert sent == [
        ("GET", "/v1/bandits/b1", {"top": "0"}),
        ("DELETE", "/v1/bandits/b1", {"name": SUMMARY["name"]}),
        ("DELETE", path, {"name": SUMMARY["name"]}),
    ]


def test_metadata_is_sent_and_read(connect):
    sent = []
    client = connect(heard(ok({**DECISION, "metadata": {"page": "front"}}), sent))
    assert client.ask("b1", metadata={"page": "front"}).metadata == {"page": "front"}
    assert json.loads(sent[-1].content) == {"metadata": {"page": "front"}}


def test_seeds_are_exact_in_every_reader(connect):
    sent = []
    client = connect(heard(ok(SUMMARY), sent))
    for seed in (2**53, 2**53 + 1):
        client.create("n", 3, 1, seed=seed)
    assert [json.loads(request.content)["seed"] for request in sent] == [2**53, str(2**53 + 1)]


def test_bandits_reads_all_pages(connect):
    sent = []

    def service(request):
        sent.append(dict(request.url.params))
        page = len(sent)
        return ok(
            {"bandits": [SUMMARY | {"id": f"b{page}"}], "next": f"b{page}" if page < 3 else None}
        )

    assert [bandit.id for bandit in connect(service).bandits()] == ["b1", "b2", "b3"]
    assert [params.get("after") for params in sent] == [None, "b1", "b2"]


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda c: c.ask("b1", must="abc"), TypeError, "several names"),
        (lambda c: c.create("n", "abc", 1), TypeError, "several names"),
        (lambda c: c.ask(None), TypeError, "as its id"),
        (lambda c: c.tell("", {"a": 1.0}), TypeError, "as its id"),
        (lambda c: c.tell("d1", {"a": "much"}), TypeError, "outcome of 'a' must be .* got 'much'"),
        (lambda c: c.tell("d1", {"a": "1"}), TypeError, "outcome of 'a' must be a number"),
        (lambda c: c.tell("d1", {"a": None}), TypeError, "outcome of 'a' must be a number"),
        (lambda c: c.tell("d1", {"a": float("nan")}), ValueError, "outcome of 'a' .* got nan"),
        (lambda c: c.tell("d1", [1.0]), TypeError, "mapping from arms to outcomes"),
        (lambda c: c.tell_all([("d1", {"a": float("inf")})]), ValueError, "outcome of 'a' .* inf"),
        (lambda c: c.tell_all(["d1"]), TypeError, "a pair, a decision with its outcomes, got 'd1'"),
        (lambda c: c.ask_all(["b1"]), TypeError, "a pair, a bandit with .* options, got 'b1'"),
        (lambda c: c.create("n", ["a"], 1, holdout=float("nan")), ValueError, "JSON has no others"),
        (lambda c: c.ask("b1", mst=["a"]), TypeError, "got mst"),
    ],
)
def test_refused_before_anything_is_sent(connect, call, error, words):
    with pytest.raises(error, match=words):
        call(connect([]))


def test_both_clients_have_every_verb():
    names = [
        name
        for module in (verbs, bulk_verbs)
        for name, verb in inspect.getmembers(module, inspect.isfunction)
        if not name.startswith("_") and verb.__module__ == module.__name__
    ]
    assert len(names) == 20
    for name in names:
        one, other = getattr(sc.Client, name), getattr(sc.AsyncClient, name)
        assert (
            inspect.signature(one).parameters.keys() == inspect.signature(other).parameters.keys()
        )
        assert one.__doc__ == other.__doc__
        assert "self" in inspect.signature(one).parameters

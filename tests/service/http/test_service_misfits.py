"""Requests that do not fit: problems say where, what was expected and what came, in words."""

import json

import pytest

from serving import client_of, create
from superarm.service.http.bandit_routes import create_bandit
from superarm.service.http.decision_routes import decide, tell
from superarm.service.http.edge_routes import merge_batch
from superarm.service.problems import Problem, shown

NEW = '{"name": "a", "arms": 3, "k": 1, %s}'
MISFITS = [
    (create_bandit, NEW % '"holdout": 2', "holdout must be below 1, got 2"),
    (create_bandit, NEW % '"holdout": {"share": 2}', "holdout.share must be below 1, got 2"),
    (create_bandit, NEW % '"holdout": []', "holdout must be a number or an object, got []"),
    (create_bandit, NEW % '"prior": "x"', "prior must be 'learned' or 'flat' or a list, got 'x'"),
    (create_bandit, NEW % '"prior": [1]', "prior.1 is missing"),
    (
        create_bandit,
        NEW % '"prior": [1, 2, 3]',
        "prior must be a list of at most 2 items, got [1, 2, 3]",
    ),
    (create_bandit, NEW % '"seed": -1', "seed must be at least 0, got -1"),
    (create_bandit, NEW % '"seed": "a"', "seed must be 1 to 39 digits, got 'a'"),
    (create_bandit, NEW % '"features": [[1, "x"]]', "features.0.1 must be a number, got 'x'"),
    (create_bandit, NEW % '"k": 1e30', f"k must be at most 10000000, got {int(1e30)}"),
    (
        create_bandit,
        '{"name": "", "arms": 1, "k": 1}',
        "name must be text of at least 1 character, got ''",
    ),
    (decide, "[]", "the body must be an object, got []"),
    (decide, '{"context": [[1, 2], [3, "x"]]}', "context.1.1 must be a number, got 'x'"),
    (decide, '{"context": [1, "x"]}', "context.1 must be a number, got 'x'"),
    (
        decide,
        '{"metadata": {"a\\u0000": 1}}',
        "metadata.a\\u0000 must be a name without control characters, got 'a\\x00'",
    ),
    (
        decide,
        '{"groups": [{"arms": ["x"], "leas": 3}]}',
        "groups.0.leas is unknown: known members are arms, least, most",
    ),
    (decide, '{"weights": {"é": "ü"}}', "weights.é must be a number, got 'ü'"),
    (
        decide,
        '{"weights": {"\u202e": "\\u202e"}}',
        r"weights.\u202e must be a number, got '\u202e'",
    ),
    (decide, '{"at_most": "yes"}', "at_most must be true or false, got 'yes'"),
    (decide, '{"capacity": NaN}', "capacity must be a finite number, got nan"),
    (
        merge_batch,
        '{"version": "a", "decisions": [{"id": "x"}]}',
        "version must be the version of a snapshot, got 'a'",
    ),
]


@pytest.mark.parametrize(("endpoint", "raw", "detail"), MISFITS)
def test_a_body_that_does_not_fit(endpoint, raw, detail):
    with pytest.raises(Problem) as refused:
        endpoint.arguments(raw.encode(), "application/json", None)
    assert (refused.value.status, refused.value.detail) == (422, detail)


def members(good, wrong, where):
    """An object with many members, some of which are wrong."""
    return {str(i): wrong if i in where else good for i in range(999)}


MANY = {
    "a list": ({"must": [1] * 999}, "must.0 must be text, got 1", 1),
    "the last of a list": ({"must": ["a"] * 999 + [1]}, "must.999 must be text, got 1", 1),
    "an object": (
        {"weights": members(1, "x", range(999))},
        "weights.0 must be a number, got 'x'",
        10,
    ),
    "in the middle": (
        {"k": {}, "weights": members(1, "x", range(100, 200))},
        "k must be a whole number, got {}",
        1,
    ),
    "unknown": (
        members(1, 1, ()),
        "0 is unknown: known members are n, k, at_most, available, must, must_not, groups, "
        "weights, capacity, metadata, context, propensities",
        10,
    ),
}


@pytest.mark.parametrize(("body", "detail", "n_errors"), MANY.values(), ids=MANY)
def test_very_many_misfits_are_described_by_some(body, detail, n_errors):
    """To describe each of a million would take a minute, in which all requests wait."""
    with pytest.raises(Problem) as refused:
        decide.arguments(json.dumps(body).encode(), "application/json", None)
    assert refused.value.detail == detail
    assert len(refused.value.body()["errors"]) == n_errors


def test_misfits_that_are_not_found_are_counted():
    raw = json.dumps({"outcomes": members(1, 2, range(100, 200))})
    with pytest.raises(Problem, match="the body has 100 members that do not fit"):
        tell.arguments(raw.encode(), "application/json", None)


def test_large_values_are_shown_by_their_beginning():
    assert shown([[1] * 10**6] * 3) == "[[" + "1, " * 25 + "..."
    assert shown({"a": "x" * 10**6}) == "{'a': '" + "x" * 70 + "..."
    assert shown((1, "é\u202e")) == r"(1, 'é\u202e')"


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    with client_of(tmp_path_factory.mktemp("misfits") / "bandits.db") as client:
        yield client


QUERIES = {
    "?colour=red": "colour is unknown: known parameters are limit, after, name, query",
    "?limit=x": "limit must be a whole number, got 'x'",
    "?limit=0": "limit must be at least 1, got '0'",
    "?limit=5&limit=6": "'limit' must come once, got it 2 times",
    "/{id}?dependent=true": "dependent is unknown: known parameters are top, query",
    "/{id}/verdict?dependent=maybe": "dependent must be true or false, got 'maybe'",
    "/{id}/verdict?late=no": "late must be 'any' or 'alike', got 'no'",
}


@pytest.mark.parametrize(("query", "detail"), QUERIES.items())
def test_a_query_that_does_not_fit(client, query, detail):
    path = "/v1/bandits" + query.format(id=create(client, name=query))
    answer = client.get(path)
    assert (answer.status_code, answer.json()["detail"]) == (422, detail)


def test_a_request_without_parameters_refuses_all(client):
    """Such as an arm whose question mark is not escaped. Health and metrics ignore parameters."""
    bandit = create(client, name="none", arms=["who", "what?"], k=1)
    paths = [f"/v1/bandits/{bandit}/arms/who?now=1", f"/v1/bandits/{bandit}/decisions?n=3"]
    for method, path in zip(("DELETE", "POST"), paths, strict=True):
        answer = client.request(method, path)
        assert answer.status_code == 422, answer.text
        assert answer.json()["detail"].endswith("is unknown: no parameters are known")
    assert client.get(f"/v1/bandits/{bandit}").json()["rounds"] == 0
    assert client.get("/healthz?now=1").is_success
    assert client.get("/metrics?now=1").is_success

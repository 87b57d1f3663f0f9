"""Bodies and paths that the service refuses, and the form of its answers."""

import gzip

import pytest

from serving import create


def test_whole_numbers_may_have_a_point(client):
    body = b'{"name": "x", "arms": 4.0, "k": 2.0, "seed": 1.0}'
    answer = client.post("/v1/bandits", content=body, headers={"content-type": "application/json"})
    assert (answer.status_code, answer.json()["n_arms"]) == (201, 4)
    half = client.post(f"/v1/bandits/{answer.json()['id']}/decisions", json={"n": 1.5})
    assert half.status_code == 422


BAD = {
    "not JSON": (b"{", 400),
    "deep": (b'{"name":' + b"[" * 5000 + b"]" * 5000 + b"}", 400),
    "no name": (b'{"arms": 3, "k": 1}', 422),
    "a number for a name": (b'{"name": 3, "arms": 3, "k": 1}', 422),
    "NUL": (b'{"name": "a\\u0000b", "arms": 3, "k": 1}', 422),
    "half a surrogate": (b'{"name": "a\\ud800b", "arms": 3, "k": 1}', 400),
    "k too large": (b'{"name": "x", "arms": 3, "k": 4}', 422),
    "huge k": (b'{"name": "x", "arms": 3, "k": 1' + b"0" * 400 + b"}", 422),
    "twice the same arm": (b'{"name": "x", "arms": ["a", "a"], "k": 1}', 422),
    "another member": (b'{"name": "x", "arms": 3, "k": 1, "colour": "red"}', 422),
    "unknown belief": (b'{"name": "x", "arms": 3, "k": 1, "belief": "beta; drop"}', 422),
    "unknown parameter": (
        b'{"name": "x", "arms": 3, "k": 1, "belief": {"kind": "beta", "colour": 1}}',
        422,
    ),
    "infinite prior": (b'{"name": "x", "arms": 3, "k": 1, "prior": [1e999, 1]}', 422),
    "NaN": (b'{"name": "x", "arms": 3, "k": 1, "prior": [NaN, 1]}', 422),
    "NaN in a reward": (
        b'{"name": "x", "arms": 2, "k": 1, "reward": {"name": "linear", "weights": [NaN, 1]}}',
        422,
    ),
    "huge weight": (
        b'{"name": "x", "arms": 2, "k": 1, "reward": {"name": "linear", "weights": [1e999, 1]}}',
        422,
    ),
    "reward of others": (
        b'{"name": "x", "arms": 2, "k": 1, "reward": {"name": "linear", "weights": [1]}}',
        422,
    ),
    "top k of what is no sum": (
        b'{"name": "x", "arms": 3, "k": 1, "reward": "any_success", "oracle": "top_k"}',
        422,
    ),
    "top k of what is no sum, now and then": (
        b'{"name": "x", "arms": 3, "k": 1, "reward": "any_success", "oracle": '
        b'{"kind": "rarely", "when": 2, "oracle": '
        b'{"kind": "epsilon_random", "epsilon": 0.5, "oracle": "top_k"}}}',
        422,
    ),
    "top k of what is no sum, at first": (
        b'{"name": "x", "arms": 3, "k": 1, "reward": "any_success", "oracle": '
        b'{"kind": "local_search", "start": "top_k"}}',
        422,
    ),
    "an absurd parameter": (
        b'{"name": "x", "arms": 3, "k": 1, "oracle": {"kind": "group_testing", "delta": 5e-324}}',
        422,
    ),
    "an absurd prior": (b'{"name": "x", "arms": 3, "k": 1, "prior": [1e-300, 1]}', 422),
    "an absurd weight": (
        b'{"name": "x", "arms": 2, "k": 1, "reward": {"name": "linear", "weights": [1e300, 1]}}',
        422,
    ),
    "an oracle in itself": (
        b'{"name": "x", "arms": 3, "k": 1, "oracle": '
        + b'{"kind": "rarely", "when": 2, "oracle": ' * 9
        + b'"top_k"'
        + b"}" * 10,
        422,
    ),
    "an oracle without its parameter": (
        b'{"name": "x", "arms": 3, "k": 1, "oracle": "group_testing"}',
        422,
    ),
    "negative seed": (b'{"name": "x", "arms": 3, "k": 1, "seed": -1}', 422),
}


@pytest.mark.parametrize(("raw", "status"), BAD.values(), ids=BAD)
def test_bad_bodies_are_refused_and_change_nothing(client, raw, status):
    answer = client.post("/v1/bandits", content=raw, headers={"content-type": "application/json"})
    assert answer.status_code == status, answer.text
    problem = answer.json()
    assert answer.headers["content-type"] == "application/problem+json"
    assert problem["status"] == status
    assert "Traceback" not in answer.text
    assert client.get("/v1/bandits").json()["bandits"] == []


def test_what_is_not_there(client):
    assert client.get("/v1/bandits/aaaaaaaaaa").status_code == 404
    assert client.post("/v1/bandits/aaaaaaaaaa/decisions").status_code == 404
    assert client.get("/v1/nothing").json()["status"] == 404
    refused = client.put("/v1/bandits")
    assert (refused.json()["status"], refused.headers["allow"]) == (405, "GET, HEAD, POST")
    assert (
        client.put(f"/v1/bandits/{create(client)}/decisions").headers["allow"] == "GET, HEAD, POST"
    )
    text = client.post("/v1/bandits", content=b"name=x", headers={"content-type": "text/plain"})
    assert text.json()["status"] == 415


@pytest.mark.parametrize(
    ("raw", "fix"),
    [
        (gzip.compress(b"{}"), "send it without compression"),
        ("{}".encode("utf-8-sig"), "send it without a byte order mark"),
        ("{}".encode("utf-16"), "send it in UTF-8"),
    ],
    ids=["gzip", "utf-8-sig", "utf-16"],  # compressed bytes have the time of day
)
def test_bodies_that_are_json_for_others(client, raw, fix):
    answer = client.post("/v1/bandits", content=raw, headers={"content-type": "application/json"})
    assert (answer.status_code, answer.json()["fix"]) == (400, fix)


def test_an_idempotency_key_comes_once(client):
    keys = [("Idempotency-Key", "a"), ("Idempotency-Key", "b")]
    answer = client.post(f"/v1/bandits/{create(client)}/decisions", headers=keys)
    assert (answer.status_code, answer.json()["detail"]) == (400, "Idempotency-Key must come once")

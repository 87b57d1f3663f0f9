"""Malformed requests: always a 4xx problem document, never a 5xx, and nothing changes."""

import contextlib
import json
import math
import sqlite3

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from starlette.requests import ClientDisconnect

from bad_requests import BODIES, NOT_OBJECTS, mutants
from serving import client_of

ARMS = ["a", "b", "c", "d"]


class Fuzzed:
    """A service with one bandit and one open decision. ``calm`` is what must not change."""

    def __init__(self, client, path):
        self.client, self.database = client, sqlite3.connect(path)
        self.bandit = self.good("/v1/bandits", {"name": "calm", "arms": ARMS, "k": 2, "seed": 1})[
            "id"
        ]
        self.decision = self.good(f"/v1/bandits/{self.bandit}/decisions", {})
        self.paths = {
            "create": "/v1/bandits",
            "decide": f"/v1/bandits/{self.bandit}/decisions",
            "tell": f"/v1/decisions/{self.decision['id']}/outcomes",
            "add arms": f"/v1/bandits/{self.bandit}/arms",
        }

    def good(self, path, body):
        answer = self.client.post(path, json=body)
        assert answer.is_success, answer.text
        return answer.json()

    def post(self, endpoint, content, **headers):
        path = self.paths[endpoint.partition(",")[0]]
        content = content.replace(b"%ARM%", self.decision["arms"][0].encode())
        return self.client.post(
            path, content=content, headers={"Content-Type": "application/json", **headers}
        )

    def calm(self):
        """Everything in the database except caches. A refused request must not change it."""
        queries = (
            "SELECT * FROM bandits",
            "SELECT bandit, seq, digest FROM events",
            "SELECT * FROM keys",
        )
        return [self.database.execute(query).fetchall() for query in queries]


@pytest.fixture(scope="module")
def fuzzed(tmp_path_factory):
    path = tmp_path_factory.mktemp("fuzz") / "service.db"
    with client_of(path) as client:
        fuzzed = Fuzzed(client, path)
        yield fuzzed
        fuzzed.database.close()


def check_refusal(answer, what):
    assert 400 <= answer.status_code < 500, f"{what}: {answer.status_code} {answer.text[:300]}"
    assert answer.headers["Content-Type"] == "application/problem+json", what
    problem = json.loads(answer.text)
    assert problem["status"] == answer.status_code
    assert problem["title"]
    assert 0 < len(problem["detail"]) < 2000, what
    for word in ("Traceback", 'File "', "site-packages", "sqlite3", "pydantic"):
        assert word not in answer.text, f"{what}: {answer.text[:300]}"


@pytest.mark.parametrize("endpoint", ["create", "decide", "tell", "add arms"])
def test_what_is_no_json_object(fuzzed, endpoint):
    before = fuzzed.calm()
    for what, content in NOT_OBJECTS.items():
        if endpoint == "decide" and what == "nothing":
            continue  # a decision without wishes
        check_refusal(fuzzed.post(endpoint, content), f"{endpoint}, {what}")
    assert fuzzed.calm() == before


@pytest.mark.parametrize("endpoint", BODIES)
def test_odd_values_for_every_member(fuzzed, endpoint):
    for what, never, content in mutants(endpoint):
        before = fuzzed.calm()
        answer = fuzzed.post(endpoint, content)
        if never or not answer.is_success:
            check_refusal(answer, f"{endpoint}, {what}")
            assert fuzzed.calm() == before, f"{endpoint}, {what}"


ODD = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=20)
    | st.sampled_from(ARMS),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(max_size=8) | st.sampled_from(ARMS), inner, max_size=4)
    ),
    max_leaves=8,
)
MEMBERS = {
    "create": [
        "name",
        "arms",
        "k",
        "belief",
        "oracle",
        "reward",
        "prior",
        "expiry",
        "seed",
        "keep",
        "explain_last",
        "holdout",
    ],
    "decide": [
        "n",
        "k",
        "at_most",
        "available",
        "must",
        "must_not",
        "groups",
        "weights",
        "capacity",
    ],
    "tell": ["outcomes"],
    "add arms": ["arms", "prior"],
}


# Members are drawn by number, so that one drawn body is a body for every endpoint: drawing takes
# longer than all four answers.
N_MEMBERS = math.prod(map(len, MEMBERS.values()))
ANY_BODY = (
    st.dictionaries(st.integers(0, N_MEMBERS - 1) | st.text(max_size=5), ODD, max_size=4) | ODD
)


def named(endpoint, body):
    """The drawn body with the names of this endpoint instead of numbers."""
    names = MEMBERS[endpoint]
    if not isinstance(body, dict):
        return body
    return {
        names[key % len(names)] if isinstance(key, int) else key: value
        for key, value in body.items()
    }


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(drawn=ANY_BODY)
def test_any_json_at_all(fuzzed, drawn):
    for endpoint in MEMBERS:
        body = named(endpoint, drawn)
        before = fuzzed.calm()
        answer = fuzzed.post(endpoint, json.dumps(body).encode())
        if not answer.is_success:
            check_refusal(answer, f"{endpoint}, {body!r}")
            assert fuzzed.calm() == before


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    content=st.binary(max_size=200),
    endpoint=st.sampled_from(["create", "decide", "tell", "add arms"]),
)
def test_any_bytes_at_all(fuzzed, content, endpoint):
    before = fuzzed.calm()
    answer = fuzzed.post(endpoint, content)
    if not answer.is_success:
        check_refusal(answer, f"{endpoint}, {content!r}")
        assert fuzzed.calm() == before
    else:
        assert endpoint == "decide"
        assert content.strip() in (b"", b"{}")


@pytest.mark.parametrize(
    "media",
    [
        "text/plain",
        "application/xml",
        "multipart/form-data; boundary=x",
        "application/x-www-form-urlencoded",
        "",
        "*/*",
    ],
)
def test_other_content_types(fuzzed, media):
    before = fuzzed.calm()
    for endpoint in ("create", "decide", "tell", "add arms"):
        answer = fuzzed.post(
            endpoint, b'{"name": "media", "arms": 3, "k": 1}', **{"Content-Type": media}
        )
        check_refusal(answer, f"{endpoint}, {media}")
    assert fuzzed.calm() == before


def test_other_methods(fuzzed):
    before = fuzzed.calm()
    paths = [
        *fuzzed.paths.values(),
        f"/v1/bandits/{fuzzed.bandit}",
        "/healthz",
        "/openapi.json",
        "/nowhere",
    ]
    for path in paths:
        for method in ("PUT", "PATCH", "DELETE", "POST", "OPTIONS", "TRACE", "BREW", "GET"):
            answer = fuzzed.client.request(method, path)
            if not answer.is_success:
                check_refusal(answer, f"{method} {path}")
            else:
                assert method == "GET" or (method, path) == ("POST", fuzzed.paths["decide"])
    after = fuzzed.calm()
    assert after[0] == before[0]
    assert len(after[1]) == len(before[1]) + 1  # the decision that was well asked for


ODD_PARTS = [
    "no such thing",
    "%00",
    "%ff",
    "..",
    "%2e%2e",
    "a" * 5000,
    "%F0%9F%98%80",
    "'; DROP TABLE events; --",
    "-1",
    "1e9",
    "null",
    "%",
]


def test_odd_ids_and_queries(fuzzed):
    before = fuzzed.calm()
    for part in ODD_PARTS:
        for method, path in [
            ("GET", f"/v1/bandits/{part}"),
            ("GET", f"/v1/bandits/{part}/log"),
            ("POST", f"/v1/bandits/{part}/decisions"),
            ("GET", f"/v1/decisions/{part}"),
            ("GET", f"/v1/decisions/{fuzzed.bandit}-{part}"),
            ("POST", f"/v1/decisions/{part}/outcomes"),
            ("DELETE", f"/v1/bandits/{fuzzed.bandit}/arms/{part}"),
            ("GET", f"/v1/bandits?limit={part}"),
            ("GET", f"/v1/bandits?after={part}"),
            ("GET", f"/v1/bandits/{fuzzed.bandit}?top={part}"),
            ("GET", f"/v1/bandits/{fuzzed.bandit}/log?after={part}"),
            ("GET", f"/v1/bandits/{fuzzed.bandit}/log?after=9&follow={part}"),
        ]:
            check_refusal(fuzzed.client.request(method, path), f"{method} {path[:80]}")
    assert fuzzed.calm() == before


def test_odd_idempotency_keys(fuzzed):
    before = fuzzed.calm()
    for key in (b"", b" ", b"\xff", b"a b", b"x" * 300, "schlüssel".encode(), b"\t"):
        answer = fuzzed.client.post(
            fuzzed.paths["decide"], content=b"{}", headers=[(b"Idempotency-Key", key)]
        )
        check_refusal(answer, repr(key))
    assert fuzzed.calm() == before


@pytest.mark.parametrize("endpoint", ["create", "decide", "tell", "add arms"])
@pytest.mark.parametrize("sent", [b"", b"{}", b"{", b'{"k": 1'])
def test_a_body_that_breaks_off_is_no_request(fuzzed, endpoint, sent):
    """Otherwise its idempotency key would belong to another request than the repeated one."""
    path = fuzzed.paths[endpoint]
    messages = [
        {"type": "http.request", "body": sent, "more_body": True},
        {"type": "http.disconnect"},
    ]
    scope = {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "scheme": "http",
        "method": "POST", "path": path, "raw_path": path.encode(), "query_string": b"",
        "root_path": "", "client": ("127.0.0.1", 9), "server": ("127.0.0.1", 1),
        "headers": [(b"content-length", b"10"), (b"idempotency-key", b"mine")],
    }  # fmt: skip

    async def receive():
        return messages.pop(0) if len(messages) > 1 else messages[0]

    async def send(message):
        assert message.get("status", 400) >= 400

    async def cut():
        with contextlib.suppress(ClientDisconnect):
            await fuzzed.client.app(scope, receive, send)

    before = fuzzed.calm()
    fuzzed.client._runner.run(cut())
    assert fuzzed.calm() == before

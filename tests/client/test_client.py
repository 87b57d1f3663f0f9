"""What the clients send, how they read answers, and when they ask again; the service is played by the test.

The file is long because one table has a row for each verb, and because all tests share the service that is played.
"""

import inspect
import itertools
import json

import httpx
import pytest

import superarm as sa
import superarm.client as sc
from both_clients import BOTH, NO_WAIT
from superarm.client import verbs

SUMMARY = {
    "id": "b1", "name": "news", "n_arms": 3, "k": 2, "created": 1.0, "rounds": 0, "decisions": 0, "evaluations": 0,
    "open": 0, "told": 0, "expired": 0,
}  # fmt: skip
DECISION = {
    "id": "d1",
    "bandit": "b1",
    "arms": ["a", "c"],
    "values": [0.5, 0.25],
    "certified": True,
    "round": 1,
    "time": 2.0,
}


@pytest.fixture(params=BOTH)
def connect(request):
    """Makes a client of each kind on a played service: a function, or a list of what it does time after time."""
    made = []

    def connect(service, **options):
        script = service if callable(service) else played(service)
        made.append(BOTH[request.param](transport=httpx.MockTransport(script), **options))
        return made[-1]

    yield connect
    for client in made:
        client.close()


def played(replies):
    left = iter(replies)

    def service(request):
        reply = next(left)
        if isinstance(reply, Exception):
            raise reply
        if isinstance(reply.stream, Cut):
            return reply
        return httpx.Response(
            reply.status_code, content=reply.content, headers=reply.headers
        )  # each is read once

    return service


def heard(reply, into):
    def service(request):
        into.append(request)
        return reply

    return service


def ok(body, status=200):
    return httpx.Response(status, json=body)


def problem(status, detail="no", **more):
    body = {"type": "about:blank", "title": "No", "status": status, "detail": detail, **more}
    return httpx.Response(status, json=body, headers={"Content-Type": "application/problem+json"})


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
            lambda c: c.tell(sc.Decision.of(DECISION), {}),
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
def test_what_is_sent(connect, call, answer, method, path, body):
    sent = []
    call(connect(heard(ok(answer), sent)))
    (request,) = sent
    assert (request.method, request.url.raw_path.decode()) == (method, path)
    assert (json.loads(request.content) if request.content else None) == body


def test_changes_of_arms_have_keys_of_their_own(connect):
    sent = []
    client = connect(heard(ok({}), sent))
    client.retire("b1", "x", "y")
    client.add_arms("b1", ["x"])
    client.add_arms("b1", ["y"], key="mine")
    keys = [request.headers["idempotency-key"] for request in sent]
    assert len(set(keys)) == 4
    assert keys[-1] == "mine"


def test_restore_brings_back_what_is_retired_and_adds_nothing(connect):
    sent = []
    state = {"retired": ["x", "z"], "posterior": [{"arm": "yy"}, {"arm": "y"}]}
    client = connect(heard(ok(state), sent))
    client.restore("b1", "x", "y")
    assert [request.method for request in sent] == ["GET", "GET", "POST"]
    assert json.loads(sent[-1].content) == {"arms": ["x"]}
    with pytest.raises(ValueError, match="got 'typo'"):
        client.restore("b1", "x", "typo")
    assert [request.method for request in sent[3:]] == ["GET", "GET"]


def test_answers_are_objects(connect):
    fresh, known = (
        DECISION | {"later": 1},
        DECISION | {"values": None, "status": "told", "outcomes": {"a": 1.0}},
    )
    client = connect(
        [
            ok(fresh, 201),
            ok({"decisions": [known]}, 201),
            ok(SUMMARY | {"spec": {}, "events": 3}),
            ok({"new": ["a"]}),
        ]
    )
    one, (two,) = client.ask("b1"), client.ask("b1", 1)
    assert (one.arms, one.values, one.status, one.outcomes) == (("a", "c"), (0.5, 0.25), "open", {})
    assert (one.propensities, one.set_propensity, one.n_samples) == (None, None, 0)
    assert (two.values, two.status, two.outcomes) == (None, "told", {"a": 1.0})
    bandit = client.bandit("b1")
    assert (bandit.name, bandit.events, bandit.posterior) == ("news", 3, None)
    assert client.tell(two, {"a": 1}) == ("a",)


def test_all_pages_of_bandits(connect):
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
    "bad",
    [
        problem(429), problem(502), problem(503), httpx.Response(504), httpx.ConnectError("refused"),
        httpx.ReadTimeout("slow"), httpx.RemoteProtocolError("cut"), httpx.WriteError("gone"),
    ],
)  # fmt: skip
def test_asks_again_with_the_same_key(connect, bad):
    keys, replies = [], played([bad, bad, ok(DECISION, 201)])

    def service(request):
        keys.append((request.headers["Idempotency-Key"], request.content))
        return replies(request)

    client = connect(service)
    assert client.ask("b1").id == "d1"
    assert len(keys) == 3
    assert len(set(keys)) == 1


def test_each_call_has_a_key_of_its_own(connect):
    sent = []
    client = connect(heard(ok(DECISION), sent))
    client.ask("b1"), client.ask("b1"), client.ask("b1", key="mine")
    keys = [request.headers["Idempotency-Key"] for request in sent]
    assert len(set(keys)) == 3
    assert keys[2] == "mine"


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (400, sc.InvalidError), (422, sc.InvalidError), (413, sc.InvalidError), (401, sc.NotAllowedError),
        (403, sc.NotAllowedError), (404, sc.NotFoundError), (409, sc.ConflictError), (410, sc.ExpiredError),
        (500, sc.ServerError),
    ],
)  # fmt: skip
def test_a_no_is_an_error_at_once(connect, status, error):
    client = connect(
        [problem(status, "k must be 3, got 4", fix="give 3")]
    )  # asked again, the script would be over
    with pytest.raises(error, match="k must be 3, got 4") as caught:
        client.ask("b1")
    assert (caught.value.status, caught.value.title, caught.value.problem["fix"]) == (
        status,
        "No",
        "give 3",
    )
    assert isinstance(caught.value, sc.ProblemError)


def test_gives_up_after_all_tries(connect):
    client = connect(
        played(itertools.repeat(problem(429, "slow down"))),
        retries=sc.Retries(tries=3, first_s=1e-6),
    )
    with pytest.raises(sc.TooManyError, match="slow down"):
        client.ask("b1")
    client = connect([httpx.ConnectError("refused")] * 2, retries=sc.Retries(tries=2, first_s=1e-6))
    with pytest.raises(sc.UnreachableError, match="in 2 tries") as caught:
        client.tell("d1", {"a": 1.0})
    assert isinstance(caught.value.__cause__, httpx.ConnectError)


def test_an_answer_of_something_else(connect):
    with pytest.raises(sc.UnreachableError, match="must be JSON"):
        connect([httpx.Response(200, text="<html>hello</html>")]).health()
    with pytest.raises(sc.ServerError, match="upstream"):
        connect([httpx.Response(500, text="upstream died")]).health()
    with pytest.raises(sc.NotFoundError, match=r'^\["\?"\]$'):
        connect([httpx.Response(404, json=["?"])]).health()
    with pytest.raises(sc.NotFoundError, match="Not Found"):
        connect([httpx.Response(404)]).health()


def test_address_and_key_come_from_the_environment(connect, monkeypatch):
    monkeypatch.setenv("SUPERARM_URL", "http://elsewhere:99")
    monkeypatch.setenv("SUPERARM_KEY", "from-outside")
    sent = []
    connect(heard(ok({}), sent), url=None).health()
    connect(heard(ok({}), sent), url="http://here", key="mine").health()
    assert [str(request.url) for request in sent] == [
        "http://elsewhere:99/healthz",
        "http://here/healthz",
    ]
    assert [request.headers["Authorization"] for request in sent] == [
        "Bearer from-outside",
        "Bearer mine",
    ]


def test_keys_are_sent_and_never_shown(connect):
    sent = []
    connect(heard(ok({}), sent), key="secret").health()
    assert sent[0].headers["Authorization"] == "Bearer secret"
    for bad in ("two words", "schlüssel", "new\nline"):
        with pytest.raises(ValueError, match="key must be") as caught:
            connect([], key=bad)
        assert bad not in str(caught.value)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda c: c.ask("b1", must="abc"), TypeError, "several names"),
        (lambda c: c.create("n", "abc", 1), TypeError, "several names"),
        (lambda c: c.ask(None), TypeError, "as its id"),
        (lambda c: c.tell("", {"a": 1.0}), TypeError, "as its id"),
        (lambda c: c.tell("d1", {"a": "much"}), ValueError, "much"),
        (lambda c: c.tell("d1", {"a": float("nan")}), ValueError, "JSON"),
    ],
)
def test_refused_before_anything_is_sent(connect, call, error, words):
    with pytest.raises(error, match=words):
        call(connect([]))


def lines(*seqs):
    return "".join(json.dumps({"seq": seq, "kind": "told"}) + "\n" for seq in seqs).encode()


class Cut(httpx.SyncByteStream, httpx.AsyncByteStream):
    """An answer whose connection breaks in the middle of a line."""

    def __init__(self, data):
        self.data = data

    def __iter__(self):
        yield self.data
        raise httpx.ReadError("cut")

    async def __aiter__(self):
        yield self.data
        raise httpx.ReadError("cut")


def test_a_log_goes_on_where_the_connection_broke(connect):
    afters = []
    replies = played(
        [
            httpx.Response(200, stream=Cut(lines(3, 4) + b'{"seq": 5, "ki')),
            problem(503),
            httpx.ConnectError("refused"),
            httpx.Response(200, content=lines(5, 6)),
        ]
    )

    def service(request):
        afters.append((request.url.params["after"], request.url.params["follow"]))
        return replies(request)

    events = connect(service).log("b1", after=2)
    assert [event["seq"] for event in events] == [3, 4, 5, 6]
    assert afters == [("2", "false"), ("4", "false"), ("4", "false"), ("4", "false")]


def test_a_followed_log_has_no_end(connect):
    client = connect(
        [httpx.Response(200, content=lines(1)), httpx.Response(200, content=lines(2, 3))]
    )
    assert [event["seq"] for event in itertools.islice(client.log("b1", follow=True), 3)] == [
        1,
        2,
        3,
    ]


def test_a_log_that_cannot_be_read(connect):
    with pytest.raises(sc.NotFoundError):
        list(connect([problem(404)]).log("b1"))
    with pytest.raises(sc.UnreachableError, match="must be an event"):
        list(connect([httpx.Response(200, text="<html>\n")]).log("b1"))
    with pytest.raises(sc.UnreachableError, match="2 tries"):
        list(
            connect(
                [httpx.ConnectError("refused")] * 2, retries=sc.Retries(tries=2, first_s=1e-6)
            ).log("b1")
        )


def test_pauses_grow_and_follow_retry_after():
    retries = sc.Retries(tries=9, first_s=1.0, most_s=8.0, longest_s=20.0)
    nothing = httpx.ConnectError("refused")
    for n_failed, full in enumerate([1, 2, 4, 8, 8], start=1):
        pauses = [retries.pause_after(n_failed, nothing).seconds for _ in range(50)]
        assert full / 2 <= min(pauses) < max(pauses) <= full
    for told, least in (("12", 12.0), ("9999", 20.0), ("soon", 0.5), ("-1", 0.5), ("", 0.5)):
        pause = retries.pause_after(1, httpx.Response(429, headers={"Retry-After": told})).seconds
        assert pause == least or (least == 0.5 and 0.5 <= pause <= 1.0)
    for bad in ({"tries": 0}, {"first_s": -1.0}, {"most_s": float("nan")}):
        with pytest.raises(ValueError, match=next(iter(bad))):
            sc.Retries(**bad)


def test_both_clients_have_every_verb():
    names = [
        name
        for name, verb in inspect.getmembers(verbs, inspect.isfunction)
        if not name.startswith("_")
    ]
    names = [name for name in names if getattr(verbs, name).__module__ == verbs.__name__]
    assert len(names) == 12
    for name in names:
        one, other = getattr(sc.Client, name), getattr(sc.AsyncClient, name)
        assert (
            inspect.signature(one).parameters.keys() == inspect.signature(other).parameters.keys()
        )
        assert one.__doc__ == other.__doc__
        assert "self" in inspect.signature(one).parameters


def test_all_is_sorted_and_true():
    assert sorted(sc.__all__) == sc.__all__
    assert all(getattr(sc, name).__doc__ for name in sc.__all__)
    assert NO_WAIT.tries == sc.Retries().tries

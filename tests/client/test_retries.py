"""When requests are sent again, and after how long."""

import itertools

import httpx
import pytest
from played_service import DECISION, ok, played, problem

import superarm.client as sc


@pytest.mark.parametrize(
    "bad",
    [
        problem(429),
        problem(502),
        problem(503),
        httpx.Response(504),
        httpx.ConnectError("refused"),
        httpx.ReadTimeout("slow"),
        httpx.RemoteProtocolError("cut"),
        httpx.WriteError("gone"),
    ],
)
def test_retries_send_the_same_key(connect, bad):
    keys, replies = [], played([bad, bad, ok(DECISION, 201)])

    def service(request):
        keys.append((request.headers["Idempotency-Key"], request.content))
        return replies(request)

    client = connect(service)
    assert client.ask("b1").id == "d1"
    assert len(keys) == 3
    assert len(set(keys)) == 1


def test_the_last_try_raises(connect):
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


MANY = {
    "ask_all": lambda client: client.ask_all([("b1", {}), ("b2", {}), ("b3", {"k": 99})]),
    "tell_all": lambda client: client.tell_all([(f"d{n}", {"a": 1.0}) for n in range(3)]),
}


@pytest.mark.parametrize("verb", MANY)
@pytest.mark.parametrize("status", [429, 502, 503, 504])
def test_many_items_are_sent_again_if_one_may_succeed_later(connect, verb, status):
    """As a single request would be: the home of one bandit may just be started again."""
    sent = []

    def service(request):
        sent.append(request.content)
        good = {"answer": {"new": ["a"]} if verb == "tell_all" else DECISION}
        first = {"problem": {"status": status}} if len(sent) < 3 else good
        return ok({"results": [good, first, {"problem": {"status": 422}}]})

    found = MANY[verb](connect(service))
    assert len(sent) == 3
    assert len(set(sent)) == 1  # with the same keys
    assert not isinstance(found[1], sc.ProblemError)
    assert isinstance(found[2], sc.InvalidError)


def test_many_items_that_fail_in_all_tries_are_errors_of_their_own(connect):
    answer = {"results": [{"answer": {"new": ["a"]}}, {"problem": {"status": 503}}]}
    client = connect([ok(answer)] * 2, retries=sc.Retries(tries=2, first_s=1e-6))
    first, second = client.tell_all([("d1", {"a": 1.0}), ("d2", {"a": 1.0})])
    assert first == ("a",)
    assert isinstance(second, sc.ServerError)

"""When requests are sent again, and after how long."""

import itertools
import json

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
def test_items_are_sent_again_if_they_may_succeed_later(connect, verb, status):
    """As a single request would be: the home of one bandit may just be started again."""
    sent = []
    good = {"answer": {"new": ["a"]} if verb == "tell_all" else DECISION}
    later = {"problem": {"status": status}}
    replies = [[good, later, {"problem": {"status": 422}}], [later], [good]]

    def service(request):
        sent.append(*json.loads(request.content).values())
        return ok({"results": replies[len(sent) - 1]})

    found = MANY[verb](connect(service, retries=sc.Retries(first_s=1e-6)))
    # Only that item, with the same key: the outcomes of the others would be none that are new.
    assert sent[1:] == [[sent[0][1]]] * 2
    assert found[0] == found[1]
    assert found[0] == ("a",) if verb == "tell_all" else found[0].id == DECISION["id"]
    assert isinstance(found[2], sc.InvalidError)


def test_many_items_that_fail_in_all_tries_are_errors_of_their_own(connect):
    answer = {"results": [{"answer": {"new": ["a"]}}, {"problem": {"status": 503}}]}
    replies = [ok(answer), ok({"results": answer["results"][1:]})]
    client = connect(replies, retries=sc.Retries(tries=2, first_s=1e-6))
    first, second = client.tell_all([("d1", {"a": 1.0}), ("d2", {"a": 1.0})])
    assert first == ("a",)
    assert isinstance(second, sc.ServerError)


@pytest.mark.parametrize("later", [httpx.ConnectError("gone"), 503, 500, 403, {"results": []}])
def test_what_is_known_of_some_items_is_not_lost_with_the_others(connect, later):
    """Decisions that were issued have keys that nobody but the client knows."""
    answer = {"results": [{"answer": DECISION}, {"problem": {"status": 503}}]}
    then = problem(later) if isinstance(later, int) else later
    then = ok(then) if isinstance(then, dict) else then
    client = connect([ok(answer), *[then] * 2], retries=sc.Retries(tries=3, first_s=1e-6))
    first, second = client.ask_all([("b1", {}), ("b2", {})])
    assert first.id == DECISION["id"]
    assert isinstance(second, sc.ServerError)

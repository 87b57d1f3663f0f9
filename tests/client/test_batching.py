"""Calls of many tasks that are sent together."""

import asyncio
import json

import httpx
import pytest
from both_clients import NO_WAIT

import superarm.client as sc


def service(sent, *, fails=()):
    """Answers bulk requests; decisions of the bandits in ``fails`` are problems."""

    def answer(request):
        (items,) = json.loads(request.content).values()
        sent.append((request.url.path, items))
        if len(sent) in fails:
            return httpx.Response(503, json={"status": 503, "title": "", "detail": "not now"})
        return httpx.Response(200, json={"results": [result(item) for item in items]})

    def result(item):
        if item.get("bandit") == "nobody":
            return {"problem": {"status": 404, "title": "", "detail": "no bandit"}}
        if "decision" in item:
            return {"answer": {"new": list(item["outcomes"])}}
        made = {"bandit": item["bandit"], "arms": ["ant"], "round": 1, "time": 0.0, "values": None}
        return {"answer": {"id": f"{item['bandit']}-{item['key']}", "certified": True, **made}}

    return httpx.MockTransport(answer)


def run(transport, calls, **options):
    async def main():
        async with sc.AsyncClient("http://here", retries=NO_WAIT, transport=transport) as client:
            return await calls(sc.Batching(client, **options))

    return asyncio.run(main())


def test_calls_of_one_turn_are_one_request_and_each_gets_its_own_answer():
    sent = []

    async def calls(batching):
        asked = [batching.ask(f"b{n}", key=f"k{n}") for n in range(20)]
        return await asyncio.gather(*asked, batching.tell("d-1", {"ant": 1}))

    *decisions, new = run(service(sent), calls)
    assert [one.id for one in decisions] == [f"b{n}-k{n}" for n in range(20)]
    assert new == ("ant",)
    assert sorted((path, len(items)) for path, items in sent) == [
        ("/v1/decisions", 20),
        ("/v1/outcomes", 1),
    ]


def test_requests_have_at_most_so_many_calls():
    sent = []

    async def calls(batching):
        return await asyncio.gather(*(batching.tell(f"d-{n}", {"ant": 1}) for n in range(7)))

    assert run(service(sent), calls, most=3) == [("ant",)] * 7
    assert [len(items) for _, items in sent] == [3, 3, 1]


def test_calls_that_are_too_long_together_are_sent_in_smaller_requests():
    """All of them failed, although the service takes each."""
    sent = []

    def answer(request):
        (items,) = json.loads(request.content).values()
        sent.append([int(item["decision"]) for item in items])
        if len(items) > 2 or 5 in sent[-1]:
            return httpx.Response(413, json={"status": 413, "title": "", "detail": "too long"})
        return httpx.Response(200, json={"results": [{"answer": {"new": ["ant"]}}] * len(items)})

    async def calls(batching):
        asked = [batching.tell(f"{n}", {"ant": 1}) for n in range(6)]
        return await asyncio.gather(*asked, return_exceptions=True)

    *told, error = run(httpx.MockTransport(answer), calls)
    assert told == [("ant",)] * 5
    assert isinstance(error, sc.InvalidError)  # alone it is too long, too
    assert sent == [[0, 1, 2, 3, 4, 5], [0, 1, 2], [0], [1, 2], [3, 4, 5], [3], [4, 5], [4], [5]]


def test_an_error_is_that_of_its_own_call():
    async def calls(batching):
        asked = [batching.ask(bandit) for bandit in ("a", "nobody", "b")]
        return await asyncio.gather(*asked, return_exceptions=True)

    one, error, two = run(service([]), calls)
    assert (one.bandit, two.bandit) == ("a", "b")
    assert isinstance(error, sc.NotFoundError)


def test_a_call_that_cannot_be_sent_fails_no_other_one():
    sent = []

    async def calls(batching):
        asked = [
            batching.ask("a", available=(arm for arm in ["ant"])),
            batching.ask("a", unknown=1),
            batching.ask("a", key="a key with blanks"),
            batching.ask("a", capacity=float("nan")),
            batching.ask("a", metadata={"who": object()}),
            batching.ask(None),
            batching.ask("b"),
        ]
        told = [batching.tell("d-1", {"ant": x}) for x in (1.0, float("nan"), "1", 0.0)]
        return await asyncio.gather(*asked, *told, return_exceptions=True)

    found = run(service(sent), calls)
    kinds = [type(one) for one in found]
    assert kinds[:7] == [
        sc.Decision, TypeError, ValueError, ValueError, TypeError, TypeError, sc.Decision,
    ]  # fmt: skip
    assert kinds[7:] == [tuple, ValueError, TypeError, tuple]
    assert [len(items) for _, items in sent] == [2, 2]
    assert sent[0][1][0]["available"] == ["ant"]


def test_what_a_call_was_given_may_change_afterwards():
    sent = []

    async def calls(batching):
        outcomes = {"ant": 1.0}
        told = asyncio.ensure_future(batching.tell("d-1", outcomes))
        await asyncio.sleep(0)
        outcomes["ant"] = 0.0
        return await told

    assert run(service(sent), calls) == ("ant",)
    assert sent[0][1] == [{"decision": "d-1", "outcomes": {"ant": 1.0}}]


def test_a_request_that_is_repeated_has_the_same_keys():
    sent = []

    async def calls(batching):
        return await asyncio.gather(*(batching.ask("a") for _ in range(3)))

    assert len(run(service(sent, fails={1}), calls)) == 3
    first, second = sent
    assert first == second
    assert len({item["key"] for item in first[1]}) == 3


def test_a_call_that_fails_for_now_delays_no_other_one():
    """All calls of its request waited for all its tries, and so did those behind them."""
    n_others, tried = 0, []

    def answer(request):
        nonlocal n_others
        results = []
        for item in json.loads(request.content)["decisions"]:
            made = {"arms": ["ant"], "round": 1, "time": 0.0, "values": None, "certified": True}
            result = {"answer": {"id": item["key"], "bandit": item["bandit"], **made}}
            if item["bandit"] == "later":
                tried.append(item)
                if n_others < 20:
                    result = {"problem": {"status": 503}}
            else:
                n_others += 1
            results.append(result)
        return httpx.Response(200, json={"results": results})

    async def calls(batching):
        later = asyncio.ensure_future(batching.ask("later"))
        for n in range(20):
            await batching.ask("other", key=f"k{n}")
        return await later

    async def main():
        retries = sc.Retries(tries=100, first_s=1e-6, most_s=1e-6)
        transport = httpx.MockTransport(answer)
        async with sc.AsyncClient("http://here", retries=retries, transport=transport) as client:
            return await calls(sc.Batching(client))

    assert asyncio.run(main()).id == tried[0]["key"]
    assert len(tried) > 1
    assert all(item == tried[0] for item in tried)


@pytest.mark.parametrize(("status", "n_tries"), [(503, 3), (429, 3), (404, 1)])
def test_a_call_is_tried_as_often_as_a_single_request(status, n_tries):
    sent = []

    def answer(request):
        sent.append(request)
        return httpx.Response(200, json={"results": [{"problem": {"status": status}}]})

    async def main():
        retries = sc.Retries(tries=3, first_s=1e-6)
        transport = httpx.MockTransport(answer)
        async with sc.AsyncClient("http://here", retries=retries, transport=transport) as client:
            await sc.Batching(client).tell("d-1", {"ant": 1.0})

    with pytest.raises(sc.ProblemError) as raised:
        asyncio.run(main())
    assert (raised.value.status, len(sent)) == (status, n_tries)


def test_a_cancelled_call_stops_no_other_one():
    sent = []

    async def calls(batching):
        gone = asyncio.ensure_future(batching.ask("a"))
        kept = asyncio.ensure_future(batching.ask("b"))
        await asyncio.sleep(0)
        gone.cancel()
        return await kept

    assert run(service(sent), calls).bandit == "b"


def test_most_is_checked():
    async def calls(batching):
        raise AssertionError("not called")

    with pytest.raises(ValueError, match="most must be at least 1, got 0"):
        run(service([]), calls, most=0)
    with pytest.raises(ValueError, match="most must be at most 10000"):
        run(service([]), calls, most=10_001)  # all calls of a request would fail


def test_an_answer_with_too_few_results_is_an_error_for_all():
    """Such as that of a broken proxy. Nobody knows whose results are missing."""

    def answer(request):
        return httpx.Response(200, json={"results": [{"answer": {"new": ["ant"]}}]})

    async def calls(batching):
        told = [batching.tell(f"d-{n}", {"ant": 1}) for n in range(3)]
        asked = [batching.ask("b"), batching.ask("b")]
        return await asyncio.gather(*told, *asked, return_exceptions=True)

    *told, _, _ = errors = run(httpx.MockTransport(answer), calls)
    assert all(isinstance(one, sc.UnreachableError) for one in errors), errors
    assert "got 1 for 3" in str(told[0])

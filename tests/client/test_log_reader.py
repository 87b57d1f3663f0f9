"""Reading logs across broken connections."""

import itertools
import json

import httpx
import pytest
from played_service import Cut, played, problem

import superarm.client as sc


def lines(*seqs):
    return "".join(json.dumps({"seq": seq, "kind": "told"}) + "\n" for seq in seqs).encode()


def test_a_log_continues_after_a_broken_connection(connect):
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

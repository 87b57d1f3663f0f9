"""A stand-in for the service, in this process: it gives the answers that a test prescribes."""

import httpx

SUMMARY = {
    "id": "b1",
    "name": "news",
    "n_arms": 3,
    "k": 2,
    "created": 1.0,
    "rounds": 0,
    "decisions": 0,
    "evaluations": 0,
    "open": 0,
    "told": 0,
    "expired": 0,
}
DECISION = {
    "id": "d1",
    "bandit": "b1",
    "arms": ["a", "c"],
    "values": [0.5, 0.25],
    "certified": True,
    "round": 1,
    "time": 2.0,
}


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
        )  # a response can be read only once

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

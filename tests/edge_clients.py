"""Edge bandits of a service in the process of the tests, over a line that can break."""

import httpx

from superarm.client import Client, EdgeBandit, Retries
from superarm.client.requests import Request

ONCE = Retries(tries=1)


class Line:
    """Carries requests to a service. It can lose requests and answers, and see them pass."""

    def __init__(self, service):
        self.service, self.lost = service, None
        self.passed, self.before = [], {}

    def __call__(self, request):
        path = request.url.raw_path.decode()
        noun = path.rpartition("/")[2]
        if noun in self.before:
            self.before.pop(noun)()
        if self.lost == "request":
            raise httpx.ConnectError("lost")
        sent = {"content": request.content, "headers": request.headers}
        answer = self.service.request(request.method, path, **sent)
        self.passed.append((noun, request, answer))
        if self.lost == "answer":
            raise httpx.ReadError("lost")
        return httpx.Response(answer.status_code, content=answer.content, headers=answer.headers)

    def edge(self, bandit, **options):
        client = Client("http://127.0.0.1", transport=httpx.MockTransport(self), retries=ONCE)
        return EdgeBandit(client, bandit, **options)


def play(edge, n, good="ant", **options):
    """Make and complete n decisions."""
    made = [edge.ask(**options) for _ in range(n)]
    for one in made:
        edge.tell(one, {arm: float(arm == good) for arm in one.arms})
    return made


def batch(line, bandit, decisions, version, key="k1"):
    """Send a batch without an edge bandit, and return the answer."""
    body = {"version": version, "decisions": decisions}
    request = Request("POST", f"/v1/bandits/{bandit}/batches", body=body, key=key).for_httpx()
    return line.service.request(
        "POST", request["url"], content=request["content"], headers=request["headers"]
    )

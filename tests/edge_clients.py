"""Edge bandits of a service in the process of the tests, over a line that can break."""

import httpx
import numpy as np

from serving import events_of
from superarm.client import Client, EdgeBandit, Retries
from superarm.client.requests import Request
from superarm.service.bandits.spec import policy_of
from superarm.service.log.chain import first_event, spec_of

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


def belief_of(line, bandit):
    """What the service believes, from a new snapshot."""
    return line.edge(bandit).session.policy.belief.state()


def taught(line, bandit):
    """A slow, obvious twin: a new policy that is told the outcomes of the log, one by one."""
    engine = line.service.app.state.service.engine
    spec = spec_of(first_event(engine.store, engine.store.bandit(bandit)))
    names, policy = list(spec["arms"]), policy_of(spec, {})(len(spec["arms"]))
    rng = np.random.default_rng(spec["seed"])
    for event in events_of(line.service, bandit):
        for one in event.get("decisions", ()) if event["kind"] == "merged" else ():
            told = sorted((names.index(arm), x) for arm, x in one["outcomes"].items())
            policy.tell([arm for arm, _ in told], [x for _, x in told], rng=rng)
    return policy.belief.state()


def merged(line, bandit):
    return [
        one
        for event in events_of(line.service, bandit)
        if event["kind"] == "merged"
        for one in event["decisions"]
    ]

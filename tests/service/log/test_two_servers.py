"""Two servers on one PostgreSQL: the log is as if one server had done everything in turn."""

import contextlib
import itertools
import time

import crash
import superarm as sa
from forked_server import ForkedServer
from superarm.client import Client


def serial(events, bandit):
    """Repeat the requests of the log in a bare session, and compare each with its event."""
    spec, now = events[0]["spec"], [0.0]
    names = [str(number) for number in range(spec["arms"])]
    policy = sa.Policy(sa.BetaBelief(len(names)), sa.TopK(), sa.LinearReward(len(names)), spec["k"])
    session = sa.Session(
        policy,
        names,
        seed=spec["seed"],
        rewards=sa.LinearReward,
        key=bandit,
        keep=100_000,
        clock=lambda: now[0],
    )
    for event in events[1:]:
        now[0] = event["time"]
        if event["kind"] == "decided":
            asks = event.get("asks") or [event["ask"]]
            made = [one for asked in asks for one in session.ask(asked.get("n", 1))]
            for one, logged in zip(made, event["decisions"], strict=True):
                assert (one.id, list(one.arms), list(one.values)) == (
                    logged["id"],
                    logged["arms"],
                    logged["values"],
                )
        elif event["kind"] == "told":
            for told in event.get("told", [event]):
                assert session.tell(told["decision"], told["outcomes"]) == tuple(told["outcomes"])
        else:
            assert event["kind"] == "arms_added"
            session.add_arms(event["arms"])
        counts = event["counts"]
        assert (counts["rounds"], counts["open"]) == (session.rounds, len(session.open))
    belief = session.policy.belief
    return dict(
        zip(session.names, zip(belief.a.tolist(), belief.b.tolist(), strict=True), strict=True)
    )


def n_served(server):
    """How many requests for decisions a server has answered, by its log."""
    return server.said.count('/decisions", "status": 201')


def wait_until(condition, seconds=120):
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.02)


def test_two_servers_do_one_thing_after_the_other(postgres_database, tmp_path):
    with contextlib.ExitStack() as stack:
        servers = [
            ForkedServer(postgres_database, tmp_path / f"log{number}", "--checkpoint-every", "20")
            for number in range(2)
        ]
        for server in servers:
            stack.enter_context(server.start())
        clients = [stack.enter_context(Client(server.url)) for server in servers]
        bandit = clients[0].create("shared", crash.N_ARMS, crash.K, belief="beta", seed=5).id
        record = tmp_path / "record.jsonl"
        urls = [server.url for server in servers]
        with crash.load(urls, bandit, record, clients=6, kind=ForkedServer):
            crash.wait_for(record, 60)
            servers[1].kill()  # the other one continues, and nobody waits for the lock of the dead
            time.sleep(0.3)
            servers[1].start()
            crash.wait_for(record, 130)
            wait_until(lambda: min(map(n_served, servers)) > 5)
        events, states = (
            list(clients[0].log(bandit)),
            [crash.state_of(client, bandit) for client in clients],
        )
        assert list(clients[1].log(bandit)) == events
        found = crash.judge(crash.lines(record), events, states[0])
        assert states[0] == states[1] == serial(events, bandit)
        assert found["decisions"] > 20
        # Both were at work, and took turns: else this would show nothing.
        assert min(map(n_served, servers)) > 5
        assert [server.stop() for server in servers] == [0, 0]
    assert all(
        later >= earlier for earlier, later in itertools.pairwise(event["time"] for event in events)
    )

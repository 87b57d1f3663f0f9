"""Clients that ask and tell in a loop, and write down every answer. Started by crash.py.

    python benchmarks/crash_load.py URL[,URL...] BANDIT RECORD [--clients N] [--edges N] [--seed N]

Each line of the record is JSON, written before the next request is made: the request with its key,
and the answer. With several servers, each request goes to any of them. Outcomes are 0 or 1, so that
the belief follows from the record alone. SIGTERM stops the clients after the answers that they wait
for. Edge clients decide with snapshots, and write down what the service has acknowledged of their
batches.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import random
import signal
import threading
from pathlib import Path
from typing import Any

from superarm.client import AsyncClient, Client, ConflictError, Decision, EdgeBandit, Retries

PATIENT = Retries(tries=2000, first_s=0.01, most_s=0.2)


class Record:
    """Lines in a file. When ``add`` returns, the system has the line: a kill does not lose it."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)

    def add(self, **what: Any) -> None:
        os.write(self._file, (json.dumps(what) + "\n").encode())


class Worker:
    """One client. ``turn`` is one decision: requested, then completed in parts.

    Now and then a request is repeated or contradicted.
    """

    def __init__(
        self, clients: list[AsyncClient], bandit: str, record: Record, number: int, seed: int
    ) -> None:
        self.clients, self.bandit, self.record, self.number = clients, bandit, record, number
        self.rng = random.Random(seed * 1000 + number)
        self.n_asked = 0

    @property
    def client(self) -> AsyncClient:
        """One of the servers, at random."""
        return self.rng.choice(self.clients)

    async def turn(self) -> None:
        self.n_asked += 1
        if self.rng.random() < 0.02:
            await self.add_arm()
        key = f"{self.number}-{self.n_asked}"
        n = self.rng.choice([None, None, None, 1, 3])
        self.record.add(do="ask", key=key, n=n)
        asked = await self.client.ask(self.bandit, n, key=key)  # type: ignore[arg-type,misc]
        decisions = [asked] if isinstance(asked, Decision) else asked
        self.record.add(
            did="ask", key=key, decisions=[{"id": one.id, "arms": one.arms} for one in decisions]
        )
        for decision in decisions:
            await self.tell(decision)

    async def tell(self, decision: Decision) -> None:
        outcomes = {arm: float(self.rng.random() < 0.3) for arm in decision.arms}
        cut = self.rng.randrange(len(outcomes) + 1)
        parts = [dict(list(outcomes.items())[:cut]), dict(list(outcomes.items())[cut:])]
        if self.rng.random() < 0.1:
            parts.pop()  # a decision that stays open
        if self.rng.random() < 0.2:
            parts.append(parts[0])  # told before
        for part in filter(None, parts):
            self.record.add(do="tell", id=decision.id, outcomes=part)
            await self.client.tell(decision, part)
            self.record.add(did="tell", id=decision.id, outcomes=part)
        if parts[0] and self.rng.random() < 0.1:
            await self.contradict(decision, parts[0])

    async def contradict(self, decision: Decision, told: dict[str, float]) -> None:
        try:
            await self.client.tell(decision, {arm: 1.0 - x for arm, x in told.items()})
        except ConflictError:
            return
        raise AssertionError(f"another outcome for {decision.id} must be refused, and was taken")

    async def add_arm(self) -> None:
        name = f"new-{self.number}-{self.n_asked}"
        await self.client.add_arms(self.bandit, [name], key=name)
        self.record.add(did="add", arm=name)


class EdgeWorker:
    """A client that decides with snapshots. ``turn`` is a few decisions, and a sync."""

    def __init__(
        self, clients: list[Client], bandit: str, record: Record, number: int, seed: int
    ) -> None:
        self.clients, self.record = clients, record
        self.rng = random.Random(seed * 1000 + 500 + number)
        self.edge = EdgeBandit(clients[0], bandit)
        self.told: dict[str, dict[str, float]] = {}  # of decisions that are not sent

    def turn(self) -> None:
        """Some of the decisions stay open, until `close`."""
        made = self.edge.ask_many(self.rng.randrange(1, 30)) + self.edge.ask(2)
        for one in made:
            outcomes = {arm: float(self.rng.random() < 0.3) for arm in one.arms}
            if self.rng.random() < 0.05:
                outcomes.pop(one.arms[0])
            self.edge.tell(one, outcomes)
            self.told[one.id] = outcomes
        # Each request may go to another server.
        self.edge._client = self.rng.choice(self.clients)
        closed = [one.decision for one in self.edge._closed]
        self.edge.sync()
        self._sent(closed)

    def close(self) -> None:
        closed = [one.decision for one in (*self.edge._closed, *self.edge._open.values())]
        self.edge.close()
        self._sent(closed)

    def _sent(self, decisions: list[Any]) -> None:
        plain = [
            {"id": one.id, "arms": list(one.arms), "outcomes": self.told.pop(one.id)}
            for one in decisions
        ]
        self.record.add(did="merge", decisions=plain)


def decide_at_the_edge(options: argparse.Namespace, record: Record, stopping: Any) -> None:
    """All edge clients, one after the other in one thread."""
    with contextlib.ExitStack() as stack:
        clients = [
            stack.enter_context(Client(url, retries=PATIENT, timeout_s=5.0))
            for url in options.url.split(",")
        ]
        edges = [
            EdgeWorker(clients, options.bandit, record, number, options.seed)
            for number in range(options.edges)
        ]
        while True:  # at least once, however short the test is
            for one in edges:
                one.turn()
            if stopping.is_set():
                break
        for one in edges:
            one.close()


async def main(options: argparse.Namespace) -> None:
    stopping = threading.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stopping.set)
    record = Record(options.record)

    async def work(number: int) -> None:
        async with contextlib.AsyncExitStack() as stack:
            made = [
                AsyncClient(url, retries=PATIENT, timeout_s=5.0) for url in options.url.split(",")
            ]
            clients = [await stack.enter_async_context(client) for client in made]
            worker = Worker(clients, options.bandit, record, number, options.seed)
            while not stopping.is_set():
                await worker.turn()

    async with asyncio.TaskGroup() as workers:
        for number in range(options.clients):
            workers.create_task(work(number))
        if options.edges:
            workers.create_task(asyncio.to_thread(decide_at_the_edge, options, record, stopping))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("url")
    parser.add_argument("bandit")
    parser.add_argument("record", type=Path)
    parser.add_argument("--clients", type=int, default=4)
    parser.add_argument("--edges", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0)
    asyncio.run(main(parser.parse_args()))

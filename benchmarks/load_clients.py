"""Clients that send requests as fast as they are answered. Started by load.py.

    python benchmarks/load_clients.py PORT BANDIT[,BANDIT...] [--clients N] [--first N]
                                [--seconds S] [--bulk N]

Each client has one connection and one request at a time: a decision, then its outcomes, and again.
With ``--bulk`` each request has so many decisions, or the outcomes of so many. Prints JSON: the
number of decisions and outcomes, the latencies of all answers after the warm-up, and the processor
time of the clients. They use plain sockets and take little time, because they share the cores with
the server: answers are read by patterns, and outcomes are drawn before the requests.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import select
import socket
import sys
import time
from typing import Any

# Python allocates all of it for every answer: a megabyte would take a third of a client's time.
_CHUNK = 1 << 16
_HEAD = b"POST %s HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
_ANSWER = re.compile(
    rb"HTTP/1.1 (\d+).*?\r\ncontent-length: *(\d+)\r\n(?:.*?\r\n)?\r\n", re.I | re.S
)
_DECISION = re.compile(rb'"id": *"([^"]*)".*?"arms": *\[([^]]*)\]', re.S)
_MEAN, _N_DRAWS = 0.3, 1024


def request(path: bytes, body: bytes) -> bytes:
    return b"%sContent-Length: %d\r\n\r\n%s" % (_HEAD % path, len(body), body)


class Client:
    """One connection. ``next`` takes an answer and gives the next request."""

    def __init__(self, port: int, bandit: str, bulk: int, seed: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._random, self._got = random.Random(seed), b""
        self._drawn: dict[int, list[bytes]] = {}
        if bulk:
            items = b",".join([b'{"bandit":"%s"}' % bandit.encode()] * bulk)
            self._ask = request(b"/v1/decisions", b'{"decisions":[%s]}' % items)
        else:
            self._ask = request(b"/v1/bandits/%s/decisions" % bandit.encode(), b"{}")
        self._bulk, self._asks = bulk, False
        self.start = 0.0

    def first(self) -> None:
        self._send(self._ask, asks=True)

    def answer(self) -> bytes | None:
        """The body of the answer, if all of it is there; None otherwise."""
        self._got += self.socket.recv(_CHUNK)
        head = _ANSWER.match(self._got)
        if head is None or len(self._got) - head.end() < int(head[2]):
            return None
        body, self._got = self._got[head.end() :], b""
        if head[1][:1] != b"2":
            raise RuntimeError(f"the answer must be 2xx, got {head[1]!r} {body[:200]!r}")
        return body

    def next(self, body: bytes) -> bool:
        """Send the next request. Returns whether the answer was to a request for a decision."""
        asked = self._asks
        if asked:
            self._send(self._outcomes(body), asks=False)
        else:
            self._send(self._ask, asks=True)
        return asked

    def _outcomes(self, body: bytes) -> bytes:
        decisions = _DECISION.findall(body)
        if not self._bulk:
            ((decision, arms),) = decisions
            told = b'{"outcomes":{%s}}' % self._told(arms)
            return request(b"/v1/decisions/%s/outcomes" % decision, told)
        items = [
            b'{"decision":"%s","outcomes":{%s}}' % (decision, self._told(arms))
            for decision, arms in decisions
        ]
        return request(b"/v1/outcomes", b'{"outcomes":[%s]}' % b",".join(items))

    def _told(self, arms: bytes) -> bytes:
        """Names and outcomes. The outcomes of a decision are one of many sets drawn before."""
        names = arms.split(b",")
        drawn = self._drawn.get(len(names))
        if drawn is None:
            drawn = self._drawn[len(names)] = [
                b",".join(b"%%s:%d" % (self._random.random() < _MEAN) for _ in names)
                for _ in range(_N_DRAWS)
            ]
        return self._random.choice(drawn) % tuple(names)

    def _send(self, data: bytes, *, asks: bool) -> None:
        self._asks, self.start = asks, time.perf_counter()
        self.socket.sendall(data)


def play(options: argparse.Namespace) -> dict[str, Any]:
    """All clients together, in one thread."""
    bandits = options.bandits.split(",")
    clients = {}
    poll = select.epoll()
    for number in range(options.first, options.first + options.clients):
        bandit = bandits[number % len(bandits)]
        client = Client(options.port, bandit, options.bulk, number)
        clients[client.socket.fileno()] = client
        poll.register(client.socket.fileno(), select.EPOLLIN)
    begin = time.perf_counter() + options.warm_up
    end = begin + options.seconds
    cpu, n_all = time.process_time(), 0
    seconds: dict[bool, list[float]] = {True: [], False: []}
    for client in clients.values():
        client.first()
    while (now := time.perf_counter()) < end:
        for file, _ in poll.poll(0.1):
            client = clients[file]
            body = client.answer()
            if body is not None:
                took = time.perf_counter() - client.start
                n_all += 1
                asked = client.next(body)
                if now >= begin:
                    seconds[asked].append(took)
    return {
        "seconds": now - begin,
        "ask_s": sorted(seconds[True]),
        "tell_s": sorted(seconds[False]),
        "n_timed": sum(map(len, seconds.values())) * (options.bulk or 1),
        "n_all": n_all * (options.bulk or 1),
        "clients_cpu_s": time.process_time() - cpu,
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("port", type=int)
    parser.add_argument("bandits")
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--first", type=int, default=0, help="number of the first client")
    parser.add_argument("--seconds", type=float, default=4.0)
    parser.add_argument("--warm-up", type=float, default=1.0)
    parser.add_argument("--bulk", type=int, default=0)
    json.dump(play(parser.parse_args()), sys.stdout)

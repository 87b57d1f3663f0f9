"""Clients that ask and tell over kept-alive connections as fast as they can. Started by service.py.

    python benchmarks/service_load.py HOST PORT BANDIT --clients N --seconds S

Each client has one connection and one request at a time: a decision, then its outcomes, and again.
Prints JSON: the latencies of all answers after the warm-up, and the processor time of the clients.
The clients write HTTP themselves, because an HTTP library would take more time than the service.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import sys
import time
from typing import Any

import uvloop


class Connection:
    """Requests and answers, one after the other."""

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, host: str
    ) -> None:
        self.reader, self.writer, self.host = reader, writer, host

    async def post(self, path: str, body: Any) -> tuple[Any, float]:
        """The answer as JSON, and the seconds until all of it was there."""
        data = json.dumps(body).encode()
        head = f"POST {path} HTTP/1.1\r\nHost: {self.host}\r\nContent-Type: application/json\r\n"
        start = time.perf_counter()
        self.writer.write(f"{head}Content-Length: {len(data)}\r\n\r\n".encode() + data)
        answer = (await self.reader.readuntil(b"\r\n\r\n")).lower()
        length = int(answer.split(b"content-length:")[1].split(b"\r\n")[0])
        content = await self.reader.readexactly(length)
        took = time.perf_counter() - start
        if answer[9:10] != b"2":
            raise RuntimeError(
                f"{path} must be answered with 2xx, got {answer[:12]!r} {content[:200]!r}"
            )
        return json.loads(content), took


async def play(
    options: argparse.Namespace, number: int, begin: float, end: float
) -> tuple[list[float], list[float], int]:
    """One client: latencies of decisions and outcomes between two moments, and all its rounds."""
    reader, writer = await asyncio.open_connection(options.host, options.port)
    connection, rng = Connection(reader, writer, options.host), random.Random(number)
    asked: list[float] = []
    told: list[float] = []
    n_rounds = 0
    while (now := time.perf_counter()) < end:
        decision, ask_s = await connection.post(f"/v1/bandits/{options.bandit}/decisions", {})
        outcomes = {arm: float(rng.random() < 0.3) for arm in decision["arms"]}
        _, tell_s = await connection.post(
            f"/v1/decisions/{decision['id']}/outcomes", {"outcomes": outcomes}
        )
        n_rounds += 1
        if now >= begin:
            asked.append(ask_s)
            told.append(tell_s)
    writer.close()
    return asked, told, n_rounds


async def main(options: argparse.Namespace) -> dict[str, Any]:
    """All clients together."""
    begin = time.perf_counter() + options.warm_up
    end = begin + options.seconds
    waiting = [play(options, number, begin, end) for number in range(options.clients)]
    cpu = time.process_time()
    found = await asyncio.gather(*waiting)
    seconds = time.perf_counter() - begin
    return {
        "seconds": seconds,
        "ask_s": sorted(x for asked, _, _ in found for x in asked),
        "tell_s": sorted(x for _, told, _ in found for x in told),
        "n_all": sum(2 * n_rounds for _, _, n_rounds in found),
        "generator_cpu_s": time.process_time() - cpu,
        "generator_wall_s": seconds + options.warm_up,
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("host")
    parser.add_argument("port", type=int)
    parser.add_argument("bandit")
    parser.add_argument("--clients", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--warm-up", type=float, default=2.0)
    json.dump(uvloop.run(main(parser.parse_args())), sys.stdout)

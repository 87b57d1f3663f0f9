"""What slow work of other bandits costs a busy one, and how long a server takes to stop.

    python benchmarks/service_slow.py [--seconds S] [--only NAME]

A bandit of 5,000 arms is asked and told by 8 clients. Beside it, other bandits do slow work:
rewards that sleep, rewards that compute in Python, and samples for propensities. Prints JSON lines
with the requests per second of the busy bandit. At the end the client of a request for 10,000
samples leaves, and the server gets SIGTERM.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx

from server_process import Server

REWARDS = """
import time
import superarm as sa

def _box(fn, n_arms):
    return sa.BlackBox(fn, n_arms=n_arms, lipschitz=1.0, upper=float(n_arms), monotone=True)

def sleeping(n_arms, seconds=0.5):
    def value(arms, means):
        time.sleep(seconds)
        return float(means.sum())
    return _box(value, n_arms)

def busy(n_arms, steps=200_000):
    def value(arms, means):
        total = 0
        for step in range(steps):
            total += step
        return float(means.sum()) + 0.0 * total
    return _box(value, n_arms)
"""
SLOW: dict[str, tuple[int, dict[str, Any], dict[str, Any]]] = {
    # The number of slow bandits, what they are made of, and what is asked of them.
    "nothing": (0, {}, {}),
    "8 sleeping rewards": (8, {"reward": "sleeping"}, {}),
    "80 sleeping rewards": (80, {"reward": "sleeping"}, {}),
    "1 busy reward": (1, {"reward": "busy"}, {}),
    "1 request for propensities": (1, {"oracle": "singletons"}, {"propensities": 10_000}),
}


def rate(server: Server, bandit: str, seconds: float) -> dict[str, float]:
    """Requests per second of a bandit, and the latency that 99% of the decisions stay below."""
    here = Path(__file__).with_name("service_load.py")
    command = [sys.executable, str(here), "127.0.0.1", str(server.port), bandit]
    command += ["--clients", "8", "--seconds", str(seconds), "--warm-up", "1"]
    found = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    asked = found["ask_s"] or [found["seconds"]]
    return {
        "requests_per_s": round(2 * len(found["tell_s"]) / found["seconds"], 1),
        "p99_ms": round(1000 * asked[int(0.99 * (len(asked) - 1))], 1),
    }


@contextlib.contextmanager
def slow_work(server: Server, n: int, made_of: dict[str, Any], body: Any) -> Iterator[None]:
    """Ask ``n`` slow bandits again and again, one client each."""
    done = threading.Event()

    def ask(number: int) -> None:
        # The server is killed in the end.
        ended = contextlib.suppress(httpx.TransportError)
        with ended, httpx.Client(base_url=server.url, timeout=60) as http:
            arms = 2000 if "oracle" in made_of else 20
            spec = {"name": f"{made_of}{number}", "arms": arms, "k": 2, **made_of}
            id = http.post("/v1/bandits", json=spec).json()["id"]
            while not done.is_set():
                http.post(f"/v1/bandits/{id}/decisions", json=body)

    threads = [threading.Thread(target=ask, args=(number,), daemon=True) for number in range(n)]
    for thread in threads:
        thread.start()
    time.sleep(2.0)  # until all are at work
    yield
    done.set()


def stop_beside_samples(server: Server) -> dict[str, float]:
    """Seconds until a server has stopped while a request draws samples whose client has left."""
    with httpx.Client(base_url=server.url) as http:
        spec = {"name": "left", "arms": 5000, "k": 5, "oracle": "singletons"}
        id = http.post("/v1/bandits", json=spec).json()["id"]
        body = {"propensities": 10_000}
        with contextlib.suppress(httpx.TimeoutException):
            http.post(f"/v1/bandits/{id}/decisions", json=body, timeout=1.0)
    start = time.perf_counter()
    server.process.terminate()
    server.process.wait()
    return {"stopped_after_s": round(time.perf_counter() - start, 2)}


def main() -> None:
    """Measure every kind of slow work with a server of its own."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seconds", type=float, default=4.0)
    parser.add_argument("--only", choices=[*SLOW, "stop"])
    options = parser.parse_args()
    for name in [*SLOW, "stop"] if options.only is None else [options.only]:
        with tempfile.TemporaryDirectory() as folder:
            measure(name, Path(folder), options.seconds)


def measure(name: str, folder: Path, seconds: float) -> None:
    """Measure one kind of slow work, and print the result."""
    (folder / "slow_rewards.py").write_text(REWARDS)
    os.environ["PYTHONPATH"] = f"{folder}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"
    options = ["--rewards", "slow_rewards", "--quiet"]
    with Server(str(folder / "bandits.db"), folder / "log", *options) as server:
        if name == "stop":
            found = stop_beside_samples(server)
        else:
            spec = {"name": "busy", "arms": 5000, "k": 5}
            id = httpx.post(f"{server.url}/v1/bandits", json=spec).json()["id"]
            with slow_work(server, *SLOW[name]):
                found = rate(server, id, seconds)
            server.kill()
        print(json.dumps({"beside": name, **found}), flush=True)


if __name__ == "__main__":
    main()

"""Decisions per second of several client processes and one server: see edge.py.

Every process has an `EdgeBandit`. It decides and learns in calls of ``--at-once`` decisions, and
syncs after ``--batch`` decisions. So all decisions of the rate were sent, merged and committed. The
rate without the time of the syncs is given as well: a thread of its own can sync on other cores.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from server_process import Server
from superarm.client import Client, EdgeBandit

K = 5
N_SAMPLES = 1000  # of propensities
CASES = [
    (belief, n_arms, propensities)
    for n_arms in (200, 5000)
    for belief in ("learned_beta", "beta")
    for propensities in (False, True)
]


def cpu_s(pid: int) -> float:
    """Processor seconds of a process and of its children."""
    ticks = os.sysconf("SC_CLK_TCK")
    stat = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return (int(stat[11]) + int(stat[12])) / ticks + sum(cpu_s(int(one)) for one in children)


def decide(
    url: str, bandit: str, options: dict[str, Any], number: int, start: Any, answers: Any
) -> None:
    """One client process: decide for some seconds, and answer with counts and times."""
    rng = np.random.default_rng(number)
    n_samples = N_SAMPLES if options["propensities"] else None
    with Client(url) as client:
        edge = EdgeBandit(client, bandit)
        # The first calls are not counted: the bandit is unusually young.
        for _ in range(3):
            turn(edge, options["at_once"], n_samples, rng)
        edge.sync()
        start.wait()
        n, deciding_s, used, begin = 0, 0.0, time.process_time(), time.perf_counter()
        while time.perf_counter() - begin < options["seconds"]:
            for _ in range(options["batch"] // options["at_once"]):
                before = time.perf_counter()
                turn(edge, options["at_once"], n_samples, rng)
                deciding_s += time.perf_counter() - before
                n += options["at_once"]
            edge.sync()
        wall_s = time.perf_counter() - begin
        used = time.process_time() - used
    answers.put({"n": n, "wall_s": wall_s, "deciding_s": deciding_s, "cpu_s": used})


def turn(edge: EdgeBandit, n: int, n_samples: int | None, rng: np.random.Generator) -> None:
    """Decide and learn n times."""
    decisions = edge.ask_many(n, propensities=n_samples)
    # Arms are numbers, and their means are the uniform numbers from 0 to 1.
    arms = np.array([one.arms for one in decisions], int)
    outcomes = rng.random(arms.shape) < arms / len(edge.session.names)
    edge.tell_many(
        (one, dict(zip(one.arms, told, strict=True)))
        for one, told in zip(decisions, outcomes.astype(float).tolist(), strict=True)
    )


def measure(url: str, pid: int, bandits: list[str], options: dict[str, Any]) -> dict[str, Any]:
    """All client processes at the same time."""
    context = multiprocessing.get_context("spawn")
    start, answers = context.Barrier(options["processes"] + 1), context.Queue()
    processes = [
        context.Process(
            target=decide,
            args=(url, bandits[number % len(bandits)], options, number, start, answers),
        )
        for number in range(options["processes"])
    ]
    for process in processes:
        process.start()
    start.wait()
    used = cpu_s(pid)
    found = [answers.get() for _ in processes]
    used = cpu_s(pid) - used
    for process in processes:
        process.join()
    n = sum(one["n"] for one in found)
    return {
        "per_s": sum(one["n"] / one["wall_s"] for one in found),
        "deciding_per_s": sum(one["n"] / one["deciding_s"] for one in found),
        "client_us": 1e6 * sum(one["cpu_s"] for one in found) / n,
        "server_us": 1e6 * used / n,
        "decisions": n,
    }


def throughput(options: argparse.Namespace) -> dict[str, Any]:
    """The rates of all cases. Each is written when it is known."""
    about = {
        name: getattr(options, name)
        for name in ("processes", "workers", "bandits", "seconds", "at_once", "batch")
    }
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder:
        flags = ["--quiet", "--workers", str(options.workers)]
        server = Server(f"{folder}/edge.db", Path(folder) / "log", *flags)
        with server, Client(server.url, timeout_s=60.0) as client:
            for belief, n_arms, propensities in CASES[: 1 if options.quick else None]:
                case = {"belief": belief, "arms": n_arms, "propensities": propensities}
                names = [f"{belief} {n_arms} {propensities} {i}" for i in range(options.bandits)]
                kind = None if belief == "learned_beta" else belief
                bandits = [client.create(name, n_arms, K, belief=kind).id for name in names]
                found = measure(server.url, server.process.pid, bandits, {**about, **case})
                rows.append({**case, **found})
                print(json.dumps(rows[-1]), flush=True)
                if options.raw is not None:
                    options.raw.write_text(json.dumps({**about, "rows": rows}, indent=1) + "\n")
    return {"throughput": {**about, "k": K, "samples": N_SAMPLES, "rows": rows}}

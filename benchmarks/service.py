"""How many decisions and outcomes per second the service takes, and how long each takes.

    python benchmarks/service.py [--seconds S] [--growth M ...] [--database URL]
                                 [--folder FOLDER] [--out FILE.json]
    python benchmarks/service.py --from FILE.json

A server process and a process of clients with kept-alive connections (service_load.py), 5 of 5,000
arms, at 1, 8 and 64 clients. Each client sends a decision, then its outcomes, and waits for each
answer. Everything is durable. Two other programs run on the same disk for comparison: the same work
in the library (`Session.ask` and `tell`, nothing durable), and a loop of commits in SQLite, one row
each with WAL and synchronous=FULL. Then the number of arms grows.

All programs share the cores of this machine. The table shows how much the clients take.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import psutil
from rich.console import Console
from rich.table import Table

import superarm as sa
from server_process import Server
from superarm.client import Client

M, K = 5_000, 5
CLIENTS = (1, 8, 64)
ROW = "x" * 450  # about what the event of a decision has


def library(n_arms: int, seconds: float) -> dict[str, float]:
    """Decisions and outcomes per second of a bare session, and the processor time of each."""
    names = [str(number) for number in range(n_arms)]
    session = sa.Session(
        sa.Policy(sa.BetaBelief(n_arms), sa.TopK(), sa.LinearReward(n_arms), K), names, seed=1
    )
    rng, n_done, start, cpu = random.Random(0), 0, time.perf_counter(), time.process_time()
    while (took := time.perf_counter() - start) < seconds:
        decision = session.ask()
        session.tell(decision, {arm: float(rng.random() < 0.3) for arm in decision.arms})
        n_done += 2
    return {
        "library_per_s": n_done / took,
        "library_cpu_ms": 1e3 * (time.process_time() - cpu) / n_done,
    }


def commits(folder: Path, seconds: float) -> float:
    """Commits per second of SQLite, one row in each."""
    connection = sqlite3.connect(folder / "commits.db", isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("CREATE TABLE rows (number INTEGER PRIMARY KEY, body TEXT)")
    n_done, start = 0, time.perf_counter()
    while (took := time.perf_counter() - start) < seconds:
        connection.execute("INSERT INTO rows (body) VALUES (?)", (ROW,))
        n_done += 1
    connection.close()
    return n_done / took


def beside(n_arms: int, folder: Path, seconds: float) -> dict[str, float]:
    """What the service is compared with, measured right before and right after it.

    The speed of a machine changes in the course of time.
    """
    own = Path(tempfile.mkdtemp(dir=folder))
    return {**library(n_arms, seconds), "sqlite_commits_per_s": commits(own, seconds)}


def load(server: Server, bandit: str, clients: int, seconds: float) -> dict[str, Any]:
    """What the clients measured, and the share of a core that each process took."""
    program = str(Path(__file__).with_name("service_load.py"))
    command = [
        sys.executable,
        program,
        "127.0.0.1",
        str(server.port),
        bandit,
        "--clients",
        str(clients),
    ]
    process = psutil.Process(server.process.pid)
    before = process.cpu_times()
    done = subprocess.run([*command, "--seconds", str(seconds)], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"the clients failed: {done.stderr[-2000:]}")
    found, after = json.loads(done.stdout), process.cpu_times()
    wall = found["generator_wall_s"]
    n_done = len(found["ask_s"]) + len(found["tell_s"])
    cpu = after.user + after.system - before.user - before.system
    return {
        "clients": clients,
        "per_s": n_done / found["seconds"],
        **{
            f"{verb}_p{q}_ms": 1e3 * _quantile(found[f"{verb}_s"], q)
            for verb in ("ask", "tell")
            for q in (50, 99)
        },
        "server_cpu": cpu / wall,
        "server_cpu_ms": 1e3 * cpu / found["n_all"],
        "generator_cpu": found["generator_cpu_s"] / wall,
        "server_rss_mb": process.memory_info().rss / 1e6,
    }


def _quantile(ordered: list[float], percent: int) -> float:
    return ordered[min(len(ordered) - 1, len(ordered) * percent // 100)]


def measure(options: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """Everything, in one run."""
    seconds = options.seconds
    database = options.database or str(folder / "service.db")
    rows: list[dict[str, Any]] = []
    with (
        Server(database, folder / "server.log", "--quiet") as server,
        Client(server.url, timeout_s=60) as client,
    ):
        for n_arms, clients in [(M, n) for n in CLIENTS] + [
            (n_arms, 8) for n_arms in options.growth
        ]:
            name = f"bench {n_arms} {clients} {time.time()}"
            bandit = client.create(name, n_arms, K, belief="beta", seed=1).id
            before = beside(n_arms, folder, seconds / 6)
            served = load(server, bandit, clients, seconds)
            after = beside(n_arms, folder, seconds / 6)
            means = {name: (before[name] + after[name]) / 2 for name in before}
            rows.append({"m": n_arms, **served, **means})
    return {
        "k": K,
        "cores": os.cpu_count(),
        "database": "postgresql" if options.database else "sqlite",
        "rows": rows,
    }


HEADS = (
    "arms",
    "clients",
    "requests per second",
    "× library",
    "× SQLite's commits",
    "decision p50, p99 ms",
    "outcomes p50, p99 ms",
    "processor ms: server, library",
    "cores: server, clients",
)
ON_THE_PAGE = (0, 1, 2, 3, 5, 7)  # columns
SIZES_ON_THE_PAGE = (M, 1_000_000)  # the other sizes show nothing more


def cells(row: dict[str, Any]) -> list[str]:
    """A row for people."""
    return [
        f"{row['m']:,}",
        f"{row['clients']}",
        f"{row['per_s']:,.0f}",
        f"{row['per_s'] / row['library_per_s']:.2f}",
        f"{row['per_s'] / row['sqlite_commits_per_s']:.2f}",
        f"{row['ask_p50_ms']:.1f}, {row['ask_p99_ms']:.0f}",
        f"{row['tell_p50_ms']:.1f}, {row['tell_p99_ms']:.0f}",
        f"{row['server_cpu_ms']:.2f}, {row['library_cpu_ms']:.2f}",
        f"{row['server_cpu']:.2f}, {row['generator_cpu']:.2f}",
    ]


def show(found: dict[str, Any]) -> Table:
    """A table for people."""
    table = Table(
        title=f"{found['database']}, k = {found['k']}, "
        f"{found['cores']} cores for server and clients together"
    )
    for head in HEADS:
        table.add_column(head, justify="right")
    for row in found["rows"]:
        table.add_row(*cells(row))
    return table


def markdown(found: dict[str, Any]) -> str:
    """Some of the columns and rows, for a page."""
    shown = [row for row in found["rows"] if row["m"] in SIZES_ON_THE_PAGE]
    table = [[row[place] for place in ON_THE_PAGE] for row in (HEADS, *map(cells, shown))]
    heading, *rows = (f"| {' | '.join(row)} |" for row in table)
    return "\n".join([heading, "|" + "---:|" * len(ON_THE_PAGE), *rows])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument(
        "--growth", type=int, nargs="*", default=[1_000, 10_000, 100_000, 1_000_000]
    )
    parser.add_argument("--database", help="postgresql://...; default: a new SQLite file")
    parser.add_argument("--folder", help="where files go, for the disk that they are to be on")
    parser.add_argument("--out", type=Path)
    parser.add_argument(
        "--from", dest="given", type=Path, help="measure nothing; show this file as Markdown"
    )
    options = parser.parse_args()
    if options.given:
        print(markdown(json.loads(options.given.read_text())))
        return
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        found = measure(options, Path(folder))
    if options.out:
        options.out.write_text(json.dumps(found, indent=1) + "\n")
    Console(width=150).print(show(found))


if __name__ == "__main__":
    main()

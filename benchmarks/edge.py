"""Decisions at the edge: regret against the interval of the sync, and what decisions cost.

    python benchmarks/edge.py regret      # six minutes
    python benchmarks/edge.py speed       # a minute, with a server of its own

Regret: clients take turns. Each samples from the Beta posteriors of the snapshot and of its own
outcomes since, and sends these when it takes the next snapshot. `EdgeBandit` and the service do the
same with sessions, a log and HTTP; here all runs are played at once by numpy.

Speed: processor time of the client per decision, and of the server per decision in batches and per
snapshot. Both commands write their part of docs/edge.json.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import psutil

from server_process import Server
from superarm.client import Client, EdgeBandit
from superarm.simulation import linear_instance

OUT = Path(__file__).parent.parent / "docs" / "edge.json"
N_ROUNDS, N_RUNS, N_CLIENTS = 20_000, 12, 1000
# Decisions of all clients between two syncs of one client: a minute at 1/6, 1, 10, 100 per second.
INTERVALS = (10, 60, 600, 6000)
LOST, LATE, TWICE = 0.1, 0.1, 0.1  # shares of batches
N_ARMS, K = 200, 5
N_DECISIONS, BATCH, N_SNAPSHOTS = 5000, 1000, 20


def uniform(rng: np.random.Generator) -> Any:
    """The linear problem of the paper with fewer arms: uniform means, and a gap."""
    return linear_instance(N_ARMS, K, 0.05, rng=rng).environment.mu


def low_rate(rng: np.random.Generator) -> Any:
    """A shop in which few items are clicked often: the mean rate is 3%."""
    return rng.beta(1, 30, N_ARMS)


PROBLEMS: dict[str, Callable[[np.random.Generator], Any]] = {
    "uniform": uniform,
    "low rate": low_rate,
}


class Home:
    """The counts at the service, shape (2, n_runs, n_arms), and the ids of its batches."""

    def __init__(self) -> None:
        self.counts = np.ones((2, N_RUNS, N_ARMS), np.float32)  # a flat prior
        self._ids = set[int]()

    def merge(self, id: int, batch: Any) -> None:
        """Learn a batch, once. Counts commute, so that a batch is the sum of its outcomes."""
        if id not in self._ids:
            self._ids.add(id)
            self.counts += batch


class Line:
    """Sends batches. With bad luck a batch is lost, comes at the next sync, or comes twice."""

    def __init__(self, home: Home, luck: np.random.Generator | None) -> None:
        self._home, self._luck = home, luck
        self._late: dict[int, tuple[int, Any]] = {}

    def send(self, client: int, id: int, batch: Any) -> None:
        """Send the batch of a client, which may use the array again."""
        if client in self._late:
            self._home.merge(*self._late.pop(client))
        chance = 1.0 if self._luck is None else self._luck.random()
        if chance < LOST:
            return
        if chance < LOST + LATE:
            self._late[client] = id, batch.copy()
            return
        for _ in range(2 if chance < LOST + LATE + TWICE else 1):
            self._home.merge(id, batch)


def regret(problem: str, interval: int, *, faulty: bool = False) -> Any:
    """The regret of all clients in each run, shape (n_runs,); interval 1: nothing is stale."""
    mu = np.array([PROBLEMS[problem](np.random.default_rng(seed)) for seed in range(N_RUNS)])
    rng, world, luck = (np.random.default_rng([7, stream]) for stream in range(3))
    home = Home()
    line = Line(home, luck if faulty else None)
    # Each client has a decision or more per interval. The syncs are spread over the interval.
    n_clients = min(N_CLIENTS, interval)
    every, shape = interval // n_clients, (n_clients, *home.counts.shape)
    known, unsent = np.ones(shape, np.float32), np.zeros(shape, np.float32)
    best, total = np.sort(mu)[:, -K:].sum(axis=1), np.zeros(N_RUNS)
    for t in range(N_ROUNDS):
        turn, client = divmod(t, n_clients)
        theta = rng.beta(*(known[client] + unsent[client]))
        arms = np.argpartition(-theta, K - 1)[:, :K]
        means = np.take_along_axis(mu, arms, axis=1)
        total += best - means.sum(axis=1)
        success = world.random(means.shape) < means
        for row, told in enumerate((success, ~success)):
            unsent[client, row, np.arange(N_RUNS)[:, None], arms] += told
        if (turn + client) % every == 0:
            line.send(client, t, unsent[client])
            known[client], unsent[client] = home.counts, 0.0
    return total


def of_random_sets(problem: str) -> float:
    """The mean regret of a random set."""
    means = [PROBLEMS[problem](np.random.default_rng(seed)) for seed in range(N_RUNS)]
    return float(np.mean([np.sort(mu)[-K:].sum() - K * mu.mean() for mu in means]))


def regrets() -> dict[str, Any]:
    """Mean regret per problem and interval, and how much more it is than without staleness."""
    rows = []
    for problem in PROBLEMS:
        base = regret(problem, 1)
        for interval, faulty in [(1, False), *((one, bad) for one in INTERVALS for bad in (0, 1))]:
            found = base if interval == 1 else regret(problem, interval, faulty=bool(faulty))
            more = (found - base) / base.mean()
            row = {
                "problem": problem,
                "interval": interval,
                "faulty": bool(faulty),
                "regret": found.mean(),
                "more": more.mean(),
                "error": more.std(ddof=1) / N_RUNS**0.5,
                "extra": (found - base).mean() / interval,  # per decision of an interval
            }
            rows.append(row)
            print(row, flush=True)
    faults = {"lost": LOST, "late": LATE, "twice": TWICE}
    about = {"arms": N_ARMS, "k": K, "rounds": N_ROUNDS, "runs": N_RUNS, "clients": N_CLIENTS}
    of_random = {problem: of_random_sets(problem) for problem in PROBLEMS}
    return {"regret": {**about, "faults": faults, "of_random": of_random, "rows": rows}}


def speeds() -> dict[str, Any]:
    """Decisions per second of processor time, at the client and at the server."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        server = Server(f"{folder}/edge.db", Path(folder) / "log", "--quiet")
        with server, Client(server.url) as client:
            for belief in (None, "beta"):
                for n_arms in (N_ARMS, 5000):
                    bandit = client.create(f"{belief} {n_arms}", n_arms, K, belief=belief)
                    edge = EdgeBandit(client, bandit)
                    row = _speed(edge, psutil.Process(server.process.pid))
                    sizes = [len(json.dumps(event)) for event in client.log(bandit)]
                    row["log_bytes_per_decision"] = sum(sizes[1:]) / N_DECISIONS
                    about = {"arms": n_arms, "belief": belief or "learned_beta"}
                    rows.append({**about, **row})
                    print(rows[-1], flush=True)
    return {"speed": {"k": K, "batch": BATCH, "rows": rows}}


def _speed(edge: EdgeBandit, server: psutil.Process) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    edge_s = library_s = server_s = 0.0
    for _ in range(N_DECISIONS // BATCH):
        outcomes = (rng.random((BATCH, K)) < 0.3).astype(float).tolist()
        library_s += _play(edge.session.fork(), outcomes)
        edge_s += _play(edge, outcomes)
        before = _used(server)
        edge._send()  # without a new snapshot, which is measured below
        server_s += _used(server) - before
        edge.sync()
    before, start = _used(server), time.process_time()
    for _ in range(N_SNAPSHOTS):
        edge.sync()
    return {
        "edge_per_s": N_DECISIONS / edge_s,
        "library_per_s": N_DECISIONS / library_s,
        "merged_per_s": N_DECISIONS / server_s,
        "snapshot_ms": 1e3 * (_used(server) - before) / N_SNAPSHOTS,
        "sync_client_ms": 1e3 * (time.process_time() - start) / N_SNAPSHOTS,
        "snapshot_bytes": len(edge._client.snapshot(edge._bandit)["session"]),
    }


def _play(player: Any, outcomes: list[list[float]]) -> float:
    """Seconds of processor time of decisions with these outcomes."""
    start = time.process_time()
    for told in outcomes:
        decision = player.ask()
        player.tell(decision, dict(zip(decision.arms, told, strict=True)))
    return time.process_time() - start


def _used(process: psutil.Process) -> float:
    used = process.cpu_times()
    return used.user + used.system


def regret_table(found: dict[str, Any]) -> str:
    """The regret as a table of Markdown."""
    lines = ["| problem | batches | " + " | ".join(f"{n:,}" for n in INTERVALS) + " |"]
    lines.append("|---|---|" + "--:|" * len(INTERVALS))
    for problem in PROBLEMS:
        for faulty, words in ((False, "all arrive"), (True, "lost, late, twice")):
            rows = {
                row["interval"]: row
                for row in found["rows"]
                if (row["problem"], row["faulty"]) == (problem, faulty)
            }
            cells = [f"{rows[n]['more']:+.0%} ± {rows[n]['error']:.0%}" for n in INTERVALS]
            lines.append(f"| {problem} | {words} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def sentence(found: dict[str, Any], problem: str = "uniform") -> str:
    """How much regret the staleness adds, in words."""
    rows = [row for row in found["rows"] if row["problem"] == problem and not row["faulty"]]
    extra = [row["extra"] for row in rows if row["interval"] > 1]
    return (
        f"the extra regret is {min(extra):.1f} to {max(extra):.1f} per decision of the interval, "
        f"where a random set loses {found['of_random'][problem]:.1f}"
    )


def capacity_table(found: dict[str, Any]) -> str:
    """The processor cores for some rates of decisions as a table of Markdown.

    Clients take a snapshot after each batch.
    """
    lines = [
        "| belief | arms | decisions/s of a client core | of `Session` | merged/s of a server core "
        "| cores for 10⁴/s | cores for 10⁶/s | MB of log per s at 10⁶/s |",
        "|---|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for row in found["rows"]:
        server_s = 1 / row["merged_per_s"] + row["snapshot_ms"] / 1e3 / found["batch"]
        cores = [f"{rate / row['edge_per_s']:,.0f} + {rate * server_s:,.1f}" for rate in (1e4, 1e6)]
        cells = [row["belief"], f"{row['arms']:,}"]
        cells += [f"{row[name]:,.0f}" for name in ("edge_per_s", "library_per_s", "merged_per_s")]
        lines.append(f"| {' | '.join([*cells, *cores])} | {row['log_bytes_per_decision']:,.0f} |")
    return "\n".join(lines)


def main() -> None:
    """Measure one part, and write it."""
    parts = {"regret": regrets, "speed": speeds}
    if sys.argv[1:2] not in [[name] for name in parts]:
        sys.exit(__doc__)
    found = json.loads(OUT.read_text()) if OUT.exists() else {}
    OUT.write_text(json.dumps({**found, **parts[sys.argv[1]]()}, indent=1) + "\n")


if __name__ == "__main__":
    main()

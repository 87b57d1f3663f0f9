"""What decisions at the edge cost: processor time and rates of clients and of the server.

    python benchmarks/edge.py speed                       # a minute, with a server of its own
    python benchmarks/edge.py throughput --processes 4    # two minutes; needs a core per process
    python benchmarks/edge.py regret --workers 16         # see edge_regret.py

Speed: processor time of the client per decision, and of the server per decision in batches and per
snapshot. Throughput: see edge_throughput.py. The commands write their parts of docs/edge.json, from
which docs/edge_tables.py makes the tables of docs/edge.md.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

import edge_regret
from edge_throughput import cpu_s, throughput, turn
from server_process import Server
from superarm.client import Client, EdgeBandit

OUT = Path(__file__).parent.parent / "docs" / "edge.json"
N_ARMS, K = 200, 5
N_DECISIONS, BATCH, N_SNAPSHOTS = 10_000, 1000, 50


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
                    row = _speed(edge, server.process.pid)
                    sizes = [len(json.dumps(event)) for event in client.log(bandit)]
                    row["log_bytes_per_decision"] = sum(sizes[1:]) / (2 * N_DECISIONS)
                    about = {"arms": n_arms, "belief": belief or "learned_beta"}
                    rows.append({**about, **row})
                    print(rows[-1], flush=True)
    return {"speed": {"k": K, "batch": BATCH, "rows": rows}}


def _speed(edge: EdgeBandit, server: int) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    edge_s = library_s = server_s = bulk_s = 0.0
    for _ in range(N_DECISIONS // BATCH):
        outcomes = (rng.random((BATCH, K)) < 0.3).astype(float).tolist()
        library_s += _play(edge.session.fork(), outcomes)
        edge_s += _play(edge, outcomes)
        server_s += _send(edge, server)
        edge.sync()
        start = time.process_time()
        turn(edge, BATCH, None, rng)
        bulk_s += time.process_time() - start
        server_s += _send(edge, server)
        edge.sync()
    before, start = cpu_s(server), time.process_time()
    for _ in range(N_SNAPSHOTS):
        edge.sync()
    return {
        "edge_per_s": N_DECISIONS / edge_s,
        "library_per_s": N_DECISIONS / library_s,
        "bulk_per_s": N_DECISIONS / bulk_s,
        "merged_per_s": 2 * N_DECISIONS / server_s,
        "snapshot_ms": 1e3 * (cpu_s(server) - before) / N_SNAPSHOTS,
        "sync_client_ms": 1e3 * (time.process_time() - start) / N_SNAPSHOTS,
        "snapshot_bytes": len(edge._client.snapshot(edge._bandit)["session"]),
    }


def _send(edge: EdgeBandit, server: int) -> float:
    """Seconds of the server for a batch. New snapshots are measured separately."""
    before = cpu_s(server)
    edge._send()
    return cpu_s(server) - before


def _play(player: Any, outcomes: list[list[float]]) -> float:
    """Seconds of processor time of decisions with these outcomes."""
    start = time.process_time()
    for told in outcomes:
        decision = player.ask()
        player.tell(decision, dict(zip(decision.arms, told, strict=True)))
    return time.process_time() - start


def main() -> None:
    """Measure one part, and write it."""
    if sys.argv[1:2] == ["regret"]:
        edge_regret.main(sys.argv[2:])
        return
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("speed", "throughput", "regret"))
    parser.add_argument("--processes", type=int, default=4, help="client processes")
    parser.add_argument("--workers", type=int, default=1, help="processes of the server")
    parser.add_argument("--bandits", type=int, default=1, help="each has some of the clients")
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--at-once", type=int, default=1000, help="decisions per call")
    parser.add_argument("--batch", type=int, default=10_000, help="decisions between syncs")
    parser.add_argument("--quick", action="store_true", help="one case only")
    parser.add_argument("--raw", type=Path, help="written as it goes")
    parser.add_argument("--out", type=Path, default=OUT)
    options = parser.parse_args()
    made = throughput(options) if options.what == "throughput" else speeds()
    found = json.loads(options.out.read_text()) if options.out.exists() else {}
    options.out.write_text(json.dumps({**found, **made}, indent=1) + "\n")


if __name__ == "__main__":
    main()

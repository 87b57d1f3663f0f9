"""How long the service takes to start on a long log, and to rebuild a bandit from all of it.

    python benchmarks/service_start.py [--events N] [--arms M] [--folder FOLDER]

The service's own parts write the log without HTTP: decisions of 5 of M arms and their outcomes, one
bandit, with a checkpoint 1,500 events before the end, as a killed server may leave it. Then
`superarm serve` is started on the log as a process, and timed until its first answer and until its
first decision. `superarm replay` does all of it again.
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import track
from rich.table import Table

from server_process import Server
from superarm.client import Client
from superarm.service.bandits import changes, outcomes
from superarm.service.bandits.live import Live
from superarm.service.bandits.spec import complete
from superarm.service.http.bodies import CreateBody
from superarm.service.log import chain
from superarm.service.log.events import Bandit
from superarm.service.log.sqlite import SQLiteStore
from superarm.service.settings import Limits

TAIL = 1500
TOGETHER = 5000  # events in one commit


def make_log(path: Path, n_events: int, n_arms: int) -> None:
    """Write a database with one bandit that has ``n_events`` events."""
    store, rng = SQLiteStore(path), random.Random(0)
    body = CreateBody(name="long", arms=n_arms, k=5, belief="beta", seed=1).model_dump()
    spec = complete(body, {}, most_arms=n_arms)
    live = Live.new(Bandit(0, "longlog234", "long", 5, 0.0), spec, {})
    live.bandit = store.create(live.bandit, live.pending.take()[0][0])
    turn: Any = None  # without idempotency keys the log is not read
    checkpointed = False
    for _ in track(range((n_events - 1) // 2), description="making the log"):
        decision = changes.decide(live, turn, {}, None, lambda: live.time + 1.0, Limits())
        told = {arm: float(rng.random() < 0.3) for arm in decision["arms"]}
        outcomes.tell(live, turn, decision["id"], told, lambda: live.time)
        due = not checkpointed and live.seq >= n_events - TAIL
        if due or len(live.pending) >= TOGETHER:
            store.append(live.bandit.number, *live.pending.take())
        if due:
            store.put_checkpoint(live.bandit.number, chain.make_checkpoint(*live.snapshot()))
            checkpointed = True
    store.append(live.bandit.number, *live.pending.take())
    store.close()


def start(path: Path, *options: str) -> tuple[float, float]:
    """Seconds from the start of the process until the first answer and the first decision."""
    begun = time.perf_counter()
    with (
        Server(str(path), path.with_name("server.log"), *options) as server,
        Client(server.url) as client,
    ):
        up = time.perf_counter() - begun
        client.ask("longlog234")
        return up, time.perf_counter() - begun


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--arms", type=int, default=5_000)
    parser.add_argument(
        "--folder", type=Path, help="where the database is made; default: a temporary folder"
    )
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        path = Path(folder) / "bandits.db"
        make_log(path, options.events, options.arms)
        table = Table(title=f"{options.events:,} events of one bandit, 5 of {options.arms:,} arms")
        for name in ("what", "figure"):
            table.add_column(name, justify="left" if name == "what" else "right")
        table.add_row("the file", f"{path.stat().st_size / 1e6:,.0f} MB")
        for name, flags in {
            "a start": (),
            "a start that checks the whole log": ("--check-all",),
        }.items():
            up, decided = start(path, *flags)
            table.add_row(f"{name}, until the first answer", f"{up:.2f} s")
            table.add_row(f"{name}, until the first decision", f"{decided:.2f} s")
        begun = time.perf_counter()
        subprocess.run(
            [sys.executable, "-m", "superarm", "replay", str(path)],
            check=True,
            stdout=subprocess.DEVNULL,
        )
        table.add_row(
            "superarm replay, from the first event on", f"{time.perf_counter() - begun:.1f} s"
        )
        Console(width=100).print(table)


if __name__ == "__main__":
    main()

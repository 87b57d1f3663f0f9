"""Kill the server at random moments under load, many times, and count what it acknowledged.

    python benchmarks/crash.py [--kills N] [--database URL] [--clients N] [--edges N] [--seed N]
                               [--workers N]

A process of clients (crash_load.py) asks and tells in a loop and writes down every answer. The
server is killed with SIGKILL after a random time, also while it starts, and started again. The
clients repeat their requests with the same keys until they get an answer. At the end their record
is compared with the log. The log must have every acknowledged decision once, every acknowledged
outcome once, no other outcomes, and every arm. Some clients decide with snapshots: the log must
have every decision of their acknowledged batches once, and no other one. The belief must follow
from the record to the last bit: in the server, after a restart, and by ``superarm replay``. With
``--workers`` each worker has a bandit and clients of its own, and the restart has one more worker.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import json
import random
import signal
import tempfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import psutil
from rich.console import Console

from server_process import Server
from superarm.client import Client
from superarm.service import server
from superarm.service.bandits.replay import replay

N_ARMS, K = 40, 3


def kill_repeatedly(
    database: str,
    folder: Path,
    *,
    kills: int,
    seed: int = 0,
    clients: int = 4,
    edges: int = 2,
    most_s: float = 0.6,
    workers: int = 1,
    kind: type[Server] = Server,
) -> dict[str, Any]:
    """Run the benchmark. Returns counts, or raises an AssertionError that says what is wrong."""
    rng, start = random.Random(seed), time.perf_counter()
    options = ("--checkpoint-every", "10", "--quiet")
    server = kind(database, folder / "server.log", *options, "--workers", str(workers))
    records = [folder / f"record{number}.jsonl" for number in range(workers)]
    with server.start(), Client(server.url) as client:
        bandits = [
            client.create(f"crash {number}", N_ARMS, K, belief="beta", seed=seed).id
            for number in range(workers)
        ]
        with contextlib.ExitStack() as loads:
            for bandit, record in zip(bandits, records, strict=True):
                about = {"clients": clients, "edges": edges, "seed": seed}
                loads.enter_context(load([server.url], bandit, record, kind=kind, **about))
            for _ in range(kills):
                time.sleep(most_s * rng.random())
                kill_something(server, workers, rng)
            server.wait_until_up()
            time.sleep(most_s / 2)
        before = [state_of(client, bandit) for bandit in bandits]
        server.kill_all()
    # After the last kill one more worker: every bandit must be there as before.
    more = str(workers + 1 if workers > 1 else 1)
    again = kind(database, folder / "server.log", *options, "--workers", more)
    with again.start(), Client(again.url) as client:
        after = [state_of(client, bandit) for bandit in bandits]
        events = [list(client.log(bandit)) for bandit in bandits]
        if again.stop() != 0:
            raise AssertionError(f"the server must stop with 0: {again.said[-2000:]}")
    replayed = [_replayed(database, bandit, folder / "replay.log", kind) for bandit in bandits]
    if not before == after == replayed:
        raise AssertionError("a restart and a replay must not change what is known, and one did")
    counts: collections.Counter[str] = collections.Counter()
    for record, logged, state in zip(records, events, after, strict=True):
        counts.update(judge(lines(record), logged, state))
    return {"kills": kills + 1, **counts, "seconds": round(time.perf_counter() - start, 1)}


def kill_something(server: Server, workers: int, rng: random.Random) -> None:
    """Kill one worker, which the server starts again, or the only process, and start that again."""
    if workers > 1:
        if alive := server.workers():
            # It may be gone by now, if it is the one that was killed before.
            with contextlib.suppress(psutil.NoSuchProcess):
                rng.choice(alive).kill()
        return
    server.kill()
    server.start(wait=rng.random() < 0.8)  # sometimes killed again while it starts


@contextlib.contextmanager
def load(
    urls: list[str],
    bandit: str,
    record: Path,
    *,
    clients: int = 4,
    edges: int = 0,
    seed: int = 0,
    kind: type[Server] = Server,
) -> Iterator[None]:
    """Run clients during the block. When the block ends, all their requests are answered."""
    program = str(Path(__file__).with_name("crash_load.py"))
    options = ["--clients", str(clients), "--edges", str(edges), "--seed", str(seed)]
    log = record.with_suffix(".log")
    process = kind.python([program, ",".join(urls), bandit, str(record), *options], log)
    try:
        wait_for(record, 1, process)
        yield
    finally:
        process.send_signal(signal.SIGTERM)
        status = process.wait(timeout=120)
    if status != 0:
        said = log.read_text()[-2000:]
        raise AssertionError(f"the clients must exit with 0, got {status}: {said}")


def wait_for(record: Path, n_answers: int, process: Any = None) -> None:
    """Wait until the clients have this number of answers, or until they stop."""
    end = time.monotonic() + 120
    while time.monotonic() < end and (process is None or process.poll() is None):
        if record.exists() and record.read_text().count('"did"') >= n_answers:
            return
        time.sleep(0.02)


def _requests(event: dict[str, Any]) -> list[tuple[str, list[dict[str, Any]]]]:
    """The keys of the requests of an event, each with its decisions."""
    if "asks" in event:  # of several requests that were decided together
        return [(key, [one]) for key, one in zip(event["keys"], event["decisions"], strict=True)]
    return [(event["key"], event["decisions"])]


def judge(
    record: list[dict[str, Any]], events: list[dict[str, Any]], state: dict[str, Any]
) -> dict[str, int]:
    """Compare the clients' record with the log and the belief. Returns counts."""
    _same(
        [event["seq"] for event in events], list(range(1, len(events) + 1)), "the seqs of the log"
    )
    decided = [event for event in events if event["kind"] == "decided"]
    asked = {line["key"]: line["decisions"] for line in record if line.get("did") == "ask"}
    made = [one for event in decided for one in _requests(event)]
    _same(sorted(key for key, _ in made), sorted(asked), "the keys of decisions")
    for key, decisions in made:
        logged = [{"id": one["id"], "arms": one["arms"]} for one in decisions]
        _same(logged, asked[key], f"the decisions of key {key}")
    told = {
        (line["id"], arm): x
        for line in record
        if line.get("did") == "tell"
        for arm, x in line["outcomes"].items()
    }
    logged_outcomes = [
        ((one["decision"], arm), x)
        for event in events
        if event["kind"] == "told"
        for one in event.get("told", [event])
        for arm, x in one["outcomes"].items()
    ]
    _same(sorted(logged_outcomes), sorted(told.items()), "the outcomes")
    merged = _remote(line for line in record if line.get("did") == "merge")
    _same(_remote(event for event in events if event["kind"] == "merged"), merged, "the batches")
    told |= {(id, arm): x for id, _, outcomes in merged for arm, x in outcomes}
    added = sorted(line["arm"] for line in record if line.get("did") == "add")
    _same(
        sorted(arm for event in events if event["kind"] == "arms_added" for arm in event["arms"]),
        added,
        "the arms",
    )
    _same(state, _belief(told, added), "the belief")
    repeats = sum(line.get("did") == "tell" for line in record)
    return {
        "decisions": sum(map(len, asked.values())),
        "outcomes": len(told),
        "decisions at the edge": len(merged),
        "tells": repeats,
        "arms added": len(added),
        "events": len(events),
    }


def _remote(batches: Iterable[dict[str, Any]]) -> list[Any]:
    """The decisions of batches with their arms and outcomes, in the order of their ids."""
    return sorted(
        (one["id"], one["arms"], sorted(one["outcomes"].items()))
        for batch in batches
        for one in batch["decisions"]
    )


def lines(record: Path) -> list[dict[str, Any]]:
    """What the clients wrote down."""
    return [json.loads(line) for line in record.read_text().splitlines()]


def _belief(told: dict[tuple[str, str], float], added: list[str]) -> dict[str, Any]:
    """The posterior of each arm after the outcomes, with the prior Beta(1, 1)."""
    counts = collections.Counter((arm, x) for (_, arm), x in told.items())
    arms = [str(number) for number in range(N_ARMS)] + added
    return {arm: (1.0 + counts[arm, 1.0], 1.0 + counts[arm, 0.0]) for arm in arms}


def state_of(client: Client, bandit: str) -> dict[str, Any]:
    found = client.bandit(bandit, top=10_000)
    return {arm["arm"]: (arm["a"], arm["b"]) for arm in found.posterior or ()}


def _replayed(database: str, bandit: str, log: Path, kind: type[Server]) -> dict[str, Any]:
    """The belief according to the log. `superarm replay` must confirm that the server has it."""
    status = kind.python(["-m", "superarm", "replay", database, bandit], log).wait()
    said = log.read_text()
    if status or "the same bit for bit" not in said:
        raise AssertionError(f"superarm replay must find the same, and said {said}")
    with server.opened(database, "read") as store:
        found = store.bandit(bandit)
        if found is None:
            raise AssertionError("the bandit must be in the database")
        session = replay(store, found, {}).live.session
    belief: Any = session.policy.belief
    return dict(
        zip(session.names, zip(belief.a.tolist(), belief.b.tolist(), strict=True), strict=True)
    )  # type: ignore[arg-type]


def _same(got: Any, wanted: Any, what: str) -> None:
    if got != wanted:
        raise AssertionError(
            f"{what} must be those of the clients' record, {wanted!r:.300}, got {got!r:.300}"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--database", help="postgresql://...; default: a new SQLite file")
    parser.add_argument("--clients", type=int, default=16)
    parser.add_argument("--edges", type=int, default=4, help="clients that decide with snapshots")
    parser.add_argument(
        "--workers", type=int, default=1, help="with several, only one of them is killed at a time"
    )
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = kill_repeatedly(
            options.database or f"{folder}/service.db",
            Path(folder),
            kills=options.kills,
            seed=options.seed,
            clients=options.clients,
            edges=options.edges,
            workers=options.workers,
        )
        Console().print(found)


if __name__ == "__main__":
    main()

"""Other work for a server while it is measured: a watched page, many arms, a sleeping reward.

Each is a thread with one connection. A bandit with many events is made without HTTP.
"""

from __future__ import annotations

import contextlib
import random
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import httpx

from superarm.client import Client
from superarm.service.bandits import changes, outcomes, spec
from superarm.service.bandits.live import Live
from superarm.service.log import chain
from superarm.service.log.events import Bandit
from superarm.service.log.store import Store
from superarm.service.settings import Limits

PAGE_S = 3.0  # the page asks this often
_TOGETHER = 5000  # events that are committed together


def make_old(store: Store, n_events: int) -> str:
    """The id of a new bandit with so many events: decisions of 4 arms, each told by itself."""
    given = {"name": "old", "arms": 20, "k": 4, "belief": "beta", "seed": 1}
    rest: dict[str, Any] = dict.fromkeys(("features", "oracle", "prior", "expiry", "explain_last"))
    wanted = spec.complete({**rest, "reward": "linear", "keep": 1000, **given}, {}, most_arms=20)
    live = Live.new(Bandit(0, "abcdefghij", "old", 4, time.time()), wanted, {})
    bandit = live.bandit = store.create(live.bandit, live.pending.take()[0][0])
    rng, limits = random.Random(0), Limits()
    with store.turn(bandit) as turn:
        pass
    while live.seq < n_events:
        while len(live.pending) < _TOGETHER:
            made = changes.decide(live, turn, {}, None, time.time, limits)
            for arm in made["arms"]:
                told = {arm: float(rng.random() < 0.3)}
                outcomes.tell(live, turn, made["id"], told, time.time)
        with store.turn(bandit, live.seq) as own:
            own.commit(*live.pending.take())
    store.put_checkpoint(bandit.number, chain.make_checkpoint(*live.snapshot()))
    return bandit.id


def copy_old(source: Store, to: Store) -> str:
    """Copy the bandit that `make_old` made into another database. Returns its id."""
    (old,) = source.bandits(1)
    (first,) = source.events(old.number, 0, 1)
    new = to.create(old, first)
    seq = first.seq
    while events := source.events(old.number, seq, _TOGETHER):
        with to.turn(new, events[-1].seq) as turn:
            turn.commit(events)
        seq = events[-1].seq
    kept = source.checkpoint(old.number)
    if kept is None:
        raise RuntimeError("the bandit has no checkpoint")
    to.put_checkpoint(new.number, kept)
    return new.id


@contextlib.contextmanager
def beside(url: str, old: str, wide: str, sleeping: str) -> Iterator[dict[str, int]]:
    """Do the other work during the block. Yields how often each was done."""
    end, counts = threading.Event(), {"page": 0, "wide": 0, "sleeping": 0}

    def repeat(name: str, pause_s: float, work: Callable[[], None]) -> None:
        while not end.is_set():
            work()
            counts[name] += 1
            end.wait(pause_s)

    with Client(url, timeout_s=120) as client, httpx.Client(base_url=url, timeout=120) as http:
        work = {
            "page": (PAGE_S, lambda: _watch(http, old)),
            "wide": (1.0, lambda: _play(client, wide)),
            "sleeping": (0.0, lambda: _play(client, sleeping)),
        }
        threads = [
            threading.Thread(target=repeat, args=(name, *what)) for name, what in work.items()
        ]
        for thread in threads:
            thread.start()
        try:
            yield counts
        finally:
            end.set()
            for thread in threads:
                thread.join()


def _watch(http: httpx.Client, bandit: str) -> None:
    """What the page asks for while it shows a bandit."""
    for path in ("?top=20", "/history?points=200", "/decisions?limit=20"):
        http.get(f"/v1/bandits/{bandit}{path}").raise_for_status()


def _play(client: Client, bandit: str) -> None:
    decision = client.ask(bandit)
    client.tell(decision, dict.fromkeys(decision.arms, 1.0))

"""A simulation of `EdgeBandit` and of the service, for many runs of a problem at once.

Decisions come at a constant rate, each from a client that is drawn at random. A client samples from
the posteriors of its last snapshot and of its own outcomes since. It sends these when it takes the
next snapshot. The times of the syncs are those of `superarm.sessions.pace.Pace`, or every
minute.
"""

from __future__ import annotations

import copy
import heapq
import itertools
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from edge_problems import Problem
from superarm.beliefs import LearnedBetaBelief
from superarm.sessions.pace import Pace

LOST, LATE, TWICE = 0.1, 0.1, 0.1  # shares of batches on a faulty line


class Setting(NamedTuple):
    """How clients sync."""

    rate: float  # decisions of all clients per second; 0 for no staleness
    n_clients: int = 1
    share: float | None = None  # None for a sync every ``every_s``, without a pace
    least_s: float = 1.0
    every_s: float = 60.0
    faulty: bool = False


class Counts:
    """Beta posteriors with a flat prior, as counts of shape (2, n_runs, n_arms)."""

    def __init__(self, problem: Problem) -> None:
        self.counts = np.ones((2, problem.n_runs, problem.n_arms), np.float32)
        self._rows = np.arange(problem.n_runs)[:, None]

    def sample(self, rng: np.random.Generator) -> Any:
        """One sample per run."""
        return rng.beta(*self.counts)

    def add(self, arms: Any, outcomes: Any) -> None:
        """Learn one decision per run."""
        self.counts[0, self._rows, arms] += outcomes
        self.counts[1, self._rows, arms] += 1 - outcomes

    def copy(self) -> Counts:
        """The same, to change."""
        other = copy.copy(self)
        other.counts = self.counts.copy()
        return other


class Learned:
    """The default belief of the service, one per run."""

    def __init__(self, problem: Problem) -> None:
        shared = max(0.8, 1 - 1 / problem.k)  # as `thompson` has it
        self.beliefs = [
            LearnedBetaBelief(problem.n_arms, shared=shared) for _ in range(problem.n_runs)
        ]

    def sample(self, rng: np.random.Generator) -> Any:
        """One sample per run."""
        return np.array([belief.sample(rng=rng) for belief in self.beliefs])

    def add(self, arms: Any, outcomes: Any) -> None:
        """Learn one decision per run."""
        rng = np.random.default_rng(0)  # this belief draws nothing when it learns
        for belief, *told in zip(self.beliefs, arms, np.asarray(outcomes, float), strict=True):
            belief.update(*told, rng=rng)

    def copy(self) -> Learned:
        """The same, to change."""
        other = copy.copy(self)
        other.beliefs = copy.deepcopy(self.beliefs)
        return other


BELIEFS: dict[str, Any] = {"beta": Counts, "learned_beta": Learned}


class Home:
    """What the service knows, and the ids of its batches."""

    def __init__(self, belief: Any) -> None:
        self.belief, self.n_known = belief, 0
        self._ids = set[int]()
        self._snapshot: Any = None

    def merge(self, id: int, batch: list[Any]) -> None:
        """Learn a batch, once."""
        if id not in self._ids:
            self._ids.add(id)
            self._snapshot = None
            self.n_known += len(batch)
            for decision in batch:
                self.belief.add(*decision)

    def snapshot(self) -> Any:
        """The belief as it is now. Clients that take it at the same time share it."""
        if self._snapshot is None:
            self._snapshot = self.belief.copy()
        return self._snapshot


@dataclass
class EdgeClient:
    """What one client knows, and what it has to send."""

    belief: Any  # of the snapshot, or a copy with its own outcomes
    pace: Pace
    unsent: list[Any] = field(default_factory=list)
    late: list[tuple[int, list[Any]]] = field(default_factory=list)
    due: float = 0.0  # when the next sync is due; an entry of the queue for another time is old

    def tell(self, arms: Any, outcomes: Any) -> None:
        """Learn the outcomes of one decision per run."""
        if not self.unsent:
            self.belief = self.belief.copy()  # other clients have the same snapshot
        self.unsent.append((arms, outcomes))
        self.belief.add(arms, outcomes)


class Line:
    """Sends batches. With bad luck a batch is lost, comes at the next sync, or comes twice."""

    def __init__(self, home: Home, luck: np.random.Generator | None) -> None:
        self._home, self._luck, self._ids = home, luck, itertools.count()

    def send(self, client: EdgeClient) -> None:
        for late in client.late:
            self._home.merge(*late)
        client.late.clear()
        if not client.unsent:
            return
        batch, client.unsent = (next(self._ids), client.unsent), []
        chance = 1.0 if self._luck is None else self._luck.random()
        if chance < LOST:
            return
        if chance < LOST + LATE:
            client.late.append(batch)
            return
        for _ in range(2 if chance < LOST + LATE + TWICE else 1):
            self._home.merge(*batch)


class Found(NamedTuple):
    """Regret per run, and syncs per client."""

    regret: Any
    syncs: float


def play(problem: Problem, setting: Setting, belief: str = "beta", seed: int = 0) -> Found:
    """Play all decisions of a problem."""
    rng, who, luck = (np.random.default_rng([seed, 7, stream]) for stream in range(3))
    home = Home(BELIEFS[belief](problem))
    if not setting.rate:
        return Found(_fresh(problem, home.belief, rng), 0.0)
    line = Line(home, luck if setting.faulty else None)
    clients = [EdgeClient(home.snapshot(), _pace(setting)) for _ in range(setting.n_clients)]
    queue: list[tuple[float, int]] = []
    for number, client in enumerate(clients):
        # All have an empty snapshot before the first decision, not all from the same moment.
        start = -who.random() * client.pace.least_s
        client.pace.saw(0, start)
        _wait(client, number, start, queue)
    total, n_syncs = np.zeros(problem.n_runs), 0
    for t in range(problem.horizon):
        time = t / setting.rate
        while queue[0][0] <= time:
            now, number = heapq.heappop(queue)
            client = clients[number]
            if now == client.due:
                n_syncs += 1
                line.send(client)
                client.belief = home.snapshot()
                client.pace.saw(home.n_known, now)
                _wait(client, number, now, queue)
        number = int(who.integers(setting.n_clients))
        client = clients[number]
        arms = problem.best(client.belief.sample(rng))
        outcomes, regret = problem.pull(t, arms)
        total += regret
        client.tell(arms, outcomes)
        if setting.share is not None:
            _wait(client, number, time, queue)  # its own decisions may make a sync due
    return Found(total, n_syncs / setting.n_clients)


def _wait(client: EdgeClient, number: int, now: float, queue: list[Any]) -> None:
    due = max(now, client.pace.due_at(len(client.unsent)))
    if due != client.due:
        client.due = due
        heapq.heappush(queue, (due, number))


def _pace(setting: Setting) -> Pace:
    if setting.share is None:  # a sync every minute, and never sooner
        return Pace(setting.every_s, 0.0, setting.every_s)
    return Pace(setting.every_s, setting.share, setting.least_s)


def _fresh(problem: Problem, belief: Any, rng: np.random.Generator) -> Any:
    total = np.zeros(problem.n_runs)
    for t in range(problem.horizon):
        arms = problem.best(belief.sample(rng))
        outcomes, regret = problem.pull(t, arms)
        total += regret
        belief.add(arms, outcomes)
    return total

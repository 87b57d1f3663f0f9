"""What the operator of a server should know: metrics, failing writes, and a clock that was set."""

from __future__ import annotations

import asyncio
import bisect
import collections
import itertools
import math
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Literal

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, HistogramMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector
from prometheus_client.utils import floatToGoString

from superarm.service.log.store import Store, StoreError

State = Literal["ok", "read_only", "failing"]
# Upper ends of the buckets of histograms.
_SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)
_MANY = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)
_METHODS = {"DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT"}
_MOST_S = 5.0  # smaller corrections of a clock are the daily work of time servers
_HEALTHY_S = 5.0  # a successful write counts as a sign of health for this long
_PATIENCE_S = 5.0  # a database that needs longer for a write is failing


class Metrics:
    """All metrics of one server, for Prometheus.

    Attributes
    ----------
    answered
        ``answered(method, route, status, seconds)`` counts the answer to a request.

    Examples
    --------
    >>> metrics = Metrics()
    >>> metrics.committed(["decided", "told"], 0.002)
    >>> b'superarm_events_total{kind="told"} 1.0' in metrics.text()
    True
    """

    def __init__(self) -> None:
        self._registry = registry = CollectorRegistry()
        answers = _Answers()
        registry.register(answers)
        self.answered = answers.add
        self._events = Counter(
            "superarm_events_total",
            "Events committed, one per request.",
            ["kind"],
            registry=registry,
        )
        self._commit = Histogram(
            "superarm_commit_seconds",
            "Time to commit events of a bandit that is there already.",
            buckets=_SECONDS,
            registry=registry,
        )
        self._together = Histogram(
            "superarm_commit_events",
            "Events of one bandit committed together, one per request.",
            buckets=_MANY,
            registry=registry,
        )
        self.failures = Counter(
            "superarm_failures_total",
            "Turns that failed. The bandit is then loaded again.",
            registry=registry,
        )
        self.checkpoints = Counter(
            "superarm_checkpoints_total", "Checkpoints written.", registry=registry
        )
        self.loaded = Gauge("superarm_bandits_loaded", "Bandits in memory.", registry=registry)
        self.open = Gauge(
            "superarm_open_decisions", "Open decisions of the bandits in memory.", registry=registry
        )

    def committed(self, kinds: Iterable[str], seconds: float) -> None:
        """Count events of one bandit that were committed together."""
        counts = collections.Counter(kinds)
        for kind, n_events in counts.items():
            self._events.labels(kind).inc(n_events)
        self._commit.observe(seconds)
        self._together.observe(counts.total())

    def created(self) -> None:
        """Count the first event of a new bandit, which is committed by itself."""
        self._events.labels("created").inc()

    def text(self) -> bytes:
        """All metrics, in the format of Prometheus."""
        return generate_latest(self._registry)


class _Answers(Collector):
    """Counts answers. Only the event loop does, so no number needs a lock, as in other metrics."""

    def __init__(self) -> None:
        self._counts: dict[tuple[str, str, int], int] = {}
        # By route: the sum of all seconds, and the number of answers in each bucket.
        self._seconds: dict[str, tuple[list[float], list[int]]] = {}

    def add(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count the answer to a request."""
        # Clients can invent methods, and each label costs memory.
        key = method if method in _METHODS else "other", route, status
        self._counts[key] = self._counts.get(key, 0) + 1
        found = self._seconds.get(route)
        if found is None:
            found = self._seconds[route] = [0.0], [0] * (len(_SECONDS) + 1)
        found[0][0] += seconds
        found[1][bisect.bisect_left(_SECONDS, seconds)] += 1

    def collect(self) -> Iterator[Metric]:
        labels = ["method", "route", "status"]
        counts = CounterMetricFamily("superarm_requests", "Requests answered.", labels=labels)
        for (method, route, status), n_answers in list(self._counts.items()):
            counts.add_metric([method, route, str(status)], n_answers)
        yield counts
        times = HistogramMetricFamily(
            "superarm_request_seconds", "Time from request to answer.", labels=["route"]
        )
        ends = [*map(floatToGoString, _SECONDS), "+Inf"]
        for route, (total, buckets) in list(self._seconds.items()):
            sums = itertools.accumulate(buckets)
            times.add_metric([route], list(zip(ends, sums, strict=True)), total[0])
        yield times


class Health:
    """The last failure of a database, and when a write last succeeded."""

    def __init__(self, store: Store) -> None:
        self._store = store
        # Of its own: a write may hang, and no reader of the database may wait for it.
        self._thread = ThreadPoolExecutor(1, "superarm-health")
        self._look: Future[State] | None = None
        self._failing: StoreError | None = None
        self._written = -math.inf

    def succeeded(self) -> None:
        """A write succeeded."""
        self._failing, self._written = None, time.monotonic()

    def failed(self, error: BaseException) -> None:
        """Something failed; only the database matters here."""
        if isinstance(error, StoreError):
            self._failing = error

    async def state(self) -> State:
        """Whether events can be written. Tries a write if the last one failed or is long ago."""
        if self._failing is None and time.monotonic() - self._written < _HEALTHY_S:
            return "ok"
        look = self._look
        if look is None or look.done():  # one look is for all who ask meanwhile
            look = self._look = self._thread.submit(self._try)
        await asyncio.wait([asyncio.wrap_future(look)], timeout=_PATIENCE_S)
        return look.result() if look.done() else "failing"

    def close(self) -> None:
        """Wait for the look that is under way."""
        self._thread.shutdown(wait=True)

    def _try(self) -> State:
        try:
            self._store.check()
        except StoreError as error:
            self.failed(error)
            return "read_only" if error.read_only else "failing"
        self.succeeded()
        return "ok"


class ClockWatch:
    """Compares a clock with one that is never set.

    Events are never older than the ones before them, so after a jump back they all have one time,
    and after a jump forward open decisions expire. An operator should know.

    Examples
    --------
    >>> now = [100.0]
    >>> watch = ClockWatch(lambda: now[0], steady=lambda: 1.0)
    >>> now[0] = 40.0
    >>> watch.jump(), watch.jump()
    (-60.0, 0.0)
    """

    def __init__(
        self,
        clock: Callable[[], float] = time.time,
        steady: Callable[[], float] = time.monotonic,
    ) -> None:
        self._clock, self._steady = clock, steady
        self._ahead = clock() - steady()

    def jump(self) -> float:
        """Seconds by which the clock was set since the last call; 0 for none that matters."""
        ahead = self._clock() - self._steady()
        jumped = ahead - self._ahead
        if abs(jumped) <= _MOST_S:
            return 0.0
        self._ahead = ahead
        return jumped

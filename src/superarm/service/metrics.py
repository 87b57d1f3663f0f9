"""The metrics of a server, for Prometheus."""

from __future__ import annotations

import collections
from collections.abc import Iterable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

# Upper ends of the buckets of histograms.
_SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)
_MANY = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)
_METHODS = {"DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT"}


class Metrics:
    """All metrics of one server.

    Examples
    --------
    >>> metrics = Metrics()
    >>> metrics.committed(["decided", "told"], 0.002)
    >>> b'superarm_events_total{kind="told"} 1.0' in metrics.text()
    True
    """

    def __init__(self) -> None:
        self._registry = registry = CollectorRegistry()
        self._known: dict[tuple[str, str, int], tuple[Counter, Histogram]] = {}
        self._kinds: dict[str, Counter] = {}
        self._requests = Counter(
            "superarm_requests_total",
            "Requests answered.",
            ["method", "route", "status"],
            registry=registry,
        )
        self._seconds = Histogram(
            "superarm_request_seconds",
            "Time from request to answer.",
            ["route"],
            buckets=_SECONDS,
            registry=registry,
        )
        self._events = Counter(
            "superarm_events_total", "Events committed.", ["kind"], registry=registry
        )
        self._commit = Histogram(
            "superarm_commit_seconds",
            "Time to commit.",
            buckets=_SECONDS,
            registry=registry,
        )
        self._together = Histogram(
            "superarm_commit_events",
            "Events of one bandit committed together.",
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

    def answered(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count the answer to a request."""
        # Clients can invent methods, and each label costs memory.
        method = method if method in _METHODS else "other"
        # Looking up labels is slow, so the counters are kept.
        found = self._known.get((method, route, status))
        if found is None:
            found = self._requests.labels(method, route, str(status)), self._seconds.labels(route)
            self._known[method, route, status] = found
        found[0].inc()
        found[1].observe(seconds)

    def committed(self, kinds: Iterable[str], seconds: float) -> None:
        """Count events of one bandit that were committed together."""
        counts = collections.Counter(kinds)
        for kind, n_events in counts.items():
            self._of_kind(kind).inc(n_events)
        self._commit.observe(seconds)
        self._together.observe(counts.total())

    def _of_kind(self, kind: str) -> Counter:
        # Looking up labels is slow, so the counters are kept.
        if kind not in self._kinds:
            self._kinds[kind] = self._events.labels(kind)
        return self._kinds[kind]

    def text(self) -> bytes:
        """All metrics, in the format of Prometheus."""
        return generate_latest(self._registry)

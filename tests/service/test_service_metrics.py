"""Answers are counted as the Prometheus client counts."""

import random

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest

from superarm.service import metrics


def lines_of(text, start):
    found = [line for line in text.decode().splitlines() if start in line]
    # The client of Prometheus adds when each series was made.
    return sorted(line for line in found if "_created" not in line)


def test_answers_are_counted_as_the_prometheus_client_counts():
    """The twin has a counter and a histogram of the client, which are slower."""
    registry, counted, rng = CollectorRegistry(), metrics.Metrics(), random.Random(0)
    total = Counter(
        "superarm_requests_total",
        "Requests answered.",
        ["method", "route", "status"],
        registry=registry,
    )
    seconds = Histogram(
        "superarm_request_seconds",
        "Time from request to answer.",
        ["route"],
        buckets=metrics._SECONDS,
        registry=registry,
    )
    # Ends of buckets, times below and above all, and other times.
    times = [*metrics._SECONDS, 0.0, 100.0, *(rng.expovariate(10.0) for _ in range(50))]
    for time in times:
        method, route = rng.choice(["GET", "POST"]), rng.choice(["/healthz", "other"])
        status = rng.choice([200, 404])
        counted.answered(method, route, status, time)
        total.labels(method, route, str(status)).inc()
        seconds.labels(route).observe(time)
    for start in ("superarm_requests", "superarm_request_seconds"):
        assert lines_of(counted.text(), start) == lines_of(generate_latest(registry), start)
    counted.answered("BREW", "other", 404, 0.1)
    assert (
        b'superarm_requests_total{method="other",route="other",status="404"} 1.0' in counted.text()
    )

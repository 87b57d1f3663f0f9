"""Write the dashboard for Grafana: python deploy/grafana.py > deploy/grafana.json.

The dashboard asks for a data source of Prometheus when it is imported. A test compares the file
with this program, and its expressions with the metrics of a server.
"""

from __future__ import annotations

import json
from typing import Any

_COLUMNS, _WIDTH, _HEIGHT = 24, 8, 8  # Grafana's grid, and a panel in it
_RATE = "[$__rate_interval]"
_OK = 'status!~"5.."'

# Title, unit, what to do when it looks bad, and the expressions with their legends.
PANELS: list[tuple[str, str, str, list[tuple[str, str]]]] = [
    (
        "Requests per second",
        "reqps",
        "By route. Retries of clients show as repeated rises.",
        [(f"sum by (route) (rate(superarm_requests_total{_RATE}))", "{{route}}")],
    ),
    (
        "Refused and failed",
        "reqps",
        "5xx: look at the server's log. 409 and 422: a client changed. 499: clients left.",
        [
            (
                f'sum by (status) (rate(superarm_requests_total{{status=~"[45].."}}{_RATE}))',
                "{{status}}",
            )
        ],
    ),
    (
        "Answered without failure",
        "percentunit",
        "The share of answers that are no 5xx.",
        [
            (
                f"sum(rate(superarm_requests_total{{{_OK}}}{_RATE})) "
                f"/ sum(rate(superarm_requests_total{_RATE}))",
                "all routes",
            )
        ],
    ),
    (
        "Time per request",
        "s",
        "If it rises, look at the time per commit, then at the reward.",
        [
            (
                f"histogram_quantile({share}, sum by (le, route) "
                f"(rate(superarm_request_seconds_bucket{_RATE})))",
                f"{name} {{{{route}}}}",
            )
            for share, name in ((0.5, "half"), (0.99, "99%"))
        ],
    ),
    (
        "Events per second",
        "ops",
        "Decided but not told: outcomes are lost.",
        [(f"sum by (kind) (rate(superarm_events_total{_RATE}))", "{{kind}}")],
    ),
    (
        "Time per commit",
        "s",
        "If it rises: disk, network or a lock.",
        [
            (
                f"histogram_quantile({share}, "
                f"sum by (le) (rate(superarm_commit_seconds_bucket{_RATE})))",
                name,
            )
            for share, name in ((0.5, "half"), (0.99, "99%"))
        ],
    ),
    (
        "Events per commit",
        "short",
        "Near the number of clients of one bandit: use several bandits.",
        [
            (
                f"sum(rate(superarm_commit_events_sum{_RATE})) "
                f"/ sum(rate(superarm_commit_events_count{_RATE}))",
                "mean",
            )
        ],
    ),
    (
        "Bandits in memory, open decisions",
        "short",
        "Open decisions that grow without end: set an expiry.",
        [
            ("sum(superarm_bandits_loaded)", "bandits"),
            ("sum(superarm_open_decisions)", "open decisions"),
        ],
    ),
    (
        "Failed turns, checkpoints",
        "ops",
        "Failed turns: the server's log says why. No checkpoints: starts will take longer.",
        [
            (f"sum(rate(superarm_failures_total{_RATE}))", "failed turns"),
            (f"sum(rate(superarm_checkpoints_total{_RATE}))", "checkpoints"),
        ],
    ),
]


def dashboard() -> dict[str, Any]:
    """The dashboard as Grafana imports it."""
    source = {
        "name": "DS_PROMETHEUS",
        "label": "Prometheus",
        "type": "datasource",
        "pluginId": "prometheus",
    }
    return {
        "__inputs": [source],
        "title": "superarm",
        "uid": "superarm",
        "schemaVersion": 39,
        "refresh": "10s",
        "time": {"from": "now-1h", "to": "now"},
        "panels": [_panel(number, *panel) for number, panel in enumerate(PANELS)],
    }


def _panel(
    number: int, title: str, unit: str, about: str, lines: list[tuple[str, str]]
) -> dict[str, Any]:
    per_row = _COLUMNS // _WIDTH
    source = {"type": "prometheus", "uid": "${DS_PROMETHEUS}"}
    return {
        "id": number + 1,
        "type": "timeseries",
        "title": title,
        "description": about,
        "datasource": source,
        "fieldConfig": {"defaults": {"unit": unit, "min": 0}, "overrides": []},
        "gridPos": {
            "x": _WIDTH * (number % per_row),
            "y": _HEIGHT * (number // per_row),
            "w": _WIDTH,
            "h": _HEIGHT,
        },
        "targets": [
            {"refId": "ABCDEF"[place], "datasource": source, "expr": expr, "legendFormat": legend}
            for place, (expr, legend) in enumerate(lines)
        ],
    }


if __name__ == "__main__":
    print(json.dumps(dashboard(), indent=2))

"""The settings of a server."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Limits:
    """The largest requests that a server accepts.

    Attributes
    ----------
    body
        Bytes per request body.
    arms
        Arms per bandit.
    open
        Open decisions per bandit.
    samples
        Samples per request that are drawn for propensities, for all its decisions; 0 for none.
    rate
        Requests per second of one client, on average; 0 for no limit.
    connections
        Open connections of one address.
    head, head_s, body_s
        Bytes of the headers of a request, and the seconds in which the headers, and then the body,
        must arrive.
    """

    body: int = 64 << 20
    arms: int = 2_000_000
    open: int = 100_000
    samples: int = 10_000
    rate: float = 0.0
    connections: int = 512
    head: int = 64 << 10
    head_s: float = 10.0
    body_s: float = 60.0


@dataclass(frozen=True)
class Settings:
    """The options of ``superarm serve``.

    Attributes
    ----------
    database
        A file of SQLite, a folder of them for several workers, or ``postgresql://...``.
    host, port
        The address to listen on; port 0 for a free port.
    rewards
        A Python module with rewards of the operator.
    with_keys
        Whether requests need an API key; None for yes, unless ``host`` is a loopback address.
    allowed_hosts
        Names of a service without keys behind a proxy.
    trusted_proxies
        Addresses whose X-Forwarded-For header is believed.
    limits
        The largest requests.
    n_processes
        How many processes evaluate the operator's rewards, and, up to one per core, draw samples
        for propensities and read long bodies; 0 for the threads of the server.
    checkpoint_every, n_threads, most_loaded, deadline_s
        See `superarm.service.bandits.engine.Engine`.
    check_all
        Whether to verify whole logs at the start, not only the events after the last checkpoint.
    log_requests
        Whether to write one log line per request.
    first
        A request for a bandit that is made before the server listens, unless one has its name.
    n_workers
        The number of processes: see `superarm.service.workers`.
    """

    # The defaults of the command line are the same. A server without options serves this machine
    # only.
    database: str = "superarm.db"
    host: str = "127.0.0.1"
    port: int = 8321
    rewards: str | None = None
    with_keys: bool | None = None
    allowed_hosts: tuple[str, ...] = ()
    trusted_proxies: tuple[str, ...] = ()
    limits: Limits = field(default_factory=Limits)
    checkpoint_every: int = 10_000
    n_threads: int | None = None
    most_loaded: int = 1000
    deadline_s: float = 60.0
    n_processes: int = 64
    check_all: bool = False
    log_requests: bool = True
    first: dict[str, Any] | None = None
    n_workers: int = 1

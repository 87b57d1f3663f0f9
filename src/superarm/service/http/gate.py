"""What every request passes: origin, API key, rate and size. Counts and logs every answer."""

from __future__ import annotations

import re
import time
from collections import OrderedDict
from collections.abc import Collection, Mapping

from superarm.service import logs
from superarm.service.http import visitors
from superarm.service.http.keys import Keys, may
from superarm.service.metrics import Metrics
from superarm.service.problems import Problem

# The headers that `Gate.admit` reads.
HEADERS = {b"authorization", b"x-api-key", b"content-length"} | visitors.HEADERS
_DECIDES = re.compile(
    r"/v1/(bandits/[^/]+/(decisions|snapshots|batches)|decisions/[^/]+/outcomes|decisions|outcomes)"
    r"/?"
)
_HEALTH = "/healthz"
_BURST_S = 2  # a client may send the requests of this time at once
_MOST_CLIENTS = 10_000  # clients whose rates are remembered
_MOST_DIGITS = 20  # of a Content-Length; longer numbers are slow to read


class Gate:
    """The gate of one server.

    Parameters
    ----------
    metrics
        Where answers are counted.
    most_body
        Bytes per request body.
    rate
        Requests per second of one API key, or of one address without a valid key, on average;
        0 for no limit.
    keys
        The API keys; None if no request needs a key.
    names
        Host names of a service without keys.
    log_requests
        Whether to write one log line per request.
    """

    def __init__(
        self,
        metrics: Metrics,
        *,
        most_body: int,
        rate: float = 0.0,
        keys: Keys | None = None,
        names: Collection[str] = (),
        log_requests: bool = False,
    ) -> None:
        self.most_body = most_body
        self._metrics, self._rate, self._keys = metrics, rate, keys
        self._names, self._log_requests = frozenset(names), log_requests
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    @property
    def is_stale(self) -> bool:
        """Whether the keys must be read again before the next request that needs one."""
        return self._keys is not None and self._keys.stale

    def refresh(self) -> None:
        """Read the keys again."""
        if self._keys is not None:
            self._keys.refresh()

    def needs_key(self, method: str, path: str) -> bool:
        """Whether a request needs a key."""
        return self._keys is not None and _needed_role(method, path) is not None

    def admit(
        self,
        method: str,
        path: str,
        headers: Mapping[bytes, bytes],
        client: str | None,
        *,
        is_known: bool = False,
    ) -> str | None:
        """Refuse a request by raising a problem, or return the id of its key.

        ``headers`` has at least those that `HEADERS` names, in lower case. ``is_known`` is for a
        request with the method and the headers of an earlier one that was admitted.
        """
        keys, needed, client = self._keys, None, client or ""
        if keys is not None:
            needed = _needed_role(method, path)
        elif not is_known:
            # With keys the headers do not matter: another website does not know the key.
            visitors.check(method, headers, self._names)
        if keys is None or needed is None:
            if self._rate:
                # A balancer that asks for health must not be refused because of its clients.
                self._limit_rate(f"{_HEALTH} {client}" if path == _HEALTH else client)
            return None
        key = _api_key(headers)
        found = None if key is None else keys.role(key)
        if found is None:
            # Limits guesses at keys, too. Valid keys from the same address have their own rate.
            self._limit_rate(client)
            raise Problem(
                401,
                "a key is needed here" if key is None else "the key is not known here",
                expected="Authorization: Bearer KEY",
                fix="superarm keys add makes one",
                headers={"WWW-Authenticate": "Bearer"},
            )
        key_id, role = found
        self._limit_rate(key_id)
        if not may(role, needed):
            raise Problem(
                403, f"the role must be {needed} for this, got {role}", fix="use a key of that role"
            )
        return key_id

    def declares_too_long(self, headers: Mapping[bytes, bytes]) -> bool:
        """Whether a body must be refused before it arrives."""
        declared = headers.get(b"content-length", b"0")
        return declared.isdigit() and int(declared[:_MOST_DIGITS]) > self.most_body

    def answered(
        self,
        method: str,
        path: str,
        route: str,
        status: int,
        seconds: float,
        key_id: str | None,
        client: str | None,
    ) -> None:
        """Count an answer, and write its line into the log."""
        self._metrics.answered(method, route, status, seconds)
        if self._log_requests:
            logs.request_line(method, path, status, seconds, key_id, client)

    def _limit_rate(self, client: str) -> None:
        """Take a token from the bucket of a client, which fills with time."""
        if not self._rate:
            return
        now, most = time.monotonic(), max(1.0, _BURST_S * self._rate)
        left, before = self._buckets.pop(client, (most, now))
        left = min(most, left + (now - before) * self._rate)
        # A refused request takes nothing, so a client that waits is served again.
        self._buckets[client] = (left - 1 if left >= 1 else left, now)
        # Addresses are easy to change, so the memory for them is bounded.
        if len(self._buckets) > _MOST_CLIENTS:
            self._buckets.popitem(last=False)
        if left < 1:
            wait_s = max(1, round((1 - left) / self._rate))
            raise Problem(
                429,
                f"at most {self._rate:g} requests per second are accepted",
                headers={"Retry-After": str(wait_s)},
                kind="rate-exceeded",
            )


def _needed_role(method: str, path: str) -> str | None:
    """The role that a request needs; None if everybody may send it."""
    if not path.startswith("/v1/") and path != "/metrics":
        return None
    if method in ("GET", "HEAD", "OPTIONS"):
        return "read"
    return "decide" if method == "POST" and _DECIDES.fullmatch(path) else "admin"


def _api_key(headers: Mapping[bytes, bytes]) -> str | None:
    own = headers.get(b"x-api-key")
    if own is not None:
        return own.decode("latin-1")
    scheme, _, key = headers.get(b"authorization", b"").decode("latin-1").partition(" ")
    return key.strip() if scheme.lower() == "bearer" and key.strip() else None

"""Which requests a service without keys accepts: those of programs, and those of its own page.

A browser sends whatever any website tells it to send, also to a server that only this machine can
reach. The headers show which website it was: Host has a foreign name if that name was made to point
here, and Origin has it if the website sends from elsewhere. Browsers set both headers themselves.
Programs send no Origin, and the Host that they were configured with.
"""

from __future__ import annotations

import functools
import ipaddress
import re
from collections.abc import Mapping

from superarm.service.problems import Problem, shown

HEADERS = frozenset({b"host", b"origin", b"sec-fetch-site"})
_HOST = re.compile(r"(\[[^\[\]]*\]|[^:]*)(:[0-9]*)?")
_MOST_NAMES = 256  # hosts whose verdict is remembered
_SAFE = ("GET", "HEAD", "OPTIONS")  # they change nothing, and no website can read the answers


def check(method: str, headers: Mapping[bytes, bytes], names: frozenset[str]) -> None:
    """Refuse a request that another website has made.

    Parameters
    ----------
    method
        The method.
    headers
        The headers of the request that `HEADERS` names.
    names
        Host names of the service, besides ``localhost`` and addresses. Addresses are safe because
        nobody can make an address point elsewhere.

    Examples
    --------
    >>> own = {b"host": b"127.0.0.1:8321", b"origin": b"http://127.0.0.1:8321"}
    >>> check("POST", own, frozenset())
    >>> try:
    ...     check("GET", {b"host": b"rebound.example:8321"}, frozenset())
    ... except Problem as problem:
    ...     print(problem)
    Host must be localhost, an address or an allowed name, got 'rebound.example:8321'
    """
    sent = headers.get(b"host", b"")
    if not _is_own(sent, names):
        host = shown(_text(sent))
        raise _refused(f"Host must be localhost, an address or an allowed name, got {host}")
    # After the check of Host: a name that was made to point here could read answers, too.
    if method in _SAFE:
        return
    origin = headers.get(b"origin")
    if origin is not None:
        place = _text(origin).partition("://")[2]
        # Other ports of the same name are other websites, except for names of the operator.
        if place != _text(sent) and _name(place) not in names:
            got = shown(origin.decode("latin-1"))
            raise _refused(f"Origin must be that of the service itself, got {got}")
    if headers.get(b"sec-fetch-site") == b"cross-site":
        raise _refused("only the service's own page may change anything here, not other websites")


def _name(place: str) -> str:
    """The name in ``name:port``; empty for other forms."""
    found = _HOST.fullmatch(place)
    # A final dot names the same host.
    return found[1].rstrip(".") if found else ""


@functools.lru_cache(maxsize=_MOST_NAMES)
def _is_own(host: bytes, names: frozenset[str]) -> bool:
    # Cached: this takes longer than the other checks, and most requests have the same Host.
    name = _name(_text(host))
    return (
        not host
        or name == "localhost"
        or name.endswith(".localhost")
        or name in names
        or _is_address(name)
    )


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name.strip("[]"))
    except ValueError:
        return False
    return True


def _text(value: bytes) -> str:
    return value.decode("latin-1").lower()


def _refused(detail: str) -> Problem:
    return Problem(403, detail, fix="serve with --allowed-host NAME, or with --keys")

"""Which requests are taken where no key is asked for: those of programs, and those of the service's own page.

A browser sends what any website has it send, also to a server that only this machine can reach. So a website is told
by its name: by Host, where its own name was made to point here, and by Origin where it sends from afar. A browser sets
these headers itself; programs send no Origin, and the Host that they were told to ask.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Collection, Mapping

from superarm.service.problems import Problem, shown

HEADERS = frozenset({b"host", b"origin", b"sec-fetch-site"})
_PLACE = re.compile(r"(\[[^\[\]]*\]|[^:]*)(:[0-9]*)?")
_SAFE = ("GET", "HEAD", "OPTIONS")  # they change nothing, and no website can read the answers


def check(method: str, headers: Mapping[bytes, bytes], names: Collection[str]) -> None:
    """Refuse a request that another website has made.

    Parameters
    ----------
    method
        The method.
    headers
        Those of `HEADERS` that came.
    names
        Names of the service, besides ``localhost`` and any address: nobody can make an address point elsewhere.

    Examples
    --------
    >>> check("POST", {b"host": b"127.0.0.1:8321", b"origin": b"http://127.0.0.1:8321"}, ())
    >>> check("GET", {b"host": b"rebound.example:8321"}, ())
    Traceback (most recent call last):
    superarm.service.problems.Problem: Host must be localhost, an address or an allowed name, got 'rebound.example:8321'
    """
    host = headers.get(b"host", b"").decode("latin-1").lower()
    if host and not _is_own(_name(host), names):
        raise _refused(f"Host must be localhost, an address or an allowed name, got {shown(host)}")
    if method in _SAFE:
        return
    origin = headers.get(b"origin")
    if origin is not None:
        place = origin.decode("latin-1").lower().partition("://")[2]
        if place != host and _name(place) not in names:
            raise _refused(
                f"Origin must be that of the service itself, got {shown(origin.decode('latin-1'))}"
            )
    if headers.get(b"sec-fetch-site") == b"cross-site":
        raise _refused("a website must be the service's own to change anything here")


def _name(place: str) -> str:
    """The name in ``name:port``; nothing where it is not of that form."""
    found = _PLACE.fullmatch(place)
    return found[1].rstrip(".") if found else ""


def _is_own(name: str, names: Collection[str]) -> bool:
    if name == "localhost" or name.endswith(".localhost") or name in names:
        return True
    try:
        ipaddress.ip_address(name.strip("[]"))
    except ValueError:
        return False
    return True


def _refused(detail: str) -> Problem:
    return Problem(403, detail, fix="serve with --allowed-host NAME, or with --keys")

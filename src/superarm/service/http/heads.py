"""What the parser has found in the headers of requests on the short way.

Programs send the same headers again and again. A request that comes in one piece, with headers that
the parser has read before, need not be parsed: the parser would find the same in them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

PATH = re.compile(
    rb"(?P<path>/v1/(?:(?P<of>bandits|decisions)/(?P<id>[a-z0-9-]+)/)?(?P<what>decisions|outcomes))"
)
# No other line ends than those of HTTP, so that the lines are those of the parser.
_REQUEST = re.compile(
    rb"POST %s HTTP/1\.1(?P<lines>(?:\r\n[^\r\n]++)++)\r\n\r\n(?P<body>.*)" % PATH.pattern,
    re.DOTALL,
)
# A program may give each request a key of its own, so keys are not remembered.
_KEY = re.compile(rb"\r\nidempotency-key: ([\x21-\x7e]++)(?=\r\n|\Z)", re.IGNORECASE)
_MOST_HEADS, _MOST_BYTES = 1024, 2048  # heads that are remembered, and the bytes of one

Pairs = Sequence[tuple[bytes, bytes]]


class Head(NamedTuple):
    """The headers of a request.

    Attributes
    ----------
    pairs, headers
        All of them, as pairs and by name, with names in lower case.
    length, media, key
        Length and type of the body, and the Idempotency-Key.
    """

    pairs: Pairs
    headers: dict[bytes, bytes]
    length: int
    media: str | None
    key: str | None


class Heads:
    r"""The heads of the last requests.

    Parameters
    ----------
    most_body
        The most bytes of a body on the short way.

    Examples
    --------
    >>> heads = Heads(100)
    >>> data = b"POST /v1/outcomes HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{}"
    >>> heads.recall(data) is None
    True
    >>> head = heads.read([(b"host", b"a"), (b"content-length", b"2")])
    >>> heads.remember(data, b"/v1/outcomes", head)
    >>> place, again = heads.recall(data)
    >>> again == head, place["body"]
    (True, b'{}')
    """

    def __init__(self, most_body: int) -> None:
        self._most_body = most_body
        self._known: dict[bytes, Head] = {}  # by their lines, without that of the key

    def read(self, pairs: Pairs) -> Head | None:
        """The head with these headers, if its request may take the short way."""
        headers = dict(pairs)
        # Which one of two equal headers counts is left to the application.
        if len(headers) < len(pairs) or b"transfer-encoding" in headers:
            return None
        # The parser refuses lengths that are no numbers.
        length = int(headers.get(b"content-length", b"0"))
        if length > self._most_body:
            return None
        texts = map(headers.get, (b"content-type", b"idempotency-key"))
        media, key = [None if text is None else text.decode("latin-1") for text in texts]
        return Head(pairs, headers, length, media, key)

    def remember(self, data: bytes, path: bytes, head: Head) -> None:
        """Remember the head of a request, which the gate has admitted.

        ``data`` is the piece that begins with the request, if there is one.
        """
        found = _REQUEST.match(data)
        if found is None or found["path"] != path or len(found["lines"]) > _MOST_BYTES:
            return
        lines, pairs = found["lines"], head.pairs
        if head.key is not None:
            lines = _KEY.sub(b"", lines)
            pairs = [one for one in pairs if one[0] != b"idempotency-key"]
        # Each line is a header, and no header has several lines.
        if lines.count(b"\r\n") == len(pairs):
            if len(self._known) >= _MOST_HEADS:
                self._known.clear()
            self._known[lines] = Head(pairs, dict(pairs), head.length, head.media, None)

    def recall(self, data: bytes) -> tuple[re.Match[bytes], Head] | None:
        """The request that ``data`` is, if it is a whole one with a head that is remembered."""
        found = _REQUEST.fullmatch(data)
        if found is None:
            return None
        lines = found["lines"]
        head = self._known.get(lines)
        if head is None and (key := _KEY.search(lines)):
            head = self._known.get(lines[: key.start()] + lines[key.end() :])
            if head is not None:
                pairs = [*head.pairs, (b"idempotency-key", key[1])]
                head = Head(pairs, dict(pairs), head.length, head.media, key[1].decode())
        return None if head is None or len(found["body"]) != head.length else (found, head)

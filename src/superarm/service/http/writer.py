"""The transport of an answer that nobody may want any more."""

from __future__ import annotations

import asyncio


class Writer:
    """A transport for one answer, which nobody may want any more.

    The transports of uvloop fail if they are closed, and writing to a client that has left closes
    them. A client that sends several requests at once is not read from, so nobody notices before.
    """

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self.close, self.is_closing = transport.close, transport.is_closing

    def write(self, data: bytes) -> None:
        """Write, if the connection is open."""
        if not self.is_closing():
            self._transport.write(data)

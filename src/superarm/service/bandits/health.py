"""Whether events can be written."""

from __future__ import annotations

import math
import time
from typing import Literal

from superarm.service.log.store import Store, StoreError

_HEALTHY_S = 5.0  # a successful write counts as a sign of health for this long


class Health:
    """The last failure of a database, and when a write last succeeded."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._failing: StoreError | None = None
        self._written = -math.inf

    def succeeded(self) -> None:
        """A write succeeded."""
        self._failing, self._written = None, time.monotonic()

    def failed(self, error: BaseException) -> None:
        """Something failed; only the database matters here."""
        if isinstance(error, StoreError):
            self._failing = error

    def look(self) -> Literal["ok", "read_only", "failing"]:
        """Whether events can be written. Tries a write if the last one failed or is long ago."""
        if self._failing is not None or time.monotonic() - self._written >= _HEALTHY_S:
            try:
                self._store.check()
                self.succeeded()
            except StoreError as error:
                self.failed(error)
        if self._failing is None:
            return "ok"
        return "read_only" if self._failing.read_only else "failing"

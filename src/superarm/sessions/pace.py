"""When shares of a session sync: close together while it is young, and at least so often."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from superarm.core.arguments import as_fraction, as_positive

_SLOWDOWN = 2.0  # at most this many times as long as the last wait


@dataclass
class Pace:
    """The times of the syncs of one client.

    A sync is due when all clients together have probably made ``share`` as many decisions as the
    snapshot knows, judged by what was new in the last snapshot. It is due after ``every_s`` seconds
    at the latest, and after ``least_s`` seconds at the earliest. With a constant rate of decisions
    the waits grow in proportion to the age of the bandit. So there are about
    log(every_s / (share · least_s)) / share syncs before the wait is ``every_s``.

    Attributes
    ----------
    every_s, least_s
        The longest and the shortest wait, in seconds.
    share
        How many decisions a snapshot may lack, as a share of the decisions in it.
    wait_s
        The present wait, counted from the last snapshot.

    Examples
    --------
    >>> pace = Pace(every_s=60.0, share=0.02)
    >>> for time, n_known in [(0.0, 0), (1.0, 10), (2.0, 20), (100.0, 1000), (1000.0, 10_000)]:
    ...     pace.saw(n_known, time)
    ...     print(round(pace.wait_s, 3))
    1.0
    1.0
    1.0
    2.0
    4.0
    >>> pace.due_at(), pace.due_at(n_own=200)  # 2% are made here alone
    (1004.0, 1001.0)
    """

    every_s: float
    share: float = 0.005
    least_s: float = 1.0
    wait_s: float = field(init=False, default=0.0)
    _last: tuple[int, float] | None = field(init=False, default=None)
    _cut: float = field(init=False, default=0.0)

    @classmethod
    def checked(cls, every_s: float, share: float, least_s: float) -> Pace:
        """The pace of these settings, or ValueError or TypeError."""
        return cls(
            as_positive(every_s, "every"),
            as_fraction(share, "share", high="]"),
            as_positive(least_s, "least"),
        )

    def saw(self, n_known: int, time: float, *, cut: float = 0.0) -> None:
        """Note how many decisions a snapshot knows that was taken at this time.

        ``cut`` is the part of the wait that is left out.
        """
        wait_s = self.least_s
        if self._last is not None:
            n_new, passed_s = n_known - self._last[0], time - self._last[1]
            # Without news the wait grows, too: a bandit that nobody uses needs few syncs.
            wait_s = self.share * n_known * passed_s / n_new if n_new > 0 else self.every_s
            wait_s = min(wait_s, _SLOWDOWN * self.wait_s)
        self.wait_s = min(max(wait_s, self.least_s), self.every_s)
        self._last, self._cut = (n_known, time), cut

    @property
    def n_much(self) -> int:
        """How many decisions of this client make a sync due after ``least_s``."""
        return max(1, math.ceil(self.share * (0 if self._last is None else self._last[0])))

    def due_at(self, n_own: int = 0) -> float:
        """The time of the next sync; ``n_own`` decisions of this client are to be sent."""
        if self._last is None:
            return -math.inf
        wait_s = min(self.least_s, self.wait_s) if n_own >= self.n_much else self.wait_s
        return self._last[1] + (1 - self._cut) * wait_s

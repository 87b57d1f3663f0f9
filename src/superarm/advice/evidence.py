"""When a property holds: how many probes it takes, and bounds on the share that violates it.

A property holds if at most the share SHARE of the probes, drawn as they are drawn, violates it,
with confidence 1 - DELTA. One violation shows that it does not hold for all sets and means, so
that it fails. Everything else is undecided.
"""

from __future__ import annotations

import math

import numpy as np

from superarm.advice import settings
from superarm.advice.asking import Probe
from superarm.advice.results import Property
from superarm.core.special import betaincinv, betaln, stdtrit

# Comparisons that noise alone makes look like a violation, at most, if the noise is normal.
_MISTAKEN = 1e-5
# A probe whose comparison allows more noise than this share of the values shows nothing.
TOO_NOISY = 0.1
# Questions that are repeated where there is noise, before anything is compared.
_ENOUGH = 12
_EXACT = 1e-12  # of a bound


def n_clean() -> int:
    """How many probes without a violation it takes for "holds".

    Examples
    --------
    >>> n_clean()
    19
    """
    return math.ceil(math.log(settings.DELTA) / math.log1p(-settings.SHARE))


def doubt(n_probes: int) -> float:
    """The probability that this many probes are clean although more than the share violates."""
    return (1 - settings.SHARE) ** n_probes


def rate_fixed(n_probes: int, n_violated: int) -> float | None:
    """An upper bound on the share of violating probes, if the number of probes was fixed before.

    Clopper and Pearson's one-sided bound, which is 1 - delta^(1/n) without a violation. None
    without a probe.
    """
    if not n_probes:
        return None
    n_kept = n_probes - n_violated
    return float(betaincinv(n_violated + 1, n_kept, 1 - settings.DELTA)) if n_kept else 1.0


def rate_anytime(n_probes: int, n_violated: int) -> float | None:
    """A bound as `rate_fixed` gives, for probes that stop at any time, for any reason.

    Without a violation it is the same bound: it is ever below the true share p only if the first
    n probes are clean for the first n with (1 - p)^n < delta, which has a smaller probability than
    delta. With violations it is the largest p that the uniform mixture of likelihoods, divided by
    the likelihood of p, does not reject at 1 / delta (Ville's inequality).

    Examples
    --------
    >>> rate_anytime(19, 0) == rate_fixed(19, 0), rate_anytime(19, 1) > rate_fixed(19, 1)
    (True, True)
    """
    if not n_probes or not n_violated:
        return rate_fixed(n_probes, n_violated)
    n_kept = n_probes - n_violated
    if not n_kept:
        return 1.0
    # ln of the mixture: the integral of q^violated (1 - q)^kept over q in [0, 1].
    mixture = float(betaln(n_violated + 1, n_kept + 1))

    # The likelihood falls from the observed share on, to 0 at p = 1: halve the interval.
    low, high = n_violated / n_probes, 1.0
    while high - low > _EXACT:
        p = (low + high) / 2
        likelihood = n_violated * math.log(p) + n_kept * math.log1p(-p)
        rejected = mixture - likelihood >= -math.log(settings.DELTA)
        low, high = (low, p) if rejected else (p, high)
    return high


class Noise:
    """How much answers to equal questions differ.

    Attributes
    ----------
    largest
        The largest difference of two answers.
    """

    def __init__(self) -> None:
        self.largest = 0.0
        self._squares, self._freedom = 0.0, 0

    def add(self, values: list[float]) -> None:
        """Answers to one question."""
        self._squares += float(np.sum(np.square(np.subtract(values, np.mean(values)))))
        self._freedom += len(values) - 1
        self.largest = max(self.largest, max(values) - min(values))

    @property
    def unknown(self) -> bool:
        """Whether there is noise, and too few repeated questions to know how much."""
        return self.largest > 0 and self._freedom < _ENOUGH

    def allowed(self, n_values: int) -> float:
        """What noise may add to a sum or difference of this many values."""
        if not self.largest:
            return 0.0
        std = math.sqrt(self._squares / self._freedom)
        # Student's t: the standard deviation is itself uncertain.
        sure = float(-stdtrit(self._freedom, _MISTAKEN)) * std * math.sqrt(n_values)
        # Both sides of a comparison may be off by the noise.
        return max(2 * self.largest, sure)


class Tally:
    """The probes of one property so far.

    Attributes
    ----------
    n_probes, n_violated, n_unclear
        Probes that show something, those of them that show a violation, and probes that noise hid.
    worst
        The probe with the largest violation.
    """

    def __init__(self, name: str, kind: str, *, anytime: bool = False) -> None:
        self.name, self.kind, self.anytime = name, kind, anytime
        self.n_probes = self.n_violated = self.n_unclear = 0
        self.worst: Probe | None = None

    def add(self, probe: Probe, rounding: float, noise: float, usual: float = 0.0) -> bool:
        """Count a probe; whether it shows a violation.

        ``rounding`` and ``noise`` are what they may add to the comparison, and ``usual`` is the
        size of an ordinary value, for values near 0.
        """
        violated = probe.excess > rounding + noise
        if not violated and noise > TOO_NOISY * max(usual, *map(abs, probe.values)):
            self.n_unclear += 1
            return False
        self.n_probes += 1
        if violated:
            self.n_violated += 1
            if self.worst is None or probe.excess > self.worst.excess:
                self.worst = probe
        return violated

    @property
    def row(self) -> Property:
        """What the probes showed."""
        worst = self.worst
        excess, witness = (0.0, None) if worst is None else (worst.excess, worst.witness())
        many = "s" if self.n_unclear > 1 else ""
        hidden = f"noise hides it in {self.n_unclear} probe{many}" if self.n_unclear else ""
        rate = (rate_anytime if self.anytime else rate_fixed)(self.n_probes, self.n_violated)
        n = self.n_probes, self.n_violated
        return Property(self.name, self.kind, *n, rate, excess, witness, hidden)

"""Bounds on the share of violating probes, at fixed and at any times, and what noise may add."""

import numpy as np
import pytest

from superarm.advice.asking import Probe
from superarm.advice.evidence import Noise, Tally, n_clean, rate_anytime, rate_fixed
from superarm.advice.settings import DELTA, SHARE

HORIZON = 60


def ever_below(share, violated):
    """The exact probability that the bound is ever below the share, up to the horizon.

    All numbers of violations are followed, and those that have failed are left out. ``violated``
    says which bounds count: those with violations, or those without.
    """
    alive, failed = {0: 1.0}, 0.0
    for n in range(1, HORIZON + 1):
        after = {}
        for v, chance in alive.items():
            for more, probability in ((0, 1 - share), (1, share)):
                after[v + more] = after.get(v + more, 0.0) + chance * probability
        for v in [v for v in after if (v > 0) == violated and rate_anytime(n, v) < share]:
            failed += after.pop(v)
        alive = after
    return failed


@pytest.mark.parametrize("share", [0.02, SHARE + 1e-9, 0.4])
def test_bounds_are_valid_whenever_one_stops(share):
    """Both kinds of bound fail with probability 5% at most, even if one stops when they fail."""
    assert ever_below(share, violated=False) <= DELTA
    assert ever_below(share, violated=True) <= DELTA
    # The fixed bound would fail more often if one stopped at a time of one's choice.
    assert rate_anytime(30, 3) > rate_fixed(30, 3)


def test_as_many_clean_probes_as_needed():
    needed = n_clean()
    assert rate_anytime(needed, 0) <= SHARE < rate_anytime(needed - 1, 0)
    assert (1 - SHARE) ** needed <= DELTA < (1 - SHARE) ** (needed - 1)
    assert rate_anytime(0, 0) is None
    assert rate_anytime(3, 3) == 1.0


def test_noise_rarely_looks_like_a_violation_and_hides_what_is_small():
    """With 12 repeated questions, one of 100,000 comparisons goes beyond what noise may add.

    Of 20,000 comparisons, more than 5 do with probability below 1e-6 (Poisson, mean 0.2).
    """
    rng = np.random.default_rng(0)
    n_beyond = 0
    for _ in range(200):
        noise = Noise()
        for _ in range(12):
            noise.add(rng.normal(0, 0.3, 2).tolist())
        n_beyond += np.sum(rng.normal(0, 0.3, (100, 4)).sum(axis=1) > noise.allowed(4))
    assert n_beyond <= 5
    tally = Tally("submodular", "undeclared")
    for excess, violated in ((0.1, False), (9.0, True)):
        probe = Probe([], [], [1.0, 1.0], excess, "")
        assert tally.add(probe, 0.0, noise.allowed(2)) is violated
    assert (tally.n_probes, tally.n_violated, tally.n_unclear) == (1, 1, 1)
    assert "noise" in tally.row.note

"""Rewards that the tests of inspections start from, and spoil."""

import numpy as np

import superarm as sa


def box(fn, n_arms=12, lipschitz=1.0, upper=12.0, **declared):
    return sa.BlackBox(fn, n_arms=n_arms, lipschitz=lipschitz, upper=upper, **declared)


def total(arms, means):
    return float(means.sum())


class Sum:
    """A clean reward to spoil."""

    n_arms, lipschitz, upper, monotone, zero_is_absent, additive = 12, 1.0, 12.0, True, True, True

    def __call__(self, arms, means):
        return float(np.sum(means))

    def batch(self, pools, theta):
        return np.array([self(arms, theta[arms]) for arms in pools])

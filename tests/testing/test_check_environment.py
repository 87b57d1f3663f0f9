"""Environments that break the contract are caught by `superarm.testing`."""

import numpy as np
import pytest

import superarm as sa
from superarm.environments import TriggeredArms
from superarm.testing import check_environment


class WritesIntoMu(sa.BernoulliArms):
    def __init__(self, mu):
        super().__init__(mu)
        self.mu = self.mu.copy()

    def pull(self, arms, *, rng):
        outcomes = super().pull(arms, rng=rng)
        self.mu[0] = rng.random()
        return outcomes


class ShowsSuccessesOnly(sa.BernoulliArms):
    def pull(self, arms, *, rng):
        outcomes = super().pull(arms, rng=rng)
        return np.where(outcomes == 1, 1.0, np.nan)


class SaysOtherwise(TriggeredArms):
    def observe(self, arms, *, rng):
        seen, did = super().observe(arms, rng=rng)
        return seen, 1 - did

    def pull(self, arms, *, rng):
        triggered, did = super().observe(arms, rng=rng)
        return np.array([dict(zip(triggered, did, strict=True)).get(arm, np.nan) for arm in arms])


class GivesAList(sa.BernoulliArms):
    def pull(self, arms, *, rng):
        return super().pull(arms, rng=rng).tolist()


class KnowsTwoMeans(sa.BernoulliArms):
    def __init__(self, mu):
        super().__init__(mu)
        self.mu = self.mu[:2]

    def pull(self, arms, *, rng):
        return sa.BernoulliArms([0.5, 0.9, 0.9]).pull(arms, rng=rng)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: GivesAList([0.5, 0.9, 0.9]), r"must be an array of shape \(2,\), got list"),
        (
            lambda: KnowsTwoMeans([0.5, 0.9, 0.9]),
            r"mu must be an array of shape \(3,\), got \(2,\)",
        ),
        (lambda: WritesIntoMu([0.5, 0.9, 0.9]), "mu must not be written into"),
        (lambda: ShowsSuccessesOnly([0.5, 0.9, 0.5]), "average to mu"),
        (lambda: SaysOtherwise([0.5, 0.9, 0.5], np.ones((3, 3))), "observe and pull must agree"),
    ],
)
def test_the_check_of_environments_catches(make, says):
    with pytest.raises(AssertionError, match=says):
        check_environment(make)

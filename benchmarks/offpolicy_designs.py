"""The logs and targets of `offpolicy.py`, whose truth is known."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np
from scipy.special import betaincinv, ndtr

import superarm as sa
from superarm.offpolicy import Log, Propensities, Target, propensities

M, K = 8, 3
MU = np.array([0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.15, 0.1])
MANY = np.linspace(0.7, 0.1, 40)  # the means of 40 arms, of which a set has 5
SETS = np.array(list(itertools.combinations(range(M), K)))
# Four kinds of visitors, equally frequent: arms are better for one of them.
KINDS = np.eye(4)
BY_KIND = np.clip(MU + 0.25 * (np.arange(M) % 4 == np.arange(4)[:, None]) - 0.1, 0.02, 1)


@cache
def set_chances(strength: float) -> np.ndarray:
    """The probabilities of all sets, if arms are drawn in proportion to exp(strength * mean)."""
    worth = np.exp(strength * MU)
    chances = np.zeros(len(SETS))
    for number, arms in enumerate(SETS):
        for order in itertools.permutations(arms.tolist()):
            left = worth.sum()
            chance = 1.0
            for arm in order:
                chance *= worth[arm] / left
                left -= worth[arm]
            chances[number] += chance
    return chances


def by_arm(chances: np.ndarray) -> np.ndarray:
    return np.bincount(SETS.ravel(), np.repeat(chances, K), minlength=M)


def fixed_log(strength: float, n_rounds: int, rng: np.random.Generator) -> Log:
    """A policy that never changes, and whose propensities are known."""
    chances = set_chances(strength)
    drawn = rng.choice(len(SETS), n_rounds, p=chances)
    arms = SETS[drawn]
    outcomes = rng.random(arms.shape) < MU[arms]
    return Log(arms, outcomes, by_arm(chances)[arms], n_arms=M, set_propensities=chances[drawn])


def thompson_log(
    mu: np.ndarray, k: int, n_samples: int, shared: float, n_rounds: int, rng: np.random.Generator
) -> Log:
    """Thompson sampling from scratch: new propensities in every round, from a few samples each.

    The decision is the first sample, as with ``Propensities.counting``. With a shared seed,
    posteriors are taken at scores that arms have in common.
    """
    n_arms, of_all = len(mu), n_samples + 1
    a, b = np.ones(n_arms), np.ones(n_arms)
    arms = np.zeros((n_rounds, k), int)
    outcomes, p, of_sets = np.zeros(arms.shape), np.zeros(arms.shape), np.zeros(n_rounds)
    for t in range(n_rounds):
        if shared:
            scores = np.sqrt(shared) * rng.normal(size=(of_all, 1))
            scores = scores + np.sqrt(1 - shared) * rng.normal(size=(of_all, n_arms))
            theta = betaincinv(a, b, ndtr(scores))
        else:
            theta = rng.beta(a, b, (of_all, n_arms))
        sets = np.sort(np.argpartition(-theta, k - 1, axis=1)[:, :k], axis=1)
        arms[t] = sets[0]
        outcomes[t] = rng.random(k) < mu[arms[t]]
        p[t] = np.bincount(sets.ravel(), minlength=n_arms)[arms[t]] / of_all
        of_sets[t] = (sets == sets[0]).all(axis=1).mean()
        a[arms[t]] += outcomes[t]
        b[arms[t]] += 1 - outcomes[t]
    return Log(arms, outcomes, p, n_arms=n_arms, set_propensities=of_sets, n_samples=of_all)


def visitors_log(learns: bool, random: float, n_rounds: int, rng: np.random.Generator) -> Log:
    """Visitors of four kinds: the three best arms of the kind, or a random set now and then.

    A policy that learns takes the arms of the best mean so far.
    """
    kinds = rng.integers(4, size=n_rounds)
    won, seen = np.ones((4, M)), np.full((4, M), 2.0)
    arms = np.zeros((n_rounds, K), int)
    outcomes, p = np.zeros(arms.shape), np.zeros(arms.shape)
    for t, kind in enumerate(kinds):
        means = won[kind] / seen[kind] if learns else BY_KIND[kind]
        best = np.argsort(-means, kind="stable")[:K]
        arms[t] = rng.choice(M, K, replace=False) if rng.random() < random else best
        outcomes[t] = rng.random(K) < BY_KIND[kind, arms[t]]
        p[t] = random * K / M + (1 - random) * np.isin(arms[t], best)
        won[kind, arms[t]] += outcomes[t]
        seen[kind, arms[t]] += 1
    return Log(arms, outcomes, p, n_arms=M, contexts=KINDS[kinds])


def for_visitors(visitor: np.ndarray) -> np.ndarray:
    """A target that often takes the fourth and fifth arm of the kind with the best one."""
    order = np.argsort(-BY_KIND[int(visitor.argmax())], kind="stable")
    chances = np.full(M, 0.05)
    chances[order[[0, 3, 4]]] = 0.95 - 0.05 * 5 / 3
    return chances


def frozen_policy() -> sa.Policy:
    """Thompson sampling that has seen every arm a few times."""
    belief = sa.BetaBelief.from_counts(8 * MU, np.full(M, 8))
    return sa.Policy(belief, sa.TopK(), sa.LinearReward(M), K)


def frozen_thompson(rng: np.random.Generator) -> Propensities:
    """The same policy, sampled again for each log."""
    return propensities(frozen_policy(), 1000, rng=rng)


@cache
def frozen_chances() -> np.ndarray:
    return propensities(frozen_policy(), 4_000_000, rng=np.random.default_rng(99)).arms


@dataclass(frozen=True)
class Aim:
    """A target, made for each log, and its value: as a sum of outcomes, and by any success."""

    make: Callable[[np.random.Generator], Any]
    value: float
    any_success: float | None = None


def softmax(strength: float) -> Aim:
    chances = set_chances(strength)
    by_set = {tuple(arms.tolist()): float(p) for arms, p in zip(SETS, chances, strict=True)}
    target = Target(by_arm(chances), lambda found: by_set.get(found, 0.0))
    any_success = float(chances @ (1 - np.prod(1 - MU[SETS], axis=1)))
    return Aim(lambda rng: target, float(by_arm(chances) @ MU), any_success)


def always(arms: list[int]) -> Aim:
    any_success = float(1 - np.prod(1 - MU[arms]))
    return Aim(lambda rng: Target.fixed(arms, M), float(MU[arms].sum()), any_success)


def frozen() -> Aim:
    return Aim(frozen_thompson, float(frozen_chances() @ MU))


def random_of_many() -> Aim:
    return Aim(lambda rng: Target.uniform(5, 40), 5 * float(MANY.mean()))


def of_visitors() -> Aim:
    value = np.mean([for_visitors(kind) @ BY_KIND[place] for place, kind in enumerate(KINDS)])
    return Aim(lambda rng: for_visitors, float(value))


# Name: a share of all logs, since some take long, and how a log is made.
LOGS: dict[str, tuple[float, Callable[[np.random.Generator], Log]]] = {
    "even": (1.0, partial(fixed_log, 1.0, 500)),
    "short": (1.0, partial(fixed_log, 1.0, 100)),
    "uneven": (1.0, partial(fixed_log, 6.0, 500)),
    "very uneven": (1.0, partial(fixed_log, 9.0, 500)),
    "Thompson": (1.0, partial(thompson_log, MU, K, 200, 0.0, 300)),
    "20 samples": (1.0, partial(thompson_log, MU, K, 20, 0.0, 300)),
    "40 arms": (0.3, partial(thompson_log, MANY, 5, 200, 0.0, 300)),
    "one seed": (0.15, partial(thompson_log, MU, K, 200, 1.0, 300)),
    "shared seed": (0.15, partial(thompson_log, MU, K, 200, 0.8, 300)),
    "visitors": (0.5, partial(visitors_log, False, 0.5, 200)),
    "rare visitors": (0.5, partial(visitors_log, False, 0.15, 200)),
    "learning visitors": (0.5, partial(visitors_log, True, 0.3, 200)),
}
# Name: the log, and the target with its truth. Designs with the same log share it.
DESIGNS: dict[str, tuple[str, Callable[[], Aim]]] = {
    "fixed, large overlap": ("even", partial(softmax, 4.0)),
    "fixed, target sampled": ("even", frozen),
    "fixed, 100 rounds": ("short", partial(softmax, 4.0)),
    "fixed, small overlap": ("uneven", partial(always, [4, 5, 6])),
    "fixed, tiny overlap": ("very uneven", partial(always, [5, 6, 7])),
    "Thompson, best set": ("Thompson", partial(always, [0, 1, 2])),
    "Thompson, target sampled": ("Thompson", frozen),
    "Thompson, random sets": ("Thompson", partial(softmax, 0.0)),
    "20 samples, target sampled": ("20 samples", frozen),
    "20 samples, random sets": ("20 samples", partial(softmax, 0.0)),
    "40 arms, random sets": ("40 arms", random_of_many),
    "one seed, target sampled": ("one seed", frozen),
    "seed shared to 0.8, target sampled": ("shared seed", frozen),
    "contexts, fixed": ("visitors", of_visitors),
    "contexts, small overlap": ("rare visitors", of_visitors),
    "contexts, learning": ("learning visitors", of_visitors),
}

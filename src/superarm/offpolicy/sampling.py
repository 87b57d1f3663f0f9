"""Propensities: the probability that a policy, as it is now, picks each arm and each set.

They are estimated by Monte Carlo: a copy of the policy is asked many times, and the sets are
counted. Their use is described in `superarm.offpolicy.estimators`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike

from superarm.core import Belief, Counted, FeasibleSets, KOfM, Policy, Pools, as_feasible
from superarm.core.arguments import FloatArray, IndexArray, as_arms, as_count
from superarm.core.copies import copy_oracle, copy_policy
from superarm.core.optional import SamplesMany, SelectsMany, Stateful
from superarm.core.policy import belief_at
from superarm.core.stopping import may_stop

_BLOCK = 1 << 18  # how many numbers are drawn at a time, to bound the memory
_MANY_ARMS = 2048  # from this many arms on, drawing one sample at a time is faster


# Gives what `propensities` would give for the same arguments, or None if that is not worth it.
Sampler = Callable[..., "Propensities | None"]
_SAMPLER: ContextVar[Sampler | None] = ContextVar("superarm_sampler", default=None)


def sample_with(sampler: Sampler | None) -> Any:
    """Let ``sampler`` draw the samples of this thread, such as in another process.

    Returns what `contextvars.ContextVar.set` returns.
    """
    return _SAMPLER.set(sampler)


@dataclass(frozen=True, eq=False)
class Propensities:
    """Sampled sets, and the shares of them that contain each arm or equal each set.

    Attributes
    ----------
    sets
        The sampled sets, independent of each other.
    evaluations
        How many evaluations of the reward the samples took. They are not counted in
        ``policy.evaluations``.

    Examples
    --------
    >>> import superarm as sa
    >>> belief = sa.BetaBelief(3, prior=([8.0, 4.0, 1.0], [2.0, 4.0, 8.0]))
    >>> policy = sa.Policy(belief, sa.TopK(), sa.LinearReward(3), 1)
    >>> found = propensities(policy, 1000, rng=np.random.default_rng(0))
    >>> found.arms
    array([0.928, 0.072, 0.   ])
    >>> found.std_error.round(4)
    array([0.0082, 0.0082, 0.001 ])
    >>> found.set_probability([0])
    0.928
    """

    sets: Pools
    evaluations: int = 0

    @property
    def n_samples(self) -> int:
        """How many sets were sampled."""
        return len(self.sets)

    @property
    def n_arms(self) -> int:
        """How many arms there are."""
        return self.sets.n_arms

    @cached_property
    def counts(self) -> IndexArray:
        """Shape (n_arms,): how many of the sampled sets contain each arm."""
        return np.bincount(self.sets.members, minlength=self.n_arms)

    @property
    def arms(self) -> FloatArray:
        """Shape (n_arms,): the probability that an arm is in the set, as a share of the samples."""
        return self.counts / self.n_samples

    @property
    def std_error(self) -> FloatArray:
        """Shape (n_arms,): the standard error of ``arms``.

        It is above 0 even for an arm that is in no sample or in all of them.
        """
        return _std_error(self.counts, self.n_samples)

    def set_probability(self, arms: ArrayLike) -> float:
        """The probability of exactly this set, as a share of the samples; 0 if it is in none."""
        return self._count(arms) / self.n_samples

    def set_std_error(self, arms: ArrayLike) -> float:
        """The standard error of ``set_probability``."""
        return float(_std_error(np.array(self._count(arms)), self.n_samples))

    def counting(self, arms: ArrayLike) -> Propensities:
        """These propensities with one more sample: the set that was decided in the same state.

        If the decision counts as a sample, none of its probabilities is 0, and their inverses are
        right on average: for an arm of probability p, the mean of
        [the arm is in the set] / (its share of n + 1 samples) is 1 - (1 - p)^(n + 1).
        """
        decided = Pools.of([arms], self.n_arms)
        return Propensities(self.sets.join(decided), self.evaluations)

    @cached_property
    def set_counts(self) -> Counter[tuple[int, ...]]:
        """How often each set was sampled, by its arms, ascending."""
        return Counter(tuple(arms.tolist()) for arms in self.sets)

    def _count(self, arms: ArrayLike) -> int:
        return self.set_counts[tuple(np.sort(as_arms(arms, self.n_arms)).tolist())]


def propensities(
    policy: Policy,
    n_samples: int = 1000,
    *,
    rng: np.random.Generator,
    feasible: int | FeasibleSets | None = None,
    context: ArrayLike | None = None,
) -> Propensities:
    """The probability that the next ``ask`` of a policy picks each arm and each set.

    A copy of the policy is asked: its belief, its oracle with all it remembers, and its count of
    evaluations stay as they are. An oracle whose memory decides (one with ``state``) starts every
    sample from its present memory.

    Parameters
    ----------
    policy
        Any policy.
    n_samples
        How many sets are sampled. A probability p has the standard error
        (p (1 - p) / n_samples)^(1/2).
    rng
        The generator for the samples. Use another one than for deciding, so that sampling does
        not change which sets are chosen.
    feasible, context
        As in ``ask``: what replaces the policy's ``k``, and what is known of the round.
    """
    n_samples = as_count(n_samples, "n_samples", least=1)
    sampler = _SAMPLER.get()
    if sampler is not None:
        drawn = sampler(policy, n_samples, rng=rng, feasible=feasible, context=context)
        if drawn is not None:
            return drawn
    belief = belief_at(policy.belief, context)
    found = _many_at_a_time(policy, belief, n_samples, feasible, rng)
    if found is not None:
        return found
    asked = copy_policy(policy)
    sampled = _one_at_a_time(asked, n_samples, feasible, context, rng)
    sets = Pools.of(sampled, policy.reward.n_arms)
    return Propensities(sets, asked.evaluations)


def _one_at_a_time(
    asked: Policy,
    n_samples: int,
    feasible: int | FeasibleSets | None,
    context: ArrayLike | None,
    rng: np.random.Generator,
) -> Iterator[IndexArray]:
    oracle = asked.oracle
    remembers = isinstance(oracle, Stateful)  # which takes microseconds to find out
    for _ in range(n_samples):
        if remembers:  # a sample must not change how the next one starts
            asked.oracle = copy_oracle(oracle, asked, asked)
        yield asked.ask(rng=rng, feasible=feasible, context=context)


def _many_at_a_time(
    policy: Policy,
    belief: Belief,
    n_samples: int,
    feasible: int | FeasibleSets | None,
    rng: np.random.Generator,
) -> Propensities | None:
    """Sets for many thetas at a time; None if belief, oracle or constraints cannot do this.

    No copies are needed, because ``sample_many`` and ``select_many`` change nothing.
    """
    oracle, n_arms = policy.oracle, policy.reward.n_arms
    sets = policy.feasible if feasible is None else as_feasible(feasible, n_arms)
    if not issubclass(type(belief), SamplesMany) or not issubclass(type(oracle), SelectsMany):
        return None
    # An oracle with a state starts every sample from it, and only numbers k are known.
    if issubclass(type(oracle), Stateful) or not isinstance(sets, KOfM) or n_arms >= _MANY_ARMS:
        return None
    samples, selects = cast(SamplesMany, belief), cast(SelectsMany, oracle)
    reward = Counted(policy.reward.uncounted)  # counts apart from the policy's evaluations
    block = max(1, _BLOCK // n_arms)
    rows = []
    for start in range(0, n_samples, block):
        may_stop()
        theta = samples.sample_many(min(block, n_samples - start), rng=rng)
        rows.append(selects.select_many(reward, theta, sets, rng=rng))
    # All sets have k arms, so the offsets of the pools are multiples of k.
    found = np.concatenate(rows)
    picked = Pools(found.ravel(), np.arange(n_samples + 1) * found.shape[1], n_arms)
    return Propensities(picked, reward.evaluations)


def _std_error(counts: IndexArray, n: int) -> FloatArray:
    """The standard deviation of Beta(counts + 1, n - counts + 1): that of a share, but never 0."""
    share = (counts + 1) / (n + 2)
    return np.sqrt(share * (1 - share) / (n + 3))

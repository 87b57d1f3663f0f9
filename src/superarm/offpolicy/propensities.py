"""With which probability a policy, as it is now, picks each arm and each set: by Monte Carlo.

A policy is asked many times over, on copies of its belief and its oracle, and the sets are counted. What such
probabilities are for is told in `superarm.offpolicy`.
"""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from superarm.core import FeasibleSets, KOfM, Policy, Pools, as_feasible
from superarm.core.arguments import FloatArray, IndexArray, as_arms, as_count

_BLOCK = 1 << 18  # so many numbers are drawn at a time, where many samples are drawn at a time
_MANY_ARMS = 2048  # from so many arms on the k largest are found faster one sample at a time


@dataclass(frozen=True, eq=False)
class Propensities:
    """Sampled sets, and how often each arm and each set is among them.

    Attributes
    ----------
    sets
        The sampled sets, independent of each other.
    evaluations
        How many evaluations of the reward the samples took. They are not in ``policy.evaluations``.

    Examples
    --------
    >>> import superarm as sa
    >>> policy = sa.Policy(sa.BetaBelief(3, prior=([8.0, 4.0, 1.0], [2.0, 4.0, 8.0])), sa.TopK(), sa.LinearReward(3), 1)
    >>> chances = propensities(policy, 1000, rng=np.random.default_rng(0))
    >>> chances.arms
    array([0.928, 0.072, 0.   ])
    >>> chances.std_error.round(4)
    array([0.0082, 0.0082, 0.001 ])
    >>> chances.set_probability([0])
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
        """Shape (n_arms,): in how many of the sampled sets each arm is."""
        return np.bincount(self.sets.members, minlength=self.n_arms)

    @property
    def arms(self) -> FloatArray:
        """Shape (n_arms,): the probability that an arm is in the set, as the share of the samples it is in."""
        return self.counts / self.n_samples

    @property
    def std_error(self) -> FloatArray:
        """Shape (n_arms,): the standard error of ``arms``; above 0 also where an arm was in no sample or in all."""
        return _std_error(self.counts, self.n_samples)

    def set_probability(self, arms: ArrayLike) -> float:
        """The probability of exactly this set, as its share of the samples: 0 where it was never sampled."""
        return self._n_times(arms) / self.n_samples

    def set_std_error(self, arms: ArrayLike) -> float:
        """The standard error of ``set_probability``."""
        return float(_std_error(np.array(self._n_times(arms)), self.n_samples))

    def counting(self, arms: ArrayLike) -> Propensities:
        """The same with one sample more: a set that the policy decided for, in the same state.

        With a decision counted in, none of its probabilities is 0, and their inverses are right in the mean: for an arm
        of probability p the mean of [it is in the set] / (its share of n + 1) is 1 - (1 - p)^(n + 1). The share of n
        samples alone has no inverse wherever the arm was in none of them.
        """
        decided = Pools.of([arms], self.n_arms)
        return Propensities(self.sets.join(decided), self.evaluations)

    @cached_property
    def set_counts(self) -> Counter[tuple[int, ...]]:
        """How often each of the sampled sets was sampled, by its arms, ascending."""
        return Counter(tuple(arms.tolist()) for arms in self.sets)

    def _n_times(self, arms: ArrayLike) -> int:
        return self.set_counts[tuple(np.sort(as_arms(arms, self.n_arms)).tolist())]


def propensities(
    policy: Policy,
    n_samples: int = 1000,
    *,
    rng: np.random.Generator,
    feasible: int | FeasibleSets | None = None,
) -> Propensities:
    """With which probability a policy in its present state picks each arm: what the next ``ask`` may answer.

    The policy is asked on copies: its belief, its oracle and what that remembers, and its count of evaluations stay as
    they are. An oracle whose memory decides (one that has ``state``) begins every sample with what it remembers now.

    Parameters
    ----------
    policy
        Any policy.
    n_samples
        How many sets are sampled. A probability p has the standard error (p (1 - p) / n_samples)^(1/2).
    rng
        Where the samples come from: another generator than the one that decides, so that nothing is decided otherwise.
    feasible
        What takes the place of the policy's ``k``, as in ``ask``.
    """
    n_samples = as_count(n_samples, "n_samples", least=1)
    asked = _copied(policy)
    drawn = _at_once(asked, n_samples, feasible, rng)
    sets = (
        Pools.of(_one_by_one(asked, n_samples, feasible, rng), policy.reward.n_arms)
        if drawn is None
        else drawn
    )
    return Propensities(sets, asked.evaluations)


def _copied(policy: Policy) -> Policy:
    """A policy in the same state that counts its own evaluations; the reward is shared, since it has no state."""
    other = Policy(_copy(policy.belief, {}), policy.oracle, policy.reward.uncounted, policy.k)
    other.oracle = _copy(policy.oracle, _shared(policy, other))
    return other


def _copy(part: Any, shared: dict[int, Any]) -> Any:
    try:
        return copy.deepcopy(part, shared)
    except Exception as error:  # whatever the part's own way of being copied raises
        raise ValueError(
            f"belief and oracle must be such that copy.deepcopy copies them, got {type(part).__name__}, for which it "
            f"says: {error}; ask without propensities, or give it a __deepcopy__"
        ) from error


def _shared(policy: Policy, other: Policy) -> dict[int, Any]:
    """What copies of an oracle know by identity, and is not copied with it: the reward, and ESCB's belief."""
    reward = policy.reward.uncounted
    return {id(reward): reward, id(policy.reward): other.reward, id(policy.belief): other.belief}


def _one_by_one(
    asked: Policy, n_samples: int, feasible: int | FeasibleSets | None, rng: np.random.Generator
) -> Iterator[IndexArray]:
    oracle: Any = asked.oracle
    for _ in range(n_samples):
        if hasattr(oracle, "state"):  # a sample must not change what the next one begins with
            asked.oracle = copy.deepcopy(oracle, _shared(asked, asked))
        yield asked.ask(rng=rng, feasible=feasible)


def _at_once(
    asked: Policy, n_samples: int, feasible: int | FeasibleSets | None, rng: np.random.Generator
) -> Pools | None:
    """The same from many thetas at a time, where belief and oracle have ``sample_many`` and ``select_many``."""
    belief: Any = asked.belief
    oracle: Any = asked.oracle
    n_arms = asked.reward.n_arms
    k = as_feasible(asked.k if feasible is None else feasible, n_arms)
    known = hasattr(belief, "sample_many") and hasattr(oracle, "select_many") and isinstance(k, KOfM)
    if not known or n_arms >= _MANY_ARMS or hasattr(oracle, "state"):
        return None
    block = max(1, _BLOCK // n_arms)
    rows = []
    for start in range(0, n_samples, block):
        theta = belief.sample_many(min(block, n_samples - start), rng=rng)
        rows.append(oracle.select_many(asked.reward, theta, k, rng=rng))
    found = np.concatenate(rows)
    return Pools(found.ravel(), np.arange(n_samples + 1) * found.shape[1], n_arms)


def _std_error(counts: IndexArray, n: int) -> FloatArray:
    """The standard deviation of Beta(counts + 1, n - counts + 1): that of a share, and never 0."""
    share = (counts + 1) / (n + 2)
    return np.sqrt(share * (1 - share) / (n + 3))

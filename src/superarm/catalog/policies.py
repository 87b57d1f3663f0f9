"""The named policies, each made for a `Task` with settings that follow from it by one rule."""

from __future__ import annotations

import math

from superarm import beliefs, oracles, policies
from superarm.catalog.entries import PolicyPart, Task, by_name
from superarm.catalog.group_testing import GROUP_TESTING
from superarm.catalog.identification import IDENTIFICATION
from superarm.core import Belief, Oracle, Policy
from superarm.oracles.epsilon_random import decaying
from superarm.oracles.scheduled import growing


def n_explore(task: Task) -> int:
    """Trials per arm of explore-then-commit, by the two-thirds rule for the pulls per arm."""
    # The regret is about n_explore for exploring plus T / sqrt(n_explore) for a wrong commitment:
    # both are of the same order at T^(2/3). An arm is pulled T k / m times on average.
    return math.ceil((task.horizon * task.k / task.reward.n_arms) ** (2 / 3))


def discount(task: Task) -> float:
    """Share of evidence left after one round: 1 - sqrt(c / T) / 4 for c = 1 change in T rounds.

    Garivier, Moulines: "On upper-confidence bound policies for switching bandit problems", ALT
    2011, section 3.
    """
    # One change is the least for which a policy that forgets makes sense, and the rule must not
    # know the problem.
    return 1 - math.sqrt(1 / task.horizon) / 4


def window(task: Task) -> int:
    """Rounds that count: 2 sqrt(T ln(T) / c), for c = 1 change in T rounds, from the same paper."""
    # ln(1) = 0: a horizon of one round would give an empty window.
    return max(1, math.ceil(2 * math.sqrt(task.horizon * math.log(task.horizon))))


# Policies differ either in the belief or in the oracle. The part that is not compared is the same
# for all of them, so that a difference has one cause.
def _with_belief(belief: Belief, task: Task) -> Policy:
    return Policy(belief, task.exact_oracle(), task.reward, task.k)


def _with_oracle(oracle: Oracle, task: Task) -> Policy:
    return policies.cts(task.reward, task.k, oracle=oracle)


def _budget(task: Task) -> int | None:
    # Local search gets the number of tests of group testing as its budget, so that the two compare
    # at the same cost. A rule has no number before it meets a reward: then there is no limit.
    return task.n_tests if isinstance(task.n_tests, int) else None


# Okabe and Ito's colours, which colour-blind readers can tell apart, and a dash where two policies
# share one. A policy keeps its line in every picture.
POLICIES = by_name(
    PolicyPart(
        "random",
        "random",
        "Picks k arms at random in every round and learns nothing: the baseline.",
        lambda task: policies.random_sets(task.reward, task.k),
        "#000000",
        code="`random_sets`",
    ),
    PolicyPart(
        "thompson",
        "Thompson, learned",
        "Thompson sampling that learns its prior, and shares a seed between the places of a set.",
        lambda task: policies.thompson(
            task.reward, task.k, prior=task.prior or "learned", oracle=task.exact_oracle()
        ),
        "#009E73",
        "-.",
        code="`thompson`",
    ),
    PolicyPart(
        "cts",
        "CTS",
        "Thompson sampling: draws a plausible mean for each arm and picks the best k.",
        lambda task: policies.cts(
            task.reward, task.k, prior=task.prior or "flat", oracle=task.exact_oracle()
        ),
        "#0072B2",
        code="`cts`",
    ),
    PolicyPart(
        "cts-lazy",
        "CTS, lazy",
        "Thompson sampling with the exact oracle's decisions from remembered answers.",
        lambda task: _with_oracle(oracles.LazySingletons(), task),
        "#56B4E9",
        "--",
        code="`cts` with `LazySingletons`",
    ),
    PolicyPart(
        "cts-greedy",
        "CTS, greedy",
        "Thompson sampling that builds its set arm by arm.",
        lambda task: _with_oracle(oracles.Greedy(), task),
        "#009E73",
        code="`cts` with `Greedy`",
    ),
    PolicyPart(
        "cts-lazy-greedy",
        "CTS, lazy greedy",
        "Thompson sampling with greedy's decisions from remembered answers.",
        lambda task: _with_oracle(oracles.LazyGreedy(), task),
        "#009E73",
        "--",
        code="`cts` with `LazyGreedy`",
    ),
    PolicyPart(
        "cts-local-search",
        "CTS, local search",
        "Thompson sampling that improves its set by exchanges of single arms.",
        lambda task: _with_oracle(
            # The budget is for swaps, not for audits.
            oracles.LocalSearch(oracles.LazySingletons(audits=0.0), budget=_budget(task)),
            task,
        ),
        "#AA4499",
        code="`cts` with `LocalSearch`",
    ),
    PolicyPart(
        "cts-rarely",
        "CTS, lazy, rarely",
        "Thompson sampling that keeps its set for longer and longer.",
        lambda task: _with_oracle(
            oracles.Scheduled(oracles.LazySingletons(), when=growing()), task
        ),
        "#117733",
        "--",
        code="`cts` with `Scheduled`",
    ),
    PolicyPart(
        "single-seed",
        "CTS, single seed",
        "Thompson sampling that draws all arms high together, or low together.",
        lambda task: policies.single_seed_ts(task.reward, task.k, oracle=task.exact_oracle()),
        "#0072B2",
        "--",
        code="`single_seed_ts`",
    ),
    PolicyPart(
        "gaussian",
        "CTS, Gaussian",
        "Thompson sampling with normal distributions, for measured outcomes.",
        lambda task: _with_belief(beliefs.GaussianBelief(task.reward.n_arms), task),
        "#D55E00",
        code="`GaussianBelief`",
    ),
    PolicyPart(
        "cts-gaussian",
        "CTS-Gaussian",
        "Thompson sampling with normal draws that may leave [0, 1], every arm once first.",
        lambda task: policies.cts_gaussian(task.reward, task.k, oracle=task.exact_oracle()),
        "#882255",
        "--",
        code="`cts_gaussian`",
    ),
    PolicyPart(
        "cts-gaussian-shared",
        "CTS-Gaussian, single seed",
        "The same with one normal draw for all arms.",
        lambda task: policies.cts_gaussian(
            task.reward, task.k, shared=1.0, oracle=task.exact_oracle()
        ),
        "#882255",
        ":",
        code="`cts_gaussian`, shared = 1",
    ),
    PolicyPart(
        "bg-cts",
        "BG-CTS",
        "Thompson sampling with normal draws of a larger variance, for large sets of few kinds.",
        lambda task: policies.bg_cts(task.reward, task.k, oracle=task.exact_oracle()),
        "#882255",
        "-.",
        code="`bg_cts`, lambda = 0",
    ),
    PolicyPart(
        "discounted",
        "CTS, discounted",
        "Thompson sampling that forgets gradually, for arms that change slowly.",
        lambda task: _with_belief(
            beliefs.DiscountedBetaBelief(task.reward.n_arms, discount(task)), task
        ),
        "#56B4E9",
        code="`DiscountedBetaBelief`, discount = 1 - sqrt(1/T)/4",
    ),
    PolicyPart(
        "sliding",
        "CTS, sliding",
        "Thompson sampling that uses the last rounds only, for arms that change suddenly.",
        lambda task: _with_belief(
            beliefs.SlidingBetaBelief(task.reward.n_arms, window(task)), task
        ),
        "#56B4E9",
        "--",
        code="`SlidingBetaBelief`, window = ceil(2 sqrt(T ln T))",
    ),
    PolicyPart(
        "cucb",
        "CUCB",
        "Upper confidence bounds: takes each arm to be as good as it may still be.",
        lambda task: policies.cucb(task.reward, task.k, oracle=task.exact_oracle()),
        "#999999",
        code="`cucb`",
    ),
    PolicyPart(
        "cucb-unclipped",
        "CUCB, not clipped",
        "Upper confidence bounds that may exceed 1, so that arms with few outcomes differ too.",
        lambda task: policies.cucb(task.reward, task.k, clip=False, oracle=task.exact_oracle()),
        "#999999",
        "--",
        code="`cucb`, clip=False",
    ),
    PolicyPart(
        "kl-ucb",
        "KL-UCB",
        "Upper confidence bounds that are tighter for outcomes of 0 and 1; slower.",
        lambda task: _with_belief(beliefs.KLUCBBelief(task.reward.n_arms), task),
        "#E69F00",
        code="`KLUCBBelief`",
    ),
    PolicyPart(
        "escb",
        "ESCB",
        "One confidence bound for the whole set, tighter than one per arm; slower.",
        # Bounds the time per round. Most rounds need some dozens of nodes at most.
        lambda task: policies.escb(task.reward, task.k, limit=1000),
        "#E69F00",
        "--",
        code="`escb`, c = 0",
        additive=True,
    ),
    PolicyPart(
        "epsilon-greedy",
        "epsilon-greedy",
        "The best k so far, and in one of ten rounds k random arms.",
        lambda task: policies.epsilon_greedy(task.reward, task.k, oracle=task.exact_oracle()),
        "#CC79A7",
        code="`epsilon_greedy`, epsilon = 0.1",
    ),
    PolicyPart(
        "epsilon-greedy-decaying",
        "epsilon-greedy, c/t",
        "The best k so far, and random arms less and less often.",
        lambda task: policies.epsilon_greedy(
            task.reward,
            task.k,
            # m/k rounds of random sets show each arm once on average.
            epsilon=decaying(task.reward.n_arms / task.k),
            oracle=task.exact_oracle(),
        ),
        "#CC79A7",
        ":",
        code="`epsilon_greedy`, epsilon = min(1, c/t), c = m/k",
    ),
    PolicyPart(
        "explore-then-commit",
        "explore, commit",
        "Tries all arms equally often, then keeps the best k for ever.",
        lambda task: policies.explore_then_commit(
            task.reward, task.k, n_explore=n_explore(task), oracle=task.exact_oracle()
        ),
        "#CC79A7",
        "--",
        code="`explore_then_commit`, every arm ceil((T k/m)^(2/3)) times",
    ),
    PolicyPart(
        "exp3",
        "Exp3.M",
        "Assumes no law of the outcomes, and learns slowly for that reason.",
        lambda task: policies.exp3(task.reward, task.k, horizon=task.horizon),
        "#882255",
        code="`exp3`, gamma for the horizon",
    ),
    *IDENTIFICATION,
    *GROUP_TESTING,
)

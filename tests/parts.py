"""One table of every part of the library, for the contract tests: a new part is a line here."""

import numpy as np

import superarm as sa

DiscountedBetaBelief, SlidingBetaBelief = (
    sa.beliefs.DiscountedBetaBelief,
    sa.beliefs.SlidingBetaBelief,
)
PositionBiasedBelief, Group, Scheduled, Expiry = (
    sa.beliefs.PositionBiasedBelief,
    sa.Group,
    sa.oracles.Scheduled,
    sa.sessions.Expiry,
)
Matchings, Paths, SpanningTrees = sa.sets.Matchings, sa.sets.Paths, sa.sets.SpanningTrees
propensities, simulate_batch, epsilon_greedy = (
    sa.offpolicy.propensities,
    sa.simulation.simulate_batch,
    sa.epsilon_greedy,
)


def all_seen(n_arms):
    """A belief that has seen every arm once: for ESCB only the means are then different."""
    belief = sa.beliefs.MeanBelief(n_arms)
    belief.update(np.arange(n_arms), np.full(n_arms, 0.5), rng=np.random.default_rng(0))
    return belief


BELIEFS = {
    "beta": sa.BetaBelief,
    "beta, own prior": lambda n: sa.BetaBelief(n, prior=(0.5, np.linspace(0.5, 2, n))),
    "beta, warm start": lambda n: sa.BetaBelief.from_counts(
        np.arange(n), np.full(n, 2 * n), strength=0.1
    ),
    "discounted": sa.beliefs.DiscountedBetaBelief,
    "discounted, faster": lambda n: sa.beliefs.DiscountedBetaBelief(
        n, 0.9, prior=(0.5, np.linspace(0.5, 2, n))
    ),
    "sliding": sa.beliefs.SlidingBetaBelief,
    "sliding, short": lambda n: sa.beliefs.SlidingBetaBelief(
        n, 20, prior=(0.5, np.linspace(0.5, 2, n))
    ),
    "sliding, shared": lambda n: sa.beliefs.SlidingBetaBelief(n, 50, shared=0.8),
    "discounted, shared": lambda n: sa.beliefs.DiscountedBetaBelief(n, shared=0.8),
    "position biased": lambda n: sa.beliefs.PositionBiasedBelief(n, np.linspace(1, 0.3, n)),
    "position biased, shared": lambda n: sa.beliefs.PositionBiasedBelief(
        n, np.linspace(1, 0.3, n), shared=1.0
    ),
    "cascading": sa.beliefs.CascadingBelief,
    "cascading, several clicks": lambda n: sa.beliefs.CascadingBelief(
        n, 0.6, prior=(0.5, np.linspace(0.5, 2, n)), shared=0.8
    ),
    "flat gaussian": sa.beliefs.FlatGaussianBelief,
    "flat gaussian, boosted": lambda n: sa.beliefs.FlatGaussianBelief(
        n, boost=1.5, set_size=2, shared=0.5
    ),
    "gaussian": sa.GaussianBelief,
    "gaussian, shared": lambda n: sa.GaussianBelief(n, shared=0.8),
    "gaussian, own prior": lambda n: sa.GaussianBelief(n, prior=(0.3, 1.0), noise_var=0.1),
    "ucb": sa.UCBBelief,
    "ucb, bolder": lambda n: sa.UCBBelief(n, exploration=0.5),
    "kl-ucb": sa.KLUCBBelief,
    "kl-ucb, c = 3": lambda n: sa.KLUCBBelief(n, c=3.0),
    "learned beta": sa.beliefs.LearnedBetaBelief,
    "learned beta, horizon": lambda n: sa.beliefs.LearnedBetaBelief(
        n, shared=0.0, optimism=0.0, spread=1.0, horizon=1000
    ),
    "linear": lambda n: sa.beliefs.LinearBelief(np.arange(2.0 * n).reshape(n, 2) % 5),
    "linear, no features": sa.beliefs.LinearBelief,
    "linear, discounted": lambda n: sa.beliefs.LinearBelief(np.eye(n), discount=0.99, horizon=500),
    "logistic, no features": sa.beliefs.LogisticBelief,
    "logistic": lambda n: sa.beliefs.LogisticBelief(np.linspace(-1, 1, 3 * n).reshape(n, 3)),
    "logistic, forgets": lambda n: sa.beliefs.LogisticBelief(np.eye(n)[:, :2], discount=0.99),
    "mean": sa.beliefs.MeanBelief,
    "mean, unseen 0": lambda n: sa.beliefs.MeanBelief(n, unseen=0.0),
    "shared seed": sa.beliefs.SharedSeedBelief,
    "shared seed, less": lambda n: sa.beliefs.SharedSeedBelief(n, 0.3, prior=(0.5, 2.0)),
    "single seed": sa.beliefs.SingleSeedBelief,
    "exp3": lambda n: sa.beliefs.Exp3Belief(n, k=2, gamma=0.3),
}


def noisy_singletons(budget):
    """For rewards without noise: next to none is declared, so that a few answers suffice."""
    return noisy(sa.oracles.NoisySingletons, budget)


def noisy(oracle, budget=None, **settings):
    """An oracle for noisy rewards, made for rewards that have next to none."""
    most = 10_000 if budget is None else budget
    return oracle(noise_std=1e-9, tolerance=1e-8, budget=most, **settings)


# Name: (factory, whether it finds the best set of an additive reward and draws for ties only).
ORACLES = {
    "exhaustive": (sa.Exhaustive, True),
    "singletons": (sa.Singletons, True),
    "lazy singletons": (sa.LazySingletons, True),
    "lazy singletons, batches": (lambda: sa.LazySingletons(n_points=5, batch=3), True),
    "noisy singletons": (lambda: noisy_singletons(None), False),
    "noisy greedy": (lambda: noisy(sa.oracles.NoisyGreedy), True),
    "noisy local search": (lambda: noisy(sa.oracles.NoisyLocalSearch), True),
    "noisy local search from chance": (
        lambda: noisy(sa.oracles.NoisyLocalSearch, start=sa.oracles.RandomSets()),
        False,
    ),
    "greedy": (sa.Greedy, True),
    "lazy greedy": (sa.LazyGreedy, True),
    "lazy greedy, batches": (lambda: sa.LazyGreedy(n_points=5, n_answers=2, batch=3), True),
    "local search": (sa.LocalSearch, True),
    "local search from lazy greedy": (lambda: sa.LocalSearch(sa.LazyGreedy()), True),
    "local search with groups": (lambda: sa.LocalSearch(groups=[(0, 2), (1, 3)]), True),
    "local search with restarts": (lambda: sa.LocalSearch(restarts=2), False),
    "local search from chance": (lambda: sa.LocalSearch(sa.oracles.RandomSets()), False),
    "scheduled": (lambda: sa.oracles.Scheduled(sa.Singletons(), when=1), True),
    "top k": (sa.TopK, True),
    "random sets": (sa.oracles.RandomSets, False),
    "epsilon random": (lambda: sa.oracles.EpsilonRandom(sa.Singletons(), 0.3), False),
    "epsilon random, never": (lambda: sa.oracles.EpsilonRandom(sa.Singletons(), 0.0), True),
    "explore then commit": (
        lambda: sa.oracles.ExploreThenCommit(sa.Singletons(), n_explore=100),
        False,
    ),
    "escb": (lambda: sa.oracles.ESCBIndex(all_seen(6)), True),
    "clucb": (lambda: sa.oracles.CLUCB(all_seen(6)), False),
    "lucb": (lambda: sa.oracles.LUCB(all_seen(6)), False),
    "lucb, hoeffding": (lambda: sa.oracles.LUCB(all_seen(6), bounds="hoeffding"), False),
    "top two": (lambda: sa.oracles.TopTwo(all_seen(6)), False),
    "successive accepts": (lambda: sa.oracles.SuccessiveAccepts(all_seen(6), 100), False),
    "dependent rounding": (sa.oracles.DependentRounding, False),
    "group testing": (lambda: sa.GroupTesting(delta=0.25), False),
    "group testing, sparse": (lambda: sa.GroupTesting(delta=0.25, p=0.01, n_tests=50), False),
    "group testing, naive": (lambda: sa.GroupTesting(delta=0.25, quantize=False), False),
    "group testing, lemma": (
        lambda: sa.GroupTesting(delta=4.0, p=2 / 3, n_tests="lemma", failure=0.1),
        False,
    ),
    "group testing, centred, non-repeated": (
        lambda: sa.GroupTesting(delta=0.25, decoder="centred", tests="non_repeated"),
        False,
    ),
    "group testing, regression": (
        lambda: sa.GroupTesting(delta=0.25, n_tests=20, decoder="regression"),
        False,
    ),
    "group testing, singletons": (
        lambda: sa.GroupTesting(
            delta=0.25, quantize=False, pools=sa.Pools.singletons(np.arange(6), 6)
        ),
        True,
    ),
}

# Oracles that know no feasible sets, and refuse them.
PLAIN_K = {
    "dependent rounding",
    "lucb",
    "lucb, hoeffding",
    "noisy singletons",
    "successive accepts",
}

# Every oracle with a budget: name, factory by budget, and whether a large budget certifies the set.
BUDGETED = {
    "exhaustive": (lambda b: sa.Exhaustive(budget=b), True),
    "singletons": (lambda b: sa.Singletons(budget=b), True),
    "lazy singletons": (lambda b: sa.LazySingletons(budget=b), True),
    "noisy singletons": (lambda b: noisy_singletons(b), True),
    "noisy greedy": (lambda b: noisy(sa.oracles.NoisyGreedy, b), True),
    "noisy local search": (lambda b: noisy(sa.oracles.NoisyLocalSearch, b), True),
    "greedy": (lambda b: sa.Greedy(budget=b), False),
    "lazy greedy": (lambda b: sa.LazyGreedy(budget=b), True),
    "lazy greedy, batches": (lambda b: sa.LazyGreedy(budget=b, n_answers=2, batch=3), True),
    "local search": (lambda b: sa.LocalSearch(budget=b), True),
    "local search from lazy greedy": (
        lambda b: sa.LocalSearch(sa.LazyGreedy(budget=b), budget=b),
        True,
    ),
    "scheduled": (lambda b: sa.oracles.Scheduled(sa.Singletons(budget=b), when=1), True),
    "epsilon random": (lambda b: sa.oracles.EpsilonRandom(sa.Singletons(budget=b), 0.0), True),
    "group testing": (lambda b: sa.GroupTesting(delta=0.25, budget=b), False),
    "group testing, fixed pools": (
        lambda b: sa.GroupTesting(
            delta=0.25, pools=sa.Pools.of([[0, 1], [2], [3, 4, 5], [6], [1, 6]], 7), budget=b
        ),
        False,
    ),
}


def total(arms, means):
    """A black box, at the top level of a module so that processes can find it."""
    return float(np.sqrt(means.sum()))


def bumpy(arms, means):
    """Falls as well as rises, and an arm of mean zero is not an absent one."""
    return float(np.sum(1 + np.cos(4 * means)) / 2)


def _rng():
    return np.random.default_rng(5)


REWARDS = {
    "linear": lambda: sa.LinearReward(7),
    "linear, weighted": lambda: sa.LinearReward(7, weights=_rng().random(7)),
    "linear, equal weights": lambda: sa.LinearReward(7, weights=np.full(7, 0.3)),
    "network": lambda: sa.NetworkReward.random(7, rng=_rng()),
    "network, signed": lambda: sa.NetworkReward(_rng().standard_normal((4, 7)), np.ones(4)),
    "coverage": lambda: sa.CoverageReward(_rng().random((7, 5))),
    "coverage of a graph": lambda: sa.CoverageReward(
        _rng().random((7, 5)) < 0.4, weights=[1, 2, 3, 0, 1]
    ),
    "any success": lambda: sa.AnySuccess(7),
    "black box": lambda: sa.BlackBox(bumpy, n_arms=7, lipschitz=2.0, upper=7.0),
    "counted": lambda: sa.Counted(sa.LinearReward(7)),
}

FEASIBLE_SETS = {
    "k of m": lambda: sa.sets.KOfM(3, 7),
    "feasible": lambda: sa.Feasible(3, must=[1], groups=[sa.Group([0, 1, 2], most=2)], n_arms=7),
    "feasible, budget": lambda: sa.Feasible(3, at_most=True, weights=np.ones(7), budget=2.0),
    "matchings": lambda: sa.sets.Matchings([0, 0, 1, 1, 2, 2, 2], [0, 1, 0, 2, 0, 1, 2]),
    "paths": lambda: sa.sets.Paths([0, 0, 1, 2, 1, 3, 4], [1, 2, 3, 3, 4, 5, 5], 0, 5),
    "spanning trees": lambda: sa.sets.SpanningTrees([0, 1, 2, 3, 4, 0, 1], [1, 2, 3, 4, 0, 2, 3]),
}

ENVIRONMENTS = {
    "bernoulli": lambda: sa.BernoulliArms([0.1, 0.9, 0.5, 0.3]),
    "drifting": lambda: sa.environments.DriftingArms([0.1, 0.9, 0.5, 0.3], std=0.05),
    "changing": lambda: sa.environments.ChangingArms(
        [(0, [0.1, 0.9, 0.5]), (50, [0.9, 0.1, 0.2]), (2000, [0.3, 0.3, 0.6])]
    ),
    "cascading": lambda: sa.environments.CascadingArms([0.1, 0.9, 0.5, 0.3]),
    "cascading, several clicks": lambda: sa.environments.CascadingArms(
        [0.1, 0.9, 0.5, 0.3], continues=0.6
    ),
    "position biased": lambda: sa.environments.PositionBiasedArms(
        [0.1, 0.9, 0.5, 0.8], weights=[0.9, 0.4]
    ),
    "triggered": lambda: sa.environments.TriggeredArms(
        [0.1, 0.9, 0.5, 0.8], P=_rng().random((4, 4))
    ),
    "changing instance": lambda: sa.simulation.ChangingInstance(
        sa.environments.DriftingArms([0.1, 0.9, 0.5], 0.05), sa.AnySuccess(3), 2
    ),
    "linear instance": lambda: sa.linear_instance(10, 3, 0.2, rng=_rng()),
    "replay": lambda: sa.environments.ReplayEnvironment([[0, 1, None], [0.5, 0, 1], [1, 1, 0]]),
    "contextual replay": lambda: sa.environments.ContextualReplay(
        sa.environments.ReplayEnvironment(_rng().random((9, 4)), order="shuffled", repeat=True),
        _rng().random((9, 2)),
    ),
    "replay, shuffled": lambda: sa.environments.ReplayEnvironment(
        _rng().random((9, 4)), order="shuffled", repeat=True
    ),
    "network instance": lambda: sa.network_instance(10, 3, 0.1, rng=_rng()),
}

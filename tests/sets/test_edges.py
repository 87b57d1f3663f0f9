"""Properties that matchings, paths and trees share: oracles, ties, and bad graphs."""

import itertools

import numpy as np
import pytest

import superarm as sa


def graphs():
    grid = np.array(list(itertools.product(range(4), range(4))))
    layers = [
        (1 + 3 * layer + a, 4 + 3 * layer + b)
        for layer in range(2)
        for a in range(3)
        for b in range(3)
    ]
    ways = [(0, 1), (0, 2), (0, 3), *layers, (7, 10), (8, 10), (9, 10)]
    return {
        "matchings": sa.sets.Matchings(grid[:, 0], grid[:, 1]),
        "full matchings": sa.sets.Matchings(grid[:, 0], grid[:, 1], full=True),
        "paths": sa.sets.Paths(*zip(*ways, strict=True), 0, 10),
        "spanning trees": sa.sets.SpanningTrees(
            *zip(*itertools.combinations(range(6), 2), strict=True)
        ),
    }


@pytest.mark.parametrize("name", graphs())
def test_oracles_that_need_the_best_set_only(name):
    structure, rng = graphs()[name], np.random.default_rng(0)
    n = structure.n_arms
    plain, weighted = sa.LinearReward(n), sa.LinearReward(n, weights=np.linspace(0.2, 1, n))
    lazy, counted = sa.LazySingletons(), sa.Counted(weighted)
    theta = rng.random(n)
    for _ in range(60):
        theta = 1 - np.abs(1 - np.abs(theta + rng.normal(0, 0.02, n)))
        best = structure.best(theta, rng=rng)
        np.testing.assert_array_equal(sa.TopK().select(plain, theta, structure, rng=rng), best)
        np.testing.assert_array_equal(
            sa.Singletons().select(plain, theta, structure, rng=rng), best
        )
        best = structure.best(weighted.weights * theta, rng=rng)
        np.testing.assert_array_equal(
            sa.Singletons().select(weighted, theta, structure, rng=rng), best
        )
        np.testing.assert_array_equal(lazy.select(counted, theta, structure, rng=rng), best)
        assert lazy.report.certified
        for oracle in (
            sa.GroupTesting(delta=0.25),
            sa.oracles.RandomSets(),
            sa.oracles.Scheduled(sa.TopK(), when=3),
        ):
            assert structure.is_feasible(oracle.select(plain, theta, structure, rng=rng))
    assert counted.evaluations < 60 * n / 3


@pytest.mark.parametrize("make", [sa.Greedy, sa.LazyGreedy, sa.LocalSearch, sa.Exhaustive])
def test_other_oracles_say_what_they_need(make):
    reward = sa.Counted(sa.LinearReward(16))
    with pytest.raises(
        TypeError,
        match=r"needs feasible sets that have .*, which Matchings do not; use TopK, Singletons",
    ):
        make().select(reward, np.full(16, 0.5), graphs()["matchings"], rng=np.random.default_rng(0))
    assert reward.evaluations == 0


@pytest.mark.parametrize("name", graphs())
def test_ties_are_broken_by_chance(name):
    """Each edge is in a best set; never in 100 draws with probability 3e-13, if in one of four."""
    structure, rng = graphs()[name], np.random.default_rng(0)
    chosen = {
        i
        for _ in range(100)
        for i in structure.best(np.full(structure.n_arms, 0.5), rng=rng).tolist()
    }
    assert chosen == set(range(structure.n_arms))
    before = rng.bit_generator.state
    structure.best(np.linspace(0, 1, structure.n_arms), rng=rng)
    assert rng.bit_generator.state == before


@pytest.mark.parametrize("name", graphs())
def test_policies_learn_a_structure(name):
    """Regret of the second half is below a third of the random baseline (0.03 with other seeds)."""
    structure, rng = graphs()[name], np.random.default_rng(0)
    mu = np.where(np.arange(structure.n_arms) % 3 == 0, 0.85, 0.25)
    reward, environment = sa.LinearReward(structure.n_arms), sa.BernoulliArms(mu)
    best = mu[structure.best(mu, rng=rng)].sum()
    regret = []
    for one in (sa.oracles.RandomSets(), sa.TopK(), sa.LazySingletons()):
        # The parts of cts, without its warning of structures.
        policy = sa.Policy(sa.BetaBelief(structure.n_arms), one, reward, structure)
        trace = sa.simulate(policy, environment, horizon=250, rng=rng)
        assert trace.arms.shape == (250, structure.n_most)
        assert (best - trace.values > -1e-9).all()
        regret.append(trace.regret(best)[249] - trace.regret(best)[124])
    baseline, *learned = regret
    assert max(learned) < baseline / 3


def test_replicate_takes_structures():
    traces = sa.replicate(make_paths, n_runs=2, horizon=20, seed=0)
    assert all(trace.arms.shape == (20, 4) for trace in traces)


def make_paths(rng):
    paths = graphs()["paths"]
    return sa.thompson(sa.LinearReward(paths.n_arms), paths), sa.BernoulliArms(
        rng.random(paths.n_arms)
    )


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: sa.sets.Matchings([0, 0], [1, 1]), "one edge between two nodes at most"),
        (lambda: sa.sets.Matchings([0, 1], [0]), "a node for each edge, got 2 and 1"),
        (lambda: sa.sets.Matchings([], []), "rows must be a node"),
        (lambda: sa.sets.Matchings([0.5], [0]), "rows must be a node"),
        (lambda: sa.sets.Matchings([0], [-1]), "columns must be a node"),
        (lambda: sa.sets.SpanningTrees([0, 1], [1, 0]), "one edge between two nodes at most"),
        (lambda: sa.sets.SpanningTrees([0, 1], [1, 1]), "an edge must join two nodes, got node 1"),
        (lambda: sa.sets.SpanningTrees([0, 2], [1, 3]), "must connect all of the 4 nodes"),
        (lambda: sa.sets.Paths([0], [1], 0, 0), "two nodes between 0 and 1"),
        (lambda: sa.sets.Paths([0], [1], 0, 2), "two nodes between 0 and 1"),
        (lambda: sa.sets.Paths([1], [0], 0, 1), "there must be a path from 0 to 1"),
        (
            lambda: sa.sets.Paths([0], [1], 0, 1).for_arms(2),
            "an edge for each of the problem's 2 arms",
        ),
        (
            lambda: sa.cts(sa.LinearReward(3), sa.sets.Matchings([0], [0])),
            "an edge for each of the problem's 3 arms",
        ),
        (
            lambda: sa.sets.Matchings([0], [0]).best([np.nan], rng=np.random.default_rng(0)),
            "finite numbers",
        ),
    ],
)
def test_bad_graphs_are_refused(make, says):
    with pytest.raises(ValueError, match=says):
        make()

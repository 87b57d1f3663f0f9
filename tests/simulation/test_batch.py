"""Many runs at once: the law of `simulate`, and for given tests the same decisions."""

from functools import cache
from itertools import combinations

import numpy as np
import pytest
from scipy import stats

import superarm as sa
from superarm.core import _bits
from superarm.oracles import RandomSets
from superarm.simulation import simulate_batch
from superarm.simulation.batch import on_numpy
from superarm.simulation.batch.grading import Grading
from superarm.simulation.batch.on_numpy import NumpyEngine
from superarm.simulation.batch.play import _random_sets
from superarm.simulation.batch.run_stack import RunStack


def weighted(rng):
    it = sa.linear_instance(20, 3, 0.2, rng=rng)
    weights = rng.uniform(0.5, 2, 20)
    best = np.sort(np.argsort(weights * it.mu)[-3:])
    reward = sa.LinearReward(20, weights=weights)
    return sa.Instance(it.environment, reward, 3, best, reward(best, it.mu[best]), 0.0)


@cache
def networks():
    """Drawing one for each run would take longer than playing it."""
    rngs = [np.random.default_rng(seed) for seed in range(40)]
    return [sa.network_instance(16, 2, 0.05, n_hidden=4, rng=rng) for rng in rngs]


DRAWS = {
    "linear": lambda rng: sa.linear_instance(20, 3, 0.2, rng=rng),
    "weighted": weighted,
    "network": lambda rng: networks()[rng.integers(40)],
}
ORACLES = {
    "random": RandomSets(),
    "cts": sa.Singletons(),
    "p=1/2": sa.GroupTesting(delta=0.2, n_tests=20),
    "p=2/3, naive": sa.GroupTesting(delta=0.2, n_tests=20, p=2 / 3, quantize=False),
    "p=1/2, centred": sa.GroupTesting(delta=0.2, n_tests=30, decoder="centred"),
    "p=0.01": sa.GroupTesting(delta=0.2, n_tests=60, p=0.01),
    "p=0.01, naive, centred": sa.GroupTesting(
        delta=0.2, n_tests=60, p=0.01, quantize=False, decoder="centred"
    ),
}
# All decisions with other rewards are compared in test_batch_decisions.py.
PLAYED = [("linear", name) for name in ORACLES] + [("network", "p=1/2")]


def replicated(draw, oracle, **options):
    def make(rng):
        it = draw(rng)
        return sa.Policy(sa.BetaBelief(it.n_arms), oracle, it.reward, it.k), it

    return sa.replicate(make, **options)


@pytest.mark.parametrize(("family", "name"), PLAYED)
def test_regret_has_the_law_of_simulate(family, name):
    """The law by Kolmogorov-Smirnov, means by Welch, spreads by Brown-Forsythe, at three rounds.

    Nine tests in each of 8 cases at a level of 1e-4: a correct engine fails with probability 1/139,
    and the seeds are fixed. The two sides have different instances, so that all randomness is
    compared.
    """
    draw, oracle, at = DRAWS[family], ORACLES[name], np.array([5, 20, 60])
    ours = simulate_batch(draw, oracle, n_runs=800, horizon=60, seed=1, rounds=at).regret
    theirs = np.array(
        [t.regret()[at - 1] for t in replicated(draw, oracle, n_runs=120, horizon=60, seed=2)]
    )
    for one, other in zip(ours.T, theirs.T, strict=True):
        assert stats.ks_2samp(one, other).pvalue > 1e-4
        assert stats.ttest_ind(one, other, equal_var=False).pvalue > 1e-4
        assert stats.levene(one, other, center="median").pvalue > 1e-4


@pytest.mark.parametrize("family", DRAWS)
@pytest.mark.parametrize("quantize", [True, False])
@pytest.mark.parametrize("decoder", ["sum", "centred"])
@pytest.mark.parametrize("p", [0.5, 0.3, 0.01])
@pytest.mark.parametrize("delta", [0.2, 3.0])
def test_for_given_theta_and_tests_it_decides_as_group_testing(
    family, quantize, decoder, p, delta, monkeypatch
):
    """The tests that the engine draws are recorded, and given to `GroupTesting` as fixed pools."""
    n_runs, n_tests = 6, 21
    rng = np.random.default_rng(5)
    instances = [DRAWS[family](rng) for _ in range(n_runs)]
    engine = NumpyEngine(np.random.SeedSequence(3))
    runs = RunStack(instances, engine)
    options = {"delta": delta, "quantize": quantize, "decoder": decoder}
    grading = Grading(sa.GroupTesting(p=p, n_tests=n_tests, **options), runs, engine)
    tests = overheard(monkeypatch, n_runs, n_tests, runs.n_arms)
    theta = rng.random((n_runs, runs.n_arms))
    grades = grading.grades(theta)
    arms = engine.top_k_whole(grades, runs.k)
    scale = (n_tests if decoder == "centred" else 1) / np.broadcast_to(grading.unit, (n_runs, 1))
    for run, it in enumerate(instances):
        pools = sa.Pools.of([np.flatnonzero(row) for row in tests()[run]], it.n_arms)
        twin = sa.GroupTesting(pools=pools, **options)
        chosen = twin.select(it.reward, theta[run], it.k, rng=rng)
        expected = twin.report.grades * scale[run]
        # A score is rounded by half a unit at most, and a unit is next to nothing: a small share of
        # a level.
        assert np.abs(grades[run] - expected).max() <= n_tests * (
            n_tests if decoder == "centred" else 1
        )
        ordered = np.sort(expected)
        if ordered[-it.k] - ordered[-it.k - 1] > 1e-6 * abs(ordered[-1]):
            np.testing.assert_array_equal(np.sort(arms[run]), chosen)


def overheard(monkeypatch, n_runs, n_tests, n_arms):
    """A function that returns the tests that were drawn, as 0 and 1, shape (n_runs, n_tests,
    n_arms).
    """
    found = []
    draw, random_cells = _bits.draw, on_numpy.random_cells

    def draw_bits(n_rows, *args, **options):
        bits = draw(n_rows, *args, **options)
        found.append(_bits.unpack(bits, n_rows).reshape(n_rows, n_runs, n_arms))
        return bits

    def draw_cells(n_cells, p, *, rng):
        cells = random_cells(n_cells, p, rng=rng)
        matrix = np.zeros(n_cells, int)
        matrix[cells] = 1
        found.append(matrix.reshape(n_runs, n_tests, n_arms).transpose(1, 0, 2))
        return cells

    monkeypatch.setattr(_bits, "draw", draw_bits)
    monkeypatch.setattr(on_numpy, "random_cells", draw_cells)
    return lambda: np.concatenate(found).transpose(1, 0, 2)


@pytest.mark.parametrize("delta", [0.05, 0.3, 7.0])
def test_scores_are_quantized_as_the_quantizer_does(delta):
    instances = networks()[:5]
    engine = NumpyEngine(np.random.SeedSequence(0))
    grading = Grading(sa.GroupTesting(delta=delta, n_tests=7), RunStack(instances, engine), engine)
    values = (
        np.random.default_rng(1).random((5, 4000)) * 1.05 * max(it.reward.upper for it in instances)
    )
    for run, it in enumerate(instances):
        values[run, 0], values[run, 1] = it.reward.upper, 0.0
        quantizer = sa.Quantizer(
            delta, max(0.5, float(np.max(it.reward.lipschitz))), it.reward.upper
        )
        rows = slice(run, run + 1)
        ours = grading.whole(values[rows], rows)[0] * grading.unit[run]
        np.testing.assert_allclose(
            ours, quantizer(values[run]), atol=1.01 * grading.unit[run, 0] / 2
        )
        inside = quantizer(values[run]) < it.reward.upper
        np.testing.assert_allclose(ours[inside], quantizer(values[run])[inside], rtol=1e-12)


def test_ties_of_grades_are_broken_evenly():
    """Arm 4 wins; arms 1, 2 and 3 tie for the second place. Chi-square, error 1e-4."""
    engine = NumpyEngine(np.random.SeedSequence(1))
    grades = np.tile(np.array([-9.0, 5, 5, 5, 8]), (6000, 1))
    arms = np.sort(engine.top_k_whole(grades, 2), axis=1)
    assert (arms[:, 1] == 4).all()
    assert stats.chisquare(np.bincount(arms[:, 0], minlength=4)[1:]).pvalue > 1e-4


def test_chance_picks_every_set_alike():
    """All 20 sets of 3 of 6 arms. Chi-square, error 1e-4."""
    engine = NumpyEngine(np.random.SeedSequence(1))
    it = sa.linear_instance(6, 3, 0.1, rng=np.random.default_rng(0))
    runs = RunStack([it] * 8000, engine)
    arms = np.sort(_random_sets(runs, engine, np.full((8000, 3), -1)), axis=1)
    counts = [(arms == chosen).all(axis=1).sum() for chosen in combinations(range(6), 3)]
    assert sum(counts) == 8000
    assert stats.chisquare(counts).pvalue > 1e-4


@pytest.mark.parametrize("family", DRAWS)
def test_what_sets_and_arms_are_worth(family):
    rng = np.random.default_rng(2)
    instances = [DRAWS[family](rng) for _ in range(4)]
    runs = RunStack(instances, NumpyEngine(np.random.SeedSequence(0)))
    theta = rng.random((4, runs.n_arms))
    arms = np.array([rng.choice(runs.n_arms, runs.k, replace=False) for _ in range(4)])
    for run, it in enumerate(instances):
        assert runs.true_values(arms)[run] == pytest.approx(it.reward(arms[run], it.mu[arms[run]]))
        assert runs.best[run] == pytest.approx(it.best_value)
        alone = np.array([it.reward([arm], [theta[run, arm]]) for arm in range(it.n_arms)])
        ours = runs.singleton_values(theta)[run]
        np.testing.assert_allclose(ours - ours[0], alone - alone[0], atol=1e-12)


def test_instances_are_those_of_replicate_and_evaluations_are_counted():
    draw, oracle = DRAWS["linear"], ORACLES["p=1/2"]
    ours = simulate_batch(draw, oracle, n_runs=3, horizon=10, seed=7)
    theirs = replicated(draw, oracle, n_runs=3, horizon=10, seed=7)
    assert [it.best_value for it in ours.instances] == [trace.best_value for trace in theirs]
    np.testing.assert_array_equal(ours.evaluations, np.cumsum(theirs[0].evaluations))
    assert ours.rounds.tolist() == list(range(1, 11))
    assert simulate_batch(draw, sa.Singletons(), n_runs=2, horizon=4, seed=7).evaluations[-1] == 80
    assert simulate_batch(draw, RandomSets(), n_runs=2, horizon=4, seed=7).evaluations[-1] == 0


@pytest.mark.parametrize("name", ORACLES)
def test_the_same_seed_gives_the_same_and_recording_less_changes_nothing(name):
    options = {"n_runs": 5, "horizon": 12}
    one, again = (
        simulate_batch(DRAWS["linear"], ORACLES[name], seed=1, **options) for _ in range(2)
    )
    np.testing.assert_array_equal(one.regret, again.regret)
    assert (np.diff(one.regret, axis=1) >= -1e-12).all()
    some = simulate_batch(DRAWS["linear"], ORACLES[name], seed=1, rounds=[3, 12], **options)
    np.testing.assert_array_equal(some.regret, one.regret[:, [2, 11]])
    other = simulate_batch(DRAWS["linear"], ORACLES[name], seed=2, **options)
    assert (other.regret != one.regret).any()


def test_runs_that_share_a_network_keep_one_copy_and_runs_in_slices_are_the_same_law(monkeypatch):
    it = DRAWS["network"](np.random.default_rng(0))
    runs = RunStack([it] * 50, NumpyEngine(np.random.SeedSequence(0)))
    assert runs.layer.shape == (1, 4, 16)
    oracle = ORACLES["p=1/2, centred"]
    together = simulate_batch(lambda rng: it, oracle, n_runs=400, horizon=40, seed=1).regret[:, -1]
    monkeypatch.setattr(on_numpy, "_AT_ONCE", 1000)  # 15 runs at a time
    apart = simulate_batch(lambda rng: it, oracle, n_runs=400, horizon=40, seed=2).regret[:, -1]
    assert stats.ks_2samp(together, apart).pvalue > 1e-3  # wrong once in 1,000 times


def test_refuses():
    draw = DRAWS["linear"]

    def play(oracle=None, draw=draw, **options):
        return simulate_batch(
            draw, oracle or sa.Singletons(), **{"n_runs": 2, "horizon": 3, "seed": 0, **options}
        )

    with pytest.raises(
        TypeError, match="plays Singletons, GroupTesting and RandomSets, got Greedy"
    ):
        play(sa.Greedy())
    with pytest.raises(ValueError, match='"sum" or "centred", got "regression"'):
        play(sa.GroupTesting(delta=0.25, decoder="regression"))
    for options in (
        {"tests": "non_repeated"},
        {"q": "estimate"},
        {"pools": sa.Pools.of([[1]], 20)},
    ):
        with pytest.raises(ValueError, match='tests="all", a number for q and no fixed pools, got'):
            play(sa.GroupTesting(delta=0.2, **options))
    with pytest.raises(ValueError, match=r"gives from .* to .* tests for these rewards"):
        simulate_batch(
            DRAWS["network"],
            sa.GroupTesting(delta=30.0, p=2 / 3, n_tests="lemma", failure=0.1),
            n_runs=2,
            horizon=3,
            seed=0,
        )
    sizes = iter([10, 12])
    with pytest.raises(
        ValueError, match="instances of one kind and size, got a LinearReward of 12 arms"
    ):
        play(draw=lambda rng: sa.linear_instance(next(sizes), 3, 0.2, rng=rng))
    it = sa.linear_instance(6, 2, 0.1, rng=np.random.default_rng(0))
    other = sa.Instance(it.environment, sa.AnySuccess(6), 2, it.best_arms, 1.0, 0.1)
    with pytest.raises(TypeError, match="plays linear and network rewards, got a AnySuccess"):
        play(draw=lambda rng: other)
    with pytest.raises(ValueError, match="rounds must ascend between 1 and 3"):
        play(rounds=[2, 4])
    with pytest.raises(TypeError, match="rounds must be a flat, non-empty array of whole numbers"):
        play(rounds=[1.5])
    with pytest.raises(ValueError, match='engine must be "numpy" or "torch", got \'jax\''):
        play(engine="jax")
    with pytest.raises(ValueError, match='device is for engine="torch"'):
        play(device="cuda")
    with pytest.raises(ValueError, match="n_runs must be at least 1"):
        play(n_runs=0)


def test_without_torch_it_says_what_to_install(monkeypatch):
    monkeypatch.delitem(
        __import__("sys").modules, "superarm.simulation.batch.on_torch", raising=False
    )
    monkeypatch.setitem(__import__("sys").modules, "torch", None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install '\.\[torch\]' in a clone"):
        simulate_batch(
            DRAWS["linear"], sa.Singletons(), n_runs=2, horizon=3, seed=0, engine="torch"
        )

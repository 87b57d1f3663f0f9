import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive
import parts
import superarm as sa

THETA = st.lists(st.floats(0, 1), min_size=7, max_size=7).map(np.array)


class Spy(np.random.Generator):
    """A generator that must not be used."""

    def __getattribute__(self, name):
        raise AssertionError(f"rng.{name} was used although there was no tie")


@given(THETA, st.integers(1, 7), st.integers(0, 2**32), st.sampled_from([0.0, 0.05, 0.2]))
def test_top_k_equals_its_twin(theta, k, seed, tolerance):
    found = sa.core.top_k(theta, k, rng=np.random.default_rng(seed), tolerance=tolerance)
    np.testing.assert_array_equal(
        found, naive.top_k(theta, k, rng=np.random.default_rng(seed), tolerance=tolerance)
    )


@given(
    st.integers(0, 2**32),
    st.integers(100, 3000),
    st.integers(1, 20),
    st.sampled_from(["all", "few", "same", "sparse"]),
)
def test_top_k_of_many_equals_its_twin(seed, n, k, kind):
    rng = np.random.default_rng(seed)
    values = {
        "all": lambda: rng.standard_normal(n),
        "few": lambda: rng.integers(0, 5, n).astype(float),
        "same": lambda: np.full(n, 0.5),
        "sparse": lambda: np.where(rng.random(n) < 0.01, rng.random(n), 0.0),
    }[kind]()
    found = sa.core.top_k(values, k, rng=np.random.default_rng(seed))
    np.testing.assert_array_equal(found, naive.top_k(values, k, rng=np.random.default_rng(seed)))


def test_ties_at_the_last_place_are_broken_uniformly():
    """Arms 1 to 4 tie for the last of 2 places behind arm 0: 4,000 draws, within 5 standard errors; error 6e-7 each."""
    theta, rng, n = np.array([0.9, 0.5, 0.5, 0.5, 0.5, 0.1]), np.random.default_rng(0), 4000
    counts = np.zeros(6)
    for _ in range(n):
        counts[sa.core.top_k(theta, 2, rng=rng)] += 1
    assert counts[0] == n
    assert counts[5] == 0
    assert (np.abs(counts[1:5] - n / 4) < 5 * np.sqrt(n * 3 / 16)).all()


@pytest.mark.parametrize("oracle", [sa.Singletons(), sa.Greedy(), sa.Exhaustive()])
def test_nothing_is_drawn_without_a_tie(oracle):
    theta = np.array([0.3, 0.9, 0.1, 0.5, 0.8])
    arms = oracle.select(sa.LinearReward(5), theta, 3, rng=Spy.__new__(Spy))
    assert arms.tolist() == [1, 3, 4]


def test_nothing_is_drawn_for_a_tie_above_the_last_place():
    arms = sa.core.top_k(np.array([0.3, 0.9, 0.1, 0.5, 0.9]), 3, rng=Spy.__new__(Spy))
    assert arms.tolist() == [1, 3, 4]


@pytest.mark.parametrize("name", parts.REWARDS)
@given(theta=THETA, k=st.integers(1, 7))
def test_exhaustive_finds_the_best_set(name, theta, k):
    reward, oracle = parts.REWARDS[name](), sa.Exhaustive()
    arms = oracle.select(reward, theta, k, rng=np.random.default_rng(0))
    sets, best = naive.best_sets(reward, theta, k)
    assert reward(arms, theta[arms]) == pytest.approx(best, abs=1e-9)
    assert oracle.report.value == pytest.approx(best, abs=1e-9)
    assert oracle.report.certified
    assert tuple(arms) in sets or len(sets) < oracle.report.n_best


def test_exhaustive_draws_among_equally_good_sets():
    rng = np.random.default_rng(0)
    oracle = sa.Exhaustive()
    found = {
        tuple(oracle.select(sa.LinearReward(4), np.full(4, 0.3), 2, rng=rng)) for _ in range(200)
    }
    assert len(found) == oracle.report.n_best == 6


def test_exhaustive_looks_at_blocks_alike(monkeypatch):
    theta, reward = np.random.default_rng(0).random(7), parts.REWARDS["coverage"]()
    whole = sa.Exhaustive().select(reward, theta, 3, rng=np.random.default_rng(0))
    monkeypatch.setattr("superarm.core.k_of_m._SETS_PER_BLOCK", 4)
    np.testing.assert_array_equal(
        sa.Exhaustive().select(reward, theta, 3, rng=np.random.default_rng(0)), whole
    )


def test_exhaustive_refuses_absurd_sizes_unevaluated():
    policy = sa.cts(sa.LinearReward(5000), 5, oracle=sa.Exhaustive())
    with pytest.raises(
        ValueError,
        match="25,989,619,781,251,000 sets are more than its limit of 1,000,000; use Greedy",
    ) as e:
        policy.ask(rng=np.random.default_rng(0))
    assert "every set of 5 of 5000 arms" in str(e.value)
    assert policy.evaluations == 0


@pytest.mark.parametrize("name", ["linear", "linear, weighted", "any success"])
@given(theta=THETA, k=st.integers(1, 7))
def test_singletons_and_greedy_are_exact_for_separable_rewards(name, theta, k):
    reward = parts.REWARDS[name]()
    best = naive.best_sets(reward, theta, k)[1]
    for oracle in (sa.Singletons(), sa.Greedy()):
        arms = oracle.select(reward, theta, k, rng=np.random.default_rng(0))
        assert reward(arms, theta[arms]) == pytest.approx(best, abs=1e-9)


@pytest.mark.parametrize("name", parts.REWARDS)
def test_greedy_equals_its_twin(name):
    reward, oracle, rng = parts.REWARDS[name](), sa.Greedy(), np.random.default_rng(0)
    for _ in range(20):
        theta = rng.random(7)
        arms = oracle.select(reward, theta, 4, rng=rng)
        np.testing.assert_array_equal(arms, naive.greedy(reward, theta, 4))
        np.testing.assert_array_equal(np.sort(oracle.report.order), arms)
        assert oracle.report.values[-1] == pytest.approx(reward(arms, theta[arms]))


def test_greedy_is_within_its_guarantee_for_coverage():
    reward, rng = parts.REWARDS["coverage of a graph"](), np.random.default_rng(0)
    for _ in range(50):
        theta = rng.random(7)
        arms = sa.Greedy().select(reward, theta, 3, rng=rng)
        assert reward(arms, theta[arms]) >= (1 - 1 / np.e) * naive.best_sets(reward, theta, 3)[1]


@pytest.mark.parametrize(
    ("oracle", "evaluations"),
    [
        (sa.Singletons(), 7),
        (sa.Greedy(), 7 + 6 + 5),
        (sa.Exhaustive(), 35),
        (sa.oracles.RandomSets(), 0),
        (sa.GroupTesting(delta=0.25, n_tests=17), 17),
        (sa.GroupTesting(delta=0.5, failure=0.1), 20),
    ],
)
def test_evaluations_are_counted(oracle, evaluations):
    policy = sa.cts(sa.LinearReward(7), 3, oracle=oracle)
    for rounds in (1, 2, 3):
        policy.ask(rng=np.random.default_rng(0))
        assert policy.evaluations == rounds * evaluations


def test_random_sets_are_uniform():
    """Every pair of 5 arms equally often: chi-square with 9 degrees of freedom, error 1e-6."""
    rng, n = np.random.default_rng(0), 5000
    oracle, reward = sa.oracles.RandomSets(), sa.LinearReward(5)
    pairs = [tuple(oracle.select(reward, np.zeros(5), 2, rng=rng)) for _ in range(n)]
    counts = np.unique(pairs, axis=0, return_counts=True)[1]
    assert len(counts) == 10
    assert ((counts - n / 10) ** 2 / (n / 10)).sum() < 45.1


@pytest.mark.parametrize(
    ("values", "k", "says"),
    [
        ([0.1, 0.2], 0, "k must be"),
        ([0.1, 0.2], 3, "k must be"),
        ([[0.1]], 1, "k must be"),
        ([0.1, float("nan")], 1, "NaN"),
    ],
)
def test_top_k_refuses(values, k, says):
    with pytest.raises(ValueError, match=says):
        sa.core.top_k(values, k, rng=np.random.default_rng(0))


@pytest.mark.parametrize("place", [0, 70, 2500, 4969, 4970, 4999])
def test_top_k_finds_a_nan_anywhere(place):
    values = np.random.default_rng(0).random(5000)
    values[place] = np.nan
    for k in (1, 5, 500, 5000):
        with pytest.raises(ValueError, match="NaN"):
            sa.core.top_k(values, k, rng=np.random.default_rng(0))


def test_top_k_takes_lists_and_other_numbers():
    rng = np.random.default_rng(0)
    assert sa.core.top_k([3, 1, 2], 2, rng=rng).tolist() == [0, 2]
    assert sa.core.top_k(np.array([3, 1, 2], np.uint8), 2, rng=rng).tolist() == [0, 2]


def test_an_empty_oracle_is_still_an_oracle():
    class Memo(sa.Singletons):
        def __len__(self):
            return 0

    oracle = Memo()
    assert sa.cts(sa.LinearReward(3), 1, oracle=oracle).oracle is oracle
    assert sa.cucb(sa.LinearReward(3), 1, oracle=oracle).oracle is oracle

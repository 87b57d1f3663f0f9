import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive
import superarm as sa
from superarm import Pools, theory


def test_lemma_1_by_hand():
    # m = 3, K = 1, B = 2, M = 5, delta = 4, p = 1/2, q = 1/2, failure = 2 / e:
    # 8 · 25 · 4 / (16 · 1/16 · 1/4 · 1/4) · ln(1 · 2 · e / 2) = 800 / (1/16) = 12,800
    options = {
        "n_arms": 3,
        "k": 1,
        "delta": 4,
        "lipschitz": 2,
        "upper": 5,
        "p": 0.5,
        "q": 0.5,
        "failure": 2 / math.e,
    }
    assert theory.n_tests(**options) in (12_800, 12_801)  # rounded up from 12,800 and a last bit
    # The paper's linear problem with M = K: millions, as the formula is printed.
    assert theory.n_tests(
        n_arms=5000, k=5, delta=0.25, lipschitz=1, upper=5, p=2 / 3, failure=1e-4
    ) == math.ceil(8 * 25 * math.log(5 * 4995 / 1e-4) / (0.0625 * (16 / 81) * (1 / 9)))


def test_lemma_1_is_smallest_at_two_thirds():
    options = {"n_arms": 500, "k": 5, "delta": 0.25, "lipschitz": 1, "upper": 5, "failure": 0.01}
    counts = {p: theory.n_tests(p=p, **options) for p in np.arange(1, 300) / 300}
    assert min(counts, key=counts.get) == pytest.approx(2 / 3)


def test_lemma_1_promise_holds_where_it_can_be_run():
    """With the tests of the lemma, the sum decoder must find the best of 3 arms at least 9 times in
    10.
    """
    reward, theta = sa.LinearReward(3), np.array([0.05, 0.95, 0.1])
    n = theory.n_tests(n_arms=3, k=1, delta=0.85, lipschitz=1, upper=3, p=2 / 3, failure=0.1)
    rng = np.random.default_rng(0)
    oracle = sa.GroupTesting(delta=0.85, p=2 / 3, n_tests=n)
    assert all(oracle.select(reward, theta, 1, rng=rng).tolist() == [1] for _ in range(30))


def test_the_order_wise_rule_is_the_papers_310():
    assert theory.n_tests_order(n_arms=5000, k=5, delta=0.25, failure=1 / 10_000) == 310
    assert math.log(5 * 4995 * 10_000) / 0.25**2 == pytest.approx(309.4, abs=0.05)
    assert theory.n_tests_order(n_arms=1000, k=5, delta=0.2, failure=1 / 5_000) == 426
    assert theory.n_tests_order(n_arms=5000, k=5, delta=0.25, failure=1e-4, q=0.5) == math.ceil(
        4 * 309.375
    )
    assert theory.n_tests_order(n_arms=5, k=5, delta=0.25, failure=1e-4) == 0


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=12))
def test_non_repeated_equals_its_twin(tests):
    sets = [list(range(size)) for size, _ in tests]
    scores = [float(score) for _, score in tests]
    expected = naive.non_repeated(sets, scores)
    assert theory.non_repeated(Pools.of(sets, 3), scores).tolist() == expected
    if tests:
        assert theory.estimate_q(Pools.of(sets, 3), scores) == pytest.approx(np.mean(expected))


def test_q_sample_size_by_hand():
    assert theory.q_sample_size(0.5, math.exp(-2)) == 4
    assert theory.q_sample_size(0.1, 0.05) == math.ceil(math.log(20) / 0.02)


def test_lemma_2():
    assert theory.quantization_level(lambda gamma: gamma**2, 0.5) == 0.25
    assert theory.quantization_level([0.3, 0.1, 0.2], 0.0) == 0.1
    samples = np.random.default_rng(0).random(100_000)
    assert theory.quantization_level(samples, 0.3) == pytest.approx(0.3, abs=0.01)


def test_lemma_2_promise_on_random_instances():
    """Delta = F⁻¹(gamma): the quantized optimum is a true optimum in at least 1 - 2 gamma of the
    instances.

    Uniform means of 5 arms, sets of 2 arms, gamma = 0.1 from 2,000 sampled gaps; then 500 new
    instances, of which at least 80% minus 5 standard errors must succeed (error 3e-7).
    """
    rng, reward = np.random.default_rng(0), sa.LinearReward(5)

    def gap(mu):
        ordered = np.sort(mu)
        return ordered[-2] - ordered[-3]

    delta = theory.quantization_level([gap(mu) for mu in rng.random((2000, 5))], 0.1)
    quantizer = sa.Quantizer(delta, 1.0, reward.upper)
    good = 0
    for mu in rng.random((500, 5)):
        sets = [(i, j) for i in range(5) for j in range(i)]
        scores = quantizer([mu[i] + mu[j] for i, j in sets])
        best = {
            frozenset(s) for s, score in zip(sets, scores, strict=True) if score == scores.max()
        }
        good += best == {frozenset(np.argsort(mu)[-2:].tolist())}
    assert good / 500 >= 0.8 - 5 * math.sqrt(0.16 / 500)


def test_theorem_1_by_hand():
    # m = 2, K = 1, T = 1, B = 1, gap_min = gap_max = 1, epsilon = 0.05 (below 1 / 12), alpha = 1:
    epsilon = 0.05
    learning = 2 * 6 * math.log(2**2 * 2 * 1) / (1 - 0.5 - 3 * epsilon)
    rest = 13 * 8 / epsilon**2 * (4 / epsilon**2 + 1) * math.log(1 / epsilon**2)
    rest += math.pi**2 / 6 + 2 * (1 / epsilon**2 + 1)
    options = {
        "n_arms": 2,
        "k": 1,
        "horizon": 1,
        "gap_min": 1,
        "gap_max": 1,
        "lipschitz": 1,
        "epsilon": epsilon,
    }
    assert theory.regret_bound(**options) == pytest.approx(learning + rest)
    assert theory.regret_bound(**options, log=True) == pytest.approx(math.log(learning + rest))
    assert theory.regret_bound(**options, alpha=1e-12) == pytest.approx(
        learning + math.pi**2 / 6 + 2 * (1 / epsilon**2 + 1), rel=1e-6
    )
    # An arm whose sets all lose at least 2 has the margin 2 - 0.5 - 0.15.
    gaps = theory.regret_bound(**{**options, "gap_max": 2}, gaps=[1, 2])
    assert gaps == pytest.approx(6 * math.log(8) * (1 / 0.35 + 1 / 1.35) + 2 * rest)


def test_theorem_1_does_not_overflow():
    options = {
        "n_arms": 10**6,
        "k": 60,
        "horizon": 10**9,
        "gap_min": 1e-3,
        "gap_max": 60,
        "lipschitz": 1,
    }
    assert theory.regret_bound(**options) == math.inf
    assert 1000 < theory.regret_bound(**options, log=True) < math.inf
    tiny = {**options, "gap_min": 1e-160}
    # The leading term is (4 / epsilon²)^K / epsilon²: its logarithm falls by 2 (K + 1) ln 10 a
    # decade of the gap.
    step = theory.regret_bound(**{**options, "gap_min": 1e-161}, log=True) - theory.regret_bound(
        **tiny, log=True
    )
    assert step == pytest.approx(2 * 61 * math.log(10), rel=1e-3)


def test_lemmas_and_theorem_1_take_extreme_arguments():
    few = {"n_arms": 2, "k": 1, "delta": 0.1, "lipschitz": 1, "upper": 1, "p": 0.5}
    least, log_pairs = 5e-324, 1074 * math.log(2)
    assert theory.n_tests(**few, failure=least) == math.ceil(800 * 64 * log_pairs)
    with pytest.raises(ValueError, match="error is tiny"):
        theory.q_sample_size(1e-170, 0.1)

    # Gaps in proportion to B leave epsilon as it is, so the bound is in proportion to B, too.
    def bound(b, n_arms=10):
        gaps = {"gap_min": 0.1 * b, "gap_max": b, "lipschitz": b}
        return theory.regret_bound(n_arms=n_arms, k=2, horizon=100, **gaps, log=True)

    for b in (1e-200, 1e200):
        assert bound(b) == pytest.approx(bound(1.0) + math.log(b), rel=1e-12)
    assert math.isfinite(bound(1.0, n_arms=10**15))  # more than a number per arm could be held


def test_theorem_1_grows_with_the_logarithm_of_the_horizon():
    def bound(horizon):
        options = {
            "n_arms": 10,
            "k": 1,
            "gap_min": 0.5,
            "gap_max": 1,
            "lipschitz": 1,
            "alpha": 1e-9,
        }
        return theory.regret_bound(horizon=horizon, **options)

    assert bound(10**6) - bound(10**3) == pytest.approx(bound(10**9) - bound(10**6))
    assert bound(10**6) > bound(10**3)


def test_gaps_of_section_2():
    theta = np.array([0.1, 0.9, 0.4, 0.6, 0.35])
    assert theory.gap_range(sa.LinearReward(5), theta, 2) == pytest.approx((0.2, 1.05))
    assert theory.gap_range(sa.LinearReward(3), np.full(3, 0.5), 2) == pytest.approx(
        (math.nan, 0.0), nan_ok=True
    )


def test_separation_of_a_linear_reward_is_its_gap():
    theta = np.array([0.1, 0.9, 0.4, 0.6, 0.35])
    assert theory.separation(sa.LinearReward(5), theta, 2) == pytest.approx(0.2)
    assert math.isnan(theory.separation(sa.LinearReward(3), np.full(3, 0.5), 1))


def test_separation_equals_the_definition():
    import itertools

    reward, theta, k = (
        sa.NetworkReward.random(5, n_hidden=3, rng=np.random.default_rng(1)),
        np.linspace(0.2, 1, 5),
        2,
    )
    best = set(naive.best_sets(reward, theta, k)[0][0])
    least = math.inf
    for s in best:
        for t in set(range(5)) - best:
            others = [i for i in range(5) if i not in (s, t)]
            for size in range(4):
                for base in itertools.combinations(others, size):
                    worth = [reward(sorted([*base, x]), theta[sorted([*base, x])]) for x in (s, t)]
                    least = min(least, worth[0] - worth[1])
    assert theory.separation(reward, theta, k) == pytest.approx(least)


def test_theorem_2_does_not_hold_as_stated():
    """Two neurons, three arms, positive weights: the best pair is {0, 1}, but arm 2 alone has a
    higher value than arm 1.
    """
    reward = sa.NetworkReward([[6.0, 0.01, 3.0], [0.01, 2.0, 0.01]], [1.0, 0.4])
    theta = np.ones(3)
    assert naive.best_sets(reward, theta, 2)[0] == [(0, 1)]
    assert reward([2], [1.0]) > reward([1], [1.0])
    assert theory.separation(reward, theta, 2) < 0
    arms = sa.Singletons().select(reward, theta, 2, rng=np.random.default_rng(0))
    assert arms.tolist() == [0, 2]  # Oracle+ is not exact here
    greedy = sa.Greedy().select(reward, theta, 2, rng=np.random.default_rng(0))
    assert greedy.tolist() == [0, 1]


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: theory.n_tests_order(n_arms=5, k=6, delta=1, failure=0.1), "between 1 and 5"),
        (lambda: theory.n_tests_order(n_arms=5, k=2, delta=0, failure=0.1), "delta"),
        (lambda: theory.n_tests_order(n_arms=5, k=2, delta=1, failure=0), "failure"),
        (lambda: theory.n_tests_order(n_arms=5, k=2, delta=1, failure=0.1, q=0), "q must be in"),
        (
            lambda: theory.n_tests(n_arms=5, k=2, delta=1, lipschitz=1, upper=1, p=1, failure=0.1),
            "p must be in",
        ),
        (lambda: theory.q_sample_size(0, 0.1), "error"),
        (lambda: theory.estimate_q(Pools.of([], 3), []), "not be empty"),
        (lambda: theory.non_repeated(Pools.of([[0]], 3), [1, 2]), "shape"),
        (lambda: theory.quantization_level([0.1], 0.6), "1/2"),
        (lambda: theory.quantization_level([0.0, 0.1], 0.0), "above 0"),
        (lambda: theory.quantization_level([], 0.1), "non-empty"),
        (lambda: theory.gap_range(sa.LinearReward(100), np.zeros(100), 10), "every set"),
        (lambda: theory.separation(sa.LinearReward(30), np.zeros(30), 2), "at most 20"),
    ],
)
def test_refuses(call, says):
    with pytest.raises(ValueError, match=says):
        call()


def test_theorem_1_refuses():
    options = {"n_arms": 5, "k": 2, "horizon": 10, "gap_min": 0.5, "gap_max": 1, "lipschitz": 1}
    limit = theory.epsilon_limit(gap_min=0.5, k=2, lipschitz=1)
    for bad, says in [
        ({"epsilon": limit}, "epsilon must be below"),
        ({"gap_max": 0.1}, "at least gap_min"),
        ({"gaps": [0.5]}, "shape"),
        ({"gaps": [0.1] * 5}, "gaps must be at least"),
        ({"horizon": 0}, "horizon"),
        ({"alpha": 0}, "alpha"),
    ]:
        with pytest.raises(ValueError, match=says):
            theory.regret_bound(**{**options, **bad})

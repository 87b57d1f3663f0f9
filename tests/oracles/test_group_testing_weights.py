"""Group testing that remembers: ``GroupTesting(decoder="regression")``."""

import json

import numpy as np
import pytest

import parts
import superarm as sa
from regression_decoder import play, regression
from superarm import Pools
from superarm.oracles._group_testing.weights import Weights


def slow_lines(before, after, design, one_hot, scores):
    """Gain, intercept and its variance per class: slopes, turned about the middle of the tests.

    Nothing is turned as long as the reward looks like a sum, or if no slope rises.
    """
    gain, c, c_var = (before[name].copy() for name in ("gain", "c", "c_var"))
    keep, middle = min(0.98, 1 - 4 / (before["rounds"] + 8)), np.zeros(len(gain))
    for g, members in enumerate(one_hot.T.astype(bool)):
        if members.any():
            z, y = design[members] @ before["w"], scores[members]
            zz = keep * before["_zz"][g] + ((z - z.mean()) ** 2).sum()
            zy = keep * before["_zy"][g] + ((z - z.mean()) * (y - y.mean())).sum()
            gain[g], middle[g] = max(0, zy / zz), z.mean()
    if after["is_sum"] or not gain.any():
        return before["gain"], c, c_var
    moved = (gain - before["gain"]) * middle
    limit = np.maximum(c_var, before["noise"])
    return gain, c - moved, np.minimum(c_var + moved**2, limit)


def slow_update(before, after, design, one_hot, scores, learned):
    """A Kalman step in plain dense algebra: weights and intercepts together, the noise given.

    The prior precision of an intercept that is learned fades by 2%. At the end, the gain of the
    class that tells most is made 1.
    """
    gain, c, c_var = slow_lines(before, after, design, one_hot, scores)
    # A sum that turns out to be none, in the first rounds.
    w_var = before["var"] + before["w"].var() * (before["is_sum"] and not after["is_sum"])
    w, var = np.concatenate([before["w"], c]), np.concatenate([w_var, c_var])
    fade = np.where(one_hot[learned].any(axis=0), 0.98, 1.0)
    x = np.hstack([design * (one_hot @ gain)[:, None], one_hot])[learned]
    noise = (one_hot @ after["noise"])[learned]
    spread = x @ np.diag(var) @ x.T + np.diag(noise)
    w = w + np.diag(var) @ x.T @ np.linalg.inv(spread) @ (scores[learned] - x @ w)
    precision = np.concatenate([1 / w_var, fade / c_var])
    for j, row in enumerate(x):
        for i in np.flatnonzero(row):
            precision[i] += row[i] ** 2 / (spread[j, j] - row[i] ** 2 * var[i])
    telling = after["sizes"] * gain**2 / after["noise"] * after["_used"] / after["_made"]
    n_arms, factor = len(before["w"]), gain[np.argmax(telling)]
    return w[:n_arms] * factor, w[n_arms:], factor**2 / precision[:n_arms], 1 / precision[n_arms:]


def as_arrays(state):
    return {name: np.array(value) for name, value in state.items()}


@pytest.mark.parametrize("options", [{}, {"p": 0.3}])
@pytest.mark.parametrize("name", parts.REWARDS)
def test_a_round_is_a_kalman_step(name, options):
    """Weights, variances and intercepts, over rounds, against the definition."""
    reward, rng = parts.REWARDS[name](), np.random.default_rng(4)
    oracle = play(regression(delta=0.05, n_tests=12, **options), reward, 1, rng=rng)
    for _ in range(6):
        before = as_arrays(oracle.state()["weights"])
        theta = rng.random(7)
        oracle.select(reward, theta, 3, rng=rng)
        report, after = oracle.report, as_arrays(oracle.state()["weights"])
        # All but those at the quantizer's ends: seven arms have room for one class of tests only.
        use = report.decoded
        assert use.any()
        design, scores = (report.tests.dense() * theta)[use], report.scores[use]
        one_hot, all_of_them = np.ones((use.sum(), 1)), np.ones(use.sum(), bool)
        w, c, var, c_var = slow_update(before, after, design, one_hot, scores, all_of_them)
        np.testing.assert_allclose(after["w"], w, rtol=1e-6, atol=1e-9)
        np.testing.assert_allclose(after["c"], c, rtol=1e-6, atol=1e-9)
        np.testing.assert_allclose(after["var"], var, rtol=1e-6)
        np.testing.assert_allclose(after["c_var"], c_var, rtol=1e-6)
        np.testing.assert_allclose(report.grades, after["w"] * theta)


@pytest.mark.parametrize("of", [lambda sums: sums, np.sqrt], ids=["sum", "root"])
def test_several_classes_are_one_system(of):
    """Two classes with an intercept, a gain and a noise each, learned from together."""
    rng = np.random.default_rng(0)
    memory = Weights(200, [4.0, 8.0], 1.2)
    truth = rng.random(200)
    classes = np.repeat([0, 1], [30, 20])
    for round_number in range(5):
        tests = Pools.random(30, 200, 0.02, rng=rng).join(Pools.random(20, 200, 0.04, rng=rng))
        theta = rng.random(200)
        scores = of(tests.sum(truth * theta)) + np.array([1.0, 1.5])[classes]
        scores += rng.normal(0, 0.1, 50)
        before = as_arrays(memory.state())
        learned = memory.learn(tests, classes, theta, scores, np.ones(50, bool), floor=0.01)
        assert learned.any()
        if round_number:
            after, one_hot = as_arrays(memory.state()), (classes[:, None] == [0, 1]).astype(float)
            design = tests.dense() * theta
            w, c, var, c_var = slow_update(before, after, design, one_hot, scores, learned)
            np.testing.assert_allclose(memory.w, w, rtol=1e-8)
            np.testing.assert_allclose(memory.var, var, rtol=1e-8)
            np.testing.assert_allclose(memory.c_var, c_var, rtol=1e-8)
            if learned.all():
                np.testing.assert_allclose(memory.c, c, rtol=1e-8)
    assert learned.all()


def test_dense_and_sparse_tests_teach_the_same():
    rng = np.random.default_rng(1)
    theta, dense = rng.random(300), Pools.random(20, 300, 0.04, rng=rng)
    sparse = Pools(dense.members, dense.offsets, 300)
    found = []
    for tests, limit in ((dense, 0.0), (sparse, 1.0)):
        memory = Weights(300, [12.0], 0.0)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("superarm.oracles._group_testing.design._SPARSE_BELOW", limit)
            memory.learn(tests, np.zeros(20, int), theta, dense.sum(theta), np.ones(20, bool), 1e-4)
        found.append(memory.w)
    np.testing.assert_allclose(found[0], found[1], rtol=1e-10)


def test_finds_the_weights_of_a_weighted_sum_and_decides_like_them():
    """Steps of 0.125 and 60 tests per round: the weights become right to 1%, and the sets too."""
    rng = np.random.default_rng(2)
    weights = rng.uniform(0.2, 1.0, 100)
    reward = sa.LinearReward(100, weights=weights)
    oracle = play(regression(), reward, 1500, rng=rng)
    assert np.abs(oracle._weights.w - weights).max() < 0.01
    theta = rng.random(100)
    arms = oracle.select(reward, theta, 5, rng=rng)
    np.testing.assert_array_equal(arms, np.sort(np.argsort(weights * theta)[-5:]))


def test_the_error_goes_on_falling():
    """As the square root of the rounds: a fixed step would leave a floor.

    Nine times the rounds, at most half the error (a third is expected). The error is that of the
    ratios of the weights, which decide: a factor common to all of them does not.
    """
    rng = np.random.default_rng(3)
    reward, oracle = sa.LinearReward(40), regression(n_tests=20)
    errors = []
    for n_rounds in (25, 200, 1800):
        play(oracle, reward, n_rounds, rng=rng)
        errors.append(oracle._weights.w.std() / oracle._weights.w.mean())
    assert errors[1] < errors[0] / 2
    assert errors[2] < errors[1] / 2


def test_scores_at_the_ends_of_the_quantizer_are_not_learnt_from():
    """Zero is no level: a score of the lowest level may stand for less, which would be a bias."""
    pools = Pools.of([[0], [1], [2], [0, 1, 2, 3]], 4)
    oracle = regression(delta=0.5, pools=pools)
    oracle.select(sa.LinearReward(4), [0.01, 0.3, 0.6, 1.0], 2, rng=np.random.default_rng(0))
    np.testing.assert_array_equal(oracle.report.decoded, [False, False, True, True])


def test_without_a_quantizer_it_soon_knows_the_weights():
    rng = np.random.default_rng(3)
    weights = rng.random(50)
    oracle = play(
        regression(n_tests=30, quantize=False), sa.LinearReward(50, weights=weights), 60, rng=rng
    )
    np.testing.assert_allclose(oracle._weights.w, weights, atol=1e-4)


def test_regret_is_that_of_cts():
    """8 paired runs of 150 rounds, 20 of 200 arms, against CTS and the sum decoder with the same
    tests.

    The mean of the ratios is within 20% of 1 (its standard error is 4%). The sum decoder is close
    to the random baseline.
    """
    ratios, literal = [], []
    for seed in range(8):
        instance = sa.linear_instance(200, 20, 0.25, rng=np.random.default_rng(seed))

        def final(policy, instance=instance, seed=seed):
            rng = np.random.default_rng([seed, 1])
            return sa.simulate(policy, instance, horizon=150, rng=rng).regret()[-1]

        exact = final(sa.cts(instance.reward, 20))
        ratios.append(final(sa.cts(instance.reward, 20, oracle=regression(n_tests=40))) / exact)
        if seed < 3:
            literal.append(final(sa.gt_qts(instance.reward, 20, delta=0.25, n_tests=40)) / exact)
    assert abs(np.mean(ratios) - 1) < 0.2
    assert np.mean(literal) > 2


@pytest.mark.parametrize(
    "options", [{}, {"p": 0.2}, {"tests": "non_repeated"}, {"quantize": False}]
)
def test_goes_on_after_a_load_bit_for_bit(options):
    reward, rng = (
        sa.NetworkReward.random(40, rng=np.random.default_rng(0)),
        np.random.default_rng(1),
    )
    oracle = play(regression(delta=0.2, n_tests=15, **options), reward, 30, rng=rng)
    twin = regression(delta=0.2, n_tests=15, **options)
    twin.load(json.loads(json.dumps(oracle.state())))
    rngs = np.random.default_rng(2), np.random.default_rng(2)
    for theta in rng.random((10, 40)):
        answers = [
            one.select(reward, theta, 4, rng=own)
            for one, own in zip((oracle, twin), rngs, strict=True)
        ]
        np.testing.assert_array_equal(*answers)
    assert oracle.state() == twin.state()


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (lambda state: {}, "that of a GroupTesting"),
        (lambda state: [], "that of a GroupTesting"),
        (lambda state: {**state, "weights": {}}, "must have 'sizes'"),
        (
            lambda state: {**state, "weights": {**state["weights"], "var": [1.0]}},
            "must have 6 numbers, got 1",
        ),
        (
            lambda state: {**state, "weights": {**state["weights"], "w": [float("nan")] * 6}},
            "finite",
        ),
        (lambda state: {**state, "weights": {**state["weights"], "var": [0.0] * 6}}, "above 0"),
    ],
)
def test_refuses_a_state_that_is_not_its_own_and_keeps_what_it_has(spoil, says):
    oracle = play(regression(), sa.LinearReward(6), 3, rng=np.random.default_rng(0))
    before = oracle.state()
    with pytest.raises(ValueError, match=says):
        oracle.load(spoil(json.loads(json.dumps(before))))
    assert oracle.state() == before


def test_a_state_with_weights_needs_the_decoder_and_the_arms():
    state = play(regression(), sa.LinearReward(6), 3, rng=np.random.default_rng(0)).state()
    with pytest.raises(ValueError, match='decoder="regression" needs'):
        sa.GroupTesting(delta=0.25).load(state)
    oracle = regression()
    oracle.load(state)
    with pytest.raises(ValueError, match="of 6 arms, got a reward of 7"):
        oracle.select(sa.LinearReward(7), np.full(7, 0.5), 2, rng=np.random.default_rng(0))


def test_another_reward_is_learnt_anew():
    rng, first, second = (
        np.random.default_rng(0),
        sa.LinearReward(6),
        sa.LinearReward(6, weights=[6, 5, 4, 3, 2, 1]),
    )
    oracle = play(regression(), first, 50, rng=rng)
    play(oracle, second, 1, rng=rng)
    assert oracle._weights.rounds == 1


@pytest.mark.parametrize(
    ("reward", "n_rounds", "n_tests"),
    [(sa.AnySuccess(30), 2000, 25), (sa.LinearReward(30, weights=np.full(30, 1e-9)), 500, 5)],
)
def test_stays_finite_for_fifty_thousand_tests(reward, n_rounds, n_tests):
    """Also where the reward is no sum at all, and where every score is the same.

    Variances fall with the number of tests, and intercepts look back 50 rounds.
    """
    oracle = play(regression(n_tests=n_tests), reward, n_rounds, rng=np.random.default_rng(0))
    memory = oracle._weights
    assert np.isfinite(np.append(memory.w, memory.c)).all()
    assert (memory.var > 0).all() or not memory.rounds


def test_no_test_at_all_teaches_nothing():
    oracle = regression(pools=Pools.of([], 6))
    assert (
        len(oracle.select(sa.LinearReward(6), np.full(6, 0.5), 2, rng=np.random.default_rng(0)))
        == 2
    )
    assert oracle._weights.rounds == 0

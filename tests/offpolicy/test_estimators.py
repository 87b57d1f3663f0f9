"""Off-policy estimates: unbiased over all logs, with the stated spread, refused without overlap."""

import numpy as np
import pytest

import naive
import superarm as sa
from superarm.offpolicy import (
    Log,
    Propensities,
    Target,
    doubly_robust,
    evaluate,
    ips,
    propensities,
    set_ips,
    set_snips,
    snips,
)

MU = [0.7, 0.2, 0.5]


CHANCES = {(0, 1): 0.5, (0, 2): 0.2, (1, 2): 0.3}


Q = np.array([0.9, 0.3, 0.8])


Q_SETS = {(0, 1): 0.2, (0, 2): 0.7, (1, 2): 0.1}


TRUTH = float(Q @ MU)


def learned(sets, outcomes):
    """A policy that picks the first set less often when its arms did nothing."""
    if not sets or sum(outcomes[-1]) > 0:
        return CHANCES
    return {(0, 1): 0.1, (0, 2): 0.6, (1, 2): 0.3}


def as_log(sets, outcomes, by_arm, by_set):
    return Log(sets, outcomes, by_arm, n_arms=3, set_propensities=by_set)


def expected(estimator, *, learn=None, n_rounds=2):
    """The mean and variance of an estimate over all logs, and of its squared standard error."""
    found = []
    for chance, *parts in naive.every_log(CHANCES, MU, n_rounds, learn):
        one = estimator(as_log(*parts))
        found.append((chance, one.value, one.std_error**2))
    chance, value, var = np.array(found).T
    assert chance.sum() == pytest.approx(1)
    mean = chance @ value
    return mean, chance @ (value - mean) ** 2, chance @ var


TARGET = Target(Q, lambda found: Q_SETS[found])


UNBIASED = {
    "ips": lambda log: ips(log, Q),
    "past": lambda log: doubly_robust(log, Q),
    "good model": lambda log: doubly_robust(log, Q, model=MU),
    "bad model": lambda log: doubly_robust(log, Q, model=[0.1, 1.0, 0.0]),
}


@pytest.mark.parametrize("learn", [None, learned], ids=["fixed", "learning"])
@pytest.mark.parametrize("name", UNBIASED)
def test_unbiased_over_all_logs(name, learn):
    mean, var, _ = expected(UNBIASED[name], learn=learn)
    assert mean == pytest.approx(TRUTH, rel=1e-12)
    assert var > 0


@pytest.mark.parametrize("learn", [None, learned], ids=["fixed", "learning"])
def test_whole_sets_are_unbiased_for_any_value(learn):
    """The value of a set is whether any arm did something: no sum over arms."""
    mean, _, _ = expected(lambda log: set_ips(log, TARGET, lambda _, told: told.max()), learn=learn)
    truth = sum(p * (1 - np.prod([1 - MU[arm] for arm in found])) for found, p in Q_SETS.items())
    assert mean == pytest.approx(truth, rel=1e-12)


@pytest.mark.parametrize("name", ["ips", "good model", "bad model"])
def test_the_squared_standard_error_is_the_variance_over_all_logs(name):
    _, var, said = expected(UNBIASED[name])
    assert said == pytest.approx(var, rel=1e-12)


def test_the_bias_of_self_normalising_vanishes():
    """Over all logs of two and of three rounds."""
    two, three = (abs(expected(lambda log: snips(log, Q), n_rounds=n)[0] - TRUTH) for n in (2, 3))
    assert 0 < three < 0.9 * two < 0.01


def test_stabilised_weights_have_a_small_bias_and_the_docs_say_so():
    """Over all logs of two and of three rounds: only plain `ips` is unbiased."""
    for estimator in (ips, doubly_robust):
        mean, _, _ = expected(lambda log, e=estimator: e(log, Q, stabilise=True), n_rounds=3)
        assert 1e-6 < abs(mean - TRUTH) < 0.02 * TRUTH
    assert "bias that shrinks as the log grows" in " ".join(ips.__doc__.split())


def test_estimates_are_those_of_the_twin():
    rng = np.random.default_rng(0)
    arms = np.array([rng.choice(5, 2, replace=False) for _ in range(40)])
    chances, outcomes = rng.uniform(0.2, 1, arms.shape), rng.random(arms.shape)
    q, means = rng.random(5), rng.random(5)
    log = Log(arms, outcomes, chances, n_arms=5)
    found = (
        ips(log, q).value,
        snips(log, q).value,
        doubly_robust(log, q, model=means).value,
    )
    assert found == pytest.approx(naive.off_policy(arms, outcomes, chances, q, means), rel=1e-12)
    assert ips(log, q, per="arm").value == pytest.approx(found[0] / q.sum())
    assert snips(log, q, per="arm").std_error == pytest.approx(snips(log, q).std_error / q.sum())


def test_the_past_is_the_past():
    """By hand: 0.5 at first, then the mean of the past, with the mean of all arms as one more."""
    log = Log([[0], [0], [1]], [[1.0], [0.0], [1.0]], [[0.5], [0.5], [0.5]], n_arms=2)
    # Only arm 0 is wanted. The model says 0.5 in round 1, (1 + 0.75) / 2 in round 2, and
    # (1 + 0.5) / 3 in round 3.
    rows = [0.5 + (1 - 0.5) / 0.5, 0.875 + (0 - 0.875) / 0.5, (1 + 1.5 / 3) / 3]
    assert doubly_robust(log, [1.0, 0.0]).value == pytest.approx(np.mean(rows), rel=1e-12)


def test_coverage():
    """600 logs of 200 rounds: 95% intervals cover within four binomial errors.

    The error rate is below 0.001 per estimator.
    """
    rng = np.random.default_rng(11)
    sets, p = np.array(list(CHANCES)), np.array(list(CHANCES.values()))
    by_arm = np.array([0.7, 0.8, 0.5])
    hits = dict.fromkeys(UNBIASED, 0) | {"snips": 0}
    n_logs = 600
    for _ in range(n_logs):
        drawn = rng.choice(3, 200, p=p)
        arms = sets[drawn]
        outcomes = rng.random(arms.shape) < np.array(MU)[arms]
        log = as_log(arms, outcomes, by_arm[arms], p[drawn])
        for name, estimator in {**UNBIASED, "snips": lambda log: snips(log, Q)}.items():
            found = estimator(log)
            hits[name] += found.low <= TRUTH <= found.high
    reach = 4 * np.sqrt(0.95 * 0.05 / n_logs)
    for name, hit in hits.items():
        assert abs(hit / n_logs - 0.95) < reach, (name, hit)


def test_coverage_from_thompson_sampling():
    """500 logs of 40 rounds, with propensities from 51 samples: within four binomial errors.

    The prior is strong, so that every arm is tried often enough. If one is not, intervals cover too
    rarely (benchmarks/offpolicy.py).
    """
    hits, n_logs, mu = 0, 500, np.array([0.7, 0.5, 0.3])
    for seed in range(n_logs):
        rng = np.random.default_rng([seed, 1])
        policy = sa.Policy(sa.BetaBelief(3, prior=(8.0, 8.0)), sa.TopK(), sa.LinearReward(3), 2)
        rows = []
        for _ in range(40):
            # The decision is the last of 51 samples: the law of `ask`, and counted in.
            chances = propensities(policy, 51, rng=rng)
            arms = chances.sets[50]
            outcomes = (rng.random(2) < mu[arms]).astype(float)
            policy.tell(arms, outcomes, rng=rng)
            rows.append((arms, outcomes, chances.arms[arms]))
        found = doubly_robust(
            Log(*(np.array(column) for column in zip(*rows, strict=True)), n_arms=3),
            Target.uniform(2, 3),
        )
        hits += found.low <= 2 * mu.mean() <= found.high
    assert abs(hits / n_logs - 0.95) < 4 * np.sqrt(0.95 * 0.05 / n_logs), hits


def test_the_error_of_a_sampled_target_is_counted():
    """One log, 300 samplings of the target: the variance grows by that of the estimates.

    The tolerance is four errors of a variance.
    """
    rng = np.random.default_rng(3)
    sets = np.array(list(CHANCES))
    arms = sets[rng.choice(3, 60, p=list(CHANCES.values()))]
    log = Log(arms, rng.random(arms.shape) < 0.5, np.array([0.7, 0.8, 0.5])[arms], n_arms=3)
    belief = sa.BetaBelief(3, prior=([5.0, 4.0, 4.0], [4.0, 4.0, 3.0]))
    policy = sa.Policy(belief, sa.TopK(), sa.LinearReward(3), 1)
    samplings = [
        propensities(policy, 50, rng=np.random.default_rng([seed, 5])) for seed in range(300)
    ]
    for estimator in (ips, snips, evaluate, doubly_robust):
        found = [estimator(log, one) for one in samplings]
        spread = np.var([one.value for one in found])
        more = np.mean(
            [
                one.std_error**2 - estimator(log, sampled.arms).std_error ** 2
                for one, sampled in zip(found, samplings, strict=True)
            ]
        )
        assert more == pytest.approx(spread, rel=4 * np.sqrt(2 / 300)), estimator


def test_the_error_of_a_sampled_target_of_sets():
    log = as_log(
        [[0, 1], [0, 2], [1, 2]] * 20,
        np.tile([[1.0, 0.0], [1.0, 1.0], [0.0, 0.0]], (20, 1)),
        np.full((60, 2), 2 / 3),
        np.full(60, 1 / 3),
    )
    sampled = Propensities(sa.Pools.of([[0, 1]] * 3 + [[0, 2]] * 5 + [[2]] * 2, 3))
    found = set_ips(log, sampled, lambda _, told: told.sum())
    plain = set_ips(log, Target(sampled.arms, sampled.set_probability), lambda _, told: told.sum())
    assert found.value == plain.value == pytest.approx(0.3 * 1 + 0.5 * 2)
    worth = np.array([1.0] * 3 + [2.0] * 5 + [0.0] * 2)
    assert found.std_error**2 - plain.std_error**2 == pytest.approx(worth.var(ddof=1) / 10)


def even_log(n_rounds=200, p=0.5):
    arms = np.tile([[0], [1]], (n_rounds // 2, 1))
    return Log(
        arms,
        np.tile([[1.0], [0.0], [0.0], [0.0]], (n_rounds // 4, 1)),
        np.full(arms.shape, p),
        n_arms=3,
    )


@pytest.mark.parametrize("estimator", [ips, snips, doubly_robust])
def test_no_overlap_is_refused(estimator):
    with pytest.raises(
        ValueError, match="must overlap with the log, got one that picks nothing of what was logged"
    ):
        estimator(even_log(), [0.0, 0.0, 1.0])
    with pytest.raises(
        ValueError, match="picks what was never logged for 60%; log a policy that tries"
    ):
        estimator(even_log(), [0.2, 0.2, 0.6])
    assert estimator(even_log(), [0.5, 0.48, 0.02]).mean_weight == pytest.approx(
        0.98
    )  # hardly matters


def test_all_weight_on_few_rounds_is_refused():
    p = np.full((200, 1), 0.5)
    p[0] = 1e-3
    log = Log(even_log().arms, even_log().outcomes, p, n_arms=3)
    with pytest.raises(
        ValueError,
        match=r"weights that make 200 rounds worth 2\.0; log a policy that is closer .* or clip",
    ):
        ips(log, [0.5, 0.5, 0.0])
    assert ips(log, [0.5, 0.5, 0.0], clip=20.0).clipped == 1 / 200


def test_a_mean_weight_far_below_one_is_refused():
    """Both arms were logged, one of them far less often than its propensities say."""
    log = Log([[0]] * 98 + [[1]] * 2, np.ones((100, 1)), np.full((100, 1), 0.5), n_arms=2)
    with pytest.raises(ValueError, match=r"a mean weight of 0\.232 instead of 1"):
        ips(log, [0.1, 0.9])
    assert "the mean weight is 0.76 instead of 1" in ips(log, [0.3, 0.5]).warning


def test_sets_without_overlap_are_refused():
    log = as_log([[0, 1]] * 40, [[1.0, 0.0]] * 40, [[0.5, 0.5]] * 40, [0.5] * 40)
    with pytest.raises(ValueError, match="overlap"):
        set_ips(log, Target.fixed([0, 2], 3), np.ones(40))


def test_clipping_is_told():
    found = ips(even_log(p=0.25), [0.5, 0.5, 0.0], clip=1.5)
    assert found.clipped == 1.0
    assert found.value == pytest.approx(1.5 / 4)
    assert "100.00% of the weights were clipped" in found.warning
    assert ips(even_log(), [0.5, 0.5, 0.0], clip=1.5).clipped == 0.0


def test_warnings():
    fine = ips(even_log(), [0.5, 0.5, 0.0])
    assert fine.warning is None
    assert str(fine) == "0.25 (0.1895 to 0.3105)"
    assert fine.effective_n == 200
    few = ips(even_log(20), [0.5, 0.5, 0.0])
    assert "20 rounds are worth 20 of equal weights; one round is 20% of the estimate" in str(few)
    nothing = Log(even_log().arms, np.zeros((200, 1)), even_log().propensities, n_arms=3)
    assert "the spread is not known" in ips(nothing, [0.5, 0.5, 0.0]).warning


def test_intervals_stay_in_the_possible():
    log = Log([[0]] * 40, [[1.0]] * 39 + [[0.0]], [[1.0]] * 40, n_arms=1)
    assert ips(log, [1.0]).high == 1.0


def test_values_of_sets_may_be_given_where_outcomes_are_missing():
    log = as_log([[0, 1], [0, 2]], np.full((2, 2), np.nan), np.full((2, 2), 0.5), [0.5, 0.5])
    assert set_ips(log, Target.fixed([1, 0], 3), [3.0, 9.0]).value == pytest.approx(3.0)
    assert set_snips(log, Target.fixed([1, 0], 3), [3.0, 9.0]).value == pytest.approx(3.0)


def test_bad_arguments():
    log = even_log()
    with pytest.raises(ValueError, match=r"the log's 3 arms, got one of 2"):
        ips(log, [0.5, 0.5])
    with pytest.raises(ValueError, match="one of them above 0"):
        ips(log, [0.0, 0.0, 0.0])
    with pytest.raises(ValueError, match=r"the target's arms must be in \[0, 1\], got 1.5"):
        ips(log, [1.5, 0.0, 0.0])
    with pytest.raises(ValueError, match='per must be "set" or "arm"'):
        ips(log, [0.5, 0.5, 0.0], per="click")
    with pytest.raises(ValueError, match='model must be "past"'):
        doubly_robust(log, [0.5, 0.5, 0.0], model="future")
    with pytest.raises(ValueError, match="must have set_propensities"):
        set_ips(log, Target.uniform(1, 3), np.ones(200))
    with pytest.raises(ValueError, match="must know the probability of a set"):
        set_ips(as_log([[0]], [[1]], [[1]], [1.0]), [1.0, 0.0, 0.0], [1.0])
    with pytest.raises(ValueError, match=r"values must have shape \(1,\)"):
        set_ips(as_log([[0]], [[1]], [[1]], [1.0]), Target.fixed([0], 3), [1.0, 2.0])
    with pytest.raises(ValueError, match=r"arms\[:, None\]"):
        Log([0, 1], [0, 1], [0.5, 0.5], n_arms=2)
    with pytest.raises(ValueError, match=r"sets of different sizes; fill .* -1, or use Log\.of"):
        Log([[0, 1], [1]], [[0, 1], [1]], [[0.5, 0.5], [0.5]], n_arms=2)
    with pytest.raises(ValueError, match="or -1 for none, got 0 to 5"):
        Log([[0, 5]], [[0, 1]], [[0.5, 0.5]], n_arms=2)
    with pytest.raises(ValueError, match=r"outcomes must have shape \(1, 2\)"):
        Log([[0, 1]], [[0]], [[0.5, 0.5]], n_arms=2)
    with pytest.raises(ValueError, match="2 distinct names"):
        Log([[0, 1]], [[0, 1]], [[0.5, 0.5]], n_arms=2, names=["a", "a"])
    with pytest.raises(ValueError, match=r"ask\(propensities=1000\)"):
        Log.from_session(sa.Session(sa.cts(sa.LinearReward(3), 2), seed=0))
    assert repr(Target(np.full(9, 0.25))).endswith("0.25 ...)")

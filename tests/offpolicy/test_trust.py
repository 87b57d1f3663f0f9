"""What makes intervals honest: warnings, variance-stabilised weights, models of the past."""

import numpy as np
import pytest

from superarm.offpolicy import Log, Target, doubly_robust, evaluate, ips, models, set_ips, snips
from superarm.offpolicy.stable import stable_weights

Q = np.array([0.9, 0.1, 0.5, 0.5])


def uneven_log(n_rounds, rng, **more):
    """Sets of one or two of four arms, with propensities that change, and no arm 3 at first."""
    arms = np.array([rng.choice(3 + (t > 20), 2, replace=False) for t in range(n_rounds)])
    arms[rng.random(n_rounds) < 0.3, 1] = -1
    p = rng.uniform(0.2, 0.9, arms.shape)
    return Log(arms, rng.random(arms.shape) < 0.4, p, n_arms=4, **more)


def guessed_variances(log, squares):
    """V_t by a loop: 1 / p of the last round with the arm, plus the rounds since then."""
    guess = np.full(log.n_arms, log.n_arms * len(log) / log.there.sum())
    found = []
    for arms, there, p in zip(log.arms, log.there, log.propensities, strict=True):
        found.append(squares @ guess)
        guess = guess + 1
        guess[arms[there]] = 1 / p[there]
    return np.array(found)


def test_stable_weights_are_those_of_the_loop():
    log = uneven_log(60, np.random.default_rng(0))
    wanted = guessed_variances(log, Q**2) ** -0.5
    np.testing.assert_allclose(stable_weights(log, Q**2), wanted / wanted.mean(), rtol=1e-12)


def test_stable_weights_depend_on_earlier_rounds_only():
    """So what a round contributes is right on average, given the rounds before."""
    log = uneven_log(60, np.random.default_rng(1))
    changed = log.propensities.copy()
    changed[30:] /= 7
    other = Log(log.arms, log.outcomes, changed, n_arms=4)
    one, two = stable_weights(log, Q**2), stable_weights(other, Q**2)
    np.testing.assert_allclose(one[:31] / one[0], two[:31] / two[0], rtol=1e-12)
    assert not np.allclose(one[31:] / one[0], two[31:] / two[0])


def test_stabilised_estimates_are_those_of_the_paper():
    """Hadad et al. 2021, equations 9 and 10: the weighted mean of scores, and its variance."""
    log = uneven_log(60, np.random.default_rng(2))
    means, h = np.array([0.2, 0.4, 0.6, 0.8]), guessed_variances(log, Q**2) ** -0.5
    rows = []
    for arms, y, p, there in zip(log.arms, log.outcomes, log.propensities, log.there, strict=True):
        w, m = Q[arms[there]] / p[there], means[arms[there]]
        rows.append((Q @ means + w @ (y[there] - m), w @ y[there], w.sum()))
    robust, plain, weights = np.array(rows).T
    found = doubly_robust(log, Q, model=means, stabilise=True)
    value = h @ robust / h.sum()
    assert found.value == pytest.approx(value, rel=1e-12)
    var = np.sum(h**2 * (robust - value) ** 2) / h.sum() ** 2 * 60 / 59
    assert found.std_error == pytest.approx(np.sqrt(var), rel=1e-12)
    assert ips(log, Q, stabilise=True).value == pytest.approx(h @ plain / h.sum())
    ratio = h @ plain / (h @ weights) * Q.sum()
    assert snips(log, Q, stabilise=True).value == pytest.approx(ratio)
    assert evaluate(log, Q) == snips(log, Q, stabilise=True)
    assert evaluate(log, Q, per="arm", level=0.5).level == 0.5


def test_stable_weights_help_where_a_policy_gave_up():
    """200 logs: arm 1 is hardly picked after half of the rounds. The spread is smaller.

    The ratio of the spreads is 0.73 on average, with a standard deviation of 0.025 over 40 seeds,
    so 0.9 is seven of these away. Each mean is within four errors. A log that hardly has arm 1 is
    refused, in one of a million logs. The error rate of all this is below 0.001.
    """
    rng, found = np.random.default_rng(3), []
    p = np.where(np.arange(400) < 200, 0.5, 0.08)
    for _ in range(200):
        arms = (rng.random(400) < p).astype(int)[:, None]
        chances = np.where(arms == 1, p[:, None], 1 - p[:, None])
        log = Log(arms, rng.random(arms.shape) < 0.5, chances, n_arms=2)
        found.append([ips(log, [0.0, 1.0], stabilise=on).value for on in (False, True)])
    plain, stable = np.std(found, axis=0)
    assert stable < 0.9 * plain
    assert np.mean(found, axis=0) == pytest.approx([0.5, 0.5], abs=4 * plain / 14)


def test_the_past_is_the_loop(monkeypatch):
    """In blocks of a few rounds: each uses the outcomes of all rounds before it."""
    monkeypatch.setattr(models, "_BLOCK", 28)
    log, rows = uneven_log(50, np.random.default_rng(4)), []
    won, seen, all_won, all_seen = np.zeros(4), np.zeros(4), 0.5, 1.0
    for arms, y, p, there in zip(log.arms, log.outcomes, log.propensities, log.there, strict=True):
        means, here = (won + all_won / all_seen) / (seen + 1), arms[there]
        rows.append(Q @ means + (Q[here] / p[there]) @ (y[there] - means[here]))
        won[here] += y[there]
        seen[here] += 1
        all_won, all_seen = all_won + y[there].sum(), all_seen + len(here)
    assert doubly_robust(log, Q).value == pytest.approx(np.mean(rows), rel=1e-12)


def halves(n_first, n_rounds=400):
    """Two arms that are said to be equally likely, the first of which is in n_first rounds."""
    arms = (np.arange(n_rounds) >= n_first).astype(int)[:, None]
    outcomes = (np.arange(n_rounds) % 3 == 0).astype(float)[:, None]
    return arms, outcomes, np.full(arms.shape, 0.5)


def test_the_mean_weight_is_tested_in_standard_errors():
    """A target of the first arm: weights 2 and 0. 215 of 400 are 1.5 errors off, 240 are 4."""
    near = ips(Log(*halves(215), n_arms=2), [1.0, 0.0])
    assert near.mean_weight_error == pytest.approx(np.sqrt(0.25 / 400) * 2, rel=0.01)
    assert near.warning is None
    far = ips(Log(*halves(240), n_arms=2), [1.0, 0.0])
    assert far.mean_weight == pytest.approx(1.2)  # not far, but not by chance
    assert far.warning == "the mean weight is 1.20 instead of 1"


@pytest.mark.parametrize("digits", [17, 6, 4, 3])
def test_rounded_propensities_are_not_warned_of(digits):
    """Two of eleven arms at random: all weights are equal, so that their error is almost 0."""
    rng = np.random.default_rng(0)
    arms = np.array([rng.choice(11, 2, replace=False) for _ in range(300)])
    outcomes = (rng.random(arms.shape) < 0.3).astype(float)
    p = np.full(arms.shape, np.round(2 / 11, digits))
    assert ips(Log(arms, outcomes, p, n_arms=11), np.full(11, 2 / 11)).warning is None
    wrong = ips(Log(arms, outcomes, 1.01 * p, n_arms=11), np.full(11, 2 / 11))
    assert wrong.warning == "the mean weight is 0.99 instead of 1"


def test_few_samples_are_told():
    """In 8 of 100 rounds, the arm was in no other sample of its round."""
    p = np.full((100, 1), 0.5)
    p[:8] = 1 / 20
    outcomes = (np.arange(100) % 3 == 0).astype(float)[:, None]
    exact = Log(np.zeros((100, 1), int), outcomes, p, n_arms=2, set_propensities=p[:, 0])
    sampled = Log.of([{**row, "n_samples": 20} for row in exact.rows()], 2)
    share = 8 * 20 / (8 * 20 + 92 * 2)
    assert ips(sampled, [0.3, 0.0]).rare == pytest.approx(share)
    assert "47% of the weight is on arms that were in no other sample" in str(
        ips(sampled, [0.3, 0.0])
    )
    assert ips(exact, [0.3, 0.0]).rare == 0.0
    one = {"arms": [0], "outcomes": [1.0], "propensities": [0.5], "set_propensity": 0.05}
    alone = Log.of([{**one, "n_samples": 20}], 2)
    assert set_ips(alone, Target.fixed([0], 2), [1.0]).rare == 1.0


@pytest.mark.parametrize("estimator", [ips, snips, doubly_robust, evaluate])
def test_propensities_of_almost_0_are_refused(estimator):
    log = Log([[0], [1], [0]], [[1], [0], [1]], np.full((3, 1), 1e-300), n_arms=2)
    with pytest.raises(ValueError, match="are these the probabilities of what was logged"):
        estimator(log, Target.fixed([0], n_arms=2))

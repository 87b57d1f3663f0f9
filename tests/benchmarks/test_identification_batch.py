"""The rules of the benchmark for many runs at once are those of the library for one run."""

import numpy as np
import pytest

import identification_batch as batch
import superarm as sa
from superarm.beliefs import MeanBelief
from superarm.oracles import CLUCB, LUCB, TopTwo
from superarm.oracles.top_two import _closeness
from superarm.theory import best_k

K = 2


@pytest.fixture(scope="module")
def runs():
    """Counts and sums of 60 runs with 5 arms; some arms have no outcomes, some are equal."""
    rng = np.random.default_rng(0)
    counts = rng.integers(0, 40, (60, 5)).astype(float)
    counts[30:] = rng.integers(1, 4000, (30, 5))
    sums = np.floor(counts * rng.random((60, 5)))
    sums[::5] = counts[::5] * rng.random((12, 5))  # measured outcomes
    return counts, sums


def belief_of(counts, sums, cls=MeanBelief):
    belief = cls(len(counts))
    belief.outcomes.counts, belief.outcomes.sums = counts.copy(), sums.copy()
    belief.outcomes.rounds = int(counts.max())
    return belief


def many(counts, sums):
    return batch.Runs(np.atleast_2d(counts), np.atleast_2d(sums))


def test_errors_are_those_of_best_k(runs):
    found = batch.errors(many(*runs), K)
    wanted = [best_k(n, s, K)[2] for n, s in zip(*runs, strict=True)]
    np.testing.assert_allclose(found, wanted, rtol=1e-8)
    assert 0 < (found <= 0.05).sum() < len(found)
    named = [best_k(n, s, K)[0].tolist() for n, s in zip(*runs, strict=True)]
    assert np.sort(many(*runs).ordered()[:, :K], axis=1).tolist() == named
    over = batch.top_two(many(*runs), K, 0, np.random.default_rng(0))[1]
    np.testing.assert_array_equal(over, found <= 0.05)
    np.testing.assert_array_equal(batch.verdict(many(*runs), K), over)


def test_runs_stop_when_sessions_do():
    """The same arms and outcomes, told one round at a time, give the errors of the verdicts."""
    rng, mu = np.random.default_rng(4), np.array([0.95, 0.8, 0.3, 0.1])
    session = sa.Session(sa.policies.top_two(sa.LinearReward(4), K), seed=1)
    runs, n_done = batch.Runs(*np.zeros((2, 1, 4))), 0
    for _ in range(60):
        decision = session.ask()
        arms = np.array(decision.arms)
        drawn = (rng.random(K) < mu[arms]).astype(float)
        session.tell(decision, dict(zip(decision.arms, drawn.tolist(), strict=True)))
        runs.add(arms[None], drawn[None])
        found = session.verdict()
        assert batch.errors(runs, K)[0] == pytest.approx(found.error, rel=1e-9)
        assert batch.verdict(runs, K)[0] == found.done
        n_done += found.done
    assert 0 < n_done < 60


def test_keys_are_those_of_the_oracle():
    """With the same draws, arms are picked in the same order; 5 arms with different means."""
    rng = np.random.default_rng(6)
    for _ in range(10):
        counts, means = rng.integers(5, 90, 5).astype(float), rng.permutation(5) / 7 + 0.2
        seed = int(rng.integers(1000))
        by_oracle = _closeness(counts, counts * means, K, np.random.default_rng(seed))
        draws = np.random.default_rng(seed)
        draws.random(5)  # for ties
        order, evidence, mine, its, n = batch.pairs(many(counts, counts * means), K)
        is_first = draws.random((1, K, 3)) < batch._share(mine, its)
        keys = batch.closest_first(evidence, mine, its, n, is_first)[0]
        assert order[0][np.argsort(keys)].tolist() == np.argsort(-by_oracle).tolist()


@pytest.mark.parametrize("rule", ["clucb", "lucb", "kl"])
def test_rules_of_the_papers_stop_when_the_oracles_do(runs, rule):
    """And a run that goes on pulls arms that the oracle picks, all of them in sets of k."""
    n_stopped, rng = 0, np.random.default_rng(1)
    for n, s in zip(*runs, strict=True):
        belief = belief_of(n, s)
        oracle = (
            CLUCB(belief)
            if rule == "clucb"
            else LUCB(belief, bounds="kl" if rule == "kl" else "hoeffding")
        )
        theta = belief.sample(rng=rng)
        arms = oracle.select(sa.LinearReward(5), theta, K, rng=rng)
        options = {} if rule == "clucb" else {"kl": rule == "kl"}
        play = batch.clucb if rule == "clucb" else batch.lucb
        pulled, over = play(many(n, s), K, belief.outcomes.rounds, rng, **options)
        in_sets = play(many(n, s), K, belief.outcomes.rounds, rng, places=K, **options)[0]
        certified = oracle.report is not None and oracle.report.certified
        assert over[0] == certified
        n_stopped += certified
        if not certified and (n > 0).all() and len(np.unique(s / n)) == 5:
            assert set(pulled[0].tolist()) & set(arms.tolist())
            assert set(in_sets[0].tolist()) == set(arms.tolist())
    assert 0 < n_stopped < 60


class Flat(MeanBelief):
    """Samples of flat Beta posteriors."""

    def sample(self, *, rng):
        return rng.beta(1 + self.outcomes.sums, 1 + self.outcomes.counts - self.outcomes.sums)


def test_top_two_pulls_arms_as_often_as_the_oracle():
    """The frequencies of 5 arms: 200 rounds of the oracle and 2,000 at once, up to 5 deviations."""
    counts, sums = np.array([30.0, 40, 25, 20, 30]), np.array([24.0, 26, 13, 8, 3])
    belief, rng = belief_of(counts, sums, Flat), np.random.default_rng(2)
    oracle, reward = TopTwo(belief), sa.LinearReward(5)
    picked = [oracle.select(reward, belief.sample(rng=rng), K, rng=rng) for _ in range(200)]
    by_oracle = np.bincount(np.ravel(picked), minlength=5) / 200
    runs = many(np.repeat(counts[None], 2000, 0), np.repeat(sums[None], 2000, 0))
    at_once = np.bincount(batch.top_two(runs, K, 0, rng)[0].ravel(), minlength=5) / 2000
    spread = np.sqrt(at_once * (1 - at_once) / 200 * 1.1)
    assert (np.abs(by_oracle - at_once) <= 5 * spread + 1e-9).all()


def test_a_run_stops_with_what_it_has_seen():
    """Play counts every outcome, and names wrong arms as such."""
    mu, rng = np.array([0.95, 0.5, 0.05]), np.random.default_rng(3)

    def coins(means, rng):
        return (rng.random(means.shape) < means).astype(float)

    samples, stopped, wrong = batch.play(mu, 1, 20, rng, batch.top_two, outcomes=coins)
    assert stopped.all()
    assert wrong.sum() <= 3
    assert (samples >= 3).all()
    samples, stopped, _ = batch.play(
        mu, 2, 4, rng, batch.uniform, stop=batch.habit, outcomes=coins, most=6
    )
    assert (samples == 12).all()
    assert not stopped.any()

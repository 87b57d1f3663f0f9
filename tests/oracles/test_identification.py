"""Oracles that find out which set is the best: CLUCB, LUCB, top-two, accepts and rejects."""

import itertools

import numpy as np
import pytest
from scipy.special import rel_entr

import naive
import superarm as sa
from superarm.beliefs import MeanBelief
from superarm.oracles import CLUCB, LUCB, SuccessiveAccepts, TopTwo
from superarm.oracles.successive_accepts import phase_ends
from superarm.policies import clucb, lucb, successive_accepts, top_two

REWARD = sa.LinearReward(7)
RNG = np.random.default_rng(0)


def told(rng, n_arms=7, most=400, ties=False):
    """A MeanBelief with random counts and means."""
    belief = MeanBelief(n_arms)
    counts = rng.integers(1, 3 if ties else most, n_arms).astype(float)
    means = rng.integers(0, 3, n_arms) / 2 if ties else rng.random(n_arms)
    belief.outcomes.counts, belief.outcomes.sums = counts, counts * means
    belief.outcomes.rounds = int(counts.max()) + int(rng.integers(0, 50))
    return belief


def select(oracle, k, rng, reward=REWARD):
    return oracle.select(reward, oracle.belief.sample(rng=rng), k, rng=rng)


def slow_clucb(belief, sets, delta):
    """The best set, its rival and how much better that may be, over all sets; and the widths."""
    counts, means = belief.outcomes.counts, belief.outcomes.mean()
    t, m = belief.outcomes.rounds, len(counts)
    widths = np.sqrt(np.log(4 * m * t**3 / delta) / (2 * counts))
    sets = [tuple(one.tolist()) for one in sets]
    best = max(sets, key=lambda one: sum(means[arm] for arm in one))

    def lead(one):
        gained = sum(means[arm] + widths[arm] for arm in set(one) - set(best))
        return gained - sum(means[arm] - widths[arm] for arm in set(best) - set(one))

    rival = max(sets, key=lead)
    return best, rival, lead(rival), widths


SETS = {
    "k": lambda: sa.sets.KOfM(3, 7),
    "quotas": lambda: sa.Feasible(3, groups=[sa.Group([0, 1, 2], most=1)], n_arms=7),
    "paths": lambda: sa.sets.Paths([0, 0, 1, 2, 1, 3, 4], [1, 2, 3, 3, 4, 5, 5], 0, 5),
}


def all_sets(feasible):
    every = itertools.chain.from_iterable(
        itertools.combinations(range(7), size) for size in range(1, 8)
    )
    return [np.array(one) for one in every if feasible.is_feasible(one)]


@pytest.mark.parametrize("name", SETS)
def test_clucb_is_its_definition(name):
    """The rival of all sets, and a set with the widest of the arms in which the two differ."""
    rng, feasible = np.random.default_rng(1), SETS[name]()
    sets, n_certified = all_sets(feasible), 0
    for _ in range(25):
        belief = told(rng, most=2000)
        oracle = CLUCB(belief, delta=0.1)
        arms = select(oracle, feasible, rng)
        best, rival, lead, widths = slow_clucb(belief, sets, 0.1)
        assert tuple(oracle.report.best) == best
        assert oracle.report.gap == pytest.approx(max(lead, 0.0), abs=1e-9)
        assert oracle.report.certified == (lead <= 1e-12)
        if oracle.report.certified:
            n_certified += 1
            assert tuple(arms) == best
        else:
            assert max(set(best) ^ set(rival), key=lambda arm: widths[arm]) in arms
        assert feasible.is_feasible(arms)
    assert 0 < n_certified < 25


def slow_border(belief, k, lower, upper):
    """From both sides in turn, the inside first."""
    order = sorted(range(len(lower)), key=lambda arm: -belief.outcomes.mean()[arm])
    inside = sorted(order[:k], key=lambda arm: lower[arm])
    outside = sorted(order[k:], key=lambda arm: -upper[arm])
    turns = [
        arm for pair in itertools.zip_longest(inside, outside) for arm in pair if arm is not None
    ]
    return inside, outside, turns


@pytest.mark.parametrize("bounds", ["kl", "hoeffding"])
def test_lucb_is_its_definition(bounds):
    rng, n_certified = np.random.default_rng(2), 0
    for _ in range(30):
        k, belief = int(rng.integers(1, 7)), told(rng, most=3000)
        oracle = LUCB(belief, 0.1, bounds=bounds)
        arms = select(oracle, k, rng)
        n, mean, t = belief.outcomes.counts, belief.outcomes.mean(), belief.outcomes.rounds
        if bounds == "kl":
            level = np.log(405.5 * 7 * t**1.1 / 0.1)
            level += np.log(level)
            upper = [naive.kl_upper(p, level / count) for p, count in zip(mean, n, strict=True)]
            lower = [1 - naive.kl_upper(1 - p, level / c) for p, c in zip(mean, n, strict=True)]
        else:
            width = np.sqrt(np.log(1.25 * 7 * t**4 / 0.1) / (2 * n))
            lower, upper = mean - width, mean + width
        np.testing.assert_allclose(oracle.report.lower, lower, atol=1e-6)
        np.testing.assert_allclose(oracle.report.upper, upper, atol=1e-6)
        inside, outside, turns = slow_border(belief, k, lower, upper)
        if oracle.report.certified:
            n_certified += 1
            assert upper[outside[0]] <= lower[inside[0]] + 1e-6
            assert arms.tolist() == sorted(inside)
        else:
            # With an odd k, either side may have the last place.
            first = set(turns[: k - k % 2])
            assert first <= set(arms.tolist()) <= set(turns[: k + 1])
    assert 0 < n_certified < 30


def slow_closest(outcomes, k, rng):
    """The k arms of the closest pairs, with the draws of the oracle in their order.

    The other arm of a pair comes as if the first one had one more outcome.
    """
    n, mean = outcomes.counts, outcomes.mean()
    order = np.lexsort((rng.random(len(n)), -mean))
    coins = rng.random((k, len(n) - k))
    pairs = []
    for a, b in itertools.product(range(k), range(len(n) - k)):
        i, j = order[a], order[k + b]
        pooled = (n[i] * mean[i] + n[j] * mean[j]) / (n[i] + n[j])
        mine, its = (
            n[arm] * (rel_entr(mean[arm], pooled) + rel_entr(1 - mean[arm], 1 - pooled))
            for arm in (i, j)
        )
        first = [(i, mine), (j, its)]
        (arm, told), (other, _) = first if coins[a, b] < mine / (mine + its) else first[::-1]
        evidence = sa.theory.evidence.log_evidence(n, outcomes.sums, ([i], [j]))[0]
        pairs += [(evidence, int(arm)), (evidence + told / n[arm], int(other))]
    return list(dict.fromkeys(arm for _, arm in sorted(pairs)))[:k]


def test_without_challengers_top_two_takes_the_closest_pairs():
    rng = np.random.default_rng(3)
    for seed in range(25):
        k, oracle = int(rng.integers(1, 6)), TopTwo(told(rng))
        arms = select(oracle, k, np.random.default_rng(seed))
        assert oracle.report.wanted == ()
        wanted = slow_closest(oracle.belief.outcomes, k, np.random.default_rng(seed))
        assert set(wanted) <= set(arms.tolist())


def test_top_two_can_look_for_more_arms_than_it_pulls():
    """One arm per round, by the pairs of the best 3: those of the keys for 3 places."""
    rng = np.random.default_rng(3)
    for seed in range(25):
        oracle = TopTwo(told(rng), best=3)
        arms = select(oracle, 1, np.random.default_rng(seed))
        assert oracle.report.wanted == ()
        assert len(oracle.report.leader) == 3
        assert arms[0] == slow_closest(oracle.belief.outcomes, 3, np.random.default_rng(seed))[0]


@pytest.mark.parametrize("best", [None, 3])
def test_top_two_without_some_arms_is_top_two_among_the_others(best):
    """As in a session with retired arms: those have numbers, and are never picked."""
    rng, here = np.random.default_rng(3), np.array([0, 2, 3, 5, 6])
    for seed in range(15):
        belief = told(rng)
        oracle, alone = TopTwo(belief, best=best), MeanBelief(5)
        alone.outcomes.counts = belief.outcomes.counts[here]
        alone.outcomes.sums = belief.outcomes.sums[here]
        k = 2 if best is None else 1
        arms = select(oracle, sa.Feasible(k, available=here), np.random.default_rng(seed))
        assert set(oracle.report.leader) <= set(here)
        wanted = slow_closest(alone.outcomes, best or k, np.random.default_rng(seed))[:k]
        assert arms.tolist() == sorted(here[wanted].tolist())


class TwoSamples(MeanBelief):
    """Samples that say, in turn, that the first arm is better and that the second is."""

    def sample(self, *, rng):
        self.n_sampled = getattr(self, "n_sampled", 0) + 1
        return np.array([0.6, 0.4] if self.n_sampled % 2 else [0.4, 0.6])


def test_one_of_a_pair_is_pulled_by_its_share_of_the_evidence():
    """Two arms: the frequency of the first in 300 rounds, up to 4 standard deviations."""
    belief = TwoSamples(2)
    belief.outcomes.counts, belief.outcomes.sums = np.array([40.0, 10.0]), np.array([28.0, 4.0])
    oracle, rng = TopTwo(belief, n_draws=1), np.random.default_rng(0)
    picked = [select(oracle, 1, rng, sa.LinearReward(2))[0] for _ in range(300)]
    mean, pooled = np.array([0.7, 0.4]), 32 / 50
    parts = belief.outcomes.counts * (rel_entr(mean, pooled) + rel_entr(1 - mean, 1 - pooled))
    share = parts[0] / parts.sum()
    assert np.mean(np.array(picked) == 0) == pytest.approx(
        share, abs=4 * np.sqrt(share * (1 - share) / 300)
    )


def slow_accepts(means, k):
    """The arms in the order in which they are decided, and whether each is accepted."""
    left, places, found = list(range(len(means))), k, []
    while left:
        order = sorted(left, key=lambda arm: -means[arm])
        gaps = {}
        for rank, arm in enumerate(order):
            if places in (0, len(order)):  # nothing is left to compare with
                gaps[arm] = -rank
            elif rank < places:
                gaps[arm] = means[arm] - means[order[places]]
            else:
                gaps[arm] = means[order[places - 1]] - means[arm]
        arm = max(order, key=gaps.get)
        is_accepted = order.index(arm) < places
        found.append((arm, is_accepted))
        places -= is_accepted
        left.remove(arm)
    return found


def test_accepts_and_rejects_are_those_of_the_paper():
    """The means never change here, so the order of all decisions is known."""
    rng = np.random.default_rng(4)
    for _ in range(10):
        k, belief = int(rng.integers(1, 7)), told(rng)
        oracle, expected = SuccessiveAccepts(belief, horizon=60), None
        expected = slow_accepts(belief.outcomes.mean(), k)
        ends = phase_ends(7, k, 60)
        for t in range(62):
            arms = select(oracle, k, rng)
            n_over = int((ends <= t).sum())
            known = expected if n_over == 6 else expected[:n_over]
            assert oracle.report.accepted.tolist() == sorted(arm for arm, yes in known if yes)
            assert oracle.report.rejected.tolist() == sorted(arm for arm, yes in known if not yes)
        assert arms.tolist() == oracle.report.accepted.tolist()


def test_phases_take_the_rounds_that_their_pulls_need():
    """Every open arm has as many pulls at the end of a phase as the papers say, up to rounding."""
    policy, rng = successive_accepts(sa.LinearReward(6), 2, horizon=450), np.random.default_rng(0)
    mu = np.array([0.95, 0.9, 0.3, 0.2, 0.1, 0.0])
    sa.simulate(policy, sa.BernoulliArms(mu), horizon=450, rng=rng)
    pulls = np.sort(policy.belief.outcomes.counts)
    total = 450 / (1 / 6 * 3 + (1 / 5 - 1 / 6) * 2.5 + (1 / 4 - 1 / 5) * 2 + 1 / 12 * 1.5 + 1 / 6)
    assert pulls[0] == pytest.approx(total / 6, abs=2)
    assert pulls[1] == pytest.approx(total / 5, abs=2)
    # The last two are open to the end, unless one of them filled a place before.
    assert pulls[-1] >= total / 2 - 2


@pytest.mark.parametrize(
    ("make", "horizon"), [(top_two, 80), (clucb, 500), (lucb, 150)], ids=["two", "clucb", "lucb"]
)
def test_every_arm_is_seen_first_and_then_those_that_decide(make, horizon):
    mu = np.array([0.9, 0.75, 0.45, 0.1, 0.1, 0.05])
    policy, rng = make(sa.LinearReward(6), 2), np.random.default_rng(0)
    trace = sa.simulate(policy, sa.BernoulliArms(mu), horizon=horizon, rng=rng)
    assert sorted(trace.arms[:3].ravel().tolist()) == list(range(6))
    counts = policy.belief.outcomes.counts
    assert counts[1:3].sum() > counts[3:].sum()
    assert policy.evaluations == 0


def test_a_session_stops_when_its_verdict_is_done():
    policy, rng = top_two(sa.LinearReward(5), 2), np.random.default_rng(5)
    session, mu = (
        sa.Session(policy, list("abcde"), seed=1),
        dict(zip("abcde", (0.95, 0.9, 0.2, 0.1, 0.05), strict=True)),
    )
    for _ in range(200):
        decision = session.ask()
        session.tell(decision, {arm: float(rng.random() < mu[arm]) for arm in decision.arms})
        if (found := session.verdict()).done:
            break
    assert found.done
    assert set(found.arms) == {"a", "b"}
    assert found.probability > 0.95


def test_clucb_certifies_the_best_path():
    sets = SETS["paths"]()
    mu = np.array([1.0, 0.1, 1.0, 0.0, 0.1, 1.0, 0.1])
    policy, rng = clucb(REWARD, sets, delta=0.05), np.random.default_rng(0)
    for _ in range(1500):
        arms = policy.ask(rng=rng)
        if policy.oracle.report is not None and policy.oracle.report.certified:
            break
        policy.tell(arms, rng.random(len(arms)) < mu[arms], rng=rng)
    best = max(all_sets(sets), key=lambda arms: mu[arms].sum())
    assert policy.oracle.report.certified
    np.testing.assert_array_equal(arms, best)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: CLUCB(sa.BetaBelief(3)), "must have outcomes"),
        (lambda: LUCB(MeanBelief(3), bounds="wald"), 'must be "kl" or "hoeffding"'),
        (lambda: CLUCB(MeanBelief(3), delta=0.0), "delta must be in"),
        (lambda: SuccessiveAccepts(MeanBelief(3), 0), "horizon"),
        (lambda: ask(top_two(sa.AnySuccess(4), 2)), "reward must be additive"),
        (lambda: select(TopTwo(told(RNG), best=2), SETS["quotas"](), RNG), "plain k"),
        (lambda: select(TopTwo(told(RNG), best=9), 2, RNG), "k must be between 1 and 7"),
        (lambda: top_two(sa.LinearReward(4), 1, best=5), "best must be between 1 and 4"),
        (lambda: ask(lucb(REWARD, SETS["quotas"]())), "whole number"),
        (
            lambda: ask(sa.Policy(MeanBelief(4), CLUCB(MeanBelief(3)), sa.LinearReward(4), 2)),
            "4 ar",
        ),
    ],
)
def test_refuses(call, says):
    with pytest.raises((ValueError, TypeError), match=says):
        call()


def ask(policy):
    return policy.ask(rng=np.random.default_rng(0))

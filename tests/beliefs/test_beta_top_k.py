"""The k largest values of a Beta sample: the same law as a whole sample, and always up to date."""

import copy
import json
import pickle

import numpy as np
import pytest
from scipy import stats
from scipy.special import betainc

import superarm as sa
from superarm.beliefs import beta_top_k
from superarm.beliefs.beta_top_k import ArmsAbove

M, K = 2100, 4
# Arms of the tests of laws, against whole samples. So few arms are drawn one by one otherwise.
FEWER = 1000


def learn(belief, rounds, seed=0, k=K):
    """Thompson sampling for some rounds; about a fifth of the arms are good."""
    rng = np.random.default_rng(seed)
    mu = rng.random(belief.n_arms) ** 4
    for _ in range(rounds):
        arms, _ = belief.sample_top(k, rng=rng)
        belief.update(arms, rng.random(k) < mu[arms], rng=rng)
    return belief


def settled():
    """Three arms that are almost always the largest, one arm that often is, and many others."""
    rng = np.random.default_rng(3)
    a, b = rng.integers(1, 30, FEWER).astype(float), rng.integers(20, 60, FEWER).astype(float)
    a[[5, 700, 999]], b[[5, 700, 999]] = (900.0, 400.0, 90.0), (10.0, 8.0, 1.0)
    a[41], b[41] = 30.0, 9.0
    return sa.BetaBelief(FEWER, prior=(a, b))


STAGES = {
    "fresh": lambda: sa.BetaBelief(FEWER),
    "early": lambda: learn(sa.BetaBelief(FEWER), 100),
    "late": lambda: learn(sa.BetaBelief(FEWER), 1500),
    "own priors": lambda: learn(sa.BetaBelief(FEWER, (0.3, np.linspace(0.5, 3, FEWER))), 100),
    "settled": settled,
}


def draws(belief, n, rng):
    found = [belief.sample_top(K, rng=rng) for _ in range(n)]
    return np.array([arms for arms, _ in found]), np.array([values for _, values in found])


@pytest.fixture(scope="module", params=STAGES)
def drawn(request):
    """A belief, and the results of 6,000 draws of each kind."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(beta_top_k, "_FEWEST_ARMS", 1)
        belief, n = STAGES[request.param](), 6000
        belief.sample_top(K, rng=np.random.default_rng(0))
        patch.setattr(sa.BetaBelief, "sample", None)  # a whole sample would be no test
        ours = draws(belief, n, np.random.default_rng(1))
    return belief, ours, whole_draws(belief, n, np.random.default_rng(2))


def whole_draws(belief, n, rng):
    """The arms and values of n whole samples. Beta(1, 1) is uniform, which is drawn much faster."""
    theta = np.empty(belief.n_arms)
    known = np.flatnonzero((belief.a != 1) | (belief.b != 1))
    a, b = belief.a[known], belief.b[known]
    arms, values = np.empty((n, K), int), np.empty((n, K))
    for row in range(n):
        rng.random(out=theta)
        theta[known] = rng.beta(a, b)
        arms[row] = np.sort(np.argpartition(theta, -K)[-K:])
        values[row] = theta[arms[row]]
    return arms, values


def test_arms_ascend_and_are_distinct(drawn):
    _, (arms, values), _ = drawn
    assert (np.diff(arms) > 0).all()
    assert ((values > 0) & (values <= 1)).all()


def test_each_place_has_the_law_of_a_whole_draw(drawn):
    """Two-sample Kolmogorov-Smirnov for each order statistic; error 1e-6 each."""
    _, (_, ours), (_, theirs) = drawn
    for place in range(K):
        one, other = (np.sort(values, axis=1)[:, place] for values in (ours, theirs))
        assert stats.ks_2samp(one, other).pvalue > 1e-6, place


def test_the_largest_has_the_product_of_the_distribution_functions(drawn):
    """P(max <= x) is the product of all F_i(x): Kolmogorov-Smirnov, one-sample; error 1e-6.

    Arms with the same posterior have the same F, which is computed once.
    """
    belief, (_, values), _ = drawn
    largest = values.max(axis=1)[:2000]
    (a, b), n_alike = np.unique([belief.a, belief.b], axis=1, return_counts=True)
    level = np.array([np.exp(np.log(betainc(a, b, x)) @ n_alike) for x in largest])
    assert stats.kstest(level, "uniform").pvalue > 1e-6


def test_the_arms_are_those_of_a_whole_draw(drawn):
    """Chi-square of how often each arm is chosen, rare arms pooled; error 1e-6.

    The K arms of a draw are distinct, so counts vary less than independent counts: the test is
    conservative.
    """
    _, (ours, _), (theirs, _) = drawn
    counts = np.array([np.bincount(arms.ravel(), minlength=FEWER) for arms in (ours, theirs)])
    often = counts.sum(axis=0) >= 20
    bins = (
        np.arange(FEWER) * 10 // FEWER
    )  # the rare ones by their place, so that none is favoured by its number
    rest = np.array(
        [np.bincount(bins[~often], weights=row[~often], minlength=10) for row in counts]
    )
    table = np.column_stack([counts[:, often], rest])
    assert stats.chi2_contingency(table[:, table.sum(axis=0) > 0]).pvalue > 1e-6


def test_the_values_of_an_arm_are_those_of_a_whole_draw(drawn):
    """Joint law: two-sample Kolmogorov-Smirnov of the values of the arms chosen most often; error
    1e-6 each.

    Over all arms: the mean of posterior mean times value is within 5 standard errors, error 6e-7.
    """
    belief, ours, theirs = drawn
    for arm in np.argsort(-np.bincount(ours[0].ravel(), minlength=FEWER))[:6]:
        one, other = (values[arms == arm] for arms, values in (ours, theirs))
        if min(len(one), len(other)) >= 20:
            assert stats.ks_2samp(one, other).pvalue > 1e-6, arm
    mean = belief.mean()
    products = [(mean[arms] * values).sum(axis=1) for arms, values in (ours, theirs)]
    error = np.sqrt(sum(product.var() / len(product) for product in products))
    assert abs(products[0].mean() - products[1].mean()) < 5 * error


def uniforms(above, n, rng):
    """F_i(theta_i) for n whole samples, composed of the arms above and the rest."""
    theta = np.array([above.draw_rest(*above.draw(rng=rng), rng=rng) for _ in range(n)])
    return betainc(above.a, above.b, theta)


@pytest.mark.parametrize("margin", [0.001, 0.1, 0.45, 0.9])
def test_above_and_rest_are_independent_beta_draws(margin):
    """11 arms, of which almost none to all are above. Each F_i(theta_i) is uniform (Kolmogorov-
    Smirnov). No two are dependent: correlations of the values, and of their distances from the
    middle, are within 5 standard errors. Error below 1e-6 each.

    A draw has the 11 arms ten times, which makes ten independent rows.
    """
    rng, n = np.random.default_rng(4), 8000
    a = np.array([1.0, 1.0, 1.0, 2.0, 0.4, 3.5, 40.0, 200.0, 1.0, 7.0, 0.05])
    b = np.array([1.0, 1.0, 1.0, 1.0, 0.6, 2.0, 2.0, 90.0, 5.0, 7.0, 0.1])
    above = ArmsAbove(np.tile(a, 10), np.tile(b, 10), 30, margin)
    above.suits(30)
    u = uniforms(above, n // 10, rng).reshape(n, 11)
    assert min(stats.kstest(u[:, i], "uniform").pvalue for i in range(11)) > 1e-6
    for values in (u, np.abs(u - 0.5)):
        correlation = np.corrcoef(values.T) - np.eye(11)
        assert np.abs(correlation).max() < 5 / np.sqrt(n)


def test_the_number_above_has_the_right_mean_and_spread():
    """The mean is the sum of s_i and the variance the sum of s_i (1 - s_i): within 5 standard
    errors over 20,000 draws; error 6e-7 each.

    A draw of ten times the same 500 arms counts as ten draws.
    """
    rng, n = np.random.default_rng(5), 20_000
    a, b = rng.gamma(2, 2, 500), rng.gamma(2, 6, 500)
    a[:3], b[:3] = 50.0, 5.0
    above = ArmsAbove(np.tile(a, 10), np.tile(b, 10), 30, 0.25)
    above.suits(30)
    found = [above.draw(rng=rng)[0] for _ in range(n // 10)]
    drawn = np.array([len(arms) for arms in found])
    in_draw = np.zeros((n // 10, 5000), bool)
    in_draw[np.repeat(np.arange(n // 10), drawn), np.concatenate(found)] = True
    np.testing.assert_array_equal(in_draw.sum(axis=1), drawn)  # the arms of a draw are distinct
    in_draw = in_draw.reshape(n, 500)
    sizes = in_draw.sum(axis=1)
    s = betainc(b, a, 0.25)
    var = (s * (1 - s)).sum()
    assert abs(sizes.mean() - s.sum()) < 5 * np.sqrt(var / n)
    assert abs(sizes.var() - var) < 5 * np.sqrt((stats.kurtosis(sizes) + 2) / n) * var
    counts = in_draw.sum(axis=0)
    assert (np.abs(counts - n * s) < 6 * np.sqrt(n * s * (1 - s)) + 6).all()


@pytest.mark.parametrize("seed", range(20))
def test_extreme_posteriors_give_numbers_in_the_right_place(seed):
    rng = np.random.default_rng(seed)
    a, b = 10 ** rng.uniform(-3, 6, (2, 300))
    above = ArmsAbove(a, b, 5, 10 ** rng.uniform(-12, -0.001))
    above.suits(5)
    for _ in range(20):
        arms, below = above.draw(rng=rng)
        assert ((below >= 0) & (below <= above.margin)).all()
        theta = above.draw_rest(arms, below, rng=rng)
        rest = np.setdiff1d(np.arange(300), arms)
        assert ((theta >= 0) & (theta <= 1)).all()
        assert (theta[rest] <= 1 - above.margin).all()


def kept(above):
    return [above._rates, above._rows, above._shelves, above._sums, above._coins, above._chances]


@pytest.mark.parametrize("n_arms", [2, 7, 100, 2197, 3001])
def test_what_is_kept_depends_on_the_posteriors_alone(n_arms):
    """Many updates, or a new object: the same to the last bit."""
    rng = np.random.default_rng(6)
    a, b = np.ones(n_arms), np.ones(n_arms)
    above = ArmsAbove(a, b, 1, 0.3)
    above.suits(1)
    for _ in range(300):
        arms = rng.choice(n_arms, rng.integers(1, min(n_arms, 9)), replace=False)
        above.unlock()
        a[arms] += rng.integers(0, 3, len(arms))
        b[arms] += rng.random(len(arms)) < 0.3
        above.update(arms)
    anew = ArmsAbove(a, b, 1, 0.3)
    anew.suits(1)
    for one, other in zip(kept(above), kept(anew), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("seed", range(4))
def test_saved_and_loaded_at_any_moment_it_goes_on_the_same(seed):
    """By JSON, copy and pickle, at random moments, bit for bit equal to a run without them."""
    moments = np.random.default_rng(seed)
    beliefs, rngs = (
        [sa.BetaBelief(M) for _ in range(2)],
        [np.random.default_rng(seed) for _ in range(2)],
    )
    mu = moments.random(M)
    ways = [load_anew, copy.deepcopy, lambda belief: pickle.loads(pickle.dumps(belief))]
    for t in range(600):
        if moments.random() < 0.05 or t < 4:
            beliefs[1] = ways[moments.integers(3)](beliefs[1])
        found = [belief.sample_top(K, rng=rng) for belief, rng in zip(beliefs, rngs, strict=True)]
        np.testing.assert_array_equal(found[0][0], found[1][0])
        np.testing.assert_array_equal(found[0][1], found[1][1])
        arms = found[0][0]
        for belief, rng in zip(beliefs, rngs, strict=True):
            belief.update(arms, mu[arms], rng=rng)
    assert beliefs[0].state() == beliefs[1].state()
    assert "top" in beliefs[0].state()


def load_anew(belief):
    anew = sa.BetaBelief(belief.n_arms)
    anew.load(json.loads(json.dumps(belief.state())))
    return anew


def test_states_of_before_load_and_a_belief_that_never_asks_keeps_nothing():
    belief = sa.BetaBelief(M)
    belief.sample(rng=np.random.default_rng(0))
    belief.update([3], [1.0], rng=np.random.default_rng(0))
    assert set(belief.state()) == {"belief", "n_arms", "a", "b", "prior"}
    assert belief.a.flags.writeable
    asked = learn(sa.BetaBelief(M), 5)
    asked.load(belief.state())
    assert asked.state() == belief.state()
    assert asked.a.flags.writeable


@pytest.mark.parametrize(
    "top",
    [
        3,
        {},
        {"k": 0, "margin": 0.5},
        {"k": 3, "margin": 1.0},
        {"k": 3, "margin": float("nan")},
        {"k": 3},
    ],
)
def test_a_spoilt_level_is_refused_and_changes_nothing(top):
    belief = learn(sa.BetaBelief(M), 5)
    before = belief.state()
    with pytest.raises((ValueError, TypeError)):
        belief.load({**before, "top": top})
    assert belief.state() == before


def counting(monkeypatch):
    """The number of whole samples drawn from now on, in a list with one number."""
    n, sample = [0], sa.BetaBelief.sample

    def counted(self, *, rng):
        n[0] += 1
        return sample(self, rng=rng)

    monkeypatch.setattr(sa.BetaBelief, "sample", counted)
    return n


def test_whole_samples_are_rare(monkeypatch):
    n = counting(monkeypatch)
    learn(sa.BetaBelief(20_000), 1000, k=5)
    assert 1 <= n[0] <= 10


def test_whole_samples_where_fewer_do_not_pay(monkeypatch):
    n, rng = counting(monkeypatch), np.random.default_rng(0)
    few, many = sa.BetaBelief(500), sa.BetaBelief(M)
    for _ in range(10):
        few.sample_top(3, rng=rng)  # few arms
        many.sample_top(200, rng=rng)  # a large part of them
    assert n[0] == 20
    for k in (3, 4) * 5:
        many.sample_top(k, rng=rng)  # another k each time
    assert n[0] == 30
    for _ in range(10):
        many.sample_top(3, rng=rng)
        many.update(np.arange(M), np.ones(M), rng=rng)  # everything moves each time
    assert n[0] == 40
    for _ in range(10):
        many.sample_top(3, rng=rng)
        many.a = many.a * 0.9 + 0.1  # forgetting
    assert n[0] == 50


def test_equal_draws_are_tied_and_chosen_by_chance():
    """Beta(1, 1e-3) is usually 1 to all digits. Each arm is left out of 300 sets of 5 of 2,100 arms
    with probability (1 - 1/420)^300.
    """
    belief, rng = sa.BetaBelief(M, prior=(1.0, 1e-3)), np.random.default_rng(0)
    arms, values = draws(belief, 300, rng)
    assert (values == 1).all()
    assert "top" not in belief.state()
    assert stats.chisquare(np.bincount(arms.ravel() // 210, minlength=10)).pvalue > 1e-6


def test_changes_by_hand_are_noticed():
    rng, fresh = np.random.default_rng(0), np.random.default_rng(0)
    belief = learn(sa.BetaBelief(M), 20)
    with pytest.raises(ValueError, match="read-only"):
        belief.a[7] = 10_000.0
    a = belief.a.copy()
    a[7] = 10_000.0
    belief.a = a
    assert "top" not in belief.state()
    for _ in range(3):
        assert 7 in belief.sample_top(K, rng=rng)[0]
    belief.b = belief.b.copy()
    belief.update([0], [1.0], rng=rng)  # the other array is not left locked
    belief.b[7] = 10_000_000.0
    assert all(7 not in belief.sample_top(K, rng=fresh)[0] for _ in range(3))


def test_arrays_that_are_read_only_or_views_are_left_as_they_are():
    belief, rng = sa.BetaBelief(M), np.random.default_rng(0)
    for a in (np.broadcast_to(2.0, M), np.ones((2, M))[0]):
        belief.a = a
        for _ in range(3):
            belief.sample_top(K, rng=rng)
        assert "top" not in belief.state()
        assert belief.b.flags.writeable


def test_an_array_that_was_unlocked_is_no_longer_trusted():
    belief, rng = learn(sa.BetaBelief(M), 20), np.random.default_rng(0)
    belief.a.flags.writeable = True
    belief.a[7] = 1e9
    assert all(7 in belief.sample_top(K, rng=rng)[0] for _ in range(3))


def test_a_subclass_that_samples_or_learns_otherwise_is_asked_for_whole_samples():
    class Sure(sa.BetaBelief):
        def sample(self, *, rng):
            return np.arange(self.n_arms) / self.n_arms

    class Forgets(sa.BetaBelief):
        def update(self, arms, outcomes, *, rng):
            self.a *= 0.9
            super().update(arms, outcomes, rng=rng)

    rng = np.random.default_rng(0)
    assert Sure(M).sample_top(2, rng=rng)[0].tolist() == [M - 2, M - 1]
    belief = Forgets(M)
    for _ in range(3):
        belief.update(belief.sample_top(2, rng=rng)[0], [1.0, 0.0], rng=rng)
    assert belief.a[:9].max() < 1


@pytest.mark.parametrize("k", [0, M + 1, -1, 2.0, True])
def test_a_bad_k_is_refused(k):
    with pytest.raises((ValueError, TypeError), match="k must be"):
        sa.BetaBelief(M).sample_top(k, rng=np.random.default_rng(0))

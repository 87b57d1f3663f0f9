"""The next samples of `LearnedBetaBelief` at once: the law of samples one by one."""

import copy
import json
from functools import cache

import numpy as np
import pytest
import whole_samples
from scipy.integrate import quad
from scipy.special import ndtr
from scipy.stats import beta, chi2_contingency, chisquare, ks_2samp, kstest

from superarm.beliefs import LearnedBetaBelief, _large_of_samples, _next_of_groups
from superarm.beliefs._beta_quantiles import beta_quantiles
from superarm.beliefs._equal_arms import EqualArms
from superarm.beliefs._expansion import at_most, guess_at, skew
from superarm.beliefs._first_arms import FirstArms
from superarm.beliefs._large_of_samples import LargeOfSamples
from superarm.beliefs._learned_many import tops_of
from superarm.beliefs._members import Members
from superarm.beliefs._scores import beta_at
from superarm.core import top_k
from superarm.core.special import betaln

N = 1600  # samples per law test
OUTCOMES = {
    "coins": lambda arms, rng: (rng.random(len(arms)) < 0.1 + 0.5 * (arms % 7 == 0)) * 1.0,
    "sixteenths": lambda arms, rng: rng.integers(0, 17, len(arms)) / 16,
    "measured": lambda arms, rng: np.clip(rng.normal(0.1 + 0.5 * (arms % 7 == 0), 0.2), 0, 1),
    "good": lambda arms, rng: (rng.random(len(arms)) < 0.98) * 1.0,
}


def played(n_arms, n_rounds, kind="coins", k=3, **options):
    """A belief that has learned some rounds."""
    belief, rng = LearnedBetaBelief(n_arms, **options), np.random.default_rng(n_arms)
    for _ in range(n_rounds):
        arms, _ = belief.sample_top(k, rng=rng)
        belief.update(arms, OUTCOMES[kind](arms, rng), rng=rng)
    return belief


def grown():
    belief = played(20, 40)
    belief.add_arms(8)
    return belief


def loaded():
    belief = LearnedBetaBelief(30)
    belief.load(json.loads(json.dumps(played(30, 50).state())))
    return belief


def in_groups():
    """Groups of several arms, some of which the belief stays with."""
    belief, rng = LearnedBetaBelief(24), np.random.default_rng(0)
    for rounds in range(6):
        arms = np.arange(4 * rounds)
        belief.update(arms, (arms % 3 == 0) * 1.0, rng=rng)
    assert belief._is_held().sum() > 3
    return belief


def alike(n_arms, n_more=0, noise=0.0, n_rounds=40, **options):
    """Many arms whose values are close to each other, and some without outcomes."""
    belief, rng = LearnedBetaBelief(n_arms + n_more, **options), np.random.default_rng(0)
    for _ in range(n_rounds):
        arms = np.flatnonzero(rng.random(n_arms) < 0.5)
        outcomes = (rng.random(len(arms)) < 0.3) * (1 - noise * rng.random(len(arms)))
        belief.update(arms, outcomes, rng=rng)
    assert min(belief.prior) > 64 or not noise
    return belief


def certain():
    """All values are 1 up to rounding, and many are equal."""
    belief = LearnedBetaBelief(25)
    belief.outcomes.counts[:20] = belief.outcomes.sums[:20] = 1e17
    belief.outcomes.rounds = 10**6
    return belief


# The belief, and k.
CASES = {
    "no outcomes": (lambda: LearnedBetaBelief(12), 3),
    "no outcomes, all arms": (lambda: LearnedBetaBelief(6), 6),
    "one arm": (lambda: LearnedBetaBelief(1), 1),
    "few": (lambda: played(12, 3), 2),
    "one of many": (lambda: played(200, 30), 1),
    "coins": (lambda: played(60, 60), 3),
    "more coins": (lambda: played(60, 300), 20),
    "all but two": (lambda: played(9, 12), 7),
    "sixteenths": (lambda: played(40, 60, "sixteenths"), 3),
    "measured": (lambda: played(40, 60, "measured"), 3),
    "measured, most": (lambda: played(12, 8, "measured"), 9),
    "measured, one seed": (lambda: played(30, 20, "measured", shared=1.0), 4),
    "alike": (lambda: alike(80), 3),
    "alike, one seed": (lambda: alike(60, 300, 0.01, 300, shared=1.0, optimism=0.0), 5),
    "good": (lambda: played(40, 60, "good"), 4),
    "own seeds": (lambda: played(40, 60, shared=0.0), 3),
    "one seed": (lambda: played(40, 60, shared=1.0), 3),
    "no spread": (lambda: played(40, 60, spread=0.0), 3),
    "posteriors": (lambda: played(30, 40, wide=False, optimism=0.0, spread=1.0, stay_after=0), 3),
    "horizon": (lambda: played(40, 60, horizon=80, stay_after=1), 3),
    "grown": (grown, 4),
    "loaded": (loaded, 3),
    "groups": (in_groups, 5),
    "certain": (certain, 4),
}


def drawn(belief, k, n=N, per_call=8, seed=2):
    rng = np.random.default_rng(seed)
    made = [belief.sample_tops(per_call, k, rng=rng) for _ in range(n // per_call)]
    return tuple(np.concatenate(part) for part in zip(*made, strict=True))


@cache
def whole(name):
    """The twin: whole samples, and their largest values."""
    make, k = CASES[name]
    belief, rng = make(), np.random.default_rng(1)
    thetas = whole_samples.of_learned(belief, N, rng=rng)
    arms = np.array([top_k(theta, k, rng=rng) for theta in thetas])
    return arms, np.take_along_axis(thetas, arms, axis=1)


@cache
def one_by_one(name):
    """The other twin: ``sample_top``."""
    make, k = CASES[name]
    belief, rng = make(), np.random.default_rng(3)
    made = [belief.sample_top(k, rng=rng) for _ in range(N)]
    return np.array([arms for arms, _ in made]), np.array([values for _, values in made])


def check_law(found, twin, n_arms, p=1e-4):
    """Values by rank, arms by rank, and pairs of arms. Of 10,000 seeds, about six fail one."""
    ranked = []
    for arms, values in (found, twin):
        assert (np.diff(arms, axis=1) > 0).all()
        order = np.argsort(-values, axis=1, kind="stable")
        ranked.append((np.take_along_axis(arms, order, 1), np.take_along_axis(values, order, 1)))
    (arms, values), (other_arms, other_values) = ranked
    k = arms.shape[1]
    for rank in (0, k // 2, k - 1):
        assert ks_2samp(values[:, rank], other_values[:, rank], method="asymp").pvalue > p
    # The arm of the largest value, and that of the last one. With equal values the ranking says
    # nothing but which arm comes first.
    for rank in (0, k - 1):
        check_counts(arms[:, rank], other_arms[:, rank], p)
    check_counts(found[0].ravel(), twin[0].ravel(), p)
    if k > 1:
        pairs = [each[:, 0] * n_arms + each[:, 1] for each in (found[0], twin[0])]
        check_counts(*pairs, p)


def check_counts(one, other, p):
    """Whether two samples of labels have the same law; rare labels are taken together."""
    labels, counts = np.unique(np.concatenate([one, other]), return_counts=True)
    common = labels[counts >= 40]
    table = np.array([[(each == label).sum() for label in common] for each in (one, other)])
    rest = np.array([[len(one)], [len(other)]]) - table.sum(axis=1, keepdims=True)
    if rest.sum() >= 40:
        table = np.hstack([table, rest])
    if table.shape[1] > 1:
        assert chi2_contingency(table).pvalue > p


@pytest.mark.parametrize("name", CASES)
def test_the_law_is_that_of_whole_samples(name):
    make, k = CASES[name]
    belief = make()
    check_law(drawn(belief, k), whole(name), belief.n_arms)


@pytest.mark.parametrize("name", CASES)
def test_the_law_is_that_of_samples_one_by_one(name):
    make, k = CASES[name]
    belief = make()
    check_law(drawn(belief, k, per_call=64, seed=4), one_by_one(name), belief.n_arms)


def test_blocks_of_samples_have_the_same_law(monkeypatch):
    monkeypatch.setattr(_next_of_groups, "_BLOCK", 150)
    make, k = CASES["coins"]
    belief = make()
    check_law(drawn(belief, k, per_call=64, seed=5), whole("coins"), belief.n_arms)


def test_the_largest_of_three_betas_is_each_with_its_probability():
    """Exact, by quadrature. Chi-square: one in 10,000 seeds fails."""
    belief = LearnedBetaBelief(3, shared=0.0, optimism=0.0, spread=1.0, stay_after=0, wide=False)
    rng = np.random.default_rng(0)
    for arms, outcomes in ([0, 1, 2], [1.0, 0.0, 1.0]), ([0, 1], [1.0, 0.0]), ([0], [0.0]):
        belief.update(arms, outcomes, rng=rng)
    assert belief.prior == (1.0, 1.0)
    laws = [beta(3, 2), beta(1, 3), beta(2, 1)]
    chances = [
        quad(
            lambda x, i=i: laws[i].pdf(x) * np.prod([laws[j].cdf(x) for j in range(3) if j != i]),
            0,
            1,
        )[0]
        for i in range(3)
    ]
    assert sum(chances) == pytest.approx(1)
    arms, values = drawn(belief, 1, n=8000)
    found = np.bincount(arms.ravel(), minlength=3)
    assert chisquare(found, 8000 * np.array(chances)).pvalue > 1e-4
    largest = lambda x: np.prod([law.cdf(x) for law in laws], axis=0)  # noqa: E731
    assert kstest(values.ravel(), largest).pvalue > 1e-4


@pytest.mark.parametrize("options", [{}, {"shared": 1.0}, {"spread": 0.0}])
def test_equal_arms_are_in_every_order_equally_often(options):
    """Two of four arms without outcomes, the larger one first. One in 10,000 seeds fails."""
    arms, values = drawn(LearnedBetaBelief(4, **options), 2, n=6000)
    is_equal = values[:, 0] == values[:, 1]
    first = np.where(values[:, 0] >= values[:, 1], arms[:, 0], arms[:, 1])
    labels = 16 * arms[:, 0] + 4 * arms[:, 1] + np.where(is_equal, 0, first)
    counts = np.unique(labels, return_counts=True)[1]
    assert len(counts) == (6 if options else 12)
    assert chisquare(counts).pvalue > 1e-4


def test_samples_are_independent():
    """Values, and sets, of neighbours in one call. The limit is four standard errors."""
    make, k = CASES["coins"]
    arms, values = drawn(make(), k, n=4000, per_call=8)
    for each in (
        values.max(axis=1),
        values.min(axis=1),
        (arms == np.bincount(arms.ravel()).argmax()).any(axis=1),
    ):
        rows = each.reshape(-1, 8).astype(float)
        for place in range(7):
            correlation = np.corrcoef(rows[:, place], rows[:, place + 1])[0, 1]
            assert abs(correlation) < 4 / np.sqrt(len(rows))


def test_the_common_score_is_that_of_one_sample():
    """The values of a sample go up and down together: shared scores, and other rows do not."""
    make, k = CASES["coins"]
    found, twin = drawn(make(), k)[1], whole("coins")[1]
    correlations = [
        np.corrcoef(values.max(axis=1), values.min(axis=1))[0, 1] for values in (found, twin)
    ]
    assert min(correlations) > 0.4
    assert abs(correlations[0] - correlations[1]) < 5 / np.sqrt(N)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_few_samples_are_those_of_sample_top(n):
    first, second = played(50, 20), played(50, 20)
    arms, values = first.sample_tops(n, 4, rng=np.random.default_rng(1))
    rng = np.random.default_rng(1)
    for row in zip(arms, values, strict=True):
        alone = second.sample_top(4, rng=rng)
        assert all((one == other).all() for one, other in zip(row, alone, strict=True))


@pytest.mark.parametrize("n", [5, 60])
@pytest.mark.parametrize("name", CASES)
def test_what_is_computed_besides_changes_no_draw(name, n, monkeypatch):
    """The twin computes the values of all first arms, and of all that are drawn after them."""
    make, k = CASES[name]
    belief, rng = make(), np.random.default_rng(1)
    few = [belief.sample_tops(n, k, rng=rng) for _ in range(6)]

    def others(self, scores, level, known):
        unknown = np.ones(scores.shape, bool)
        unknown[known] = False
        return unknown.nonzero()

    monkeypatch.setattr(LargeOfSamples, "others", others)
    every = lambda self, group, scores, level: np.arange(len(group))  # noqa: E731
    monkeypatch.setattr(LargeOfSamples, "above", every)
    twin_rng = np.random.default_rng(1)
    for arms, values in few:
        twin_arms, twin_values = belief.sample_tops(n, k, rng=twin_rng)
        assert (arms == twin_arms).all()
        assert (values == twin_values).all()
    assert rng.random() == twin_rng.random()


@pytest.mark.parametrize("kind", OUTCOMES)
def test_nothing_depends_on_what_is_kept(kind):
    """A belief that was loaded or copied, or that learned otherwise, draws the same."""
    belief, rng = LearnedBetaBelief(80), np.random.default_rng(0)
    alone = copy.deepcopy(belief)
    for _ in range(12):
        fresh, copied = LearnedBetaBelief(80), copy.deepcopy(belief)
        fresh.load(json.loads(json.dumps(belief.state())))
        seed = int(rng.integers(1 << 30))
        draws = [
            each.sample_tops(6, 4, rng=np.random.default_rng(seed))
            for each in (belief, fresh, copied, alone)
        ]
        for arms, values in draws[1:]:
            assert (arms == draws[0][0]).all()
            assert (values == draws[0][1]).all()
        rows = list(draws[0][0])
        outcomes = [OUTCOMES[kind](arms, rng) for arms in rows]
        belief.update_many(rows, outcomes, rng=rng)
        for row in zip(rows, outcomes, strict=True):
            alone.update(*row, rng=rng)


@pytest.mark.parametrize("n_values", [0, 10**6])
@pytest.mark.parametrize("name", ["coins", "measured", "good", "groups", "certain", "posteriors"])
def test_values_are_those_of_the_posteriors(name, n_values, monkeypatch):
    top = tops_of(CASES[name][0]())
    rng, n_groups = np.random.default_rng(0), len(top.shift)
    group = rng.integers(n_groups, size=500)
    scores = rng.uniform(-2, 6, 500)
    large = LargeOfSamples(top.large, np.arange(n_groups), n_values)
    expected = top.bounds.of(group).at(scores)
    np.testing.assert_allclose(large.values(group, scores), expected, rtol=1e-11)
    monkeypatch.setattr(_large_of_samples, "_FEW", 1000)
    np.testing.assert_allclose(large.values(group, scores), expected, rtol=1e-11)


def test_quantiles_of_large_parameters():
    """Against ``betaincinv``, whose own error is as large for the largest parameters."""
    rng = np.random.default_rng(0)
    a, b = np.exp(rng.uniform(np.log(2), np.log(1e6), (2, 20_000)))
    scores = rng.uniform(-6, 6, 20_000)
    found = beta_quantiles(a, b, -np.log(b) - betaln(a, b), scores)
    std = np.sqrt(a * b / (a + b + 1)) / (a + b)
    off = np.abs(found - beta_at(a, b, scores)) / std
    assert off.max() < 1e-8
    assert (off[(a < 64) | (b < 64)] == 0).all()
    few = beta_quantiles(a[:5], b[:5], -np.log(b[:5]) - betaln(a[:5], b[:5]), scores[:5])
    assert (few == found[:5]).all()


def test_bounds_of_quantiles_hold_and_are_close():
    """With a third of the margin they hold as well."""
    rng = np.random.default_rng(0)
    least = np.exp(rng.uniform(np.log(8), np.log(1e5), 60_000))
    least[:20_000] = 8
    other, scores = least * np.exp(rng.exponential(1.5, 60_000)), rng.uniform(-8, 8, 60_000)
    other = np.minimum(other, 1e6)
    is_first = rng.random(60_000) < 0.5
    a, b = np.where(is_first, least, other), np.where(is_first, other, least)
    mean = a / (a + b)
    std = np.sqrt(mean * (1 - mean) / (a + b + 1))
    moments, values = (mean, std, skew(a, b)), beta_at(a, b, scores)
    bounds, guess = at_most(a, b, moments, scores), guess_at(moments, scores)
    assert (values <= guess + (bounds - guess) / 3 + 1e-9).all()
    is_large = (least > 1000) & (np.abs(scores) < 3)
    assert (np.abs(bounds - values) < 0.02 * std)[is_large].all()
    assert np.isinf(at_most(a, np.full(60_000, 7.0), moments, scores)).all()


def test_first_arms_are_order_statistics():
    """The j-th largest of n uniform numbers is Beta(n - j + 1, j). One in 1,000 seeds fails."""
    sizes = np.array([1.0, 50.0, 3.0])
    first = FirstArms.of(sizes, 4)
    assert first.group.tolist() == [0, 1, 2, 1, 1, 1]
    assert first.n_drawn.tolist() == [1, 1, 1, 2, 3, 4]
    assert first.is_last.tolist() == [False, False, True, False, False, True]
    own, log_u = first.draw(2000, rng=np.random.default_rng(0))
    u = ndtr(own)
    assert first.several.tolist() == [1, 2, 3, 4, 5]
    np.testing.assert_allclose(np.log(u[:, first.several]), log_u, rtol=1e-9)
    assert first.place[first.several].tolist() == list(range(5))
    for column, (group, place) in enumerate(zip(first.group, first.n_drawn, strict=True)):
        law = beta(sizes[group] - place + 1, place)
        assert kstest(u[:, column], law.cdf).pvalue > 1e-4
    assert (np.diff(u[:, [1, 3, 4, 5]], axis=1) < 0).all()
    whole_group = FirstArms.of(np.array([3.0, 1.0]), 7)
    assert whole_group.group.tolist() == [0, 1, 0, 0]
    assert not whole_group.is_last.any()
    assert FirstArms.of(sizes, 1).is_last.tolist() == [False, True, True]


def test_members_are_shuffled():
    """All six orders of three arms are equally likely: one in 10,000 seeds fails."""
    groups = EqualArms(np.array([0.0, 0.0, 1.0, 0.0]))
    rng, rows = np.random.default_rng(0), np.arange(3000)
    members = Members(groups)
    nothing = np.zeros(3000, np.intp)
    arms = np.stack([members.next(rows, nothing, rng.random(3000)) for _ in range(3)])
    assert (np.sort(arms, axis=0) == np.array([[0], [1], [3]])).all()
    counts = np.unique(arms[0] * 16 + arms[1] * 4 + arms[2], return_counts=True)[1]
    assert len(counts) == 6
    assert chisquare(counts).pvalue > 1e-4
    assert (members.next(rows, nothing + 1, rng.random(3000)) == 2).all()

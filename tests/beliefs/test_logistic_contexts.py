"""The logistic belief in contexts: contracts, structures, saving and explanations."""

import json

import numpy as np
import pytest
from scipy.special import expit

import superarm as sa
from superarm.beliefs import LogisticBelief
from superarm.beliefs._logit_stds import fit_stds
from superarm.testing import check_belief

CONTEXTS = {
    "shared, rows": (lambda n: np.eye(n)[:, :2], {"structure": "shared"}),
    "bilinear": (lambda n: [0.5, 1.0], {"structure": "bilinear"}),
    "hybrid": (lambda n: [0.5, 1.0], {}),
    "hybrid, forgets": (lambda n: [0.5, 1.0], {"discount": 0.99}),
}


@pytest.mark.parametrize("name", CONTEXTS)
def test_contract_in_contexts(name):
    context, options = CONTEXTS[name]
    check_belief(
        lambda n: LogisticBelief(np.linspace(-1, 1, 2 * n).reshape(n, 2), context=2, **options),
        context=context,
    )


def test_contract_of_one_model_per_arm():
    check_belief(
        lambda n: LogisticBelief(n, context=2, structure="disjoint"), context=lambda n: [0.5, 1.0]
    )


@pytest.mark.parametrize("structure", ["bilinear", "hybrid", "disjoint"])
def test_what_is_best_depends_on_the_context(structure):
    rng = np.random.default_rng(9)
    features = np.repeat(np.eye(2), 10, axis=0)
    means = expit(-2 + 1.5 * np.array([features @ [1, -1], features @ [-1, 1]]))
    belief = LogisticBelief(
        20 if structure == "disjoint" else features, context=2, structure=structure
    )
    policy = sa.Policy(belief, sa.TopK(), sa.LinearReward(20), k=4)
    for _ in range(250):
        kind = rng.integers(2)
        context = np.eye(2)[kind]
        arms = policy.ask(rng=rng, context=context)
        policy.tell(arms, (rng.random(4) < means[kind, arms]) * 1.0, rng=rng, context=context)
    for kind in range(2):
        found = belief.at(np.eye(2)[kind]).mean()
        in_favour = features[:, kind] == 1
        assert found[in_favour].mean() > found[~in_favour].mean() + 0.1


def test_in_contexts_the_posterior_is_close_to_that_of_a_second_look():
    # Outcomes that are looked at once, in contexts that say nothing, against the same outcomes
    # without contexts, which are looked at again and again.
    rng = np.random.default_rng(10)
    features = rng.normal(size=(20, 2))
    means = expit(-2.5 + 0.7 * features[:, 0])
    plain = LogisticBelief(features)
    once = LogisticBelief(features, context=1, structure="bilinear")
    for _ in range(200):
        arms = np.sort(rng.permutation(20)[:5])
        outcomes = (rng.random(5) < means[arms]) * 1.0
        plain.update(arms, outcomes, rng=rng)
        once.at([1.0]).update(arms, outcomes, rng=rng)
    a, b = plain.posterior(np.arange(20)), once.at([1.0]).posterior(np.arange(20))
    assert np.abs((a.location - b.location) / np.sqrt(a.var)).max() < 0.5
    np.testing.assert_allclose(np.sqrt(b.var), np.sqrt(a.var), rtol=0.3)


def test_what_contexts_do_to_single_arms_is_learned_from_any_start():
    # The first guess is 0.2, and 29 of 150 random problems left it there: their evidence was flat.
    rng = np.random.default_rng(12)
    weights = rng.normal(0, 3.0, (20, 2))  # of columns with a deviation of 1/2: together about 2
    belief = LogisticBelief(20, context=2, structure="disjoint")
    for _ in range(100):
        context, arms = rng.normal(size=2), rng.choice(20, 4, replace=False)
        means = expit(-1 + weights[arms] @ context / 2)
        belief.at(context).update(arms, rng.random(4) < means, rng=rng)
    assert belief.stds["own context"] > 1

    def evidence(stds):
        return belief._model.evidence(*belief._rows.prior(stds))

    for start in (0.05, 0.2, 5.0):
        stds = {**belief.stds, "own context": start}
        found = fit_stds(belief._model, belief._rows, fit_stds(belief._model, belief._rows, stds))
        # Less than one is below the uncertainty of the deviations.
        assert abs(evidence(found) - evidence(belief.stds)) < 1


def test_saved_in_the_middle_and_continued_bit_for_bit():
    rng = np.random.default_rng(11)
    features = rng.normal(size=(9, 3))
    for options in ({}, {"discount": 0.98}, {"context": 2}):
        belief = LogisticBelief(features, **options)
        known = (lambda b: b.at([1.0, -2.0])) if "context" in options else (lambda b: b.at(None))
        for step in range(30):
            arms = np.sort(rng.permutation(9)[:3])
            known(belief).update(arms, (rng.random(3) < 0.3) * 1.0, rng=rng)
            if step % 10 == 5:
                state = json.loads(json.dumps(belief.state()))
                other = LogisticBelief(np.zeros((9, 3)), **options)
                other.load(state)
                arms, outcomes = [0, 4], [1.0, 0.0]
                for one in (belief, other):
                    for _ in range(7):
                        known(one).update(arms, outcomes, rng=rng)
                assert other.state() == belief.state()
                draws = [known(b).sample(rng=np.random.default_rng(1)) for b in (belief, other)]
                np.testing.assert_array_equal(*draws)


@pytest.mark.parametrize("context", [None, 2])
def test_contributions_sum_to_the_median(context):
    rng = np.random.default_rng(12)
    features = np.repeat(np.eye(2), 10, axis=0)
    means = np.where(features[:, 0] == 1, 0.4, 0.1)
    belief = LogisticBelief(features, context=context)
    now = belief.at(None if context is None else [1.0, 0.0])
    for _ in range(60):
        now.update(np.arange(20), (rng.random(20) < means) * 1.0, rng=rng)
    parts = now.contributions([0, 19])
    total = parts.base + parts.columns.sum(axis=1) + parts.own
    np.testing.assert_allclose(total, expit(now.posterior(np.array([0, 19])).location), atol=1e-9)
    # Its kind does well, and the other one badly.
    first = parts.columns[0].sum(), parts.columns[1].sum()
    assert first[0] > 0.05
    assert first[1] < -0.05


@pytest.mark.parametrize(
    ("act", "message"),
    [
        (lambda: LogisticBelief([[np.nan]]), "features must be finite"),
        (lambda: LogisticBelief([1.0, 2.0]), "2 dimension"),
        (lambda: LogisticBelief(0), "the number of arms must be at least 1"),
        (lambda: LogisticBelief(3, context=2, structure="own"), "structure must be one of"),
        (lambda: LogisticBelief(3, structure="hybrid"), "without a context"),
        (lambda: LogisticBelief(3, discount=0.0), "discount"),
        (lambda: LogisticBelief(3).at([1.0]), "made without contexts"),
        (lambda: LogisticBelief(3, context=2).at([1.0]), "context must have 2 numbers, got 1"),
        (lambda: LogisticBelief(3, context=2).mean(), "needs a context of 2 numbers"),
        (lambda: LogisticBelief(3).add_arms(1, [[1.0]]), "no features"),
        (lambda: LogisticBelief([[1.0], [2.0]]).add_arms(1, [[1.0, 2.0]]), r"shape \(1, 1\)"),
    ],
)
def test_refusals_say_what_was_expected(act, message):
    with pytest.raises((ValueError, TypeError), match=message):
        act()

"""Advice after few probes, for few sets, for noise, and where outcomes teach nothing."""

import json

import numpy as np
import pytest

import superarm as sa
from spoiled_rewards import box, total


def simulator(arms, means):
    """Neither monotone nor separable: arms of the same parity get in each other's way."""
    worth = means * (1.5 - means)
    return float(worth.sum() - 0.4 * (worth[arms % 2 == 0].sum() * worth[arms % 2 == 1].sum()) + 9)


def complements(arms, means):
    """An arm is worth something only with its neighbour, apart from next to nothing."""
    mean = dict(zip(arms.tolist(), means.tolist(), strict=True))
    pairs = sum(mean[arm] * mean.get(arm ^ 1, 0.0) for arm in mean)
    return float(pairs + 1e-3 * means.sum())


@pytest.mark.parametrize("seed", range(20))
def test_few_probes_never_lead_to_an_oracle_that_relies_on_them(seed):
    reward = box(simulator, n_arms=30, lipschitz=60.0, upper=60.0)
    found = sa.inspect(reward, k=5, probes=4, rng=np.random.default_rng(seed))
    advice = found.recommendation
    assert advice.oracle == "LocalSearch"
    row = found["separable"]
    assert row.n_probes == 1
    assert (row.verdict, row.undecided, row.holds) in {
        ("undecided", True, False),
        ("fails", False, False),
    }
    assert row.undecided == ("separable" in advice.undecided)
    if advice.undecided:
        assert "Not certain" in str(advice)


def test_what_is_undecided_needs_19_probes():
    few = sa.inspect(sa.AnySuccess(30), k=3, probes=18)
    many = sa.inspect(sa.AnySuccess(30), k=3, probes=19)
    assert few["monotone"].verdict == few["submodular"].verdict == "undecided"
    assert (many["monotone"].verdict, many["submodular"].verdict) == ("ok", "holds")
    assert few.ok
    assert json.dumps(few.as_dict()).count('"undecided"') > 5
    # Separability has a quarter of the probes, and decides which of two safe oracles is cheaper.
    assert many.recommendation.oracle == "LazyGreedy"
    assert many.recommendation.undecided == ("separable",)
    assert sa.inspect(sa.AnySuccess(30), k=3, probes=76).recommendation.undecided == ()


def test_a_declaration_is_trusted_after_few_probes():
    assert sa.inspect(sa.LinearReward(30), k=3, probes=4).recommendation.oracle == "TopK"


def test_a_reward_that_ignores_the_means_teaches_nothing():
    weights = np.random.default_rng(0).random(30)
    fixed = box(lambda arms, means: float(np.sqrt(weights[arms].sum())), n_arms=30)
    found = sa.inspect(fixed, k=5, probes=80)
    suggested = " ".join(found.recommendation.suggestions)
    assert "nothing here is learned from outcomes" in suggested
    assert "lipschitz" not in suggested
    assert "declare" not in suggested
    learned = sa.inspect(box(total, n_arms=30), k=5, probes=40).recommendation
    assert "nothing here is learned" not in str(learned)


def test_few_sets_are_all_evaluated():
    found = sa.inspect(box(complements, n_arms=14, lipschitz=2.1, upper=15.0), k=4, probes=80)
    advice = found.recommendation
    assert (advice.case, advice.oracle, advice.evaluations) == ("small", "Exhaustive", 1001)
    assert any("LocalSearch" in line for line in advice.suggestions)


def test_declared_noise_is_no_error_and_gets_an_oracle_without_memory():
    rng = np.random.default_rng(0)
    fn = lambda arms, means: float(means.sum() + 0.01 * rng.random())  # noqa: E731
    noisy, silent = (
        box(fn, upper=13.0, lipschitz=2.0, noisy=declared, repeats=2) for declared in (True, False)
    )
    found = sa.inspect(noisy, k=3, probes=80)
    assert "deterministic" not in [row.name for row in found.errors]
    assert found["deterministic"].verdict == "fails"
    assert found.recommendation.case == "separable, noisy", str(found)
    assert found.recommendation.oracle == "NoisySingletons"
    # Noise that no probe shows is believed, too: the oracles that remember would refuse it.
    quiet = sa.inspect(box(total, noisy=True), k=3, probes=80).recommendation
    assert (quiet.case, quiet.oracle) == ("separable, noisy", "NoisySingletons")
    plans = sa.plan(n_arms=12, k=3, cost_s=0.1, horizon=2, reward=noisy)
    assert {"Singletons", "Greedy"} < {row.oracle for row in plans.rows}
    assert plans["Singletons"].evaluations == 12 * 2  # repeats count
    assert not any(row.oracle.startswith(("Lazy", "Local")) for row in plans.rows)
    assert "deterministic" in [row.name for row in sa.inspect(silent, k=3, probes=40).errors]


def test_auto_says_when_few_probes_decide():
    with pytest.warns(UserWarning, match="4 probes leave undecided whether .* separable"):
        policy = sa.auto(sa.AnySuccess(30), 3, probes=4)
    assert type(policy.oracle).__name__ == "LocalSearch"

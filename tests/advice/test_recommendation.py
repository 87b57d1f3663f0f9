"""Recommendations, and the policy that follows one."""

import re
from pathlib import Path

import numpy as np
import pytest

import superarm as sa
from spoiled_rewards import box, total
from superarm.advice.recommendation import CHOICES
from superarm.errors import SessionFileError


def test_an_overstated_lipschitz_is_a_suggestion():
    inspection = sa.inspect(box(total, lipschitz=5.0))
    assert inspection.ok
    assert any("smaller lipschitz" in line for line in inspection.recommendation.suggestions)


def test_what_is_not_declared_is_a_finding():
    inspection = sa.inspect(
        box(lambda arms, means: float((means * (1.5 - means)).sum()), lipschitz=1.5)
    )
    assert inspection.ok
    assert inspection["monotone"].verdict == "fails"
    assert inspection["concave"].verdict == "holds"
    assert inspection["concave"] in inspection.findings
    suggested = " ".join(inspection.recommendation.suggestions)
    assert "declare concave" in suggested
    assert "declare zero_is_absent" in suggested
    assert "declare monotone" not in suggested


def test_every_rule_of_the_recommendation():
    rng = np.random.default_rng(0)

    def spread(arms, means):
        return float(means.sum() + np.abs(means[:, None] - means).sum())

    cases = {
        "additive": sa.LinearReward(30),
        "separable": sa.AnySuccess(30),
        "submodular": sa.CoverageReward(rng.random((30, 6))),
        "small": sa.CoverageReward(rng.random((6, 6))),
        "other": box(spread, n_arms=30, lipschitz=60.0, upper=1000.0),
        "separable, unreliable": box(total, lipschitz=0.5),
        "other, unreliable": box(spread, n_arms=30, lipschitz=0.5, upper=1000.0),
    }
    for case, reward in cases.items():
        found = sa.inspect(reward, k=5, probes=100, rng=rng)
        assert found.recommendation.case == case, str(found)
        assert found.recommendation.oracle in str(found.recommendation)
        assert (found.recommendation.evaluations == 0) == (case == "additive")


@pytest.mark.parametrize("budget", [None, 400])
def test_a_false_declaration_does_not_keep_few_sets_from_being_evaluated(budget):
    """`Exhaustive` relies on no declaration. `Greedy` reached 0.92 of the best value here."""

    def steps(arms, means):
        return float(np.floor(2 * means.sum()) / 2)

    rng = np.random.default_rng(0)
    found = sa.inspect(box(steps, n_arms=14, lipschitz=20.0, upper=20.0), k=4, budget=budget)
    assert [row.name for row in found.errors] == ["lipschitz"]
    assert found.recommendation.fix_first
    assert found.recommendation.case == "small"
    assert found.recommendation.oracle == "Exhaustive"
    # With more sets, and if the reward fails at times, the advice is as before.
    more = sa.inspect(box(steps, n_arms=30, lipschitz=20.0, upper=20.0), k=4)
    assert more.recommendation.case == "other, unreliable"

    def fails(arms, means):
        if rng.random() < 0.1:
            raise OSError("no connection")
        return steps(arms, means)

    failing = sa.inspect(box(fails, n_arms=14, lipschitz=20.0, upper=20.0), k=4, budget=budget)
    assert failing["answers"].is_error
    assert failing.recommendation.oracle != "Exhaustive"


def test_the_page_lists_the_rules_as_they_are():
    page = (Path(__file__).parents[2] / "docs" / "choosing.md").read_text()
    table = dict(re.findall(r"^\| `([^`]+)` \| [^|]+ \| `(\w+)` \|$", page, re.MULTILINE))
    assert table == CHOICES


def test_auto_is_the_recommended_policy_and_plays():
    rng = np.random.default_rng(0)
    reward = sa.CoverageReward(rng.random((30, 6)))
    policy = sa.auto(reward, 3, rng=rng)
    assert (
        type(policy.oracle).__name__
        == sa.inspect(reward, k=3).recommendation.oracle
        == "LazyGreedy"
    )
    trace = sa.simulate(policy, sa.BernoulliArms(rng.random(30)), horizon=5, rng=rng)
    assert trace.arms.shape == (5, 3)


def test_sessions_that_the_former_auto_made_continue_with_cts(tmp_path):
    """The belief of `auto` was a `BetaBelief`. Its files say so, and decide as they did."""

    oracle = type(sa.auto(sa.LinearReward(6), 2).oracle)

    def former(n_arms):
        return sa.cts(sa.LinearReward(n_arms), 2, oracle=oracle())

    session = sa.Session(former(6), list("abcdef"), seed=1)
    for _ in range(10):
        decision = session.ask()
        session.tell(decision, {decision.arms[0]: 1.0, decision.arms[1]: 0.0})
    session.save(tmp_path / "auto.superarm")
    with pytest.raises(SessionFileError, match=r"'BetaBelief'.*got.*'LearnedBetaBelief'"):
        sa.Session.load(tmp_path / "auto.superarm", lambda n: sa.auto(sa.LinearReward(n), 2))
    loaded = sa.Session.load(tmp_path / "auto.superarm", former)
    assert [loaded.ask().arms for _ in range(5)] == [session.ask().arms for _ in range(5)]


def test_auto_warns_of_what_is_wrong():
    with pytest.warns(UserWarning, match="violates lipschitz"):
        policy = sa.auto(box(total, lipschitz=0.5), 3)
    assert type(policy.oracle).__name__ == "Singletons"

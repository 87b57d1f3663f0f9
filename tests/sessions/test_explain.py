"""Explanations of decisions."""

import numpy as np
import pytest

import superarm as sa
from superarm.beliefs import LearnedBetaBelief
from superarm.errors import UnknownDecisionError
from superarm.oracles import RandomSets

NAMES = ["ant", "bee", "cat", "dog", "eel", "fox"]


def explained(oracle, reward=None, belief=None, k=2):
    reward = sa.LinearReward(6) if reward is None else reward
    belief = sa.BetaBelief(6) if belief is None else belief
    session = sa.Session(sa.Policy(belief, oracle, reward, k), NAMES, seed=3)
    for _ in range(5):
        decision = session.ask()
        session.tell(decision, dict.fromkeys(decision.arms, 1.0))
    decision = session.ask()
    return session, decision, session.explain(decision)


def test_worth_alone_ranks_and_margin():
    session, decision, why = explained(sa.Singletons())
    values = session.policy.oracle.report.values
    order = np.argsort(-values)
    assert [reason.arm for reason in why.reasons] == [NAMES[number] for number in order[:2]]
    assert [reason.rank for reason in why.reasons] == [1, 2]
    assert why.best_left_out.arm == NAMES[order[2]]
    assert why.lost_by == values[order[1]] - values[order[2]]
    assert {reason.arm: reason.value for reason in why.reasons} == dict(
        zip(decision.arms, decision.values, strict=True)
    )


def test_the_posterior_is_that_of_the_decision_not_of_now():
    session, decision, before = explained(sa.Singletons())
    session.tell(decision, dict.fromkeys(decision.arms, 0.0))
    assert session.explain(decision).reasons == before.reasons
    first = before.reasons[0]
    number = NAMES.index(first.arm)
    assert first.mean > session.policy.belief.mean()[number]
    assert first.low < first.mean < first.high


def test_group_testing_tells_tests_and_grade():
    session, _, why = explained(sa.GroupTesting(delta=0.25, n_tests=30))
    report = session.policy.oracle.report
    for reason in (*why.reasons, why.best_left_out):
        number = NAMES.index(reason.arm)
        assert reason.score == report.grades[number]
        assert reason.tests == tuple(j for j, arms in enumerate(report.tests) if number in arms)
    assert why.lost_by >= 0


def test_bounds_that_certified():
    session, decision, why = explained(sa.LazySingletons())
    report = session.policy.oracle.report
    assert decision.certified
    for reason in why.reasons:
        number = NAMES.index(reason.arm)
        assert (reason.lower, reason.upper) == (report.lower[number], report.upper[number])
    assert why.lost_by == min(reason.lower for reason in why.reasons) - why.best_left_out.upper > 0


@pytest.mark.parametrize("oracle", [sa.Greedy, sa.LazyGreedy])
def test_greedy_ranks_by_its_order(oracle):
    session, _, why = explained(oracle(), reward=sa.AnySuccess(6))
    order = session.policy.oracle.report.order
    assert [reason.arm for reason in why.reasons] == [NAMES[number] for number in order]
    assert why.best_left_out is None


def test_top_k_knows_the_best_left_out_only_where_it_was_drawn():
    _, _, why = explained(sa.TopK())
    assert why.best_left_out is None  # the k largest alone were asked for
    assert why.score_is == "sampled value"
    _, _, why = explained(sa.TopK(), belief=sa.UCBBelief(6))
    assert why.reasons[0].low is None  # no posterior
    assert why.best_left_out is not None


@pytest.mark.parametrize("oracle", [sa.Exhaustive, sa.LocalSearch, RandomSets])
def test_oracles_that_order_no_arms(oracle):
    _, decision, why = explained(oracle())
    assert why.score_is is None
    assert sorted(reason.arm for reason in why.reasons) == sorted(decision.arms)
    assert all(reason.value is not None and reason.rank is None for reason in why.reasons)
    assert "best left out: not known" in str(why)


def test_every_arm_is_in():
    _, _, why = explained(sa.Singletons(), k=6)
    assert why.best_left_out is None
    assert len(why.reasons) == 6


def test_retired_arms_are_neither_in_nor_left_out():
    session, _, _ = explained(sa.LazySingletons())
    session.retire("bee", "cat")
    for _ in range(20):
        decision = session.ask()
        why = session.explain(decision.id)
        names = {reason.arm for reason in why.reasons}
        assert names == set(decision.arms)
        assert why.best_left_out.arm in {"ant", "dog", "eel", "fox"} - names
        assert dict(zip(decision.arms, decision.values, strict=True)) == {
            r.arm: r.value for r in why.reasons
        }


def test_only_the_last_ones_are_kept():
    session = sa.Session(sa.cts(sa.LinearReward(6), 2), seed=0, explain_last=2)
    decisions = session.ask(3)
    for decision in decisions[1:]:
        session.explain(decision)
    with pytest.raises(UnknownDecisionError, match="explain_last"):
        session.explain(decisions[0])


def test_text_and_picture():
    _, decision, why = explained(sa.GroupTesting(delta=0.25, n_tests=30))
    text = str(why)
    assert decision.id in text
    assert "not certified" in text
    assert all(name in text for name in decision.arms)
    assert "lost by" in text
    axis = why.figure().axes[0]
    assert [label.get_text() for label in axis.get_yticklabels()] == [
        *(reason.arm for reason in why.reasons),
        f"{why.best_left_out.arm} (left out)",
    ]


def test_the_title_of_the_picture_fits_beside_long_names():
    names = [f"{number} {'a long name ' * 4}" for number in range(6)]
    policy = sa.cts(sa.LinearReward(6), k=2, oracle=sa.LazySingletons())
    session = sa.Session(policy, names, seed=1)
    why = session.explain(session.ask())
    assert why.decision.certified
    figure = why.figure()
    figure.set_size_inches(5.0, figure.get_figheight())  # a phone, or a column of a page
    figure.draw_without_rendering()
    title = figure.get_suptitle()
    assert why.decision.id in title
    (text,) = [one for one in figure.texts if one.get_text() == title]
    assert text.get_window_extent().x1 <= figure.bbox.x1


def test_names_with_dollar_signs_are_no_formulas():
    """Gift $5 or $10 was written as Gift 5or10, and a wrong formula was an error."""
    session = sa.Session(sa.cts(sa.LinearReward(2), k=2), ["Gift $5 or $10", "$\\frac{$"], seed=1)
    figure = session.explain(session.ask()).figure()
    figure.draw_without_rendering()
    assert not any(label.get_parse_math() for label in figure.axes[0].get_yticklabels())


def test_the_learned_prior_is_that_of_the_decision():
    session, decision, why = explained(sa.TopK(), belief=LearnedBetaBelief(6))
    a, b = session.policy.belief.prior
    assert why.prior.startswith(f"learned prior Beta({a:.3g}, {b:.3g})")
    assert f"{why.prior}\n" in str(why)
    for _ in range(9):
        session.tell(decision, dict.fromkeys(decision.arms, 0.0))
        decision = session.ask()
    before = session.explain(decision).prior
    assert before != why.prior
    session.policy.belief.prior = (3.0, 4.0)  # as a later fit may find
    assert session.explain(decision).prior == before
    assert explained(sa.TopK())[2].prior is None

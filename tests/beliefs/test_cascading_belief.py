"""The belief about readers who may stop at a click, against the exact posterior, and in parts."""

import json

import numpy as np
import pytest

import naive
import superarm as sa
from superarm.beliefs import CascadingBelief
from superarm.core.places import LearnsLists
from superarm.environments import CascadingArms
from superarm.oracles import RandomSets

RNG = np.random.default_rng
MU = np.array([0.15, 0.3, 0.1, 0.2])


def lists_of(environment, n_lists, k, seed=0):
    """Random lists, and which of their arms were clicked; what was not seen was not."""
    rng, n_arms = RNG(seed), environment.n_arms
    for _ in range(n_lists):
        arms = rng.permutation(n_arms)[:k]
        yield arms, np.nan_to_num(environment.pull(arms, rng=rng))


def taught(belief, lists):
    for arms, clicks in lists:
        belief.update(arms, clicks, rng=None)
    return belief


def test_until_the_first_click_it_is_a_beta_belief_told_what_was_seen():
    """By hand: up to the first click everything counts, and below it nothing."""
    lists = list(lists_of(CascadingArms(MU), 60, 3))
    belief, plain = (
        taught(CascadingBelief(4, prior=(2.0, 3.0)), lists),
        sa.BetaBelief(4, (2.0, 3.0)),
    )
    for arms, clicks in lists:
        n_seen = int(np.argmax(clicks)) + 1 if clicks.any() else len(arms)
        plain.update(arms[:n_seen], clicks[:n_seen], rng=None)
    assert (belief.a.tolist(), belief.b.tolist()) == (plain.a.tolist(), plain.b.tolist())


def test_readers_who_always_go_on_are_a_beta_belief():
    lists = list(lists_of(CascadingArms(MU, continues=1.0), 40, 3))
    belief, plain = taught(CascadingBelief(4, 1.0), lists), taught(sa.BetaBelief(4), lists)
    assert (belief.a.tolist(), belief.b.tolist()) == (plain.a.tolist(), plain.b.tolist())


@pytest.mark.parametrize(("k", "rtol"), [(2, 1e-9), (3, 0.02)])
def test_the_moments_are_those_of_the_exact_posterior(k, rtol):
    """Of two places at most one is after the last click. With three, means are rather small."""
    lists = list(lists_of(CascadingArms(MU[:3], continues=0.5), 25, k, seed=3))
    assert any(clicks[0] and not clicks[1:].any() for _, clicks in lists)
    prior = [(1.0, 5.0)] * 3
    belief = taught(CascadingBelief(3, 0.5, prior=(1.0, 5.0)), lists)
    means, variances = naive.cascade_posterior(prior, lists, 0.5)
    posterior_var = belief.a * belief.b / (belief.a + belief.b) ** 2 / (belief.a + belief.b + 1)
    np.testing.assert_allclose(belief.mean(), means, rtol=rtol)
    np.testing.assert_allclose(posterior_var, variances, rtol=2 * rtol)


@pytest.mark.parametrize("continues", [0.0, 0.5, 1.0])
def test_parts_in_any_order_are_the_whole_list(continues):
    """Also if a click comes after the arms below it, or above it, were told."""
    rng, whole, parts = RNG(1), CascadingBelief(5, continues), CascadingBelief(5, continues)
    assert isinstance(whole, LearnsLists)
    for arms, clicks in lists_of(CascadingArms([0.5] * 5, continues), 40, 4):
        whole.update(arms, clicks, rng=None)
        order, cut = rng.permutation(4), int(rng.integers(0, 4))
        for end in (cut, 4):  # nothing, or some places, and then all
            told = order[:end]
            n_before = 0 if end == cut else cut
            parts.update_list(arms[told], clicks[told], rng=None, places=told, n_before=n_before)
    exact, found = whole.state(), parts.state()
    for name in ("successes", "failures", "unsure"):
        assert exact[name] == found[name]
    np.testing.assert_allclose([whole.a, whole.b], [parts.a, parts.b], rtol=1e-12)


def test_a_session_learns_lists_that_are_told_in_parts(tmp_path):
    """A click first, the rest later, and what is missing at its expiry."""

    def make(n_arms=6):
        return sa.Policy(CascadingBelief(n_arms, 0.3), sa.TopK(), sa.LinearReward(n_arms), 3)

    expiry = sa.sessions.Expiry(after_rounds=1, missing=0.0)
    session = sa.Session(make(), list("abcdef"), seed=3, clock=lambda: 0.0, expiry=expiry)
    twin = CascadingBelief(6, 0.3)
    for clicks in ([0.0, 1.0, 0.0], [0.0, 0.0, 0.0], [1.0, 0.0, 1.0], [1.0, 0.0, 0.0]):
        decision = session.ask()
        first, second, third = decision.arms
        session.tell(decision, {second: clicks[1]})
        session = session.from_bytes(session.to_bytes(), make, clock=lambda: 0.0)
        session.tell(decision, {third: clicks[2]})
        if clicks[0]:
            session.tell(decision, {first: clicks[0]})  # else it expires, with 0
        twin.update(["abcdef".index(arm) for arm in decision.arms], clicks, rng=None)
    session.ask(), session.ask()
    found, exact = session.policy.belief.state(), twin.state()
    for name in ("successes", "failures", "unsure"):
        assert found[name] == exact[name]


def test_it_finds_the_means_that_a_plain_belief_misses(monkeypatch):
    """Random lists of readers of whom 40% go on. The estimates are within 5 standard errors of the
    true means, error 6e-7 each, plus 3% for the products of means. A plain belief takes arms that
    nobody looked at for failures: over the four arms it is some 11% too low, and the bound is 3.4
    standard errors away, error 4e-4.
    """
    lists = list(lists_of(CascadingArms(MU, continues=0.4), 4000, 3, seed=2))
    belief, plain = CascadingBelief(4, 0.4), taught(sa.BetaBelief(4), lists)
    # Posteriors follow from the counts, so that once is enough.
    with monkeypatch.context() as patch:
        patch.setattr(CascadingBelief, "_match", lambda belief, arms: None)
        taught(belief, lists)
    belief._match(np.arange(4))
    error = np.sqrt(MU * (1 - MU) / (4000 * 3 / 4))
    assert (np.abs(belief.mean() - MU) < 5 * error + 0.03 * MU).all()
    assert (1 - plain.mean() / MU).mean() > 0.05


def test_a_simulation_tells_whole_lists():
    """Policies pick random sets of readers who stop at once: everything after a click is unseen."""
    policy = sa.Policy(CascadingBelief(4), RandomSets(), sa.LinearReward(4), 3)
    trace = sa.simulate(policy, CascadingArms(MU), horizon=50, rng=RNG(2))
    seen = ~np.isnan(trace.outcomes)
    counts = np.bincount(trace.arms[seen], minlength=4)
    assert (policy.belief.a + policy.belief.b - 2).tolist() == counts.tolist()


def test_the_outcomes_of_several_clicks_average_to_what_is_expected():
    """Within 5 standard errors in each place, error 6e-7."""
    environment, rng, n = CascadingArms(MU, continues=0.4), RNG(0), 6000
    got = np.mean([environment.pull([3, 1, 0], rng=rng) for _ in range(n)], axis=0)
    # By hand: place j is looked at if no click above it ended the reading.
    expected = [0.2, 0.3 * (1 - 0.6 * 0.2), 0.15 * (1 - 0.6 * 0.2) * (1 - 0.6 * 0.3)]
    np.testing.assert_allclose(environment.expected([3, 1, 0]), expected)
    assert (np.abs(got - expected) < 5 * np.sqrt(np.array(expected) / n)).all()


def test_bad_settings_and_states_are_refused():
    with pytest.raises(ValueError, match=r"continues must be in \[0, 1\]"):
        CascadingBelief(3, 1.5)
    belief = CascadingBelief(3, 0.5)
    with pytest.raises(ValueError, match="places must be between 0 and 2"):
        belief.update([0], [1.0], rng=None, places=[3])
    policy = sa.thompson(sa.LinearReward(3), 1)
    with pytest.raises(TypeError, match="n_before needs a belief with update_list"):
        policy.tell([0, 1], [1.0, 0.0], rng=RNG(0), n_before=1)
    state = json.loads(json.dumps(belief.state()))
    with pytest.raises(ValueError, match="continues"):
        belief.load({**state, "continues": -1})

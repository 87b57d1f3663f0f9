"""Which parts of the library offer which optional Protocol."""

import numpy as np
import pytest

import parts
import superarm as sa
from superarm.core import Report, Scores, declarations, optional


def offering(protocol, table, *arguments):
    """The names of the parts that offer a Protocol."""
    made = {name: make(*arguments) for name, make in table.items()}
    return {name for name, part in made.items() if isinstance(part, protocol)}


def test_all_beliefs_can_grow():
    assert offering(optional.Growable, parts.BELIEFS, 4) == set(parts.BELIEFS)


def test_which_feasible_sets_offer_what():
    feasible = {"k of m", "feasible", "feasible, budget"}
    for protocol in (optional.Extendable, optional.Completable, optional.Enumerable):
        assert offering(protocol, parts.FEASIBLE_SETS) == feasible
    assert offering(optional.Uniform, parts.FEASIBLE_SETS) == {"k of m"}
    assert offering(optional.BestOfTop, parts.FEASIBLE_SETS) == feasible


def test_which_oracles_remember():
    made = {name: make() for name, (make, _) in parts.ORACLES.items()}
    stateful = {name for name, oracle in made.items() if isinstance(oracle, optional.Stateful)}
    words = ("lazy", "local", "noisy", "scheduled", "epsilon", "explore", "group", "successive")
    assert stateful == {name for name in made if name.startswith(words)}
    assert {name for name, one in made.items() if isinstance(one, optional.Forgetful)} == stateful


@pytest.mark.parametrize("name", parts.ORACLES)
def test_reports_rank_arms_in_one_shape(name):
    oracle, rng = parts.ORACLES[name][0](), np.random.default_rng(0)
    theta = sa.core.Sample(sa.BetaBelief(6), rng)
    arms = oracle.select(sa.LinearReward(6), theta, 2, rng=rng)
    if oracle.report is None:
        return
    assert isinstance(oracle.report, Report)
    scores = oracle.report.ranking(arms, theta)
    if scores is not None:
        assert isinstance(scores, Scores)
        assert scores.values.shape == (6,)
        assert not np.isnan(scores.values[arms]).any()
        assert scores.order is None or sorted(scores.order) == arms.tolist()


class Undeclared(sa.LinearReward):
    """A user's reward that has none of the optional declarations."""

    concave = property()
    diminishing = property()


def test_declarations_default_to_false():
    reward = Undeclared(3)
    assert not declarations.is_concave(reward)
    assert not declarations.is_diminishing(reward)
    assert declarations.is_diminishing(sa.LinearReward(3))
    assert sa.Counted(sa.LinearReward(3)).diminishing
    assert not declarations.is_noisy(reward)
    assert declarations.evaluations_per_value(reward) == 1
    assert not declarations.shows_progress(reward)


def test_a_black_box_offers_every_declaration():
    reward = sa.BlackBox(
        lambda arms, means: float(sum(means)),
        n_arms=3,
        lipschitz=1.0,
        upper=3.0,
        noisy=True,
        repeats=4,
        progress=True,
    )
    declared = (declarations.DeclaresConcave, declarations.DeclaresDiminishing)
    declared += (declarations.DeclaresNoisy, declarations.Repeats, declarations.ShowsProgress)
    assert all(isinstance(reward, protocol) for protocol in declared)
    counted = sa.Counted(reward)
    assert (counted.noisy, counted.repeats, counted.shows_progress) == (True, 4, True)


def test_has_is_what_the_type_of_a_part_has():
    """Asked twice, because the second answer is remembered."""
    for name, make in parts.BELIEFS.items():
        belief = make(4)
        for protocol in (optional.Growable, optional.SamplesTop, optional.SamplesMany):
            expected = issubclass(type(belief), protocol)
            assert optional.has(belief, protocol) == expected, name
            assert optional.has(belief, protocol) == expected, name

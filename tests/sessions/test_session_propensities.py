"""Decisions with propensities."""

import json

import pytest

import superarm as sa


def beta_policy(oracle=None, **options):
    belief = sa.BetaBelief(
        6, prior=([8.0, 5.0, 3.0, 2.0, 1.0, 1.0], [2.0, 3.0, 3.0, 4.0, 4.0, 9.0])
    )
    return sa.Policy(belief, oracle or sa.TopK(), sa.LinearReward(6), options.pop("k", 2))


def session(**options):
    return sa.Session(
        beta_policy(sa.LazySingletons()), list("abcdef"), seed=4, clock=lambda: 0.0, **options
    )


def play(one, n_rounds, **options):
    made = []
    for _ in range(n_rounds):
        made.append(one.ask(**options))
        one.tell(made[-1], {made[-1].arms[0]: 1.0})
    return made


def test_a_session_decides_the_same_with_and_without():
    bare, logged = session(), session()
    for without, with_ in zip(play(bare, 5), play(logged, 5, propensities=30), strict=True):
        assert (without.arms, without.values, without.id) == (with_.arms, with_.values, with_.id)
        assert without.propensities is without.set_propensity is None
        assert without.n_samples == 0
        assert with_.n_samples == 31
        assert all(1 / 31 <= p <= 1 for p in with_.propensities)
        assert 1 / 31 <= with_.set_propensity <= min(with_.propensities)
    assert bare.policy.evaluations == logged.policy.evaluations


def test_propensities_are_the_same_after_a_load(tmp_path):
    one = session()
    before = play(one, 3, propensities=20)
    one.save(tmp_path / "session")
    other = sa.Session.load(
        tmp_path / "session", beta_policy(sa.LazySingletons()), clock=lambda: 0.0
    )
    assert other.decisions == one.decisions == before
    assert play(one, 4, propensities=20) == play(other, 4, propensities=20)
    one.save(tmp_path / "one")
    other.save(tmp_path / "other")
    assert (tmp_path / "one").read_bytes() == (tmp_path / "other").read_bytes()


def test_a_file_without_propensities_is_what_it_was():
    one = session()
    play(one, 1)
    assert "propensities" not in json.dumps(
        [record.state() for record in one._unlocked.ledger.open.values()]
    )


def test_batches_and_forks_have_streams_of_their_own():
    one = session()
    first, second = one.ask(2, propensities=200)
    assert first.propensities != second.propensities or first.arms != second.arms
    rngs = [
        one._unlocked.seeding.samples(1),
        one._unlocked.seeding.samples(2),
        one.fork("left")._unlocked.seeding.samples(1),
        one.fork("propensities")._unlocked.seeding.samples(1),
        one._unlocked.rng,
    ]
    assert len({tuple(rng.random(3).tolist()) for rng in rngs}) == 5


def test_decisions_come_in_the_order_they_were_given_out():
    one = session(keep=3)
    made = [*one.ask(3), one.ask(), *one.ask(8)]
    for decision in (made[1], made[11], made[0], made[9]):
        one.tell(decision, dict.fromkeys(decision.arms, 1.0))
    assert one.decisions == [
        made[place] for place in (0, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11)
    ]  # the first closed is gone


def test_bad_numbers_of_samples():
    with pytest.raises(ValueError, match="propensities must be at least 1"):
        session().ask(propensities=0)
    with pytest.raises(TypeError, match="propensities must be a whole number"):
        session().ask(propensities=True)

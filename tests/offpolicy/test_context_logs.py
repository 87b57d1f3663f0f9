"""Contexts on their way from a session into a log and its file."""

import numpy as np
import pytest

import superarm as sa
from superarm.beliefs import LinearBelief
from superarm.offpolicy import Log


@pytest.mark.parametrize("rows_per_arm", [False, True])
def test_contexts_go_round(tmp_path, rows_per_arm):
    """From a session, through its file, the log and the file of the log; with an arm that joins."""

    def make(n_arms):
        belief = LinearBelief(n_arms, context=2, structure="shared" if rows_per_arm else None)
        return sa.Policy(belief, sa.TopK(), sa.LinearReward(n_arms), 2)

    session, given = sa.Session(make(3), ["ant", "bee", "cat"], seed=0), []
    for t in range(4):
        if t == 3:
            session.add_arms(["dog"], reward=sa.LinearReward(4))
        size = (len(session.names), 2) if rows_per_arm and t > 0 else 2
        given.append(np.random.default_rng(t).normal(size=size))
        decision = session.ask(propensities=10, context=given[-1])
        session.tell(decision, dict.fromkeys(decision.arms, 0.5))
    session.save(tmp_path / "session.json")
    loaded = sa.Session.load(tmp_path / "session.json", make)
    log = Log.from_session(loaded)
    if rows_per_arm:  # the vector of the first round is the row of every arm
        assert not log.contexts[1:3, 3].any()  # of an arm that came later
        given = [np.tile(given[0], (4, 1)), *(np.resize(one, (4, 2)) for one in given[1:])]
        given[1][3] = given[2][3] = 0.0
    np.testing.assert_array_equal(log.contexts, given)
    assert log.n_samples.tolist() == [11] * 4
    log.write(tmp_path / "log.jsonl")
    for again in (Log.read(tmp_path / "log.jsonl", session.names), log.filled(0.0), log.complete()):
        np.testing.assert_array_equal(again.contexts, log.contexts)
        np.testing.assert_array_equal(again.n_samples, log.n_samples)

"""Session files with learned models, as the first version of each model wrote them."""

from pathlib import Path

import numpy as np
import pytest

import superarm as sa
from superarm.beliefs import LearnedBetaBelief

FILES = Path(__file__).parents[1] / "data" / "models"
FEATURES = np.random.default_rng(0).normal(size=(6, 2))
BELIEFS = {
    "bilinear": lambda: sa.LinearBelief(FEATURES, context=2, structure="bilinear"),
    "disjoint": lambda: sa.LinearBelief(6, context=2, structure="disjoint"),
    "learned": lambda: LearnedBetaBelief(6),
    "linear": lambda: sa.LinearBelief(FEATURES),
    "logistic": lambda: sa.LogisticBelief(FEATURES),
    "logistic-contexts": lambda: sa.LogisticBelief(FEATURES, context=2),
    "shared": lambda: sa.LinearBelief(FEATURES, context=2),
}


def policy_of(name):
    return sa.Policy(BELIEFS[name](), sa.TopK(), sa.LinearReward(6), 2)


@pytest.mark.parametrize("name", BELIEFS)
def test_older_files_load_and_go_on(name, tmp_path):
    session = sa.Session.load(FILES / f"{name}.superarm", policy_of(name))
    assert session.rounds == 40
    context = {} if name in ("learned", "linear", "logistic") else {"context": [0.0, 1.0]}
    session.save(tmp_path / "again")
    again = sa.Session.load(tmp_path / "again", policy_of(name))
    for _ in range(30):  # refits among them
        decision, same = session.ask(**context), again.ask(**context)
        assert decision.arms == same.arms
        for one in (session, again):
            one.tell(decision.id, {arm: 1.0 if arm < "d" else 0.0 for arm in decision.arms})
    assert set(decision.arms) <= set("abc")


def test_the_older_center_is_that_of_the_intercepts():
    belief = sa.Session.load(FILES / "disjoint.superarm", policy_of("disjoint")).policy.belief
    model = belief._model
    precision = np.array([1 / model.variances.own, *[1 / model.variances.weights] * 2])
    assert model.center[0] == -0.10703216853583855  # as in the file
    assert (model.center[1:] == 0).all()
    for arm in range(6):
        gram = model.grams[arm] / model.variances.noise + np.diag(precision)
        shift = model.crosses[arm] / model.variances.noise + precision * model.center
        np.testing.assert_allclose(model.means[arm], np.linalg.solve(gram, shift), atol=1e-9)

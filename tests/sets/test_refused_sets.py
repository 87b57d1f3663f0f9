"""A policy whose oracle cannot choose from its sets is refused when it is made, with a way out."""

import numpy as np
import pytest

import superarm as sa
from superarm import policies
from superarm.oracles import DependentRounding, EpsilonRandom, NoisyGreedy, NoisySingletons

REWARD = sa.LinearReward(4)
CONSTRAINED = sa.Feasible(2, must=[1])
GROUPED = sa.Feasible(2, groups=[sa.Group([0, 1], most=1)])
PATHS = sa.sets.Paths(tails=[0, 0, 1, 2], heads=[1, 2, 3, 3], source=0, target=3)

REFUSED = {
    "lucb": (lambda k: policies.lucb(REWARD, k), CONSTRAINED, "use clucb or top_two"),
    "successive accepts": (
        lambda k: policies.successive_accepts(REWARD, k, horizon=50),
        CONSTRAINED,
        "use clucb or top_two",
    ),
    "exp3": (lambda k: policies.exp3(REWARD, k, horizon=50), CONSTRAINED, "use thompson, cts"),
    **{
        type(oracle).__name__: (lambda k, oracle=oracle: sa.cts(REWARD, k, oracle=oracle), k, use)
        for oracle, k, use in (
            (DependentRounding(), CONSTRAINED, "use thompson, cts"),
            (NoisySingletons(), GROUPED, "use NoisyGreedy"),
            (sa.Greedy(), PATHS, "use TopK"),
            (sa.LazyGreedy(), PATHS, "use TopK"),
            (sa.LocalSearch(), PATHS, "use TopK"),
            (sa.Exhaustive(), PATHS, "use TopK"),
            (NoisyGreedy(), PATHS, "use TopK"),
            (EpsilonRandom(sa.Greedy(), 0.1), PATHS, "use TopK"),
        )
    },
}


@pytest.mark.parametrize(("make", "k", "use"), REFUSED.values(), ids=REFUSED)
@pytest.mark.filterwarnings("ignore")
def test_what_an_oracle_cannot_use_is_refused_when_the_policy_is_made(make, k, use):
    with pytest.raises(TypeError, match=use):
        make(k)
    assert len(make(2).ask(rng=np.random.default_rng(0))) == 2


@pytest.mark.parametrize("k", [CONSTRAINED, GROUPED])
def test_what_is_recommended_takes_constraints(k):
    for make in (policies.clucb, policies.top_two, sa.thompson, sa.cts, sa.cucb):
        make(REWARD, k).ask(rng=np.random.default_rng(0))

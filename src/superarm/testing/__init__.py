"""Contract checks for your own parts: what every belief, oracle, reward, environment must do.

Each check raises AssertionError with a sentence that says what is wrong, and returns nothing
otherwise:

    from superarm.testing import check_oracle
    check_oracle(lambda: MyOracle())

The library's own parts pass the same checks. A check also covers the optional Protocols of
`superarm.core.optional` that a part offers.
"""

from superarm.testing.beliefs import check_belief
from superarm.testing.environments import check_environment
from superarm.testing.oracles import check_oracle
from superarm.testing.rewards import check_reward
from superarm.testing.sets import check_feasible_sets

__all__ = [
    "check_belief",
    "check_environment",
    "check_feasible_sets",
    "check_oracle",
    "check_reward",
]

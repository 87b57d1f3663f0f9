"""The one table of parts and policies: names, factories, parameters, labels, colours, descriptions.

The command line, the service, its page, the studies, the documentation and the contract tests all
read from here, so adding a part to the library means adding one entry.

>>> ORACLES["lazy_singletons"].make(n_points=8).n_points
8
>>> POLICIES["single-seed"].label
'CTS, single seed'
"""

from superarm.catalog.beliefs import BELIEFS
from superarm.catalog.entries import REQUIRED, Parameter, Part, PolicyPart, Task
from superarm.catalog.environments import ENVIRONMENTS
from superarm.catalog.oracles import ORACLES
from superarm.catalog.policies import POLICIES
from superarm.catalog.rewards import REWARDS

__all__ = [
    "BELIEFS",
    "ENVIRONMENTS",
    "ORACLES",
    "POLICIES",
    "REQUIRED",
    "REWARDS",
    "Parameter",
    "Part",
    "PolicyPart",
    "Task",
]

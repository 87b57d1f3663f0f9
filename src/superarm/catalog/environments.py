"""The environments."""

from __future__ import annotations

from superarm import environments
from superarm.catalog.entries import Part, by_name

# None is offered over HTTP: there, users report what happened, and an environment would simulate
# it. They have no parameters here, since all of them take arrays that only Python code has.
ENVIRONMENTS = by_name(
    Part(
        "bernoulli",
        "BernoulliArms",
        environments.BernoulliArms,
        "Arms that succeed with fixed probabilities.",
        over_http=False,
    ),
    Part(
        "cascading",
        "CascadingArms",
        environments.CascadingArms,
        "A list that is read from the top until something is clicked.",
        over_http=False,
    ),
    Part(
        "changing",
        "ChangingArms",
        environments.ChangingArms,
        "Means that jump at given rounds.",
        over_http=False,
    ),
    Part(
        "contextual_replay",
        "ContextualReplay",
        environments.ContextualReplay,
        "A table of recorded outcomes, with a context for every row.",
        over_http=False,
    ),
    Part(
        "drifting",
        "DriftingArms",
        environments.DriftingArms,
        "Means that drift from round to round.",
        over_http=False,
    ),
    Part(
        "position_biased",
        "PositionBiasedArms",
        environments.PositionBiasedArms,
        "A list whose later places are looked at less often.",
        over_http=False,
    ),
    Part(
        "replay",
        "ReplayEnvironment",
        environments.ReplayEnvironment,
        "A table of recorded outcomes, one row per round.",
        over_http=False,
    ),
    Part(
        "triggered",
        "TriggeredArms",
        environments.TriggeredArms,
        "Arms that trigger one another, as in cascades of influence.",
        over_http=False,
    ),
)

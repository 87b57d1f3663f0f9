"""The policies that find out which arms are the best."""

from __future__ import annotations

from superarm import policies
from superarm.catalog.entries import PolicyPart

# The same error for all of them, which is that of `Session.verdict`.
IDENTIFICATION = (
    PolicyPart(
        "top-two",
        "top-two",
        "Finds out which k are best: pulls the arms that tell likely best sets apart.",
        lambda task: policies.top_two(task.reward, task.k),
        "#009E73",
        ":",
        code="`top_two`",
        additive=True,
    ),
    PolicyPart(
        "clucb",
        "CLUCB",
        "Finds out which set is best, by confidence bounds, and says when it is certain.",
        lambda task: policies.clucb(task.reward, task.k),
        "#D55E00",
        "--",
        code="`clucb`, delta = 0.05",
        additive=True,
    ),
    PolicyPart(
        "lucb",
        "KL-LUCB",
        "Finds out which k are best, by confidence bounds, and says when it is certain.",
        lambda task: policies.lucb(task.reward, task.k),
        "#D55E00",
        ":",
        code="`lucb`, delta = 0.05",
        additive=True,
    ),
    PolicyPart(
        "successive-accepts",
        "accepts and rejects",
        "Finds out which k are best in the given rounds, and decides one arm per phase.",
        lambda task: policies.successive_accepts(task.reward, task.k, horizon=task.horizon),
        "#56B4E9",
        "-.",
        code="`successive_accepts`",
        additive=True,
    ),
)

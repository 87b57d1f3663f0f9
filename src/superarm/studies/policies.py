"""The policies of the catalog that more than one study plays."""

from __future__ import annotations

# Policies that learn from the outcomes of single arms, in the order in which tables show them.
SINGLE_ARM_POLICIES = (
    "cts",
    "single-seed",
    "gaussian",
    "discounted",
    "sliding",
    "cucb",
    "kl-ucb",
    "escb",
    "epsilon-greedy",
)

"""GT+QTS as one may also read the paper: other test matrices, decoded tests and failure rules."""

from __future__ import annotations

from typing import Any

import numpy as np

from superarm.core import Policy, Pools
from superarm.policies import gt_qts
from superarm.simulation import Instance

READING = "gt-qts-reading"  # the name in specifications; the catalog has the usual settings only


def make_reading(spec: dict[str, Any], instance: Instance, *, rng: np.random.Generator) -> Policy:
    """The policy of a reading.

    Parameters
    ----------
    spec
        ``name``, and arguments of `GroupTesting`. ``mean_size``, the expected size of a test, may
        stand for ``p``. With ``fixed``, the tests are drawn once.
    instance
        What the policy will play.
    rng
        Draws fixed tests. The instance was drawn from it before, so that it is the same with all
        readings.
    """
    options = {name: spec[name] for name in spec if name not in ("name", "mean_size", "fixed")}
    if "mean_size" in spec:
        options["p"] = spec["mean_size"] / instance.n_arms
    if spec.get("fixed"):
        n_tests, n_arms = spec["n_tests"], instance.n_arms
        options["pools"] = Pools.random(n_tests, n_arms, options["p"], rng=rng)
    return gt_qts(instance.reward, instance.k, **options)

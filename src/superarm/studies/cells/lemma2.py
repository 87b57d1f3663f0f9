"""The cell that checks Lemma 2: how often the quantized optimum is not a true one."""

from __future__ import annotations

from typing import Any

import numpy as np

from superarm import theory
from superarm.core.arguments import FloatArray
from superarm.studies.cell import Cell, Recorded


def run(cell: Cell) -> Recorded:
    """Sums with uniform means: Delta from the law of the gap, then how often Lemma 2's event fails.

    Half of the instances give the law of the minimum gap, the other half are judged. The gap of a
    sum is the difference of the k-th and the (k+1)-th largest mean.
    """
    settings, rng = cell.settings, np.random.default_rng(cell.seeds())
    if settings.get("reward") == "half":
        return _half(settings, rng)
    k, n = settings["k"], settings["n_instances"]
    samples = np.sort(rng.random((n, settings["n_arms"])), axis=1)[:, ::-1]
    delta = theory.quantization_level(samples[:, k - 1] - samples[:, k], settings["gamma"])
    judged = np.sort(rng.random((n, settings["n_arms"])), axis=1)[:, ::-1]
    quantizer = theory.Quantizer(delta, 1.0, float(k))
    failures = int(_fails(judged, k, quantizer).sum())
    return Recorded({"delta": delta, "failures": failures, "instances": n}, {})


def _half(settings: dict[str, Any], rng: np.random.Generator) -> Recorded:
    """Half the mean of one of two arms, B = 1/2: one mean uniform on [0.6, 0.8], the other 0.

    A worthless set is moved by a whole step Delta / 2B, because zero is no level of the quantizer.
    """
    n = settings["n_instances"]
    gaps = 0.5 * rng.uniform(0.6, 0.8, n)  # the best set against a worthless one
    delta = theory.quantization_level(gaps, settings["gamma"])
    judged = np.stack([rng.uniform(0.6, 0.8, n), np.zeros(n)], axis=1)
    quantizer = theory.Quantizer(delta, 0.5, 0.5)
    failures = int(_fails(0.5 * judged, 1, quantizer).sum())
    return Recorded({"delta": delta, "failures": failures, "instances": n}, {})


def _fails(means: FloatArray, k: int, quantizer: Any) -> FloatArray:
    """Whether a set that is not optimal has the largest quantized value; means are descending.

    The second best set replaces the last arm of the best set by the next one, and no other set is
    worth more. So some set that is not optimal shares the largest level if the second best does.
    """
    best = means[:, :k].sum(axis=1)
    second = best - means[:, k - 1] + means[:, k]
    return np.asarray(quantizer(second) >= quantizer(best), np.float64)

"""How often the 95% intervals of off-policy estimates cover the truth.

    python benchmarks/offpolicy.py [--logs N] [--workers N] [--only DESIGN ...] [--out FOLDER]
                                   [--estimators NAME ...]

Logs are simulated, so the truth is known. The designs are those of the page Off-policy evaluation.
Logs that an estimator refuses, because they do not overlap with the target, do not count. With
``--out`` the numbers go into FOLDER/offpolicy.json, in place of earlier ones of the same designs
and estimators, and FOLDER/offpolicy.svg is drawn from them. ``docs/offpolicy_page.py`` puts them
into the page.
"""

from __future__ import annotations

import argparse
import json
import math
from collections import defaultdict
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from offpolicy_designs import DESIGNS, KINDS, LOGS, MU, M, frozen_chances
from offpolicy_picture import picture
from superarm.beliefs import LinearBelief, LogisticBelief
from superarm.offpolicy import (
    Estimate,
    Log,
    doubly_robust,
    ips,
    set_ips,
    set_snips,
    snips,
)
from superarm.reporting.figures import WIDTH, render

Estimator = Callable[[Log, Any], Estimate]
GOOD, BAD = np.clip(MU + 0.05 * (-1.0) ** np.arange(M), 0, 1), 1 - MU


def with_contexts(
    log: Log, target: Any, kind: Any = LinearBelief, folds: int | None = None
) -> Estimate:
    return doubly_robust(log, target, model=kind(M, context=len(KINDS)), folds=folds)


BY_ARM: dict[str, Estimator] = {
    "ips": ips,
    "snips": snips,
    "snips, stabilised": partial(snips, stabilise=True),
    "doubly robust, past": doubly_robust,
    "doubly robust, stabilised": partial(doubly_robust, stabilise=True),
}
WITH_MEANS: dict[str, Estimator] = {
    "doubly robust, good model": partial(doubly_robust, model=GOOD),
    "doubly robust, bad model": partial(doubly_robust, model=BAD),
}
WITH_CONTEXTS: dict[str, Estimator] = {
    "doubly robust, contexts": with_contexts,
    "doubly robust, contexts, folds": partial(with_contexts, folds=3),
    "doubly robust, logistic": partial(with_contexts, kind=LogisticBelief),
}


def any_success(arms: np.ndarray, outcomes: np.ndarray) -> float:
    return float(outcomes.max())


BY_SET: dict[str, Estimator] = {
    "set ips, any success": partial(set_ips, values=any_success),
    "set snips, any success": partial(set_snips, values=any_success),
}


def estimators_of(design: str, by_set: bool) -> dict[str, tuple[Estimator, bool]]:
    """The estimators of a design, and whether each of them is by set."""
    found = {name: (one, False) for name, one in BY_ARM.items()}
    if design.startswith(("fixed", "Thompson")):
        found |= {name: (one, False) for name, one in WITH_MEANS.items()}
    if design.startswith("contexts"):
        found |= {name: (one, False) for name, one in WITH_CONTEXTS.items()}
    if by_set and design.startswith(("fixed", "Thompson")):
        found |= {name: (one, True) for name, one in BY_SET.items()}
    return found


def one_log(
    job: tuple[str, int, list[str] | None],
) -> list[tuple[str, str, tuple[float, ...] | None]]:
    """A log, and what the named estimators, or all, say of every target for it."""
    kind, seed, names = job
    log = LOGS[kind][1](np.random.default_rng([seed, list(LOGS).index(kind)]))
    found = []
    for place, (design, (used, aim)) in enumerate(DESIGNS.items()):
        if used != kind:
            continue
        aimed = aim()
        target = aimed.make(np.random.default_rng([seed, 100 + place]))
        for name, (estimator, by_set) in estimators_of(
            design, aimed.any_success is not None
        ).items():
            truth = aimed.any_success if by_set else aimed.value
            if names is None or name in names:
                found.append((design, name, judged(estimator, log, target, truth)))
    return found


def judged(estimator: Estimator, log: Log, target: Any, truth: Any) -> tuple[float, ...] | None:
    """Whether the interval covers, its error and half width, the effective n, and any warning.

    None if the estimator refuses.
    """
    try:
        found = estimator(log, target)
    except ValueError as error:
        if "overlap" not in str(error):
            raise
        return None
    covered = found.low <= truth <= found.high
    half = (found.high - found.low) / 2
    return covered, found.value - truth, half, found.effective_n, found.warning is not None


def run(
    n_logs: int, workers: int, designs: list[str], names: list[str] | None = None
) -> Iterator[list[dict[str, Any]]]:
    """A row per design and estimator, for one kind of log after the other.

    They are the same for any number of workers.
    """
    wanted = {DESIGNS[design][0] for design in designs}
    with ProcessPoolExecutor(workers) as pool:
        for kind, (share, _) in LOGS.items():
            if kind not in wanted:
                continue
            found = defaultdict(list)
            jobs = [(kind, seed, names) for seed in range(math.ceil(share * n_logs))]
            for rows in pool.map(one_log, jobs, chunksize=max(1, len(jobs) // 40)):
                for design, name, row in rows:
                    found[design, name].append(row)
            yield [
                {"design": design, "estimator": name, **summary(rows)}
                for (design, name), rows in found.items()
                if design in designs
            ]


def keep(rows: list[dict[str, Any]], folder: Path) -> None:
    """Put rows into the file, in the order of the designs, and draw the picture."""
    path, new = folder / "offpolicy.json", {(row["design"], row["estimator"]) for row in rows}
    known = json.loads(path.read_text())["rows"] if path.exists() else []
    rows = [*(row for row in known if (row["design"], row["estimator"]) not in new), *rows]
    rows.sort(key=lambda row: list(DESIGNS).index(row["design"]))
    lines = ",\n".join(json.dumps(row) for row in rows)
    path.write_text(f'{{"rows": [\n{lines}\n]}}\n')
    (folder / "offpolicy.svg").write_text(render(partial(picture, rows), size=(WIDTH, 11.0)))


def summary(rows: list[Any]) -> dict[str, float]:
    answered = np.array([row for row in rows if row is not None], np.float64)
    if not len(answered):
        return {"logs": len(rows), "refused": 1.0}
    covered, error, half, effective, warned = answered.T
    unwarned = covered[warned == 0]
    return {
        "logs": len(rows),
        "coverage": round(covered.mean(), 5),
        "error": round(math.sqrt(covered.mean() * (1 - covered.mean()) / len(covered)), 5),
        "bias": round(error.mean(), 5),
        "rmse": round(math.sqrt((error**2).mean()), 5),
        "half": round(half.mean(), 5),
        "effective": round(float(np.median(effective)), 1),
        "warned": round(warned.mean(), 5),
        # Misses without a warning, as a share of all estimates.
        "silent": round(float((1 - unwarned).sum() / len(covered)), 5),
        "refused": round(1 - len(answered) / len(rows), 5),
    }


def table(rows: list[dict[str, Any]]) -> str:
    head = ["design", "estimator", "coverage, %", "bias", "rmse", "half width", "effective n"]
    head += ["warned, %", "silent, %", "refused, %"]
    lines = ["| " + " | ".join(head) + " |", "| --- | --- |" + " ---: |" * (len(head) - 2)]
    for row in rows:
        cells = [""] * 7 + ["100"]
        if "coverage" in row:
            cells = [
                f"{100 * row['coverage']:.1f} ± {100 * row['error']:.1f}",
                f"{row['bias']:+.3f}",
                f"{row['rmse']:.3f}",
                f"{row['half']:.3f}",
                f"{row['effective']:.0f}",
                *(f"{100 * row[name]:.1f}" for name in ("warned", "silent", "refused")),
            ]
        lines.append("| " + " | ".join([row["design"], row["estimator"], *cells]) + " |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--logs", type=int, default=1000)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--only", nargs="+", choices=list(DESIGNS), default=list(DESIGNS))
    parser.add_argument("--estimators", nargs="+", help="by default all of a design")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    frozen_chances()  # once, before the workers are forked
    for rows in run(options.logs, options.workers, options.only, options.estimators):
        print(table(rows), flush=True)
        if options.out:
            keep(rows, options.out)


if __name__ == "__main__":
    main()

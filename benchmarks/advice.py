"""How good the advice of `inspect` is, by budget, on 46 rewards of known kinds.

    python benchmarks/advice.py [--half shown] [--seeds 20] [--workers 2] [--out advice.json]
    python benchmarks/advice.py --tune [SHARE,N_LARGE] [--seeds 5]

For every reward, every oracle that can solve the problem picks a set at the same random thetas,
and the values of the sets are averaged. The advice is good if the recommended oracle is within 2%
of the oracle with the largest average. `Exhaustive` counts as available up to 15,000 sets. Oracles
that warn of false answers count with the sets that they return, and oracles that refuse the reward
count as worth nothing. The recommended oracle has the recommended settings.

Next to that: how often the advice says that it is undecided, or warns; how often it is neither
good nor undecided nor with a warning ("silently wrong"); whether it is the cheapest good oracle;
and how many evaluations the inspection made.

``--tune`` compares settings on the rewards of the tuning half only. The shown half was fixed
before any reward was played (`advice_rewards.HALF`), and the fresh and the latest rewards were made
afterwards.

With ``--out``, finished runs are kept in a file next to it (``advice.runs.jsonl``). The same
command continues an interrupted benchmark. The file is removed at the end.
"""

from __future__ import annotations

import argparse
import functools
import itertools
import json
import math
import multiprocessing
import time
import warnings
import zlib
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any

import numpy as np

import superarm as sa
from advice_latest import LATEST
from advice_rewards import FOOLING, FRESH, HALF, REWARDS
from superarm.advice import settings

BUDGETS = (10, 30, 100, 300, 1_000, 3_000)
WITHIN, MOST_SETS, N_THETAS = 0.02, 15_000, 20
COUNTED = ("good", "cheapest", "undecided", "warned")
HEAD = "| good | cheapest | undecided | warned | silently wrong | evaluations |"
# From the cheapest one on.
ORACLES = ("TopK", "LazySingletons", "Singletons", "LazyGreedy", "Greedy", "LocalSearch")
SETTINGS = {
    "SHARE": (0.1, 0.15, 0.25),
    "SMALL_ARMS": (2, 3),
    "BLOCK": (1, 4),
    "N_CHECKS": (0, 2, 5),
    "N_LARGE": (0, 2, 4),
    "N_GREEDY": (0, 2, 4),
    "RESTARTS": (0, 1, 2, 4),
}


def make(name: str, seed: int) -> Any:
    """A reward of its own for every name and seed."""
    return {**REWARDS, **FOOLING, **FRESH, **LATEST}[name](
        np.random.default_rng([zlib.crc32(name.encode()), seed])
    )


def thetas(n_arms: int, rng: np.random.Generator) -> Any:
    """Half of them uniform, half as after some outcomes of arms with different means."""
    for number in range(N_THETAS):
        theta = rng.random(n_arms)
        if number % 2:
            theta = rng.beta(1 + 20 * theta, 21 - 20 * theta)
        yield theta


def available(reward: Any, k: int) -> dict[str, Any]:
    """The oracles that solve the problem, new ones."""
    noisy = getattr(reward, "noisy", False)
    found = {name: getattr(sa, name)() for name in ORACLES if name != "TopK" or reward.additive}
    if noisy:
        for name in ("LazySingletons", "LazyGreedy"):
            del found[name]
        found["LocalSearch"] = sa.LocalSearch(sa.Singletons())
    if math.comb(reward.n_arms, k) <= MOST_SETS:
        found["Exhaustive"] = sa.Exhaustive()
    return found


@functools.cache
def values(name: str, seed: int) -> dict[str, float]:
    """The average value of every oracle's sets."""
    reward, _, k = make(name, seed)
    return {label: value_of(one, name, seed) for label, one in available(reward, k).items()}


def value_of(oracle: Any, name: str, seed: int) -> float:
    """The average value of an oracle's sets. Every oracle gets the same thetas."""
    reward, exact, k = make(name, seed)
    rng = np.random.default_rng([seed, 1])
    found = []
    for theta in thetas(reward.n_arms, np.random.default_rng(seed)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                picked = oracle.select(reward, theta, k, rng=rng)
            except ValueError:  # noise that it noticed: it refuses the reward
                return 0.0
        found.append(exact(picked, theta[picked]))
    return float(np.mean(found))


def advise(name: str, seed: int, budgets: tuple[int, ...]) -> list[dict[str, Any]]:
    """The advice for one reward, by budget."""
    rows = []
    known = dict(values(name, seed))
    best = max(known.values())
    good = [
        label for label in (*ORACLES, "Exhaustive") if known.get(label, 0) >= best * (1 - WITHIN)
    ]
    for budget in budgets:
        reward, _, k = make(name, seed)
        start = time.perf_counter()
        found = sa.inspect(reward, k=k, budget=budget, rng=np.random.default_rng(seed))
        took_s = time.perf_counter() - start
        advice = found.recommendation
        called = repr((advice.oracle, advice.settings, advice.groups))
        plain = not advice.settings and not advice.groups and advice.oracle in known
        if not plain and called not in known:
            known[called] = value_of(advice.build(), name, seed)
        # With settings, an oracle may be better than all plain ones.
        share = known[advice.oracle if plain else called] / best
        cheaper = [label for label in good if _cheaper(label, advice.oracle, plain=plain)]
        rows.append(
            {
                "reward": name,
                "seed": seed,
                "budget": budget,
                "oracle": advice.oracle,
                "case": advice.case,
                "quality": share,
                "good": share >= 1 - WITHIN,
                "cheapest": share >= 1 - WITHIN and not cheaper,
                "undecided": bool(advice.undecided),
                "open": list(advice.undecided),
                "warned": bool(advice.warnings or advice.fix_first),
                "groups": 0 if found.groups is None else len(found.groups.found),
                "evaluations": found.evaluations,
                "per_round": advice.evaluations,
                "ratio": None if found.check is None else found.check.mean_ratio,
                "took_s": round(took_s, 4),
            }
        )
    return rows


def _cheaper(label: str, than: str, *, plain: bool) -> bool:
    """Whether a plain oracle is cheaper than a recommended one, which may have settings."""
    order = [*ORACLES, "Exhaustive"]
    if than.startswith("Noisy"):  # it repeats evaluations
        return order.index(label) <= order.index(than.removeprefix("Noisy"))
    return order.index(label) < order.index(than) + (not plain)


def play(name: str, seed: int) -> dict[str, Any]:
    """One reward with one seed: qualities of all oracles, and the advice."""
    found = values(name, seed)
    best = max(found.values())
    quality = {label: round(value / best, 5) for label, value in found.items()}
    return {"name": name, "seed": seed, "quality": quality, "rows": advise(name, seed, BUDGETS)}


def gathered(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """One row per reward and budget: how many runs were good, undecided and so on."""
    found = []
    keys = sorted({(row["reward"], row["budget"]) for row in rows})
    for name, budget in keys:
        of = [row for row in rows if (row["reward"], row["budget"]) == (name, budget)]
        oracles = [row["oracle"] for row in of]
        silent = [not (row["good"] or row["undecided"] or row["warned"]) for row in of]
        ratios = [row["ratio"] for row in of if row["ratio"] is not None]
        found.append(
            {
                "reward": name,
                "budget": budget,
                "runs": len(of),
                **{key: sum(row[key] for row in of) for key in COUNTED},
                "silent": sum(silent),
                "found_groups": sum(row["groups"] > 0 for row in of),
                "evaluations": round(float(np.mean([row["evaluations"] for row in of])), 1),
                "per_round": round(float(np.mean([row["per_round"] for row in of])), 1),
                "quality": round(float(np.mean([row["quality"] for row in of])), 4),
                "ratio": round(float(np.mean(ratios)), 4) if ratios else None,
                "oracles": {oracle: oracles.count(oracle) for oracle in sorted(set(oracles))},
            }
        )
    return found


def summary(rows: list[dict[str, Any]]) -> dict[str, float]:
    """Shares of all runs of gathered rows."""
    n = sum(row["runs"] for row in rows)
    shares = {key: sum(row[key] for row in rows) / n for key in (*COUNTED, "silent")}
    return {**shares, "evaluations": sum(row["evaluations"] * row["runs"] for row in rows) / n}


def shown(rows: list[dict[str, Any]], **more: Any) -> str:
    """One line of a table."""
    found = summary(rows)
    cells = [*more.values(), *(f"{found[key]:.1%}" for key in (*COUNTED, "silent"))]
    return f"| {' | '.join(map(str, cells))} | {found['evaluations']:,.0f} |"


def names_of(half: str) -> list[str]:
    """The rewards of a half, or all, or a list of names with commas."""
    named = half.split(",")
    return [name for name in HALF if half in ("all", HALF[name]) or name in named]


def run(given: argparse.Namespace) -> None:
    """Play everything, and keep it as it goes."""
    jobs = list(itertools.product(names_of(given.half), range(given.seeds)))
    used = {name: getattr(settings, name) for name in SETTINGS}
    part = None if given.out is None else given.out.with_suffix(".runs.jsonl")
    done = _kept(part, used)
    left = [job for job in jobs if job not in done]
    print(f"{len(jobs) - len(left)} of {len(jobs)} runs were kept", flush=True)
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(given.workers, context) as executor:
        futures = {executor.submit(play, *job): job for job in left}
        for n_done, future in enumerate(as_completed(futures), 1):
            job, found = futures[future], future.result()
            done[job] = found
            if part is not None:
                with part.open("a", encoding="utf-8") as file:
                    file.write(json.dumps({**found, "settings": used}) + "\n")
            print(f"{n_done} of {len(left)}: {job[0]}, seed {job[1]}", flush=True)
    played = [done[job] for job in jobs]
    always: dict[str, dict[str, list[bool]]] = {}
    for one, label in itertools.product(played, ("LocalSearch", "Greedy", "Singletons")):
        good = one["quality"].get(label, 0.0) >= 1 - WITHIN
        always.setdefault(one["name"], {}).setdefault(label, []).append(good)
    kept: dict[str, Any] = {
        "within": WITHIN,
        "budgets": BUDGETS,
        "half": HALF,
        "fooling": list(FOOLING),
        "settings": used,
        "always": _counted(always),
        "rows": gathered([row for one in played for row in one["rows"]]),
    }
    if given.out is not None:
        given.out.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
        part.unlink(missing_ok=True)
    report(kept)


def _kept(part: Path | None, used: dict[str, Any]) -> dict[tuple[str, int], Any]:
    """Runs of an interrupted benchmark with the same settings."""
    if part is None or not part.exists():
        return {}
    lines = [line for line in part.read_text(encoding="utf-8").splitlines() if line.endswith("}")]
    rows = [row for row in map(json.loads, lines) if row["settings"] == used]
    return {(row["name"], row["seed"]): row for row in rows}


def _counted(always: dict[str, dict[str, list[bool]]]) -> dict[str, dict[str, int]]:
    """In how many runs a fixed oracle would have been good, by reward."""
    return {
        name: {"runs": len(of["Greedy"]), **{label: sum(good) for label, good in of.items()}}
        for name, of in sorted(always.items())
    }


def report(kept: dict[str, Any]) -> None:
    """Print what was found."""
    print(f"\n| half | budget {HEAD}")
    for half, budget in itertools.product(("tuning", "shown", "fresh", "latest"), BUDGETS):
        rows = [
            row for row in kept["rows"] if row["budget"] == budget and HALF[row["reward"]] == half
        ]
        if rows:
            print(shown(rows, half=half, budget=budget))
    for row in kept["rows"]:
        if row["good"] < row["runs"] and row["budget"] == BUDGETS[-2]:
            print(row["reward"], row["good"], "of", row["runs"], row["oracles"], row["quality"])


def tune(given: argparse.Namespace) -> None:
    """Other values of each setting, one at a time, on the tuning half."""
    jobs = list(itertools.product(names_of("tuning"), range(given.seeds)))
    print(f"\n| setting | value {HEAD}")
    for name in given.tune.split(","):
        before = getattr(settings, name)
        for value in SETTINGS[name]:
            setattr(settings, name, value)
            rows = [
                row for reward, seed in jobs for row in advise(reward, seed, (30, 100, 300, 1_000))
            ]
            print(shown(gathered(rows), setting=name, value=value), flush=True)
        setattr(settings, name, before)


def main() -> None:
    """Play or tune."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--half", default="all", help="tuning, shown, fresh, latest, all, or rewards: a,b"
    )
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument(
        "--tune", nargs="?", const=",".join(SETTINGS), help="all settings, or these: A,B"
    )
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    if given.tune:
        tune(given)
    else:
        run(given)


if __name__ == "__main__":
    main()

"""What all feasible sets must do."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from superarm.core import FeasibleSets
from superarm.core.optional import BestOfTop, Completable, Enumerable, Extendable, Uniform
from superarm.testing.claims import claim, claim_arms, claim_refused, name_of


def check_feasible_sets(make: Callable[[], FeasibleSets], n_arms: int, *, seed: int = 0) -> None:
    """Check feasible sets: ``make()`` gives those of a problem of ``n_arms`` arms.

    ``best`` gives a feasible set, ascending, of a size that ``n_most`` and ``same_size`` allow.
    Another number of arms is refused. A pickled copy does the same.
    """
    rng, feasible = np.random.default_rng(seed), make()
    claim(isinstance(feasible, FeasibleSets), f"{name_of(feasible)} must have all of FeasibleSets")
    shape = feasible.for_arms(n_arms).undecided.shape
    claim(shape == (n_arms,), f"undecided must have shape ({n_arms},), got {shape}")
    # Random values, so that ties do not occur and the best set is unique almost surely.
    for _ in range(20):
        best = feasible.best(rng.random(n_arms), rng=rng)
        claim_arms(best, n_arms)
        claim(feasible.is_feasible(best), f"the best set must be feasible, got {best}")
        fits = len(best) == feasible.n_most or not feasible.same_size
        claim(fits and len(best) <= feasible.n_most, f"sizes must be as declared, got {best}")
    for wrong in (n_arms - 1, n_arms + 1):
        claim_refused(partial(feasible.for_arms, wrong), f"{wrong} arms")
    # Executors send feasible sets to other processes.
    copy, values = pickle.loads(pickle.dumps(feasible)), rng.random(n_arms)
    same = np.array_equal(copy.best(values, rng=rng), feasible.best(values, rng=rng))
    claim(same, "a pickled copy must do the same")
    _check_options(feasible, n_arms, rng)


def _check_options(sets: FeasibleSets, n_arms: int, rng: np.random.Generator) -> None:
    """What the sets offer of the optional Protocols."""
    feasible: Any = sets
    values = rng.random(n_arms)
    best = feasible.best(values, rng=rng)
    if isinstance(sets, Uniform):
        claim(feasible.is_feasible(feasible.random_set(rng=rng)), "a random set must be feasible")
    if isinstance(sets, BestOfTop) and (n_top := feasible.n_top()):
        top = np.sort(np.argsort(values)[-n_top:])
        found, _ = feasible.best_of_top(top, values[top], rng=rng)
        claim(np.array_equal(found, best), f"the best of the top must be {best}, got {found}")
    if isinstance(sets, Extendable):
        chosen = np.sort(feasible.must)
        # Any order of additions must end in a set: an oracle that extends greedily never goes back.
        while (allowed := np.flatnonzero(feasible.extend(chosen))).size:
            claim(not np.isin(allowed, chosen).any(), "a chosen arm must not be added again")
            chosen = np.sort(np.append(chosen, rng.choice(allowed)))
        claim(feasible.is_feasible(chosen), f"arms that extend must make a set, got {chosen}")
    if isinstance(sets, Completable) and len(best):
        completes = np.flatnonzero(feasible.completed_by(best[:-1]))
        claim(best[-1] in completes, f"arm {best[-1]} must complete {best[:-1]}, got {completes}")
    if isinstance(sets, Enumerable):
        every = [one for block in feasible.blocks() for one in block]
        claim(len(every) <= feasible.n_candidates, "n_candidates must bound the number of sets")
        claim(all(map(feasible.is_feasible, every)), "all sets of blocks must be feasible")

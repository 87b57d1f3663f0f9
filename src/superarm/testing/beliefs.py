"""What every belief must do."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from superarm.core import Belief
from superarm.core.bulk import SamplesTops
from superarm.core.contexts import Contextual, MayLackContexts
from superarm.core.optional import (
    CountsOutcomes,
    Growable,
    HasMean,
    HasPosterior,
    SamplesMany,
    SamplesTop,
)
from superarm.testing.claims import (
    claim,
    claim_arms,
    claim_array,
    claim_refused,
    claim_unit,
    name_of,
)

_NAN = float("nan")
# The belief of a round: the belief itself, or that of a context.
_Now = Callable[[Any], Any]


def check_belief(
    make: Callable[[int], Belief],
    *,
    seed: int = 0,
    context: Callable[[int], Any] | None = None,
) -> None:
    """Check a belief: ``make(n_arms)`` gives a fresh one.

    Samples are in [0, 1] and repeatable. Feedback moves arms in the right direction. Bad feedback
    is refused and changes nothing. The state is plain JSON that restores the belief exactly.
    Whether samples have the right law, only your own tests can say.

    For a belief with ``at``, ``context(n_arms)`` gives the context of all rounds; without it they
    have none. Bad contexts are refused.
    """

    def now(belief: Any) -> Any:
        return belief if context is None else belief.at(context(belief.n_arms))

    rng = np.random.default_rng(seed)
    # Five arms: the check needs one that wins, one that loses, one in between, and two that are
    # never updated.
    belief = make(5)
    claim(
        isinstance(belief, Belief),
        f"{name_of(belief)} must have n_arms, sample, update, state and load",
    )
    claim(belief.n_arms == 5, f"n_arms must be 5, as requested, got {belief.n_arms}")
    _check_contexts(belief, context)
    _check_sample(now(belief), seed)
    # Arms out of order, and outcomes inside (0, 1) as well, which a Beta belief turns into coins.
    # 200 rounds move any sensible prior further than the 0.5 that is asked for below.
    # The loser comes first: in a list, what follows a success may say nothing.
    for _ in range(200):
        now(belief).update([4, 1], [0.0, 1.0], rng=rng)
        now(belief).update([2], [rng.random()], rng=rng)
    # A round in which nothing was seen is not an error: all outcomes of a round may be missing.
    now(belief).update([], [], rng=rng)
    _check_sample(now(belief), seed)
    mean = np.mean([now(belief).sample(rng=rng) for _ in range(200)], axis=0)
    claim(
        mean[1] > mean[4] + 0.5,
        f"an arm that always succeeds must look better than one that never does: {mean}",
    )
    _check_options(now(belief), seed)
    _check_state(make, belief, now, seed)
    _check_refusals(make, belief, now, rng)
    if isinstance(belief, Growable):
        _check_growth(make, belief, now, seed)


def _check_contexts(belief: Any, context: Callable[[int], Any] | None) -> None:
    """Which contexts the belief takes; nothing changes by looking."""
    if not isinstance(belief, Contextual):
        claim(context is None, f"{name_of(belief)} must have at(context), if it has contexts")
        return
    if context is None:
        claim(belief.at(None).n_arms == 5, "at(None) must be about the same arms")
        if isinstance(belief, MayLackContexts):
            claim(belief.average_context is None, "average_context must be None without contexts")
        return
    given = np.array(context(5), np.float64)
    if isinstance(belief, MayLackContexts):
        average, expected = np.asarray(belief.average_context), given.shape[-1:]
        claim(average.shape == expected, f"average_context must have shape {expected}")
    claim(belief.at(given).n_arms == 5, "at(context) must be about the same arms")
    bad = {
        "a context with NaN": np.full_like(given, _NAN),
        "a context of another length": np.concatenate([given, given], axis=-1),
        "a context of three dimensions": given.reshape(1, -1, 1),
    }
    for what, wrong in bad.items():
        _check_refused(belief, partial(belief.at, wrong), what)


def _check_sample(belief: Belief, seed: int) -> None:
    # Two generators of the same seed, used one after the other: a sample that changed the belief
    # would show in the second.
    theta = belief.sample(rng=np.random.default_rng(seed))
    again = belief.sample(rng=np.random.default_rng(seed))
    claim_array(theta, (belief.n_arms,), "a sample")
    claim_unit(theta, "a sample")
    claim(
        np.array_equal(theta, again),
        "the same generator must give the same sample, and sampling change nothing",
    )


def _check_options(belief: Any, seed: int) -> None:
    """What the belief offers of the optional Protocols."""
    rng = np.random.default_rng(seed)
    if isinstance(belief, SamplesTop):
        arms, values = belief.sample_top(2, rng=rng)
        claim_arms(arms, 5)
        claim(arms.shape == values.shape == (2,), "sample_top(2) must give two arms and values")
        claim_unit(values, "the values of sample_top")
    if isinstance(belief, SamplesTops):
        arms, values = belief.sample_tops(3, 2, rng=rng)
        claim(arms.shape == values.shape == (3, 2), "sample_tops(3, 2) must give 3 rows of 2 arms")
        for row in arms:
            claim_arms(row, 5)
        claim_unit(values.ravel(), "the values of sample_tops")
    if isinstance(belief, SamplesMany):
        samples = belief.sample_many(3, rng=rng)
        claim(samples.shape == (3, 5), f"sample_many(3) must have 3 rows, got {samples.shape}")
        claim_unit(samples, "sample_many")
    if isinstance(belief, HasMean):
        shape = np.shape(belief.mean())
        claim(shape == (5,), f"mean must have shape (5,), got {shape}")
    if isinstance(belief, HasPosterior):
        posterior = belief.posterior(np.array([4, 1]))
        low, high = posterior.interval(0.95)
        shapes = {posterior.mean().shape, low.shape, high.shape}
        claim(shapes == {(2,)}, f"a posterior of two arms must have shapes (2,), got {shapes}")
        claim((low <= high).all(), f"an interval must ascend, got {low} to {high}")
    if isinstance(belief, CountsOutcomes):
        counts = belief.outcomes.counts
        claim(counts.shape == (5,), f"outcomes.counts must have shape (5,), got {counts.shape}")


def _check_state(make: Callable[[int], Belief], belief: Belief, now: _Now, seed: int) -> None:
    # Through text, as in a session file: a numpy number in the state would fail here.
    saved = json.loads(json.dumps(belief.state()))
    twin = make(5)
    twin.load(saved)
    claim(_json(twin) == _json(belief), "load(state()) must restore the belief exactly")
    # The same feedback to both. A state that lacks something shows up only in what follows.
    for one in (belief, twin):
        now(one).update([0, 3], [0.25, 1.0], rng=np.random.default_rng(seed))
    samples = [now(one).sample(rng=np.random.default_rng(seed)) for one in (belief, twin)]
    claim(
        np.array_equal(samples[0], samples[1]),
        "a restored belief must go on as the saved one does",
    )


def _check_refusals(make: Callable[[int], Belief], belief: Belief, now: _Now, rng: Any) -> None:
    feedback: dict[str, tuple[list[int], list[float]]] = {
        "a NaN outcome": ([0], [_NAN]),
        "an outcome above 1": ([0], [1.5]),
        "an outcome below 0": ([0], [-0.5]),
        "the same arm twice": ([0, 0], [1.0, 1.0]),
        "an arm beyond the last": ([5], [1.0]),
        "a negative arm": ([-1], [1.0]),
        "fewer outcomes than arms": ([0, 1], [1.0]),
    }
    for what, (arms, outcomes) in feedback.items():
        _check_refused(belief, partial(now(belief).update, arms, outcomes, rng=rng), what)
    # Read by index, such a state would give arms the outcomes of others.
    other = make(4).state()
    _check_refused(belief, lambda: belief.load({}), "an empty state")
    _check_refused(belief, lambda: belief.load(other), "a state of another number of arms")


def _check_refused(belief: Any, action: Callable[[], Any], what: str) -> None:
    # A deep copy, since the state may share lists with the belief.
    before = copy.deepcopy(belief.state())
    claim_refused(action, what)
    claim(belief.state() == before, f"refusing {what} must change nothing")


def _check_growth(make: Callable[[int], Belief], belief: Any, now: _Now, seed: int) -> None:
    """More arms, in a twin: a sample has room for them, and the known arms stay as they were."""
    twin: Any = make(5)
    twin.load(json.loads(json.dumps(belief.state())))
    twin.add_arms(2, None)
    claim(twin.n_arms == 7, f"add_arms(2) must make 7 arms of 5, got {twin.n_arms}")
    # The new arms take part in samples at once.
    _check_sample(now(twin), seed)


def _json(belief: Belief) -> str:
    return json.dumps(belief.state(), sort_keys=True)

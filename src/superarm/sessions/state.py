"""The state of a session as plain JSON: all of it for a file, what one `ask` changes for a log."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from superarm.core import FeasibleSets, KOfM, Policy
from superarm.core.members import need
from superarm.core.optional import Adopts, HasLevel, Stateful
from superarm.errors import SessionFileError
from superarm.sessions.answers import go_to, replay
from superarm.sessions.expiry import Expiry
from superarm.sessions.holdout import Holdout
from superarm.sessions.ledger import Record
from superarm.version import __version__

if TYPE_CHECKING:
    from superarm.sessions.unlocked import UnlockedSession

_RENAMED = {"Rarely": "Scheduled"}  # names of oracles in files of earlier versions
_MUST_AGREE = ("belief", "oracle", "n_arms", "k")  # of a loaded policy with the saved one


def session_state(session: UnlockedSession) -> dict[str, Any]:
    """Everything that later decisions depend on."""
    return state_later(session)()


def state_later(session: UnlockedSession) -> Callable[[], dict[str, Any]]:
    """A function that returns what `session_state` would return now.

    It shares nothing with the session that changes, so another thread may call it, and write down
    what it returns, while the session goes on.
    """
    arms, ledger, seeding = session.arms, session.ledger, session.seeding
    policy, oracle = session.policy, session.policy.oracle
    need(policy.belief, "the belief of a session that is saved", "state", "load")
    state = {
        "superarm": __version__,
        "policy": _describe(policy),
        "seed": {
            "entropy": seeding.entropy,
            "path": list(seeding.path),
            "forks": list(seeding.forks),
        },
        "rng": session.rng.bit_generator.state,
        "rounds": session.rounds,
        "n_decisions": session.n_decisions,
        "keep": ledger.keep,
        "explain_last": session.explain_last,
        "expiry": dict(vars(session.expiry)),
        "retired": arms.retired.tolist(),
    }
    # 0, 1, 2, ... need not be written. Names are seldom numbers, and may be a million.
    if arms.names[:1] != [0] or arms.names != list(range(len(arms))):
        state["names"] = arms.names  # never changed, only replaced
    if arms.n_first != len(arms):
        state["n_first"] = arms.n_first
    if seeding.own_key is not None:
        state["key"] = seeding.own_key
    if session.trial is not None:
        state["holdout"] = session.trial.state()
    # Open decisions first: the order in the file is the order in the ledger when it is loaded.
    # Nothing else of a record changes. To write down thousands of them takes longer than to decide.
    records = [
        (record.decision, record.arms, record.outcomes.copy(), record.status)
        for some in (ledger.open, ledger.closed)
        for record in some.values()
    ]
    belief = policy.belief.state()
    memory = oracle.state() if isinstance(oracle, Stateful) else None

    def complete() -> dict[str, Any]:
        decisions = [Record(*as_it_was).state() for as_it_was in records]
        return {**state, "decisions": decisions, "belief": belief, "oracle": memory}

    return complete


def wanted_policy(state: dict[str, Any]) -> dict[str, Any]:
    """What the policy to load the state into must have."""
    wanted = {name: state["policy"][name] for name in _MUST_AGREE}
    return {**wanted, "oracle": _RENAMED.get(wanted["oracle"], wanted["oracle"])}


def made_like(wanted: dict[str, Any], policy: Policy | Callable[[int], Policy]) -> Policy:
    """The policy, or the one that a function makes. Refuses one that has something else."""
    made = policy(wanted["n_arms"]) if callable(policy) else policy
    if not isinstance(made, Policy):
        expected = "policy must be a Policy, or a function of n_arms that returns one"
        came = "a function that returned " if callable(policy) else ""
        raise TypeError(f"{expected}, got {came}{type(made).__name__}")
    found = _describe(made)
    came = {name: found[name] for name in _MUST_AGREE}
    if came != wanted:
        raise SessionFileError(f"policy must be made as the saved one was, {wanted}, got {came}")
    return made


def settings(state: dict[str, Any]) -> dict[str, Any]:
    """The arguments that the session is constructed with."""
    return {
        "names": state.get("names"),
        "seed": state["seed"]["entropy"],
        "expiry": Expiry(**state["expiry"]),
        "keep": state["keep"],
        "explain_last": state["explain_last"],
        "key": state.get("key"),
        "holdout": _holdout(state),
    }


def _holdout(state: dict[str, Any]) -> Holdout | None:
    saved = state.get("holdout")  # not in files of earlier versions
    if saved is None:
        return None
    if saved["arms"] is None:
        return Holdout(saved["share"])
    names = state.get("names")
    return Holdout(saved["share"], tuple(names[arm] if names else arm for arm in saved["arms"]))


def load_state(session: UnlockedSession, state: dict[str, Any]) -> None:
    """Bring a new session into a state.

    The policy belongs to the caller, so it is changed last, when everything else is known to fit.
    """
    path, forks = tuple(state["seed"]["path"]), list(state["seed"]["forks"])
    session.seeding = replace(session.seeding, path=path, forks=forks)
    session.rounds, session.n_decisions = state["rounds"], state["n_decisions"]
    is_retired = np.zeros(len(session.arms), bool)
    is_retired[state["retired"]] = True
    session.arms.is_retired = is_retired
    # Files of earlier versions do not say which arms were added.
    session.arms.n_first = state.get("n_first", len(session.arms))
    for one in state["decisions"]:
        record = Record.from_state(one, session.arms.names)
        ledger = session.ledger
        records = ledger.open if record.status == "open" else ledger.closed
        records[record.decision.id] = record
    if session.trial is not None:
        session.trial.load(state["holdout"])
    # The generator of the seed, so that the increment of its stream is right; then its position.
    session.rng = session.seeding.generator()
    session.rng.bit_generator.state = state["rng"]
    _load_parts(session.policy, state["belief"], state["oracle"])
    session.policy.reward.evaluations = state["policy"]["evaluations"]


def mark_of(session: UnlockedSession) -> dict[str, Any]:
    """What one `ask` changes besides its decisions, small enough to be logged with them.

    The position of the generator, the evaluations so far, the level of a belief that has one, and
    the answers of the reward if the memory of the oracle depends on them.
    """
    policy = session.policy
    # As `position_of`, without another call in each round.
    state: Any = session.rng.bit_generator.state
    position = f"{state['state']['state']:032x}{state['has_uint32']:x}{state['uinteger']:08x}"
    mark: dict[str, Any] = {"rng": position, "evaluations": policy.reward.evaluations}
    # As `offers` with `HasLevel`, without another call in each decision of a service.
    level = getattr(policy.belief, "level", None)
    if level is not None:
        mark["level"] = list(level)
    heard = None if session.listener is None else session.listener.heard
    return mark if heard is None else {**mark, **heard.mark()}


def load_mark(
    session: UnlockedSession,
    mark: dict[str, Any],
    feasible: FeasibleSets,
    records: Sequence[Record],
) -> None:
    """Bring a session to a mark. ``records`` are the decisions since the last."""
    policy, belief, oracle = session.policy, session.policy.belief, session.policy.oracle
    # Logs of earlier versions have no answers.
    replayed = "answers" in mark and bool(records) and replay(session, mark, feasible, records)
    go_to(mark["rng"], session.rng)
    policy.reward.evaluations = mark["evaluations"]
    if isinstance(belief, HasLevel):
        level = mark.get("level")
        belief.level = None if level is None else (int(level[0]), float(level[1]))
    if not replayed and isinstance(oracle, Adopts):
        for record in records:
            if record.decision.holdout:
                continue  # the oracle did not pick it
            oracle.adopt(np.sort(record.arms), feasible, policy.reward.n_arms)


def _describe(policy: Policy) -> dict[str, Any]:
    sets = policy.feasible
    return {
        "belief": type(policy.belief).__name__,
        "oracle": type(policy.oracle).__name__,
        "reward": type(policy.reward.uncounted).__name__,
        "n_arms": policy.reward.n_arms,
        "k": sets.k if isinstance(sets, KOfM) else type(sets).__name__,
        "evaluations": policy.evaluations,
    }


def _load_parts(policy: Policy, belief: dict[str, Any], oracle: dict[str, Any] | None) -> None:
    """Load the states of belief and oracle, or of neither."""
    picks = policy.oracle
    if oracle is None or not isinstance(picks, Stateful):
        policy.belief.load(belief)
        return
    # The oracle first, because loading its old state undoes it if the belief refuses.
    before = picks.state()
    picks.load(oracle)
    try:
        policy.belief.load(belief)
    except Exception:
        picks.load(before)
        raise

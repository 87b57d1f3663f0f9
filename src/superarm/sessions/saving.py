"""A session as a document of plain JSON, and back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from superarm.core import Policy
from superarm.errors import SessionFileError
from superarm.sessions.decisions import Expiry, Record
from superarm.version import __version__

if TYPE_CHECKING:
    from superarm.sessions.session import Session

_SAME = ("belief", "oracle", "n_arms", "k")  # what a policy must have in common with the saved one


def document_of(session: Session) -> dict[str, Any]:
    """Everything that decides, and nothing that the session changes later on: it may be written by another thread."""
    roster, ledger, oracle, origin = (
        session._roster,
        session._ledger,
        session.policy.oracle,
        session._origin,
    )
    plain = roster.names == list(range(len(roster)))
    return {
        "superarm": __version__,
        "policy": _kind(session.policy),
        "seed": {"entropy": origin.entropy, "path": list(origin.path), "forks": list(origin.forks)},
        "rng": session._rng.bit_generator.state,
        "rounds": session.rounds,
        "n_decisions": session._n_decisions,
        "keep": session.keep,
        "explain_last": session.explain_last,
        "expiry": asdict(session.expiry),
        "retired": roster.retired.tolist(),
        **({} if plain else {"names": list(roster.names)}),
        **({} if origin.own_key is None else {"key": origin.own_key}),
        "decisions": [
            record.state() for kind in (ledger.open, ledger.closed) for record in kind.values()
        ],
        "belief": session.policy.belief.state(),
        "oracle": oracle.state() if hasattr(oracle, "state") else None,
    }


def as_policy(document: dict[str, Any], policy: Policy | Callable[[int], Policy]) -> Policy:
    """The policy that the document's states go into, once it is seen to be of the same kind."""
    wanted = {name: document["policy"][name] for name in _SAME}
    made = policy if isinstance(policy, Policy) else policy(wanted["n_arms"])
    came = {name: _kind(made)[name] for name in _SAME}
    if came != wanted:
        raise SessionFileError(f"policy must be made as the saved one was, {wanted}, got {came}")
    return made


def settings(document: dict[str, Any]) -> dict[str, Any]:
    """What the session is constructed with."""
    return {
        "names": document.get("names"),
        "seed": document["seed"]["entropy"],
        "expiry": Expiry(**document["expiry"]),
        "keep": document["keep"],
        "explain_last": document["explain_last"],
        "key": document.get("key"),
    }


def restore(session: Session, document: dict[str, Any]) -> None:
    """Make a new session what the document says; its policy is changed last, when all else is known to fit."""
    path, forks = tuple(document["seed"]["path"]), list(document["seed"]["forks"])
    session._origin = replace(session._origin, path=path, forks=forks)
    session.rounds, session._n_decisions = document["rounds"], document["n_decisions"]
    session._roster.is_retired[document["retired"]] = True
    for state in document["decisions"]:
        record = Record.of(state, session._roster.names)
        (session._ledger.open if record.status == "open" else session._ledger.closed)[
            record.decision.id
        ] = record
    session._rng = session._origin.generator()
    session._rng.bit_generator.state = document["rng"]
    _load_parts(session.policy, document["belief"], document["oracle"])
    session.policy.reward.evaluations = document["policy"]["evaluations"]


def _kind(policy: Policy) -> dict[str, Any]:
    return {
        "belief": type(policy.belief).__name__,
        "oracle": type(policy.oracle).__name__,
        "reward": type(policy.reward.uncounted).__name__,
        "n_arms": policy.reward.n_arms,
        "k": policy.k if isinstance(policy.k, int) else type(policy.k).__name__,
        "evaluations": policy.evaluations,
    }


def _load_parts(policy: Policy, belief: dict[str, Any], oracle: dict[str, Any] | None) -> None:
    """Load the states of both, or of neither."""
    picks: Any = policy.oracle
    if oracle is None or not hasattr(picks, "load"):
        policy.belief.load(belief)
        return
    before = picks.state()
    picks.load(oracle)
    try:
        policy.belief.load(belief)
    except Exception:
        picks.load(before)
        raise

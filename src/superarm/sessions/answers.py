"""The answers of a reward in one `ask`: a session that adopts its decisions runs on them again.

The memory of some oracles decides, and comes from answers or from draws: see
`superarm.core.replays`. The mark of an `ask` then has the position of the generator before it, and
all answers. A session that adopts the decisions makes them again, without an evaluation.
"""

from __future__ import annotations

import base64
import zlib
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from superarm.core import FeasibleSets, Policy, Pools
from superarm.core.arguments import FloatArray
from superarm.core.copies import copy_oracle
from superarm.core.declarations import SameDeclarations
from superarm.core.replays import must_replay
from superarm.sessions.ledger import Record

if TYPE_CHECKING:
    from superarm.sessions.unlocked import UnlockedSession

# More answers are not logged: they would make the log large, and the memory is mostly a cache then.
# This many take up to 170 kB of a log.
_MOST_ANSWERS = 16_384
_KEYS = ("before", "answers", "checksum")  # of a mark


def without_answers(mark: dict[str, Any]) -> dict[str, Any]:
    """A mark without what only `replay` needs: a session that was loaded from a file has none."""
    return {name: value for name, value in mark.items() if name not in _KEYS}


class Heard:
    """What a reward answered in the decisions of one `ask`, and where the generator was before."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.before = position_of(rng)
        self.answers: list[FloatArray] = []
        self.checksum = 0

    def __call__(self, sets: ArrayLike | Pools, answers: Any) -> Any:
        """Remember the answers about some sets, and return them."""
        key = sets.key() if isinstance(sets, Pools) else np.asarray(sets, np.int64).tobytes()
        self.checksum = zlib.crc32(key, self.checksum)
        self.answers.append(np.array(answers, np.float64).reshape(-1))
        return answers

    def mark(self) -> dict[str, Any]:
        """What a mark has of it, as plain JSON; nothing if there are too many answers."""
        answers = np.concatenate([np.zeros(0), *self.answers])
        if len(answers) > _MOST_ANSWERS:
            return {}
        packed = base64.b64encode(zlib.compress(answers.astype("<f8").tobytes())).decode()
        return {"before": self.before, "answers": packed, "checksum": self.checksum}


class _Played(SameDeclarations):
    """A reward that gives logged answers, in their order."""

    def __init__(self, reward: Any, packed: str) -> None:
        super().__init__(reward)
        self.answers = np.frombuffer(zlib.decompress(base64.b64decode(packed)), "<f8")
        self.n_given = 0

    def __call__(self, arms: ArrayLike, means: ArrayLike) -> float:
        return float(self._next(1)[0])

    def batch(self, pools: Pools, theta: ArrayLike) -> FloatArray:
        return self._next(len(pools))

    def _next(self, n: int) -> FloatArray:
        self.n_given += n
        if self.n_given > len(self.answers):
            raise LookupError("the log has no more answers")
        return self.answers[self.n_given - n : self.n_given].astype(np.float64)


class Listener:
    """Used in a ``with``: remembers the answers of the reward to a session, if nothing fails.

    ``heard`` has those of the last `ask`; None before it.
    """

    def __init__(self, session: UnlockedSession) -> None:
        self.heard: Heard | None = None
        self._session = session

    @classmethod
    def of(cls, session: UnlockedSession) -> Listener | None:
        """The listener of a session; None if its oracle needs no answers."""
        return cls(session) if must_replay(session.policy.oracle) else None

    def __enter__(self) -> None:
        self._session.policy.reward.hear = Heard(self._session.rng)

    def __exit__(self, kind: type | None, *details: object) -> None:
        reward = self._session.policy.reward
        self.heard, reward.hear = reward.hear if kind is None else self.heard, None


def replay(
    session: UnlockedSession,
    mark: dict[str, Any],
    feasible: FeasibleSets,
    records: Sequence[Record],
) -> bool:
    """Make logged decisions again, on logged answers, so that the oracle remembers the same.

    False if they are not the same, for example because another processor rounds otherwise. The
    oracle is then as it was before.
    """
    policy, context, listener = session.policy, records[0].decision.context, session.listener
    if listener is None:
        return False  # the oracle of this version needs no answers
    undo, reward = _memory(policy), policy.reward.uncounted
    go_to(mark["before"], session.rng)
    played = _Played(reward, mark["answers"])
    policy.reward.uncounted = played
    try:
        listener.heard = None
        with listener:
            made = [
                session._decide(feasible, place, record.decision.time, 0, context)[0]
                for place, record in enumerate(records, start=1)
            ]
    except Exception:  # an oracle may raise anything, given answers to other questions
        made = []
    finally:
        policy.reward.uncounted = reward
    same = (
        [one.arms for one in made] == [record.decision.arms for record in records]
        and played.n_given == len(played.answers)
        and listener.heard is not None
        and listener.heard.checksum == mark["checksum"]
        and position_of(session.rng) == mark["rng"]
    )
    if not same:
        policy.oracle.load(undo())
    return same


def position_of(rng: np.random.Generator) -> str:
    """Where a generator is. Of a PCG64 only these three numbers change: 32, 1 and 8 digits."""
    state: Any = rng.bit_generator.state
    return f"{state['state']['state']:032x}{state['has_uint32']:x}{state['uinteger']:08x}"


def go_to(position: str, rng: np.random.Generator) -> None:
    """Bring a generator to a position. The increment of its stream stays: it has it from a seed."""
    state: Any = rng.bit_generator.state
    state["state"]["state"] = int(position[:32], 16)
    state["has_uint32"], state["uinteger"] = int(position[32], 16), int(position[33:], 16)
    rng.bit_generator.state = state


def _memory(policy: Policy) -> Callable[[], dict[str, Any]]:
    """Returns the state of the oracle as it is now. To copy it is faster than to write it down."""
    try:
        return copy_oracle(policy.oracle, policy, policy).state
    except ValueError:  # it cannot be copied
        state = policy.oracle.state()
        return lambda: state

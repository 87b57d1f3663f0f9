"""What an entry of the catalog says."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeVar

from superarm import oracles
from superarm.core import Oracle, Policy, Reward
from superarm.policies import Prior

Kind = Literal["int", "float", "bool", "choice", "pair", "oracle", "vector", "matrix"]


@dataclass(frozen=True)
class Parameter:
    """A parameter of a part.

    Attributes
    ----------
    name, kind, sentence
        Its keyword, what kind of value it takes, and what it does.
    default
        Its default value; ``REQUIRED`` if it has none.
    least, most
        Limits of a number that comes from outside the program; None for no limit.
    choices
        The words it accepts. A parameter of kind "float" may accept a word besides numbers.
    """

    name: str
    kind: Kind
    sentence: str
    default: Any = None
    least: float | None = None
    most: float | None = None
    choices: tuple[str, ...] = ()

    @property
    def required(self) -> bool:
        """Whether a value must be given."""
        return self.default is REQUIRED


class _Required:
    def __repr__(self) -> str:
        return "REQUIRED"


# An object of its own, since None is the default of some parameters.
REQUIRED = _Required()


@dataclass(frozen=True)
class Part:
    """A belief, an oracle, a reward or an environment.

    The command line, the service, its page and the docs offer what they find here.

    Attributes
    ----------
    name
        What the command line and the service call it.
    label
        The name of its class.
    factory
        Makes it. A belief's and a reward's take the number of arms first.
    sentence
        What it is, for people who choose.
    parameters
        What the factory takes besides.
    over_http
        Whether the service offers it. The others need a Python object or other parts beside them.
    """

    name: str
    label: str
    factory: Callable[..., Any]
    sentence: str
    parameters: tuple[Parameter, ...] = ()
    over_http: bool = True

    def make(self, *args: Any, **options: Any) -> Any:
        """The part, with these parameters."""
        return self.factory(*args, **options)


@dataclass(frozen=True)
class Task:
    """What a named policy is made for.

    Attributes
    ----------
    reward, k, horizon
        The problem, and how many rounds are played.
    delta, n_tests
        Quantization level and number of tests per round, for group testing.
    oracle
        Makes the oracle of policies that take any; None for the one with the fewest evaluations.
    prior
        The prior of `thompson` and `cts`; None for the default of each.
    """

    reward: Reward
    k: int
    horizon: int
    delta: float
    n_tests: int | Literal["order", "lemma"] = "order"
    oracle: Callable[[], Oracle] | None = None
    prior: Prior | None = None

    def exact_oracle(self) -> Oracle:
        """Picks the best set for given means: no evaluation for sums, few otherwise."""
        if self.oracle is not None:
            return self.oracle()
        # Both find the set that Singletons finds, so that a comparison of policies is not one of
        # oracles.
        return oracles.TopK() if self.reward.additive else oracles.LazySingletons()


@dataclass(frozen=True)
class PolicyPart:
    """A named policy.

    Attributes
    ----------
    name, label, sentence
        The name on the command line, the label in tables and pictures, what it does.
    make
        Makes the policy for a `Task`, with settings that follow from the task by one rule.
    colour, dash
        Its line in every picture.
    code
        How it is made in Python, for the documentation.
    additive
        Whether it plays sums only.
    """

    name: str
    label: str
    sentence: str
    make: Callable[[Task], Policy]
    colour: str
    dash: str = "-"
    code: str = ""
    additive: bool = False


class _Named(Protocol):
    @property
    def name(self) -> str: ...


_Entry = TypeVar("_Entry", bound=_Named)


def by_name(*entries: _Entry) -> dict[str, _Entry]:
    """Entries in the order given, by name."""
    # Dictionaries keep their order: tables and menus show entries in the order given here.
    return {entry.name: entry for entry in entries}

"""What the group-testing oracle refuses of its settings."""

from __future__ import annotations

from superarm.core import FeasibleSets, Pools
from superarm.core.arguments import as_count
from superarm.oracles._group_testing.rules import NTests


def one_of(value: str, name: str, *choices: str) -> str:
    """One of some words."""
    if value not in choices:
        words = ", ".join(f'"{choice}"' for choice in choices[:-1])
        raise ValueError(f'{name} must be {words} or "{choices[-1]}", got {value!r}')
    return value


def as_n_tests(n_tests: NTests) -> NTests:
    """A number of tests, or the name of a rule for it."""
    if not isinstance(n_tests, str):
        return as_count(n_tests, "n_tests", least=1)
    if n_tests not in ("order", "lemma"):
        raise ValueError(f'n_tests must be a whole number, "order" or "lemma", got {n_tests!r}')
    return n_tests


def as_pools(pools: Pools | None) -> Pools | None:
    """Fixed tests, or None."""
    if pools is not None and not isinstance(pools, Pools):
        raise TypeError(
            f"pools must be a Pools, got {type(pools).__name__}; Pools.of makes one from sets"
        )
    return pools


def check_pools(pools: Pools | None, feasible: FeasibleSets) -> None:
    """Refuse sets of another number of arms than that of fixed tests."""
    if pools is None:
        return
    try:
        feasible.for_arms(pools.n_arms)
    except ValueError:
        raise ValueError(
            f"pools must be over all of the reward's arms, got pools over {pools.n_arms}"
        ) from None

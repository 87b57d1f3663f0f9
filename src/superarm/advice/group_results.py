"""What a search for interacting arms found, as data and as text."""

from __future__ import annotations

from dataclasses import dataclass, replace

from superarm.advice.text import listed

_SHOWN = 3  # groups in a text


@dataclass(frozen=True)
class ArmGroup:
    """Arms that are worth more, or less, together than the values of the arms alone explain.

    Attributes
    ----------
    arms
        Two arms, or a few more if no two of them interact.
    means
        Their means, in the same order.
    together
        The value of the set of these arms.
    alone
        The value of each arm alone.
    extra
        What the last arm adds to the others, minus what it adds to the empty set.
    """

    arms: tuple[int, ...]
    means: tuple[float, ...]
    together: float
    alone: tuple[float, ...]
    extra: float

    def __str__(self) -> str:
        arms, alone = listed(list(map(str, self.arms))), listed([f"{v:.3g}" for v in self.alone])
        means = listed([f"{mean:.2f}" for mean in self.means])
        return (
            f"arms {arms} are worth {self.together:.3g} together, and {alone} alone (at means "
            f"{means})"
        )


@dataclass(frozen=True)
class GroupSearch:
    """A search for groups of arms that interact.

    Attributes
    ----------
    found
        Groups that change the advice, those that interact most first.
    n_pairs, of_pairs
        How many pairs of arms the evaluations covered, and how many pairs there are.
    by_sums
        Whether larger sets were compared with the sums of their arms, so that one evaluation covers
        many pairs. Otherwise the pairs were evaluated one by one.
    excluded
        Without a group: a larger interaction of a covered pair would have been found. It is the
        difference from the sum if ``by_sums``. Otherwise it is what a pair is worth more than the
        same arm with a partner that is worth no less alone, or more than its sum if the reward is
        not separable.
    evaluations
        How many evaluations the search made.
    """

    found: tuple[ArmGroup, ...]
    n_pairs: int
    of_pairs: int
    by_sums: bool
    excluded: float
    evaluations: int

    def repeated(self, times: int) -> GroupSearch:
        """The results of a search in which every value took ``times`` evaluations."""
        return replace(self, evaluations=times * self.evaluations)

    def shown(self) -> str:
        """The groups in words."""
        more = f" and {len(self.found) - _SHOWN} more" if len(self.found) > _SHOWN else ""
        return "; ".join(map(str, self.found[:_SHOWN])) + more

    def __str__(self) -> str:
        covered = f"{self.n_pairs:,} of {self.of_pairs:,} pairs of arms"
        if self.found:
            many = "s" if len(self.found) > 1 else ""
            return f"{covered} searched for interactions: {len(self.found)} group{many} found"
        how = "larger sets are worth the sum of their arms" if self.by_sums else "one by one"
        return (
            f"{covered} searched for interactions ({how}): none above {self.excluded:.2g} that "
            f"changes the advice"
        )

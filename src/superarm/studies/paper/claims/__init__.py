"""The paper's claims, and the rules by which recorded numbers judge them.

No verdict is written by hand. A rule is a function of the numbers of some experiments. It says what
was measured and gives a `Verdict`. Thresholds for words such as "slightly" and "about" are
constants of the rules' modules.
"""

from __future__ import annotations

from collections.abc import Mapping

from superarm.studies.paper.claims.evaluations import EVALUATIONS
from superarm.studies.paper.claims.growth import GROWTH
from superarm.studies.paper.claims.lemmas import LEMMAS
from superarm.studies.paper.claims.separability import SEPARABILITY
from superarm.studies.paper.verdicts import Claim, Numbers, Statement, claim_of

__all__ = ["STATEMENTS", "judge"]

STATEMENTS: tuple[Statement, ...] = (*EVALUATIONS, *GROWTH, *SEPARABILITY, *LEMMAS)


def judge(numbers: Mapping[str, Numbers]) -> list[Claim]:
    """All claims whose numbers are known."""
    return [
        claim_of(statement, numbers)
        for statement in STATEMENTS
        if all(name in numbers for name in statement.needs)
    ]

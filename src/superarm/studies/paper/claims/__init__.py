"""The paper's claims, and the rules by which recorded numbers judge them.

No verdict is written by hand. A rule is a function of the numbers of some experiments. It says what
was measured and gives a `Verdict`. Thresholds for words such as "slightly" and "about" are
constants of the rules' modules.
"""

from __future__ import annotations

from superarm.studies.paper.claims.evaluations import EVALUATIONS
from superarm.studies.paper.claims.growth import GROWTH
from superarm.studies.paper.claims.lemmas import LEMMAS
from superarm.studies.paper.claims.separability import SEPARABILITY
from superarm.studies.paper.verdicts import Statement

__all__ = ["STATEMENTS"]

STATEMENTS: tuple[Statement, ...] = (*EVALUATIONS, *GROWTH, *SEPARABILITY, *LEMMAS)

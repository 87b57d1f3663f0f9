"""The one palette: colours that colour-blind readers can distinguish, on light and on dark.

The colours are Okabe and Ito's. The catalog gives every policy its colour and its dash, which it
keeps in every picture.
"""

from __future__ import annotations

from typing import NamedTuple

from superarm.catalog import POLICIES

__all__ = [
    "BLUE",
    "FAINT",
    "GREEN",
    "GREY",
    "INK",
    "ORANGE",
    "PINK",
    "RED",
    "SERIES",
    "SKY",
    "Look",
    "look",
]

BLUE, ORANGE, GREEN, RED = "#0072B2", "#E69F00", "#009E73", "#D55E00"
SKY, PINK, GREY = "#56B4E9", "#CC79A7", "#999999"
# Text, axes and the random baseline: `figures` replaces it by the colour of the text around it.
INK = "#767678"
FAINT = "#9a9a9c"  # lines that only guide the eye

# For curves that are not policies.
SERIES = (BLUE, RED, GREEN, ORANGE, PINK, SKY, GREY)


class Look(NamedTuple):
    """How a curve is drawn."""

    colour: str
    dash: str = "-"


# Colours of the catalog that would vanish on a dark screen, and what is drawn instead.
_ON_DARK = {"#000000": INK, "#882255": "#999933", "#117733": "#3F9B58"}
# A setting of figure 2B that is no policy of the catalog.
_MORE_TESTS = "GT+QTS, 426 tests"


def look(label: str) -> Look:
    """The look of a policy: that of the longest label of the catalog with which its label begins.

    >>> look("CTS, Oracle+") == look("CTS"), look("CTS, lazy") == look("CTS")
    (True, False)
    """
    if label == _MORE_TESTS:
        return Look(SKY)
    found = [part for part in POLICIES.values() if label.startswith(part.label)]
    if not found:
        return Look(GREY, ":")
    part = max(found, key=lambda part: len(part.label))
    return Look(_ON_DARK.get(part.colour, part.colour), part.dash)

"""How pictures look: SVG that is readable on a phone and on a dark screen. Needs
``superarm[plots]``.

A picture is 5.6 inches wide, about 400 points, and its text has 11 points, so that a phone shows
the text at its full size. Panels stand one below the other. The names of the curves stand below
each panel in the order in which the curves end. Text and axes have the colour of the text around
them. The catalog gives every policy its colour and its dash, which it keeps in every picture.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from superarm.catalog import POLICIES
from superarm.core.arguments import FloatArray, IndexArray
from superarm.reporting.palette import GREY, INK, SKY
from superarm.reporting.statistics import mean_band

__all__ = [
    "STYLE",
    "WIDTH",
    "Look",
    "as_svg",
    "band",
    "inline",
    "logarithmic",
    "look",
    "name_curves",
    "panels",
    "render",
]

WIDTH = 5.6  # inches: 403 points
FONT_SIZE = 11
_PANEL = 3.3  # inches of height of a panel, without the names of its curves
_LINE = 0.215  # inches that a line of names takes
_WIDE = 50.0  # from here on, the ends of a logarithmic axis have powers of ten between them
_MOST_LETTERS = 24  # in a name, for two names to fit side by side

# Of every picture, as `matplotlib.rc_context` takes it.
STYLE = {
    "font.size": FONT_SIZE,
    "axes.titlesize": FONT_SIZE,
    "axes.titleweight": "bold",
    "legend.fontsize": FONT_SIZE,
    "legend.frameon": False,
    "legend.labelcolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "svg.fonttype": "none",  # text stays text: it can be searched, and it is small
    "svg.hashsalt": "superarm",  # the same picture has the same bytes
    **dict.fromkeys(("text.color", "axes.labelcolor", "axes.edgecolor"), INK),
    **dict.fromkeys(("xtick.color", "ytick.color"), INK),
}
# A file of its own does not see the page around it, so it brings its text colours along.
_OWN_COLOURS = "<style>svg{color:#333} @media (prefers-color-scheme:dark){svg{color:#ddd}}</style>"

# Colours of the catalog that would vanish on a dark screen, and what is drawn instead.
_ON_DARK = {"#000000": INK, "#882255": "#999933", "#117733": "#3F9B58"}
# A setting of figure 2B that is no policy of the catalog.
_MORE_TESTS = "GT+QTS, 426 tests"


class Look(NamedTuple):
    """How a curve is drawn."""

    colour: str
    dash: str = "-"


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


def render(draw: Callable[[Any], None], *, size: tuple[float, float] = (WIDTH, _PANEL)) -> str:
    """The SVG file of a picture.

    Parameters
    ----------
    draw
        Draws into a matplotlib figure. `panels` makes the figure as high as its panels need.
    size
        Width and height in inches. Pictures for pages and docs keep the width of `WIDTH`.
    """
    import matplotlib
    from matplotlib.figure import Figure

    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=size, layout="constrained")
        draw(figure)
        return as_svg(figure)


def as_svg(figure: Any) -> str:
    """The SVG file of a matplotlib figure that was made with `STYLE`."""
    buffer = io.BytesIO()
    # No date and no program: the same data must give the same bytes.
    about = {"Date": None, "Creator": None}
    figure.savefig(buffer, format="svg", transparent=True, metadata=about)
    svg = buffer.getvalue().decode()
    svg = re.sub(r"<!DOCTYPE.*?>\s*", "", svg, flags=re.DOTALL)
    svg = re.sub(r"\s*<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r"font-family: [^;\"]*;? ?", "", svg)
    # `currentColor` follows the text around the picture, on light and on dark pages.
    svg = svg.replace(INK, "currentColor")
    head = '<svg font-family="system-ui, sans-serif" '
    svg = svg.replace("<svg ", head, 1).replace("<defs>", f"{_OWN_COLOURS}\n <defs>", 1)
    return re.sub(r" +\n", "\n", svg)


def inline(svg: str, name: str, title: str) -> str:
    """The picture as an element of an HTML page, whose text colours it takes over.

    Parameters
    ----------
    svg
        What `render` gave.
    name
        Distinguishes the identifiers of several pictures on one page.
    title
        What the picture shows, for people who do not see it.
    """
    from html import escape

    body = svg[svg.index("<svg") :].replace(_OWN_COLOURS, "")
    # The style sheet inside would be that of the whole page.
    body = re.sub(r"<style type=.*?</style>", "", body, flags=re.DOTALL)
    body = re.sub(r' xmlns(:xlink)?="[^"]*"', "", body)
    # Identifiers are global in a page: two pictures must not share them.
    body = re.sub(r'( id="|href="#|url\(#)', rf"\g<1>{name}-", body)
    label = f'<svg role="img" aria-label="{escape(title)}" stroke-linejoin="round" '
    return body.replace("<svg ", label, 1)


def panels(figure: Any, n_panels: int, *, n_names: int = 0, height: float = _PANEL) -> list[Any]:
    """Panels one below the other, with room for ``n_names`` lines of names below each."""
    figure.set_size_inches(WIDTH, n_panels * (height + n_names * _LINE))
    return list(np.atleast_1d(figure.subplots(n_panels, 1)))


def band(
    axis: Any,
    x: FloatArray | IndexArray,
    runs: FloatArray,
    look: Look,
    *,
    least: float = 0.0,
) -> None:
    """The mean over runs, shape (n_runs, len(x)), with its 95% interval, cut off at ``least``."""
    mean, low, high = mean_band(np.asarray(runs, np.float64))
    axis.plot(x, mean, color=look.colour, linestyle=look.dash, linewidth=1.7)
    # The interval of a single run is unbounded.
    if len(runs) > 1:
        bottom = np.maximum(least, low)
        axis.fill_between(x, bottom, high, color=look.colour, alpha=0.18, linewidth=0)


def logarithmic(axis: Any, *, x: bool = True, y: bool = True) -> None:
    """Logarithmic axes whose ticks are plain numbers: superscripts are too small on a phone."""
    from matplotlib.ticker import LogLocator, NullLocator

    class Ticks(LogLocator):
        """Powers of ten, and 2 and 5 between them where few powers of ten are in sight."""

        def tick_values(self, vmin: float, vmax: float) -> Any:
            narrow = vmin > 0 and vmax < _WIDE * vmin
            self.set_params(subs=(1.0, 2.0, 5.0) if narrow else (1.0,))
            return super().tick_values(vmin, vmax)

    for wanted, scale, ticks in (
        (x, axis.set_xscale, axis.xaxis),
        (y, axis.set_yscale, axis.yaxis),
    ):
        if wanted:
            scale("log")
            ticks.set_major_locator(Ticks())
            ticks.set_major_formatter(lambda value, place: _tick(value))
            ticks.set_minor_locator(NullLocator())


def _tick(value: float) -> str:
    # Short, because neighbours would touch on a phone.
    if 1e6 <= value < 1e9:
        return f"{value / 1e6:g}M"
    if 1e4 <= value < 1e6:
        return f"{value / 1e3:g}k"
    return f"{value:,.0f}" if 1 <= value < 1e6 else f"{value:g}"


def name_curves(axis: Any, ends: Mapping[str, tuple[float, Look]]) -> None:
    """The names of the curves below a panel, from the curve that ends highest to the lowest.

    ``ends`` has, for each name, the height at which its curve ends and the look of the curve.
    """
    from matplotlib.lines import Line2D

    order = sorted(ends, key=lambda name: -ends[name][0])
    handles = [
        Line2D([], [], color=ends[name][1].colour, linestyle=ends[name][1].dash, linewidth=2)
        for name in order
    ]
    two = all(len(name) <= _MOST_LETTERS for name in order)
    axis.legend(
        handles,
        order,
        loc="upper left",
        bbox_to_anchor=(0.0, -0.2),
        ncols=2 if two and len(order) > 2 else 1,
        borderaxespad=0.0,
        labelspacing=0.25,
        handlelength=1.8,
        columnspacing=1.2,
    )

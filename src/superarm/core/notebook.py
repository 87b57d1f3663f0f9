"""Tables and small pictures as HTML, for ``_repr_html_`` in notebooks.

Text has the colour of the page, and lines are grey or blue of middle lightness. So everything can
be read on light and on dark pages. All texts are escaped.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from superarm.core.arguments import FloatArray

_BLUE, _ORANGE, _GREY = "#3d8fd1", "#d5762c", "#8884"
_CELL = "padding:2px 10px 2px 0;border:0;text-align:{};background:none;vertical-align:middle"
_WIDTH, _HEIGHT = 320, 90  # of a curve
_POINTS = 160  # of a curve; more than can be seen


class Html(str):
    """Text that is HTML already, so that a table does not escape it."""

    __slots__ = ()


def table(
    head: Sequence[str],
    rows: Sequence[Sequence[Any]],
    *,
    title: str = "",
    note: str | Sequence[str] = "",
    left: int = 1,
) -> str:
    """A table. The first ``left`` columns are aligned to the left, the others to the right.

    Below it is the note, which may have several lines. A table that is wider than the page can be
    moved, and its numbers stay in one line.

    Examples
    --------
    >>> "<b>" in table(["arm"], [["<b>"]])
    False
    """
    sides = ["left" if place < left else "right;white-space:nowrap" for place in range(len(head))]
    notes = [note] if isinstance(note, str) else note
    line = f"border-bottom:1px solid {_GREY};font-weight:600"
    heads = "".join(
        f'<th style="{_CELL.format(side)};{line}">{escape(one)}</th>'
        for one, side in zip(head, sides, strict=True)
    )
    body = "".join(
        "<tr>"
        + "".join(
            f'<td style="{_CELL.format(side)}">{_cell(one)}</td>'
            for one, side in zip(row, sides, strict=True)
        )
        + "</tr>"
        for row in rows
    )
    return "".join(
        [
            f"<div><strong>{escape(title)}</strong></div>" if title else "",
            '<div style="overflow-x:auto">',
            '<table style="border-collapse:collapse;margin:4px 0;font-size:13px;color:inherit">',
            f"<thead><tr>{heads}</tr></thead>" if any(head) else "",
            f"<tbody>{body}</tbody></table></div>",
            *(
                f'<div style="opacity:.75;font-size:12px">{escape(one)}</div>'
                for one in notes
                if one
            ),
        ]
    )


def interval(
    low: float | None,
    mean: float | None,
    high: float | None,
    *,
    value: float | None = None,
    ends: tuple[float, float] = (0.0, 1.0),
) -> Html:
    """An interval with its mean, and a sampled value, as a picture between two ends."""
    width, middle, size = 160, 8, (ends[1] - ends[0]) or 1.0

    def x(number: float) -> str:
        return f"{4 + (width - 8) * min(1.0, max(0.0, (number - ends[0]) / size)):.1f}"

    parts = [f'<line x1="4" x2="{width - 4}" y1="{middle}" y2="{middle}" stroke="{_GREY}"/>']
    if low is not None and high is not None:
        place = f'x1="{x(low)}" x2="{x(high)}" y1="{middle}" y2="{middle}"'
        parts.append(f'<line {place} stroke="{_BLUE}" stroke-width="3" stroke-linecap="round"/>')
    if mean is not None:
        parts.append(f'<circle cx="{x(mean)}" cy="{middle}" r="4" fill="{_BLUE}"/>')
    if value is not None:
        at, up, down = x(value), middle - 5, middle + 5
        parts.append(
            f'<line x1="{at}" x2="{at}" y1="{up}" y2="{down}" stroke="{_ORANGE}" stroke-width="3"/>'
        )
    return Html(f'<svg width="{width}" height="16" role="img">{"".join(parts)}</svg>')


def curve(values: ArrayLike, *, title: str) -> Html:
    """A curve over its rounds, from 0 or the smallest value to the largest."""
    return curves({title: values}, (_BLUE,), title=title, legend=False)


def curves(
    series: Mapping[str, ArrayLike], colours: Sequence[str], *, title: str, legend: bool = True
) -> Html:
    """Curves over their rounds on one scale, each with its name."""
    known = {name: _thinned(values) for name, values in series.items()}
    low = min(0.0, *(float(ys.min()) for ys in known.values()))
    high = max(1e-12, *(float(ys.max()) for ys in known.values()))
    base, parts = _HEIGHT - 14, []
    for place, (name, ys) in enumerate(known.items()):
        colour = colours[place % len(colours)]
        x = 4 + (_WIDTH - 8) * np.linspace(0, 1, len(ys))
        y = base - (_HEIGHT - 30) * (ys - low) / (high - low)
        points = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x, y, strict=True))
        parts.append(
            f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"/>'
        )
        if legend:
            text = f'x="{_WIDTH + 6}" y="{20 + 16 * place}" fill="{colour}" font-size="12"'
            parts.append(f"<text {text}>{escape(name)} {ys[-1]:.4g}</text>")
    width = _WIDTH + (180 if legend else 0)
    height = max(_HEIGHT, 26 + 16 * len(known)) if legend else _HEIGHT
    # A narrow page shows it smaller.
    size = f'width="{width}" viewBox="0 0 {width} {height}" style="max-width:100%"'
    return Html(
        f'<svg {size} role="img" aria-label="{escape(title)}">'
        f'<line x1="4" x2="{_WIDTH - 4}" y1="{base}" y2="{base}" stroke="{_GREY}"/>'
        f"{''.join(parts)}"
        f'<text x="4" y="12" fill="currentColor" font-size="12">{escape(title)}</text></svg>'
    )


def _thinned(values: ArrayLike) -> FloatArray:
    ys = np.asarray(values, np.float64)
    places = np.linspace(0, max(0, len(ys) - 1), _POINTS).round().astype(int)
    return ys[np.unique(places)] if len(ys) else np.zeros(1)


def number(value: float | None) -> str:
    """A number in four digits; nothing for None."""
    return "" if value is None else f"{value:.4g}"


def _cell(value: Any) -> str:
    return value if isinstance(value, Html) else escape(str(value))

"""Pictures are SVG that take the colours of the text around them, and are the same every time."""

import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest

from superarm.catalog import POLICIES
from superarm.reporting.figures import (
    WIDTH,
    Look,
    band,
    inline,
    logarithmic,
    look,
    name_curves,
    panels,
    render,
)
from superarm.reporting.palette import INK


def draw(figure):
    first, second = panels(figure, 2, n_names=2)
    for axis in (first, second):
        band(axis, np.arange(1, 6), np.outer([1.0, 2.0], np.arange(1, 6)), Look("#0072B2"))
        name_curves(axis, {"a <name>": (1.0, Look("#0072B2")), "random": (2.0, look("random"))})
    logarithmic(second)


@pytest.fixture(scope="module")
def svg():
    return render(draw)


def test_a_picture_is_sound_xml_that_is_the_same_every_time(svg):
    assert ET.fromstring(svg).tag.endswith("svg")
    assert svg == render(draw)


def test_text_is_text_of_at_least_eleven_points_at_phone_width(svg):
    root = ET.fromstring(svg)
    width = float(root.get("viewBox").split()[2])
    assert width == pytest.approx(72 * WIDTH)
    assert width < 410  # so that 400 pixels show a point as about a pixel
    assert "a &lt;name&gt;" in svg
    sizes = [float(size) for size in re.findall(r"font-size: ([\d.]+)px", svg)]
    assert sizes
    assert min(sizes) >= 11


def test_text_and_axes_follow_the_page(svg):
    assert INK not in svg
    assert "currentColor" in svg
    assert "prefers-color-scheme:dark" in svg
    assert "#000000" not in svg
    assert "#ffffff" not in svg  # no background


def test_inline_pictures_do_not_touch_the_page(svg):
    element = inline(svg, "first", 'what "it" shows')
    assert element.startswith("<svg")
    assert "<style" not in element
    assert "http" not in element
    assert 'aria-label="what &quot;it&quot; shows"' in element
    used = set(re.findall(r'(?:href="#|url\(#)([^")]+)', element))
    assert used <= set(re.findall(r' id="([^"]+)"', element))
    assert all(name.startswith("first-") for name in used)


def luminance(colour):
    """WCAG 2.1, relative luminance."""
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [x / 12.92 if x <= 0.03928 else ((x + 0.055) / 1.055) ** 2.4 for x in parts]
    return float(np.dot([0.2126, 0.7152, 0.0722], linear))


@pytest.mark.parametrize("name", POLICIES)
def test_lines_are_visible_on_light_and_on_dark(name):
    """At least 2 to 1 against white and against the dark page; most lines have 3 to 1."""
    colour = luminance(look(POLICIES[name].label).colour)
    for paper in (luminance("#ffffff"), luminance("#16181b")):
        light, dark = max(colour, paper), min(colour, paper)
        assert (light + 0.05) / (dark + 0.05) > 2


@pytest.mark.parametrize(
    ("low", "high", "ticks"),
    [(3000, 40_000, [5000, 10_000, 20_000]), (1, 10_000, [1, 10, 100, 1000, 10_000])],
)
def test_narrow_logarithmic_axes_have_more_ticks(low, high, ticks):
    def one(figure):
        (axis,) = panels(figure, 1)
        logarithmic(axis, x=False)
        axis.set_ylim(low, high)
        found.extend(tick for tick in axis.get_yticks() if low <= tick <= high)

    found = []
    render(one)
    assert found == ticks


def test_policies_of_one_picture_have_their_own_looks():
    looks = [look(part.label) for name, part in POLICIES.items() if name.startswith(("cts", "gt"))]
    assert len(set(looks)) == len(looks)

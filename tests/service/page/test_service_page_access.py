"""The page with the keyboard, with a screen reader, in both colours, on a phone, with odd names."""

from pathlib import Path

import pytest
from page_steps import FRUIT, decide, tell, wait_for_count, wait_for_keys, wait_for_text

IN_DIALOG = "document.activeElement.matches('dialog input')"
AUDIT = Path(__file__).with_name("page_audit.js").read_text()

HOSTILE = [
    "<script>document.title='hit'</script>",
    "<img src=x onerror=\"document.title='hit'\">",
    "شكرا جزيلا",
    "\u202egnp.exe",
    "🧑‍🚀 outer space",
    "x" * 200,
    "\u2003",
    "__proto__",
    "constructor",
    "a/b?c#d%2F&e",
    "{{7*7}}${7*7}",
    "' OR 1=1 --",
]


def test_everything_works_with_the_keyboard(visit, other):
    page = visit()
    wait_for_keys(page)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the content"
    page.keyboard.press("Enter")
    page.wait_for_function("document.activeElement.id === 'main'")
    page.keyboard.press("n")
    page.wait_for_function(IN_DIALOG)  # or the letters would be shortcuts
    page.keyboard.type("by keyboard")
    page.keyboard.press("Tab")
    page.keyboard.type("4")
    for _ in range(6):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.type") == "submit":
            break
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="by keyboard").wait_for()
    page.wait_for_function("document.activeElement.tagName === 'H1'")
    page.keyboard.press("d")
    page.locator(".decision .status.open").wait_for()
    page.keyboard.press("t")
    page.wait_for_function(IN_DIALOG)
    page.keyboard.type("1")
    for _ in range(3):
        page.keyboard.press("Tab")
    page.keyboard.type("0.75")
    page.keyboard.press("Enter")
    page.locator(".decision .status.told").wait_for()
    page.keyboard.press("e")
    page.get_by_role("dialog").locator("figure").wait_for()
    page.keyboard.press("Escape")
    page.get_by_role("dialog").wait_for(state="detached")
    page.keyboard.press("/")
    page.wait_for_function("document.activeElement.name === 'arms'")
    page.keyboard.type("d?")  # text, not shortcuts
    assert page.get_by_role("dialog").count() == 0
    assert page.locator(".decision").count() == 1
    wait_for_text(page.locator(".readout"), "^Round 1 at")
    page.locator("svg.chart").focus()
    page.keyboard.press("Home")
    wait_for_count(page.locator(".pointer:not(.at-end)"), 1)
    page.keyboard.press("?")
    page.get_by_text("Explain the newest decision").wait_for()
    page.get_by_label("Use single-key shortcuts").uncheck()
    page.keyboard.press("Escape")
    page.get_by_role("dialog").wait_for(state="detached")
    page.keyboard.press("n")
    assert page.get_by_role("dialog").count() == 0


def test_the_focus_stays_when_rows_move(visit, other, bandit):
    page = visit(f"/#/b/{bandit['id']}")
    page.get_by_role("button", name="Retire elder").focus()
    decision = decide(other, bandit)
    tell(other, decision)
    page.locator(".decision .status.told").wait_for()
    wait_for_text(page.locator(".arms .arm .figure"), r"^0\.667")  # the rows have moved
    page.wait_for_function("document.activeElement.getAttribute('aria-label') === 'Retire elder'")


def test_hostile_names_are_shown_as_text(visit, other):
    spec = {"name": "<b>bold</b> \u202e " + "y" * 180, "arms": HOSTILE, "k": 12, "seed": 1}
    bandit = other("POST", "/v1/bandits", spec)
    decision = decide(other, bandit)
    tell(other, decision)
    page = visit(f"/#/b/{bandit['id']}/d/{decision['id']}")
    page.get_by_role("dialog").locator("figure").wait_for()
    page.keyboard.press("Escape")
    page.get_by_role("dialog").wait_for(state="detached")
    page.locator(".decision .status.told").wait_for()
    assert page.locator("main b, main script, main img").count() == 0
    assert page.title() != "hit"
    wait_for_count(page.locator(".arms .name"), len(HOSTILE))
    shown = page.locator(".arms .name").all_inner_texts()
    assert "<script>document.title='hit'</script>" in shown
    assert "\ufffdgnp.exe" in shown  # the mark that reverses the text is replaced
    wait_for_count(page.locator(".chip .outcome"), len(HOSTILE))
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    other(
        "POST",
        f"/v1/bandits/{bandit['id']}/arms",
        {"arms": [f"spare {place}" for place in range(12)]},
    )
    for name in ("a/b?c#d%2F&e", "__proto__"):
        page.get_by_role("button", name=f"Retire {name}", exact=True).click()
        page.get_by_text(f"Retired {name}").first.wait_for()
    assert set(other("GET", f"/v1/bandits/{bandit['id']}")["retired"]) == {
        "a/b?c#d%2F&e",
        "__proto__",
    }


@pytest.mark.parametrize("scheme", ["dark", "light"])
def test_colours_follow_the_system_and_the_button(visit, other, bandit, scheme):
    decide(other, bandit)
    page = visit(f"/#/b/{bandit['id']}", scheme=scheme)
    page.locator(".decision").wait_for()
    wait_for_colours(page, scheme)
    assert page.evaluate(AUDIT + ".contrasts()") == []
    page.keyboard.press("e")
    page.get_by_role("dialog").locator("figure").wait_for()
    assert page.evaluate(AUDIT + ".contrasts()") == []
    page.keyboard.press("Escape")
    page.get_by_role("dialog").wait_for(state="detached")
    other_scheme = "dark" if scheme == "light" else "light"
    page.get_by_role("button", name=f"Switch to {other_scheme}").click()
    page.get_by_role("button", name=f"Switch to {scheme}").wait_for()
    wait_for_colours(page, other_scheme)
    page.reload()
    page.locator(".decision").wait_for()
    wait_for_colours(page, other_scheme)


def test_all_elements_have_accessible_names(visit, other, bandit):
    tell(other, decide(other, bandit))
    decide(other, bandit)
    page = visit()
    page.get_by_role("heading", name="Pick the best k").wait_for()
    assert page.evaluate(AUDIT + ".unnamed()") == []
    page.goto(page.url + f"#/b/{bandit['id']}")
    page.locator(".decision").first.wait_for()
    assert page.evaluate(AUDIT + ".unnamed()") == []
    for key in "nrte?":
        page.keyboard.press(key)
        page.get_by_role("dialog").wait_for()
        page.locator("dialog [aria-busy]").wait_for(state="detached")
        assert page.evaluate(AUDIT + ".unnamed()") == []
        assert page.evaluate(AUDIT + ".contrasts()") == []
        page.keyboard.press("Escape")
        # The element itself: it loses its role when it closes, and is removed after that.
        page.locator("dialog").wait_for(state="detached")
    for landmark in ("header.top", "nav", "main", "[role=status][aria-live=polite]"):
        assert page.locator(landmark).count() == 1


def test_the_focus_is_visible(visit, bandit):
    page = visit(f"/#/b/{bandit['id']}")
    page.locator(".arms .arm").first.wait_for()
    seen = []
    for _ in range(14):
        page.keyboard.press("Tab")
        style = "getComputedStyle(document.activeElement)"
        seen.append(page.evaluate(f"{style}.outlineStyle + ' ' + {style}.outlineWidth"))
    assert set(seen) == {"solid 2px"}


def test_the_page_fits_a_phone(visit, other, bandit):
    tell(other, decide(other, bandit))
    page = visit(
        f"/#/b/{bandit['id']}",
        viewport={"width": 360, "height": 740},
        has_touch=True,
        is_mobile=True,
    )
    page.locator(".decision").wait_for()
    assert page.evaluate("document.documentElement.scrollWidth") == 360
    assert not page.locator("nav.bandits").is_visible()
    page.get_by_role("link", name="All bandits").click()
    page.locator("nav.bandits").get_by_role("link").first.wait_for()
    assert page.evaluate("document.documentElement.scrollWidth") == 360


def test_decisions_of_the_hold_out_fit_a_phone(visit, other):
    """Their row has one word more than the others."""
    body = {"name": "held out", "arms": FRUIT, "k": 2, "seed": 1, "holdout": 0.5}
    bandit = other("POST", "/v1/bandits", body)
    for _ in range(8):
        decide(other, bandit)
    page = visit(f"/#/b/{bandit['id']}", viewport={"width": 360, "height": 740})
    page.locator(".decision .held").first.wait_for()
    cut = "some((one) => one.scrollWidth > one.clientWidth)"
    assert not page.evaluate(f"[...document.querySelectorAll('.decision')].{cut}")


def wait_for_colours(page, scheme):
    """Wait for a background that is almost white or almost black."""
    page.wait_for_function(
        """wanted => {
          const colour = getComputedStyle(document.documentElement).backgroundColor;
          const parts = colour.match(/\\d+/g).slice(0, 3).map(Number);
          const lightness = parts.reduce((sum, part) => sum + part) / (3 * 255);
          return Math.abs(lightness - wanted) <= 0.15;
        }""",
        arg=1.0 if scheme == "light" else 0.0,
    )

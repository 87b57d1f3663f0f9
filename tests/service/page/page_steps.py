"""Steps that several tests of the page share."""

import re

PATIENCE_MS = 60_000
FRUIT = ["apple", "banana", "cherry", "damson", "elder", "fig"]


def decide(other, bandit):
    return other("POST", f"/v1/bandits/{bandit['id']}/decisions", {})


def tell(other, decision, outcome=1.0):
    outcomes = dict.fromkeys(decision["arms"], outcome)
    other("POST", f"/v1/decisions/{decision['id']}/outcomes", {"outcomes": outcomes})


def create(page, name):
    page.get_by_role("main").get_by_role("button", name="New bandit").click()
    page.get_by_label("Name", exact=True).fill(name)
    page.get_by_label("Arms", exact=True).fill("\n".join(FRUIT))
    wait_for_text(page.locator("#field-arms-hint"), "6 arms")
    page.get_by_role("button", name="Create").click()


def keep_notes(page):
    """Notes disappear after eight seconds. A busy machine may take longer to click one."""
    page.evaluate(
        """() => {
          const start = window.setTimeout;
          window.setTimeout = (run, ms, ...more) => start(run, ms >= 8000 ? 600_000 : ms, ...more);
        }"""
    )


def wait_for_keys(page):
    """Wait until shortcuts work. The page sets its theme when it begins to listen to keys."""
    page.wait_for_function("document.documentElement.dataset.theme !== ''")


def tile(page, name):
    return page.locator(f".tile.{name} dd")


def wait_for_text(locator, text):
    locator.filter(has_text=re.compile(text)).first.wait_for(state="attached")


# The page draws its parts some time after their values have changed, so a test waits for what it
# expects.
def wait_for_count(locator, n):
    _expect(locator).to_have_count(n)


def wait_for_texts(locator, texts):
    _expect(locator).to_have_text(texts, use_inner_text=True)


def _expect(locator):
    from playwright.sync_api import expect

    expect.set_options(timeout=PATIENCE_MS)
    return expect(locator)

"""The page at ``/``, driven in a real browser against a real server.

Every test that visits also checks that nothing left this host, and that the console stayed silent. The file is long
because all of them share one server and one browser, which take seconds to start.
"""

import re
import shutil
from pathlib import Path

import httpx
import pytest

from server_process import Server
from superarm.service.http import keys
from superarm.service.log.sqlite import SQLiteStore

FLAGS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-sync"]
FLAGS += ["--disable-background-networking", "--disable-component-update"]
AUDIT = (Path(__file__).parents[1] / "page_audit.js").read_text()

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
FRUIT = ["apple", "banana", "cherry", "damson", "elder", "fig"]


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    folder = tmp_path_factory.mktemp("page")
    with Server(str(folder / "page.db"), folder / "server.log") as server:
        yield server.url
        server.stop()


@pytest.fixture(scope="module")
def browser():
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        pytest.skip("no browser is installed")
    sync_api = pytest.importorskip("playwright.sync_api")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, headless=True, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def visit(browser, server):
    """Opens the page in a context of its own: ``visit(path, **context)``."""
    contexts, said, asked, expected = [], [], [], []

    def open_page(path="/", *, at=server, expect=(), **more):
        context = browser.new_context(**{"viewport": {"width": 1280, "height": 800}, **more})
        context.set_default_timeout(20_000)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("request", lambda request: asked.append(request.url))
        expected.extend(expect)
        page.goto(at + path)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert [text for text in said if not any(part in text for part in expected)] == []
    assert asked
    assert {re.match(r"https?://([^:/]+)", url)[1] for url in asked} == {"127.0.0.1"}


@pytest.fixture
def other(server):
    """Another client of the same server: ``other(method, path, body)``."""
    with httpx.Client(base_url=server, timeout=30) as client:
        yield (
            lambda method, path, body=None: (
                client.request(method, path, json=body).raise_for_status().json()
            )
        )


@pytest.fixture
def bandit(other, request):
    return other(
        "POST", "/v1/bandits", {"name": request.node.name, "arms": FRUIT, "k": 2, "seed": 1}
    )


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


def tile(page, name):
    return page.locator(f".tile.{name} dd")


def wait_for_text(locator, text):
    locator.filter(has_text=re.compile(text)).first.wait_for(state="attached")


def test_a_bandit_is_made_decides_and_learns(visit, server):
    page = visit()
    create(page, "made by hand")
    page.get_by_role("heading", name="made by hand").wait_for()
    page.get_by_text("No decisions yet.").wait_for()
    page.get_by_role("button", name="Decide", exact=True).click()
    wait_for_text(tile(page, "open"), "^1$")
    assert page.locator(".decision .chip").count() == 2
    page.get_by_role("button", name=re.compile("^Tell outcomes")).click()
    page.get_by_role("button", name="all 1").click()
    page.get_by_role("button", name="Tell", exact=True).click()
    wait_for_text(page.locator(".decision .status.told"), "^complete$")
    wait_for_text(tile(page, "told"), "^1$")
    wait_for_text(page.locator(".arms .arm .figure"), r"^0\.667")  # Beta(2, 1)
    assert page.locator(".decision .chip.good").count() == 2


def test_what_others_do_arrives(visit, other, bandit):
    page = visit(f"/#/b/{bandit['id']}")
    page.get_by_text("No decisions yet.").wait_for()
    decision = decide(other, bandit)
    row = page.locator(f".decision[data-key='{decision['id']}']")
    wait_for_text(row.locator(".status"), "^open$")
    wait_for_text(page.locator("#arrivals"), "Decided: " + ", ".join(decision["arms"]))
    tell(other, decision, 0.25)
    wait_for_text(row.locator(".status.told"), "^complete$")
    assert [text.split()[-1] for text in row.locator(".outcome").all_inner_texts()] == [
        "0.25",
        "0.25",
    ]
    wait_for_text(page.locator("#arrivals"), f"Told: {decision['arms'][0]} 0.25")
    wait_for_text(page.locator(".readout"), "Round 1 at")
    other("DELETE", f"/v1/bandits/{bandit['id']}/arms/fig")
    wait_for_text(page.locator("#arrivals"), "Retired: fig")


def test_pausing_holds_what_arrives(visit, other, bandit):
    page = visit(f"/#/b/{bandit['id']}")
    page.get_by_role("button", name="Live").click()
    page.get_by_role("button", name="Paused").wait_for()
    for _ in range(250):
        last = decide(other, bandit)
    page.wait_for_timeout(1200)
    assert page.locator(".decision").count() == 0
    asked = []
    page.on(
        "request", lambda request: asked.append(request.url) if "/log?" in request.url else None
    )
    page.get_by_role("button", name="Paused").click()
    page.locator(f".decision[data-key='{last['id']}']").wait_for()
    assert page.locator(".decision").count() == 30
    wait_for_text(page.locator("#arrivals"), r"^2\d\d events, the last: Decided")
    page.get_by_role("button", name="Show more").click()
    page.locator(".decision").nth(59).wait_for()
    with page.expect_request(lambda request: "/log?" in request.url):
        pass  # the next look is from the last event on, not through all of them again
    assert {re.search(r"after=(\d+)", url)[1] for url in asked} == {"1", "251"}
    page.get_by_label("Which decisions").select_option("expired")
    page.get_by_text("No decision is expired.").wait_for()


def test_a_decision_is_explained(visit, other):
    spec = {"name": "explained", "arms": FRUIT, "k": 2, "seed": 1, "oracle": "lazy_singletons"}
    bandit = other("POST", "/v1/bandits", spec)
    tell(other, decide(other, bandit))
    decision = decide(other, bandit)
    page = visit(f"/#/b/{bandit['id']}")
    button = page.get_by_role("button", name=f"Explain decision {decision['id']}", exact=True)
    button.click()
    panel = page.get_by_role("dialog", name="Why these arms?")
    panel.locator("figure").wait_for()
    assert page.url.endswith(f"/d/{decision['id']}")
    assert panel.locator(".arms .arm").count() == 3  # two that are in, and the best left out
    assert panel.locator(".range").count() == 3 + 1  # and one in the key
    assert panel.locator("path.sampled").count() == 3
    assert set(panel.locator(".arms .arm:not(.left-out) .name").all_inner_texts()) == set(
        decision["arms"]
    )
    assert f"decision {decision['id']}" in panel.locator("pre").inner_text()
    assert panel.locator("tbody tr").count() == 3
    page.keyboard.press("Escape")
    panel.wait_for(state="detached")
    assert page.url.endswith(f"/b/{bandit['id']}")
    assert button.evaluate("node => node === document.activeElement")
    page.goto(
        page.url + f"/d/{decision['id']}"
    )  # the address of an explanation is good for sending
    panel.locator("figure").wait_for()


def test_an_arm_is_retired_and_brought_back(visit, other, bandit):
    page = visit(f"/#/b/{bandit['id']}")
    page.get_by_role("button", name="Retire cherry").click()
    page.get_by_text("Retired cherry").first.wait_for()
    page.locator(".arm.is-retired .name", has_text="cherry").wait_for()
    assert other("GET", f"/v1/bandits/{bandit['id']}")["retired"] == ["cherry"]
    page.get_by_role("button", name="Undo").click()
    page.locator(".arm.is-retired").wait_for(state="detached")
    assert other("GET", f"/v1/bandits/{bandit['id']}")["retired"] == []


def test_arms_are_added_found_and_ordered(visit, other, bandit):
    page = visit(f"/#/b/{bandit['id']}")
    page.get_by_role("button", name="Add arms…").click()
    page.get_by_label("Names, one per line").fill("grape\nguava\n")
    page.get_by_role("button", name="Add", exact=True).click()
    wait_for_text(page.locator(".facts"), "2 of 8 arms")
    page.get_by_label("Search arms").fill("GUA")
    wait_for_text(page.locator("section p.muted"), "1 arm found")
    assert page.locator(".arms .name").all_inner_texts() == ["guava"]
    page.get_by_label("Search arms").fill("nothing like it")
    wait_for_text(page.locator("section p.muted"), "No arm has")
    page.get_by_label("Search arms").fill("")
    wait_for_text(page.locator("section p.muted"), "All 8 arms")
    page.get_by_label("Order of the arms").select_option("name")
    assert page.locator(".arms .name").all_inner_texts() == sorted([*FRUIT, "grape", "guava"])


def test_only_the_best_of_many_arms_are_drawn(visit, other):
    bandit = other("POST", "/v1/bandits", {"name": "many", "arms": 5000, "k": 3})
    page = visit(f"/#/b/{bandit['id']}")
    wait_for_text(page.locator("section p.muted"), "The best 20 of 5,000 by mean")
    assert page.locator(".arms .arm").count() == 20
    page.get_by_label("How many arms").select_option("50")
    wait_for_text(page.locator("section p.muted"), "The best 50 of 5,000")


def test_problems_say_what_to_do(visit, other, bandit):
    page = visit(f"/#/b/{bandit['id']}", expect=["status of 4"])
    page.get_by_role("button", name="With constraints…").click()
    page.get_by_label("Arms that must be in").fill("apple\nbanana\ncherry")
    page.get_by_role("button", name="Decide", exact=True).last.click()
    problem = page.get_by_role("dialog").get_by_role("alert")
    assert "must" in problem.inner_text()
    page.keyboard.press("Escape")
    decide(other, bandit)
    page.locator(".decision").wait_for()
    page.keyboard.press("t")
    page.get_by_role("button", name="Tell", exact=True).click()
    wait_for_text(problem, "No outcome is given")
    page.get_by_label(re.compile("^Outcome of")).first.fill("1.5")
    page.get_by_role("button", name="Tell", exact=True).click()
    wait_for_text(problem, "less than or equal to 1")
    page.keyboard.press("Escape")
    page.goto(page.url.partition("#")[0] + "#/b/aaaaaaaaaa")
    wait_for_text(page.get_by_role("alert"), "No bandit has the id")
    wait_for_text(page.get_by_role("alert"), "GET /v1/bandits lists them")


def test_a_key_is_asked_for_and_stays_in_the_tab(visit, tmp_path):
    database = tmp_path / "keys.db"
    made = {role: keys.make(role) for role in ("read", "admin")}
    store = SQLiteStore(database)
    for _, row in made.values():
        store.add_key(row)
    store.close()
    with Server(str(database), tmp_path / "server.log", "--keys") as server:
        page = visit(at=server.url, expect=["status of 401", "status of 403"])
        dialog = page.get_by_role("dialog", name="Key of this server")
        dialog.get_by_label("Key", exact=True).fill("not this one")
        page.keyboard.press("Enter")
        wait_for_text(dialog.get_by_role("alert"), "The key is not known here")
        wait_for_text(dialog.get_by_role("alert"), "superarm keys add makes one")
        page.keyboard.press("Escape")  # the page says it, too, and does not ask again by itself
        page.get_by_role("button", name="Enter a key").click()
        dialog.get_by_label("Key", exact=True).fill(made["read"][0])
        page.keyboard.press("Enter")
        page.get_by_role("heading", name="Pick the best k").wait_for()
        page.reload()
        page.get_by_role("heading", name="Pick the best k").wait_for()
        assert made["read"][0] in page.evaluate("Object.values(sessionStorage)")
        assert page.evaluate("localStorage.length + document.cookie.length") == 0
        create(page, "with a key")
        wait_for_text(
            page.get_by_role("dialog").get_by_role("alert"),
            "The role must be admin for this, got read",
        )
        page.keyboard.press("Escape")
        page.get_by_role("button", name="Key", exact=True).click()
        dialog.get_by_label("Key", exact=True).fill(made["admin"][0])
        page.keyboard.press("Enter")
        dialog.wait_for(state="detached")
        create(page, "with a key")
        page.get_by_role("heading", name="with a key").wait_for()
        assert made["admin"][0] not in server.said
        page.close()  # before the server, so that it does not ask in vain


def test_a_server_that_is_gone_is_asked_again(visit, bandit):
    page = visit(f"/#/b/{bandit['id']}", expect=["ERR_CONNECTION_REFUSED"])
    page.locator(".arms .arm").first.wait_for()
    page.route("**/v1/**", lambda route: route.abort("connectionrefused"))
    page.get_by_role("button", name="Trying again…").wait_for()
    page.unroute("**/v1/**")
    page.get_by_role("button", name="Live").wait_for()


def test_the_keyboard_is_enough(visit, other):
    page = visit()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the content"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"
    page.keyboard.press("n")
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
    page.get_by_role("dialog").wait_for()
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
    assert page.evaluate("document.activeElement.name") == "arms"
    page.keyboard.type("d?")  # typed, not taken for shortcuts
    assert page.get_by_role("dialog").count() == 0
    assert page.locator(".decision").count() == 1
    wait_for_text(page.locator(".readout"), "^Round 1 at")
    page.locator("svg.chart").focus()
    page.keyboard.press("Home")
    assert page.locator(".pointer:not(.at-end)").count() == 1
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
    assert page.evaluate("document.activeElement.getAttribute('aria-label')") == "Retire elder"


def test_hostile_names_are_but_text(visit, other):
    spec = {"name": "<b>bold</b> \u202e " + "y" * 180, "arms": HOSTILE, "k": 12, "seed": 1}
    bandit = other("POST", "/v1/bandits", spec)
    decision = decide(other, bandit)
    tell(other, decision)
    page = visit(f"/#/b/{bandit['id']}/d/{decision['id']}")
    page.get_by_role("dialog").locator("figure").wait_for()
    page.keyboard.press("Escape")
    page.locator(".decision .status.told").wait_for()
    assert page.locator("main b, main script, main img").count() == 0
    assert page.title() != "hit"
    shown = page.locator(".arms .name").all_inner_texts()
    assert len(shown) == len(HOSTILE)
    assert "<script>document.title='hit'</script>" in shown
    assert "\ufffdgnp.exe" in shown  # the mark that would turn the text around is seen as such
    assert page.locator(".chip .outcome").count() == len(HOSTILE)
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
    page = visit(f"/#/b/{bandit['id']}", color_scheme=scheme)
    page.locator(".decision").wait_for()
    assert lightness(page) == pytest.approx(1.0 if scheme == "light" else 0.0, abs=0.15)
    assert page.evaluate(AUDIT + ".contrasts()") == []
    page.keyboard.press("e")
    page.get_by_role("dialog").locator("figure").wait_for()
    assert page.evaluate(AUDIT + ".contrasts()") == []
    page.keyboard.press("Escape")
    page.get_by_role("dialog").wait_for(state="detached")
    page.get_by_role("button", name=re.compile("^Switch to")).click()
    assert lightness(page) == pytest.approx(0.0 if scheme == "light" else 1.0, abs=0.15)
    page.reload()
    page.locator(".decision").wait_for()
    assert lightness(page) == pytest.approx(0.0 if scheme == "light" else 1.0, abs=0.15)


def lightness(page):
    colour = page.evaluate("getComputedStyle(document.documentElement).backgroundColor")
    return sum(map(int, re.findall(r"\d+", colour)[:3])) / (3 * 255)


def test_everything_has_a_name(visit, other, bandit):
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
        page.get_by_role("dialog").wait_for(state="detached")
    for landmark in ("header.top", "nav", "main", "[role=status][aria-live=polite]"):
        assert page.locator(landmark).count() == 1


def test_the_focus_is_seen(visit, bandit):
    page = visit(f"/#/b/{bandit['id']}")
    page.locator(".arms .arm").first.wait_for()
    seen = []
    for _ in range(14):
        page.keyboard.press("Tab")
        style = "getComputedStyle(document.activeElement)"
        seen.append(page.evaluate(f"{style}.outlineStyle + ' ' + {style}.outlineWidth"))
    assert set(seen) == {"solid 2px"}


def test_a_prefix_in_the_address_is_no_matter(browser, server, bandit):
    """As behind a proxy that takes the prefix away."""
    context = browser.new_context()
    asked = []

    def forward(route):
        asked.append(route.request.url)
        route.fulfill(response=route.fetch(url=route.request.url.replace("/under/here/", "/")))

    context.route("**/*", forward)
    page = context.new_page()
    page.goto(f"{server}/under/here/#/b/{bandit['id']}")
    page.get_by_role("button", name="Decide", exact=True).click()
    page.locator(".decision").wait_for()
    context.close()
    assert all(url.startswith(f"{server}/under/here/") for url in asked)


def test_a_phone_is_wide_enough(visit, other, bandit):
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

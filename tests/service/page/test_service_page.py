"""What people do on the page, in a real browser and with a real server.

Every test also checks that no request left this host, and that the console stayed silent.
"""

import re

from page_steps import (
    FRUIT,
    PATIENCE_MS,
    create,
    decide,
    keep_notes,
    tell,
    tile,
    wait_for_count,
    wait_for_text,
    wait_for_texts,
)

from forked_server import ForkedServer
from superarm.client import Client, EdgeBandit
from superarm.service.http import keys
from superarm.service.log.sqlite import SQLiteStore


def test_a_bandit_is_created_decides_and_learns(visit, server):
    page = visit()
    create(page, "made by hand")
    page.get_by_role("heading", name="made by hand").wait_for()
    page.get_by_text("No decisions yet.").wait_for()
    page.get_by_role("button", name="Decide", exact=True).click()
    wait_for_text(tile(page, "open"), "^1$")
    wait_for_count(page.locator(".decision .chip"), 2)
    page.get_by_role("button", name=re.compile("^Tell outcomes")).click()
    page.get_by_role("button", name="all 1").click()
    page.get_by_role("button", name="Tell", exact=True).click()
    wait_for_text(page.locator(".decision .status.told"), "^complete$")
    wait_for_text(tile(page, "told"), "^1$")
    # Beta(2, 1): the learned prior is (1, 1) before the first fit.
    wait_for_text(page.locator(".arms .arm .figure"), r"^0\.667")
    wait_for_count(page.locator(".decision .chip.good"), 2)


def test_the_server_searches_all_bandits(visit, other):
    """The page shows the first hundred, so it must not search among those alone."""
    for name in ("Sought Apples", "sought pears", "neither"):
        other("POST", "/v1/bandits", {"name": name, "arms": FRUIT, "k": 2})
    page = visit()
    listed = page.get_by_role("list", name="Bandits").locator("a")
    with page.expect_request(lambda request: "query=SOUGHT" in request.url):
        page.get_by_label("Search bandits by name").fill("SOUGHT")
    wait_for_count(listed, 2)
    page.get_by_label("Search bandits by name").fill("nothing like that")
    page.get_by_text("No bandit has this name.").wait_for()
    page.get_by_label("Search bandits by name").fill("")
    wait_for_text(listed, "neither")


def test_numbers_that_stay_zero_are_not_shown(visit, other, bandit):
    """The rewards of sums are not evaluated, and without an expiry nothing expires."""
    decide(other, bandit)
    page = visit(f"/#/b/{bandit['id']}")
    titles = page.locator(".tile dt")
    wait_for_texts(titles, ["rounds", "decisions", "open", "complete"])
    assert page.get_by_label("What the chart shows").count() == 0
    spec = {"name": f"{bandit['name']} 2", "arms": FRUIT, "k": 2, "oracle": "singletons"}
    evaluated = other("POST", "/v1/bandits", {**spec, "expiry": {"after_s": 60}})
    page.goto(page.url.replace(bandit["id"], evaluated["id"]))
    wait_for_count(titles, 7)
    page.get_by_label("What the chart shows").wait_for()


def test_changes_by_other_clients_appear(visit, other, bandit):
    page = visit(f"/#/b/{bandit['id']}")
    page.get_by_text("No decisions yet.").wait_for()
    decision = decide(other, bandit)
    row = page.locator(f".decision[data-key='{decision['id']}']")
    wait_for_text(row.locator(".status"), "^open$")
    wait_for_text(page.locator("#arrivals"), "Decided: " + ", ".join(decision["arms"]))
    tell(other, decision, 0.25)
    wait_for_text(row.locator(".status.told"), "^complete$")
    outcomes = row.locator(".outcome")
    wait_for_count(outcomes, 2)
    assert [text.split()[-1] for text in outcomes.all_inner_texts()] == ["0.25", "0.25"]
    wait_for_text(page.locator("#arrivals"), f"Told: {decision['arms'][0]} 0.25")
    wait_for_text(page.locator(".readout"), "Round 1 at")
    other("DELETE", f"/v1/bandits/{bandit['id']}/arms/fig")
    wait_for_text(page.locator("#arrivals"), "Retired: fig")


def test_the_verdict_and_the_lift_over_the_hold_out(visit, other):
    body = {"name": "held out", "arms": FRUIT, "k": 2, "seed": 1, "holdout": 0.5}
    bandit = other("POST", "/v1/bandits", body)
    page = visit(f"/#/b/{bandit['id']}")
    wait_for_text(page.locator(".lift"), "not known yet")
    wait_for_text(page.locator(".verdict"), "Nothing is known before the first complete decision")
    for _ in range(6):
        tell(other, decide(other, bandit), 0.5)
    page = visit(f"/#/b/{bandit['id']}")
    wait_for_text(page.locator(".verdict"), "Not done yet. The best so far:")
    wait_for_text(page.locator(".verdict .now"), "the probability that these arms are the best is")
    wait_for_text(page.locator(".lift strong"), "^Gain ")
    wait_for_text(page.locator(".lift .now"), "95% confidence, no matter how often you look")
    page.locator(".decision .status.held").first.wait_for()


def test_a_verdict_that_is_done(visit, other):
    body = {"name": "done", "arms": ["fig", "oak"], "k": 1, "seed": 1}
    bandit = other("POST", "/v1/bandits", body)
    for arm in ["fig", "oak"] * 15:
        made = other("POST", f"/v1/bandits/{bandit['id']}/decisions", {"must": [arm]})
        tell(other, made, float(arm == "fig"))
    page = visit(f"/#/b/{bandit['id']}")
    wait_for_text(
        page.locator(".verdict"), r"^Done. fig is the best. The probability that this is wrong"
    )


def test_decisions_of_the_edge_count_apart(visit, server, bandit):
    with Client(server) as client, EdgeBandit(client, bandit["id"]) as edge:
        made = edge.ask()
        edge.tell(made, dict.fromkeys(made.arms, 1.0))
        edge.sync()
        page = visit(f"/#/b/{bandit['id']}")
    wait_for_text(tile(page, "merged"), "^1$")
    wait_for_text(tile(page, "decisions"), "^0$")
    wait_for_text(page.locator(".verdict"), "Not done yet. The best so far:")


def test_a_paused_page_shows_nothing_new(visit, other, bandit):
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
    wait_for_count(page.locator(".decision"), 30)
    wait_for_text(page.locator("#arrivals"), r"^2\d\d events, the last: Decided")
    page.get_by_role("button", name="Show more").click()
    page.locator(".decision").nth(59).wait_for()
    with page.expect_request(lambda request: "/log?" in request.url):
        pass  # the next request starts at the last event
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
    page.wait_for_url(f"**/b/{bandit['id']}/d/{decision['id']}")
    wait_for_count(panel.locator(".arms .arm"), 3)  # two in the set, and the best arm left out
    wait_for_count(panel.locator(".range"), 3 + 1)  # and one in the legend
    wait_for_count(panel.locator("path.sampled"), 3)
    assert set(panel.locator(".arms .arm:not(.left-out) .name").all_inner_texts()) == set(
        decision["arms"]
    )
    assert f"decision {decision['id']}" in panel.locator("pre").inner_text()
    wait_for_count(panel.locator("tbody tr"), 3)
    page.keyboard.press("Escape")
    panel.wait_for(state="detached")
    page.wait_for_url(f"**/b/{bandit['id']}")
    page.wait_for_function("node => node === document.activeElement", arg=button.element_handle())
    page.goto(page.url + f"/d/{decision['id']}")  # an explanation has its own address
    panel.locator("figure").wait_for()


def test_an_arm_is_retired_and_restored(visit, other, bandit):
    page = visit(f"/#/b/{bandit['id']}")
    keep_notes(page)
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
    wait_for_texts(page.locator(".arms .name"), ["guava"])
    page.get_by_label("Search arms").fill("nothing like it")
    wait_for_text(page.locator("section p.muted"), "No arm has")
    page.get_by_label("Search arms").fill("")
    wait_for_text(page.locator("section p.muted"), "All 8 arms")
    page.get_by_label("Order of the arms").select_option("name")
    wait_for_texts(page.locator(".arms .name"), sorted([*FRUIT, "grape", "guava"]))


def test_only_the_best_of_many_arms_are_shown(visit, other):
    bandit = other("POST", "/v1/bandits", {"name": "many", "arms": 5000, "k": 3})
    page = visit(f"/#/b/{bandit['id']}")
    wait_for_text(page.locator("section p.muted"), "The best 20 of 5,000 by mean")
    wait_for_count(page.locator(".arms .arm"), 20)
    page.get_by_label("How many arms").select_option("50")
    wait_for_text(page.locator("section p.muted"), "The best 50 of 5,000")


def test_problems_say_what_to_do(visit, other, bandit):
    page = visit(f"/#/b/{bandit['id']}", expect=["status of 4"])
    page.get_by_role("button", name="With constraints…").click()
    page.get_by_label("Arms that must be in").fill("apple\nbanana\ncherry")
    page.get_by_role("button", name="Decide", exact=True).last.click()
    problem = page.get_by_role("dialog").get_by_role("alert")
    wait_for_text(problem, "must")
    page.keyboard.press("Escape")
    page.get_by_role("dialog").wait_for(state="detached")
    decide(other, bandit)
    page.locator(".decision").wait_for()
    page.keyboard.press("t")
    page.get_by_role("button", name="Tell", exact=True).click()
    wait_for_text(problem, "No outcome is given")
    page.get_by_label(re.compile("^Outcome of")).first.fill("1.5")
    page.get_by_role("button", name="Tell", exact=True).click()
    wait_for_text(problem, "must be at most 1")
    page.keyboard.press("Escape")
    page.get_by_role("dialog").wait_for(state="detached")
    page.goto(page.url.partition("#")[0] + "#/b/aaaaaaaaaa")
    wait_for_text(page.get_by_role("alert"), "No bandit has the id")
    wait_for_text(page.get_by_role("alert"), "GET /v1/bandits lists them")


def test_a_key_is_requested_and_stays_in_the_tab(visit, tmp_path):
    database = tmp_path / "keys.db"
    made = {role: keys.make(role) for role in ("read", "admin")}
    store = SQLiteStore(database)
    for _, row in made.values():
        store.add_key(row)
    store.close()
    with ForkedServer(str(database), tmp_path / "server.log", "--keys") as server:
        page = visit(at=server.url, expect=["status of 401", "status of 403"])
        dialog = page.get_by_role("dialog", name="Key of this server")
        dialog.get_by_label("Key", exact=True).fill("not this one")
        page.keyboard.press("Enter")
        wait_for_text(dialog.get_by_role("alert"), "The key is not known here")
        wait_for_text(dialog.get_by_role("alert"), "superarm keys add makes one")
        page.keyboard.press("Escape")  # the page says so, too, and does not open the dialog again
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
        page.close()  # before the server, so that no request fails


def test_a_lost_server_is_tried_again(visit, bandit):
    page = visit(f"/#/b/{bandit['id']}", expect=["ERR_CONNECTION_REFUSED"])
    page.locator(".arms .arm").first.wait_for()
    page.route("**/v1/**", lambda route: route.abort("connectionrefused"))
    page.get_by_role("button", name="Trying again…").wait_for()
    page.get_by_text("The server cannot be reached").wait_for()
    page.unroute("**/v1/**")
    page.get_by_role("button", name="Live").wait_for()
    wait_for_count(page.get_by_text("The server cannot be reached"), 0)


def test_what_a_person_asked_for_is_not_said_to_be_tried_again(visit, bandit):
    page = visit(f"/#/b/{bandit['id']}", expect=["ERR_CONNECTION_REFUSED"])
    page.get_by_role("button", name="Decide", exact=True).click()
    page.locator(".decision").first.wait_for()
    page.get_by_role("button", name="Live").wait_for()
    refuse = lambda route: route.abort("connectionrefused")  # noqa: E731
    page.route("**/decisions", lambda route: refuse(route) if is_post(route) else route.continue_())
    page.route("**/explanation", refuse)
    page.get_by_role("button", name="Decide", exact=True).click()
    wait_for_text(page.locator("#notes"), "then do it again")
    page.keyboard.press("e")
    wait_for_text(page.get_by_role("dialog", name="Why these arms?"), "then do it again")
    wait_for_count(page.get_by_text("tries again by itself"), 0)


def is_post(route):
    return route.request.method == "POST"


def test_a_server_that_hangs_and_recovers(visit, bandit):
    page = visit(f"/#/b/{bandit['id']}")
    page.locator(".arms .arm").first.wait_for()
    held, hangs = [], True
    page.route("**/log**", lambda route: held.append(route) if hangs else route.continue_())
    page.get_by_role("button", name="Server hangs…").wait_for()
    hangs = False
    for route in held:
        route.continue_()
    wait_for_text(page.locator("#notes"), "The server answers again")
    page.get_by_role("button", name="Live").wait_for()


def test_a_bandit_is_deleted(visit, other):
    spec = {"name": "short-lived", "arms": FRUIT, "k": 2}
    bandit = other("POST", "/v1/bandits", spec)
    page = visit(f"/#/b/{bandit['id']}")
    page.get_by_role("button", name="Delete…").click()
    dialog = page.get_by_role("dialog")
    wait_for_text(dialog, "short-lived has 0 decisions")
    dialog.get_by_role("button", name="Delete").click()
    wait_for_text(page.locator("#notes"), "Deleted short-lived")
    page.locator("[data-view=list]").wait_for()
    wait_for_count(page.get_by_role("navigation").get_by_text("short-lived"), 0)


def test_the_page_works_behind_a_prefix(browser, server, bandit):
    """As behind a proxy that removes the prefix."""
    context = browser.new_context()
    context.set_default_timeout(PATIENCE_MS)
    asked = []

    def forward(route):
        asked.append(route.request.url)
        route.fulfill(response=route.fetch(url=route.request.url.replace("/under/here/", "/")))

    context.route("**/*", forward)
    page = context.new_page()
    page.goto(f"{server}/under/here/#/b/{bandit['id']}")
    page.get_by_role("button", name="Decide", exact=True).click()
    page.locator(".decision").wait_for()
    context.unroute_all(behavior="ignoreErrors")  # of requests under way
    context.close()
    assert all(url.startswith(f"{server}/under/here/") for url in asked)


def test_every_part_of_the_catalog_is_offered(visit, other):
    parts = other("GET", "/v1/parts")
    page = visit()
    page.get_by_role("main").get_by_role("button", name="New bandit").click()
    page.get_by_text("More: reward").click()
    for kind, names in (("belief", "beliefs"), ("oracle", "oracles"), ("reward", "rewards")):
        options = page.locator(f"#field-{kind} option")
        options.nth(1).wait_for(state="attached")
        offered = options.evaluate_all("all => all.map(option => option.value)")
        assert [name for name in offered if name] == [part["name"] for part in parts[names]]


def test_parameters_of_parts_are_sent(visit, other):
    page = visit()
    page.get_by_role("main").get_by_role("button", name="New bandit").click()
    page.get_by_label("Name", exact=True).fill("with parameters")
    page.get_by_label("Arms", exact=True).fill("12")
    page.get_by_text("More: reward").click()
    page.get_by_label("Belief about the arms").select_option("sliding")
    page.get_by_label("window").fill("50")
    page.get_by_label("prior").fill("2, 1.5")
    page.get_by_label("Reward of a set").select_option("any_success")
    page.get_by_label("Oracle that picks the set").select_option("group_testing")
    page.get_by_label("delta (required)").fill("0.25")
    page.get_by_label("quantize").select_option("false")
    page.get_by_label("n_tests").fill("40")
    page.get_by_role("button", name="Create").click()
    page.get_by_role("heading", name="with parameters").wait_for()
    page.wait_for_url("**/b/*")
    spec = other("GET", f"/v1/bandits/{page.url.rpartition('/')[2]}")["spec"]
    assert spec["belief"] == {"kind": "sliding", "window": 50, "prior": [2, 1.5]}
    assert spec["reward"] == {"name": "any_success"}
    assert spec["oracle"] == {
        "kind": "group_testing",
        "delta": 0.25,
        "quantize": False,
        "n_tests": 40,
    }

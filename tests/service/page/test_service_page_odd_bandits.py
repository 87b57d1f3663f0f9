"""Bandits that the page must show as well: other beliefs, the edge, long and odd names."""

import pytest
from page_steps import FRUIT, PATIENCE_MS, decide, keep_notes, tell, wait_for_text

from superarm.client import Client, EdgeBandit


@pytest.mark.parametrize("belief", ["beta", "single_seed", "logistic"])
def test_the_verdict_of_other_beliefs(visit, other, belief):
    body = {"name": f"verdict of {belief}", "arms": FRUIT, "k": 2, "belief": belief, "seed": 1}
    if belief == "logistic":
        body["features"] = [[float(arm)] for arm in range(len(FRUIT))]
    bandit = other("POST", "/v1/bandits", body)
    tell(other, decide(other, bandit), 0.5)
    page = visit(f"/#/b/{bandit['id']}")
    wait_for_text(page.locator(".verdict"), "Not done yet. The best so far:")


def test_long_names_do_not_widen_the_page(visit, other):
    arms = ["w" * 200, "v" * 200, "u" * 200]
    bandit = other("POST", "/v1/bandits", {"name": "n" * 200, "arms": arms, "k": 1, "seed": 1})
    tell(other, decide(other, bandit), 1.0)
    page = visit(f"/#/b/{bandit['id']}")
    wait_for_text(page.locator(".verdict"), "Not done yet. The best so far:")
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    page.get_by_role("button", name="Delete…").click()
    dialog = page.get_by_role("dialog")
    assert dialog.evaluate("dialog => dialog.scrollWidth <= dialog.clientWidth")


def test_names_that_are_folders_in_an_address_are_not_sent(visit, other):
    arms = [".", "..", "fig"]
    bandit = other("POST", "/v1/bandits", {"name": "folders", "arms": arms, "k": 1, "seed": 1})
    page = visit(f"/#/b/{bandit['id']}")
    keep_notes(page)
    sent = []
    page.on("request", lambda request: sent.append(request.method))
    for arm in arms[:2]:
        page.get_by_role("button", name=f"Retire {arm}", exact=True).click()
    wait_for_text(page.locator(".note"), "This name cannot be part of an address in a browser")
    page.get_by_role("button", name="Retire fig", exact=True).click()
    wait_for_text(page.locator(".note"), "Retired fig")
    assert sent.count("DELETE") == 1


def test_what_is_not_listed_is_said(visit, server, other, bandit):
    with Client(server) as client, EdgeBandit(client, bandit["id"]) as edge:
        made = edge.ask()
        edge.tell(made, dict.fromkeys(made.arms, 1.0))
    page = visit(f"/#/b/{bandit['id']}")
    page.get_by_text("Decisions from the edge are not listed, and there are no others").wait_for()
    page.get_by_text("Decisions from the edge are not in this chart.").wait_for()


def test_a_list_of_long_decisions_ends_early(visit, other, bandit):
    one = decide(other, bandit)
    page = visit()
    listed = {"decisions": [{**one, "status": "open", "outcomes": {}}], "next": "7"}
    page.route("**/decisions?*", lambda route: route.fulfill(json=listed))
    page.goto(page.url + f"#/b/{bandit['id']}")
    page.get_by_text("Older decisions are not listed").wait_for()
    assert page.get_by_text("Show more").count() == 0


def test_a_longer_list_on_its_way_is_not_said_to_be_too_long(visit, other, bandit):
    for _ in range(31):
        decide(other, bandit)
    page = visit()
    page.route("**/decisions?*limit=60*", lambda route: None)  # never answered
    page.goto(page.url + f"#/b/{bandit['id']}")
    page.get_by_role("button", name="Show more").click()
    page.get_by_role("button", name="Live").click()  # draws the page again
    page.get_by_role("button", name="Paused").wait_for()
    assert page.get_by_text("Older decisions are not listed").count() == 0


def test_a_bandit_whose_reward_has_no_estimates(visit, bandit):
    page = visit()
    point = {"round": 1, "time": 1.0, "estimate": None, "evaluations": 3, "told": 1}
    known = {"estimate_is": "the reward; none for the operator's own rewards", "points": [point]}
    page.route("**/history*", lambda route: route.fulfill(json=known))
    page.goto(page.url + f"#/b/{bandit['id']}")
    page.get_by_text("The estimated reward of this bandit is not known.").wait_for()
    page.get_by_text("none for the operator's own rewards").wait_for()


def test_the_numbers_of_the_chart_are_whole(visit, bandit):
    page = visit()
    ends = [(1, 1000.0), (200_000, 2000.0)]
    points = [
        {"round": end, "time": time, "estimate": 1.0, "evaluations": 0, "told": 1}
        for end, time in ends
    ]
    known = {"estimate_is": "the reward", "points": points}
    page.route("**/history*", lambda route: route.fulfill(json=known))
    page.goto(page.url + f"#/b/{bandit['id']}")
    page.locator("svg.chart").get_by_text("200,000").wait_for()
    outside = """chart => {
      const box = chart.getBoundingClientRect();
      return [...chart.querySelectorAll("text")].filter((text) => {
        const { left, right } = text.getBoundingClientRect();
        return left < box.left || right > box.right;
      }).map((text) => text.textContent);
    }"""
    assert page.locator("svg.chart").evaluate(outside) == []


def test_an_old_answer_does_not_replace_a_new_one(visit, other, bandit):
    """A busy server may answer in another order. Nothing would load the history again."""
    page = visit(f"/#/b/{bandit['id']}")
    page.get_by_text("No decisions yet.").wait_for()
    page.evaluate(
        """() => {
          const start = window.setTimeout;
          window.setTimeout = (run, ms, ...more) => start(run, Math.min(ms, 50), ...more);
          window.passed = 0; // long before the first answer, so that a timer waits
          performance.now = () => window.passed;
        }"""
    )
    held = []
    page.route("**/history*", lambda route: route.continue_() if held else held.append(route))
    decision = decide(other, bandit)
    page.locator(".decision").wait_for()
    with page.expect_request("**/history*"):  # of a timer, which no reload waits for
        page.evaluate("window.passed = 1e9")
    page.evaluate("window.passed += 4000")
    tell(other, decision)
    wait_for_text(page.locator(".readout"), "^Round 1 at")
    with page.expect_response("**/history*"):
        held[0].fulfill(json={"points": [], "estimate_is": "old"})
    page.evaluate("new Promise((resolve) => setTimeout(resolve, 50))")
    assert page.locator(".readout").count() == 1


def test_what_failed_while_the_server_was_lost_is_loaded_again(visit, other, bandit):
    page = visit(f"/#/b/{bandit['id']}", expect=["ERR_CONNECTION_REFUSED"])
    page.get_by_text("No decisions yet.").wait_for()
    page.route("**/history*", lambda route: route.abort("connectionrefused"))
    with page.expect_event("requestfailed"):
        tell(other, decide(other, bandit))
    page.route("**/v1/**", lambda route: route.abort("connectionrefused"))
    page.get_by_role("button", name="Trying again…").wait_for()
    page.unroute_all()
    wait_for_text(page.locator(".readout"), "^Round 1 at")


def test_a_bandit_that_is_opened_while_the_server_is_lost(visit, bandit):
    """The page said that it tries again by itself, and stayed empty."""
    page = visit(expect=["ERR_CONNECTION_REFUSED"])
    page.get_by_role("navigation").get_by_text(bandit["name"]).wait_for()
    page.route("**/v1/**", lambda route: route.abort("connectionrefused"))
    page.evaluate("id => { location.hash = `#/b/${id}`; }", bandit["id"])
    page.get_by_text("This page tries again by itself").wait_for()
    page.unroute_all()
    page.locator(".arms .arm").first.wait_for()
    page.get_by_role("button", name="Live").wait_for()


def test_a_bandit_that_another_client_deletes(visit, server, other):
    """The page said that it tries again, as if the server were lost."""
    bandit = other("POST", "/v1/bandits", {"name": "deleted elsewhere", "arms": FRUIT, "k": 2})
    page = visit(f"/#/b/{bandit['id']}", expect=["410"])
    page.locator(".arms .arm").first.wait_for()
    with Client(server) as client:
        client.delete(bandit["id"])
    page.get_by_role("main").get_by_text("the bandit was deleted").wait_for()
    page.get_by_role("link", name="All bandits", exact=True).wait_for()


def test_an_address_that_changes_while_the_page_begins_is_shown(browser, server, bandit):
    """Before the browser has drawn the page for the first time."""
    context = browser.new_context()
    context.set_default_timeout(PATIENCE_MS)
    page = context.new_page()
    page.add_init_script(
        """
        const [start, held] = [window.setTimeout, []];
        window.requestAnimationFrame = (run) => held.push(run);
        window.setTimeout = (run, ms, ...more) => held.push(() => run(...more));
        window.draw = () => {
          window.requestAnimationFrame = (run) => start(run);
          window.setTimeout = start;
          held.forEach((run) => run());
        };
        """
    )
    page.goto(server)
    page.evaluate(
        """hash => new Promise((resolve) => {
          addEventListener("hashchange", resolve);
          location.hash = hash;
        })""",
        f"#/b/{bandit['id']}",
    )
    page.evaluate("window.draw()")
    page.get_by_role("heading", name=bandit["name"]).wait_for()
    context.close()

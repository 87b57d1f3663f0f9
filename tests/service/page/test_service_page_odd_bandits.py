"""Bandits that the page must show as well: other beliefs, the edge, long and odd names."""

import pytest
from page_steps import FRUIT, decide, keep_notes, tell, wait_for_text

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

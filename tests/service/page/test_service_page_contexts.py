"""Features and contexts on the page: to create, decide, add arms and explain."""

from page_steps import wait_for_count, wait_for_text


def test_features_and_contexts_are_given_and_explained(visit, other):
    page = visit()
    page.get_by_role("main").get_by_role("button", name="New bandit").click()
    page.get_by_label("Name", exact=True).fill("with contexts")
    page.get_by_label("Arms", exact=True).fill("tea\ncup\njam")
    page.get_by_text("More: reward").click()
    page.get_by_label("Belief about the arms").select_option("linear")
    page.get_by_label("Features of the arms").fill("3, x\n9, 0\n4, 1")
    page.locator("#field-belief-context").fill("2")
    page.get_by_role("button", name="Create").click()
    page.get_by_text("Only numbers are understood").wait_for()
    page.get_by_label("Features of the arms").fill("3, 0\n9, 0\n4, 1")
    page.get_by_role("button", name="Create").click()
    page.get_by_role("heading", name="with contexts").wait_for()
    page.wait_for_url("**/b/*")
    path = f"/v1/bandits/{page.url.rpartition('/')[2]}"

    page.get_by_role("button", name="Decide", exact=True).click()
    dialog = page.get_by_role("dialog", name="Decide in a context")
    dialog.get_by_label("Context of this round").fill("0.5, 1")
    dialog.get_by_role("button", name="Decide", exact=True).click()
    wait_for_count(page.locator(".decision .chip"), 2)
    [decision] = other("GET", f"{path}/decisions")["decisions"]
    assert decision["context"] == [0.5, 1.0]

    page.get_by_role("button", name=f"Explain decision {decision['id']}", exact=True).click()
    panel = page.get_by_role("dialog", name="Why these arms?")
    for heading in ("average arm", "features, context", "own outcomes"):
        wait_for_text(panel.locator("thead th"), f"^{heading}$")
    page.keyboard.press("Escape")
    panel.wait_for(state="detached")

    page.get_by_role("button", name="Add arms…").click()
    page.get_by_label("Names, one per line").fill("mug")
    page.get_by_label("Features, one line per arm").fill("8 0")
    page.get_by_role("button", name="Add", exact=True).click()
    wait_for_text(page.locator(".facts"), "2 of 4 arms")
    assert other("GET", path)["spec"]["features"] == 2

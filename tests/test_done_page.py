"""The tables of docs/done.md are those of the benchmark, and its targets are met."""

import done_page


def test_the_page_has_what_was_measured():
    text = done_page.PAGE.read_text()
    assert done_page.page(text) == text, "run `python docs/done_page.py`"


def test_the_targets_are_met():
    """Errors at most delta in 10,000 runs, and at most 1.1 times the best of the papers' rules."""
    found, rows = done_page.measured()
    played = {name: of for name, of in rows.items() if done_page.SAME_STOP in of}
    assert len(played) == 10
    ours = [of[done_page.OURS] for of in rows.values()]
    assert sum(row["runs"] for row in ours) >= 10_000
    for row in (row for of in rows.values() for row in of.values()):
        if "verdict" in row["rule"]:
            assert row["wrong"] <= found["delta"] * row["runs"]
    for of in played.values():
        assert of[done_page.OURS]["stopped"] == of[done_page.OURS]["runs"]
        assert of[done_page.OURS]["samples"] <= 1.1 * done_page.best_rival(of)


def test_no_rule_is_below_the_floor():
    """With the confidence of four standard errors, for coins that are pulled in sets."""
    found, rows = done_page.measured()
    for name, of in rows.items():
        about = found["problems"][name]
        if about["outcomes"] == "coins" and done_page.SAME_STOP in of:
            row = of[done_page.OURS]
            assert row["samples"] + 4 * row["error"] >= about["floor_in_sets"]
            assert about["floor_in_sets"] >= about["floor"] - 1

"""The tables of docs/done.md are those of the benchmark, and its targets are met."""

import done_page


def test_the_page_has_what_was_measured():
    text = done_page.PAGE.read_text()
    assert done_page.page(text) == text, "run `python docs/done_page.py`"


def test_the_targets_are_met():
    """Errors at most delta in 10,000 runs, and at most 1.1 times the best of the papers' rules.

    These stop by their own rules, or by the verdict and pull as many arms at a time as `top_two`.
    """
    found, rows = done_page.measured()
    played = done_page.ten(rows)
    assert len(played) == 10
    assert sum(of[done_page.OURS]["runs"] for of in rows.values()) >= 10_000
    for row in (row for of in rows.values() for row in of.values()):
        if "verdict" in row["rule"]:
            assert row["wrong"] <= found["delta"] * row["runs"]
    for of in played.values():
        ours, single = of[done_page.OURS], of[done_page.SINGLE]
        assert ours["stopped"] == ours["runs"]
        assert ours["samples"] <= 1.1 * done_page.best_rival(of)
        assert ours["samples"] <= 1.1 * done_page.best_rival(of, done_page.SETS)
        assert single["samples"] <= 1.1 * done_page.best_rival(of, done_page.PULLS)


def test_the_statement_of_an_ab_test_is_right():
    """Probabilities of outcomes of 0 and 1 are not too high: by 3 standard errors and no more.

    There are 12 comparisons, so that a right statement fails with probability 2%.
    """
    found, _ = done_page.measured()
    for row in found["statements"]:
        if row["kind"] != "measured outcomes":
            for said in (row["after 20"], row["after 200"], row["first"]):
                if said["n"]:
                    assert said["probability"] <= said["is_best"] + 3 * said["error"]


def test_no_rule_is_below_the_floor():
    """With the confidence of four standard errors, for coins that are pulled in sets."""
    found, rows = done_page.measured()
    for name, of in rows.items():
        about = found["problems"][name]
        if about["outcomes"] == "coins" and done_page.SAME_STOP in of:
            row = of[done_page.OURS]
            assert row["samples"] + 4 * row["error"] >= about["floor_in_sets"]
            assert about["floor_in_sets"] >= about["floor"] - 1

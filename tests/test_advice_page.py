"""The measured part of docs/advice.md is that of the benchmark, which is as it says."""

import advice_page
import advice_rewards


def test_the_page_has_what_was_measured():
    text = advice_page.PAGE.read_text(encoding="utf-8")
    assert advice_page.page(text) == text, "run `python docs/advice_page.py`"


def test_what_was_played_is_what_there_is():
    """At least 20 rewards, in two halves that were fixed before, some made to fool."""
    found, _ = advice_page.measured()
    assert found["half"] == advice_rewards.HALF
    assert found["fooling"] == list(advice_rewards.FOOLING)
    assert len(found["half"]) >= 20
    for half in ("tuning", "shown", "fresh", "latest"):
        names = {name for name, of in found["half"].items() if of == half}
        for budget, of in advice_page.measured(half)[1].items():
            assert {row["reward"] for row in of} == names
            assert advice_page.spent(of) <= budget


def test_the_defaults_are_those_that_were_played():
    from superarm.advice import settings

    found, _ = advice_page.measured()
    assert found["settings"] == {name: getattr(settings, name) for name in found["settings"]}


def test_the_advice_is_rarely_wrong_without_saying_so():
    """Below 5% of the runs for every budget. Below 1% where the budget decides little."""
    of_half = [advice_page.measured(half)[1] for half in ("shown", "fresh", "latest")]
    for budget, of in (item for rows in of_half for item in rows.items()):
        assert advice_page.share(of, "silent") <= (0.01 if budget <= 100 else 0.05)
        assert advice_page.share(of, "undecided") >= (0.5 if budget <= 100 else 0.0)

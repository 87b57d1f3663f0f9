"""The tables of docs/offpolicy.md are those of the benchmark."""

import offpolicy_page


def test_the_page_has_what_was_measured():
    text = offpolicy_page.PAGE.read_text()
    assert offpolicy_page.page(text) == text, "run `python docs/offpolicy_page.py`"
    assert text.count("<!-- end -->") == 2


def test_every_design_is_in_a_table():
    rows = offpolicy_page.measured()
    assert len(rows) == 16
    tables = offpolicy_page.coverage(rows) + offpolicy_page.in_contexts(rows)
    assert all(f"|{design}|" in tables for design in rows)

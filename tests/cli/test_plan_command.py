"""``superarm plan``."""

import json

from commands import run


def test_plan_prints_costs_and_break_evens():
    result = run("plan", "--m", "30", "--k", "3", "--cost", "0.01", "--horizon", "100")
    assert result.exit_code == 0, result.output
    for words in ("LazySingletons", "exact", "measured", "Row is faster than column"):
        assert words in result.output


def test_plan_prints_json():
    result = run("plan", "--m", "30", "--k", "3", "--cost", "0.01", "--horizon", "100", "--json")
    found = json.loads(result.stdout)
    assert {row["oracle"]: row["evaluations"] for row in found["rows"]}["Singletons"] == 30


def test_plan_refuses_a_set_larger_than_all_arms():
    result = run("plan", "--m", "3", "--k", "4", "--cost", "1", "--horizon", "1")
    assert result.exit_code == 2
    assert "k must be between" in result.output

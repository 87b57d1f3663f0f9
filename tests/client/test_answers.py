"""Answers of the service as objects."""

from played_service import DECISION, SUMMARY, ok


def test_answers_are_objects(connect):
    fresh, known = (
        DECISION | {"later": 1},
        DECISION | {"values": None, "status": "told", "outcomes": {"a": 1.0}},
    )
    client = connect(
        [
            ok(fresh, 201),
            ok({"decisions": [known]}, 201),
            ok(SUMMARY | {"spec": {}, "events": 3}),
            ok({"new": ["a"]}),
        ]
    )
    one, (two,) = client.ask("b1"), client.ask("b1", 1)
    assert (one.arms, one.values, one.status, one.outcomes) == (("a", "c"), (0.5, 0.25), "open", {})
    assert (one.propensities, one.set_propensity, one.n_samples) == (None, None, 0)
    assert (two.values, two.status, two.outcomes) == (None, "told", {"a": 1.0})
    bandit = client.bandit("b1")
    assert (bandit.name, bandit.events, bandit.posterior) == ("news", 3, None)
    assert client.tell(two, {"a": 1}) == ("a",)

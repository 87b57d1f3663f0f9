"""The decisions of new parts are recorded, and no others."""

import json

import record_decisions
import unchanged


def test_only_what_is_new_is_recorded(monkeypatch, tmp_path):
    known = unchanged.RECORDED.read_text()
    expected = json.loads(known)
    # Recorded again it would be another one, as it is of no decision.
    expected["beliefs"]["mean / k"] = "kept"
    del expected["beliefs"]["beta / k"]
    monkeypatch.setattr(record_decisions, "EXPECTED", expected)
    monkeypatch.setattr(unchanged, "RECORDED", tmp_path / "decisions.json")
    assert record_decisions.record() == ["beliefs: beta / k"]
    found, kept = json.loads(unchanged.RECORDED.read_text()), json.loads(known)
    kept["beliefs"]["mean / k"] = "kept"
    assert found == kept

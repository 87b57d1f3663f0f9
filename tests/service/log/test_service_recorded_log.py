"""A log that is written now is, byte for byte, the log that was written before the redesign."""

import hashlib
import random
import secrets
import sqlite3

from serving import client_of, create
from superarm.oracles._lazy.certificates import Audits

# SHA-256 of all events of the first four bandits, recorded with the service before it was laid out
# in rooms. The fifth was recorded again when its decoder learned to choose the size of tests.
RECORDED = [
    "16f8f3bee2046f44b1b4ab2a7013f840e19012ef5ae46016640af6f2c85fca31",
    "7a0cf8c86e0980a9c70947841301ed735ac4f65920a4d4a4cfd99ebad9b4e56c",
]
# The belief that was the default then.
PARTS = [
    {"belief": "beta"},
    {"belief": "beta", "reward": "any_success"},
    {"belief": {"kind": "sliding", "window": 5}, "expiry": {"after_rounds": 2, "missing": 0.25}},
    {"belief": "ucb", "oracle": {"kind": "rarely", "oracle": "greedy", "when": 3}},
    {
        "belief": "beta",
        "oracle": {"kind": "group_testing", "delta": 0.25, "n_tests": 20, "decoder": "regression"},
    },
]


def play(client, bandit):
    """Single decisions, a batch, propensities, a repeated key, partial and missing outcomes."""
    for round_ in range(6):
        body = {3: {"propensities": 4}, 5: {"n": 2}}.get(round_, {})
        headers = {"Idempotency-Key": f"key-{round_ // 2 * 2}" if body == {} else f"own-{round_}"}
        found = client.post(f"/v1/bandits/{bandit}/decisions", json=body, headers=headers).json()
        for one in found.get("decisions", [found]):
            n_told = round_ % 3
            outcomes = {arm: 0.5 * place for place, arm in enumerate(one["arms"][:n_told])}
            if outcomes:
                path = f"/v1/decisions/{one['id']}/outcomes"
                assert client.post(path, json={"outcomes": outcomes}).status_code in (200, 410)
    client.post(f"/v1/bandits/{bandit}/arms", json={"arms": ["eel"], "prior": [2.0, 1.0]})
    client.delete(f"/v1/bandits/{bandit}/arms/ant")


def test_the_log_is_the_recorded_one(tmp_path, monkeypatch):
    # The log has the number of evaluations, and there were no audits when it was recorded.
    monkeypatch.setattr(Audits, "are_due", lambda self, per_root: False)
    ids, now = random.Random(1), [1000.0]
    monkeypatch.setattr(secrets, "choice", ids.choice)

    def clock():
        now[0] += 0.25
        return now[0]

    path = tmp_path / "bandits.db"
    with client_of(path, clock=clock) as client:
        for number, parts in enumerate(PARTS):
            play(client, create(client, name=f"bandit {number}", seed=5, **parts))
    with sqlite3.connect(path) as database:
        rows = database.execute("SELECT * FROM events ORDER BY bandit, seq").fetchall()
    database.close()
    assert len(rows) > 50
    before, after = ([row for row in rows if (row[0] == 5) == is_last] for is_last in (False, True))
    found = [hashlib.sha256(repr(part).encode()).hexdigest() for part in (before, after)]
    assert found == RECORDED

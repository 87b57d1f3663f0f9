"""Random requests with restarts between them: replaying the log gives the same bandit exactly."""

import random

import pytest

from serving import client_of, create, events_of
from superarm.service.bandits.replay import fingerprint, replay
from superarm.service.log.sqlite import SQLiteStore

N_ARMS = 2100  # enough for draws that look at few arms


class Player:
    """Sends random requests, and remembers what was acknowledged."""

    def __init__(self, seed):
        self.rng, self.now = random.Random(seed), 1000.0
        self.decisions, self.told, self.n_names = {}, {}, N_ARMS

    def clock(self):
        return self.now

    def step(self, client, bandit):
        self.now += self.rng.choice([0.0, 0.5, 3.0, -100.0, 101.0])
        what = self.rng.choices(
            [self.decide, self.tell, self.add, self.retire, self.look], [5, 6, 1, 1, 1]
        )[0]
        what(client, bandit)

    def decide(self, client, bandit):
        rng = self.rng
        arms = [str(rng.randrange(N_ARMS)) for _ in range(3)]
        body = rng.choice(
            [
                {},
                {},
                {},
                {"n": 3},
                {"must_not": arms},
                {"k": 4},
                {"groups": [{"arms": sorted(set(arms)), "most": 1}]},
            ]
        )
        headers = {"Idempotency-Key": f"key-{rng.randrange(60)}"} if rng.random() < 0.3 else {}
        answer = client.post(f"/v1/bandits/{bandit}/decisions", json=body, headers=headers)
        assert answer.status_code in ((201, 409) if headers else (201,)), answer.text
        if answer.status_code == 201:
            for one in answer.json().get("decisions", [answer.json()]):
                self.decisions.setdefault(one["id"], one)
                assert self.decisions[one["id"]] == one

    def tell(self, client, bandit):
        if not self.decisions:
            return
        one = self.rng.choice(list(self.decisions.values()))
        arms = self.rng.sample(one["arms"], self.rng.randint(1, len(one["arms"])))
        known = self.told.setdefault(one["id"], {})
        outcomes = {arm: known.get(arm, self.rng.choice([0.0, 0.25, 0.7, 1.0])) for arm in arms}
        answer = client.post(f"/v1/decisions/{one['id']}/outcomes", json={"outcomes": outcomes})
        assert answer.status_code in (200, 410), answer.text
        if answer.status_code == 200:
            assert set(answer.json()["new"]).isdisjoint(known)
            known |= {arm: outcomes[arm] for arm in answer.json()["new"]}

    def add(self, client, bandit):
        names = [f"new {self.n_names}", str(self.rng.randrange(N_ARMS))]
        self.n_names += 1
        answer = client.post(
            f"/v1/bandits/{bandit}/arms", json={"arms": names, "prior": [2.0, 1.0]}
        )
        assert answer.json()["added"] == names[:1]

    def retire(self, client, bandit):
        assert (
            client.delete(f"/v1/bandits/{bandit}/arms/{self.rng.randrange(N_ARMS)}").status_code
            == 200
        )

    def look(self, client, bandit):
        assert client.get(f"/v1/bandits/{bandit}").status_code == 200


@pytest.mark.parametrize(("seed", "keep"), [(0, 5), (1, 0), (2, 1)])
def test_anything_in_any_order(tmp_path, seed, keep):
    path, player, bandit = tmp_path / "bandits.db", Player(seed), None
    for life in range(4):
        with client_of(
            path, checkpoints=life % 2 == 0, clock=player.clock, checkpoint_every=25
        ) as client:
            if bandit is None:
                expiry = {"after_s": 100.0, "after_rounds": 30, "missing": 0.25}
                bandit = create(
                    client,
                    arms=N_ARMS,
                    k=2,
                    belief="beta",
                    seed=seed,
                    keep=keep,
                    expiry=expiry,
                )
            for _ in range(60):
                player.step(client, bandit)
            state = client.get(f"/v1/bandits/{bandit}").json()
            events = events_of(client, bandit)
            live = fingerprint(client.app.state.service.engine._actors[bandit].live)
    assert {event["kind"] for event in events} >= {
        "decided",
        "told",
        "expired",
        "arms_added",
        "arms_retired",
    }
    told = {}
    for event in events:
        if event["kind"] == "told":
            for arm, outcome in event["outcomes"].items():
                assert told.setdefault(event["decision"], {}).setdefault(arm, outcome) == outcome
    assert told == {id: outcomes for id, outcomes in player.told.items() if outcomes}
    given = [
        one["id"] for event in events if event["kind"] == "decided" for one in event["decisions"]
    ]
    assert given == [f"{bandit}-{number}" for number in range(1, len(given) + 1)]
    assert set(player.decisions) == set(given)
    store = SQLiteStore(path, "read")
    found = replay(store, store.bandit(bandit), {}, decide=True)
    store.close()
    assert found.same
    assert fingerprint(found.live) == live
    assert found.live.counts[:2] == [state["rounds"], state["decisions"]]

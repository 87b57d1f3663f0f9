"""Looking at decisions: lists, explanations and the history."""

from serving import create, play


def test_decisions_are_listed_newest_first(client):
    bandit = create(client)
    client.post(f"/v1/bandits/{bandit}/decisions", json={"n": 3})
    play(client, bandit, 9)
    path = f"/v1/bandits/{bandit}/decisions"

    def numbers(**params):
        found, before = [], None
        while True:
            page = client.get(
                path, params={**params, "limit": 2, **({"before": before} if before else {})}
            ).json()
            found += [int(one["id"].split("-")[1]) for one in page["decisions"]]
            before = page["next"]
            if before is None:
                return found

    assert numbers() == list(range(12, 0, -1))
    assert numbers(status="open") == [12, 8, 4, 3, 2, 1]
    assert numbers(status="told") == [11, 10, 9, 7, 6, 5]
    assert numbers(status="expired") == []
    assert client.get(path, params={"status": "lost"}).status_code == 422


def test_a_decision_is_explained(client):
    bandit = create(client, explain_last=2, oracle="singletons")
    path = f"/v1/bandits/{bandit}/decisions"
    decisions = [client.post(path).json() for _ in range(4)]
    newest = client.get(f"/v1/decisions/{decisions[-1]['id']}/explanation").json()
    assert newest["complete"]
    assert {reason["arm"] for reason in newest["reasons"]} == set(decisions[-1]["arms"])
    assert newest["best_left_out"]["arm"] not in decisions[-1]["arms"]
    assert "sampled" in newest["text"]
    assert newest["prior"].startswith("learned prior Beta(1, 1): 95% of the arms are between")
    oldest = client.get(f"/v1/decisions/{decisions[0]['id']}/explanation").json()
    assert not oldest["complete"]
    assert oldest["prior"] is None
    assert sorted(reason["value"] for reason in oldest["reasons"]) == sorted(decisions[0]["values"])


def test_the_history_is_that_of_the_log(client):
    bandit = create(client, reward="any_success", oracle="singletons")
    play(client, bandit, 30)
    history = client.get(f"/v1/bandits/{bandit}/history", params={"points": 10}).json()
    points, described = (
        history["points"],
        client.get("/openapi.json").json()["components"]["schemas"]["HistoryPoint"],
    )
    assert history["estimate_is"] in " ".join(described["description"].split())
    assert len(points) == 10
    assert [points[0]["round"], points[-1]["round"]] == [1, 30]
    assert [point["evaluations"] for point in points] == [4 * point["round"] for point in points]
    assert points[0]["estimate"] is None  # round 1 was never told
    assert any(point["estimate"] is not None for point in points)
    assert client.get(f"/v1/bandits/{create(client, name='new')}/history").json()["points"] == []


def test_a_batch_is_read_once_however_many_look_at_it(client, monkeypatch):
    bandit = create(client)
    for _ in range(3):
        client.post(f"/v1/bandits/{bandit}/decisions", json={"n": 500})
    store, n_read = client.app.state.service.engine.store, []
    read = store.decided_before
    monkeypatch.setattr(store, "decided_before", lambda *args: n_read.append(args) or read(*args))
    points = client.get(f"/v1/bandits/{bandit}/history?points=200").json()["points"]
    assert len(points) == 200
    assert [points[0]["round"], points[-1]["round"]] == [1, 3]
    assert len(n_read) == 3
    n_read.clear()
    assert len(client.get(f"/v1/bandits/{bandit}/decisions?limit=1000").json()["decisions"]) == 1000
    assert len(n_read) == 1

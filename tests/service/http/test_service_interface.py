"""What programs rely on: kinds of problems, addresses of what was made, lookup by name."""

import re
from pathlib import Path

import pytest

import superarm.service
from serving import client_of, create, decide, tell
from superarm.service.problems import KINDS
from superarm.service.settings import Limits
from superarm.theory import best_k


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    path = tmp_path_factory.mktemp("interface") / "bandits.db"
    with client_of(path, limits=Limits(open=3)) as client:
        yield client


def kind_of(answer):
    return answer.json()["type"].removeprefix("urn:superarm:")


def test_problems_of_one_status_have_kinds(client):
    bandit = create(client, name="kinds", arms=["a", "b"], k=2)
    url = f"/v1/bandits/{bandit}"
    made = decide(client, bandit)
    tell(client, made["id"], {"a": 1.0})
    keyed = {"headers": {"Idempotency-Key": "one"}}
    client.post(f"{url}/decisions", json={"k": 1}, **keyed)
    answers = {
        "name-taken": client.post("/v1/bandits", json={"name": "kinds", "arms": 9, "k": 1}),
        "key-taken": client.post(f"{url}/decisions", json={"k": 2}, **keyed),
        "outcome-differs": client.post(
            f"/v1/decisions/{made['id']}/outcomes", json={"outcomes": {"a": 0.0}}
        ),
        "arm-needed": client.delete(f"{url}/arms/a"),
        "bandit-unknown": client.get("/v1/bandits/aaaaaaaaaa"),
        "decision-unknown": client.get(f"/v1/decisions/{bandit}-99"),
        "too-many-open": client.post(f"{url}/decisions", json={"n": 3}),
    }
    assert {wanted: kind_of(answer) for wanted, answer in answers.items()} == {
        wanted: wanted for wanted in answers
    }
    assert [answer.status_code for answer in answers.values()] == [409] * 4 + [404] * 2 + [429]
    assert client.get("/v1/nothing").json()["type"] == "about:blank"


def test_every_kind_is_one_of_the_list():
    source = Path(superarm.service.__file__).parent
    used = set()
    for file in source.rglob("*.py"):
        used |= set(re.findall(r'kind="([a-z]+-[a-z-]+)"', file.read_text()))
    assert used == set(KINDS)


def test_what_was_made_has_an_address(client):
    made = client.post("/v1/bandits", json={"name": "here", "arms": 3, "k": 1})
    bandit = made.json()["id"]
    assert made.headers["Location"] == f"/v1/bandits/{bandit}"
    assert client.get(made.headers["Location"]).json()["name"] == "here"
    decision = client.post(f"/v1/bandits/{bandit}/decisions", json={})
    assert client.get(decision.headers["Location"]).json()["id"] == decision.json()["id"]
    many = client.post(f"/v1/bandits/{bandit}/decisions", json={"n": 2})
    assert "Location" not in many.headers


def test_a_bandit_is_found_by_its_name(client):
    bandit = create(client, name="Näme & more")
    found = client.get("/v1/bandits", params={"name": "Näme & more"}).json()
    assert ([one["id"] for one in found["bandits"]], found["next"]) == ([bandit], None)
    assert client.get("/v1/bandits", params={"name": "nobody"}).json()["bandits"] == []
    after = {"name": "Näme & more", "after": bandit}
    assert client.get("/v1/bandits", params=after).json()["bandits"] == []


def test_a_verdict(client):
    """Not done while a and c have few outcomes, and done when all arms have twenty."""
    bandit = create(client, name="verdict", arms=["a", "b", "c"], k=1, seed=1)
    counts = dict.fromkeys("abc", 0)

    def verdict_after(n_rounds, **body):
        for _ in range(n_rounds):
            made = decide(client, bandit, **body)
            tell(client, made["id"], {arm: float(arm == "b") for arm in made["arms"]})
            for arm in made["arms"]:
                counts[arm] += 1
        found = client.get(f"/v1/bandits/{bandit}/verdict", params={"delta": 0.1}).json()
        assert (found["arms"], found["delta"]) == (["b"], 0.1)
        error = best_k([*counts.values()], [0, counts["b"], 0], 1)[2]
        assert found["error"] == pytest.approx(error, rel=1e-9)
        return found["done"], found["text"]

    done, text = verdict_after(60)
    assert not done
    assert "b so far" in text
    done, text = verdict_after(20, k=2, must=["a", "c"])
    assert done
    assert "b are the best" in text
    assert client.get(f"/v1/bandits/{bandit}/verdict?delta=2").status_code == 422
    other = create(client, name="no verdict", belief="beta")
    refused = client.get(f"/v1/bandits/{other}/verdict")
    assert refused.status_code == 422
    assert "counts its outcomes" in refused.json()["detail"]

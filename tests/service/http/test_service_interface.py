"""What programs rely on: kinds of problems, addresses of what was made, lookup by name."""

import re
import threading
from pathlib import Path

import pytest

import superarm.service
from doc_pages import doc
from serving import client_of, create, decide, events_of, tell
from superarm.service.bandits import views
from superarm.service.http import bandit_routes
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
        "arm-unknown": client.delete(f"{url}/arms/nobody"),
        "constraints-refused": client.post(f"{url}/decisions", json={"must_not": ["a"]}),
        "bandit-unknown": client.get("/v1/bandits/aaaaaaaaaa"),
        "decision-unknown": client.get(f"/v1/decisions/{bandit}-99"),
        "too-many-open": client.post(f"{url}/decisions", json={"n": 3}),
    }
    assert {wanted: kind_of(answer) for wanted, answer in answers.items()} == {
        wanted: wanted for wanted in answers
    }
    statuses = [409] * 4 + [404, 422] + [404] * 2 + [429]
    assert [answer.status_code for answer in answers.values()] == statuses
    assert kind_of(client.post(f"{url}/decisions", json={"k": 3})) == "constraints-refused"
    assert client.get("/v1/nothing").json()["type"] == "about:blank"


def test_every_kind_is_one_of_the_list():
    source = Path(superarm.service.__file__).parent
    used = set()
    for file in source.rglob("*.py"):
        used |= set(re.findall(r'kind="([a-z]+-[a-z-]+)"', file.read_text()))
    assert used == set(KINDS)
    listed = re.findall(r"^\| [\d, ]+ \| (`.*`) \|$", doc("service.md").read_text(), re.MULTILINE)
    assert sorted(re.findall(r"`([\w-]+)`", " ".join(listed))) == sorted(KINDS)


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


def test_bandits_are_searched_by_a_part_of_their_names(client, monkeypatch):
    monkeypatch.setattr(bandit_routes, "_BANDITS_PER_READ", 2)  # several reads
    names = ["Shop window", "other", "WORKSHOP", "another", "shops"]
    made = [create(client, name=name) for name in names]

    def named(**params):
        found = client.get("/v1/bandits", params=params).json()
        return [one["name"] for one in found["bandits"]], found["next"]

    assert named(query="sHoP") == (["Shop window", "WORKSHOP", "shops"], None)
    assert named(query="shop", limit=2) == (["Shop window", "WORKSHOP"], made[2])
    assert named(query="shop", limit=2, after=made[2]) == (["shops"], None)
    assert named(query="nobody's") == ([], None)


def test_all_arms_are_listed_in_pages(client):
    bandit = create(client, name="arms", arms=25, k=1)
    made = decide(client, bandit, must=["7"])
    tell(client, made["id"], {"7": 1.0})
    client.post(f"/v1/bandits/{bandit}/arms", json={"arms": ["new 7"]})
    client.delete(f"/v1/bandits/{bandit}/arms/3")
    best = client.get(f"/v1/bandits/{bandit}", params={"top": 100}).json()["posterior"]

    def pages(**params):
        answer = client.get(f"/v1/bandits/{bandit}/arms", params=params).json()
        while answer["next"] is not None:
            yield answer["arms"]
            more = {**params, "after": answer["next"]}
            answer = client.get(f"/v1/bandits/{bandit}/arms", params=more).json()
        yield answer["arms"]

    found = [*pages(limit=10)]
    assert [len(page) for page in found] == [10, 10, 6]
    rows = [row for page in found for row in page]
    assert [row["arm"] for row in rows] == [*map(str, range(25)), "new 7"]
    assert sorted(rows, key=lambda row: row["arm"]) == sorted(best, key=lambda row: row["arm"])
    assert [row["arm"] for row in rows if row["retired"]] == ["3"]
    named = [[row["arm"] for row in page] for page in pages(limit=2, query="7")]
    assert named == [["7", "17"], ["new 7"]]
    for bad in ({"limit": 0}, {"after": "x"}, {"after": "0"}):
        assert client.get(f"/v1/bandits/{bandit}/arms", params=bad).status_code == 422


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
    assert "b is the best" in text
    assert client.get(f"/v1/bandits/{bandit}/verdict?delta=2").status_code == 422
    decide(client, bandit)
    asked = [
        client.get(f"/v1/bandits/{bandit}/verdict", params={"late": late}).json()
        for late in ("any", "alike")
    ]
    assert [one["n_awaited"] for one in asked] == [1, 0]
    assert asked[0]["error"] > asked[1]["error"]
    halved = client.get(f"/v1/bandits/{bandit}/verdict?dependent=true").json()
    assert halved["error"] > asked[0]["error"]
    given_prior = create(client, name="given prior", belief="beta")
    assert client.get(f"/v1/bandits/{given_prior}/verdict").json()["error"] == 1.0
    other = create(client, name="no verdict", belief="discounted")
    refused = client.get(f"/v1/bandits/{other}/verdict")
    assert refused.status_code == 422
    assert "counts its outcomes" in refused.json()["detail"]


def test_metadata_stays_with_a_decision(client):
    bandit = create(client, name="metadata", keep=0)
    sent = {"user": "u1", "visits": 3, "new": True, "share": 0.5, "from": None}
    one = decide(client, bandit, metadata=sent)
    several = decide(client, bandit, n=2, metadata={"page": "front"})["decisions"]
    assert [made["metadata"] for made in (one, *several)] == [sent, *[{"page": "front"}] * 2]
    address = f"/v1/decisions/{one['id']}"
    assert client.get(address).json()["metadata"] == sent
    assert client.get(f"{address}/explanation").json()["decision"]["metadata"] == sent
    listed = client.get(f"/v1/bandits/{bandit}/decisions", params={"status": "open"}).json()
    assert [made["metadata"] for made in listed["decisions"]] == [{"page": "front"}] * 2 + [sent]
    assert events_of(client, bandit)[1]["ask"] == {"metadata": sent}
    tell(client, one["id"], dict.fromkeys(one["arms"], 1.0))  # now only the log has it
    assert client.get(address).json()["metadata"] == sent
    many = {str(number): 1 for number in range(33)}
    for bad in ({"x": [1]}, {"x": {}}, {"x": "y" * 1001}, many, []):
        decide(client, bandit, status=422, metadata=bad)


def test_repeated_answers_are_marked(client):
    bandit = create(client, name="repeated")
    again = {"headers": {"Idempotency-Key": "1"}}
    for method, path, body in (
        ("POST", "/v1/bandits", {"name": "made twice", "arms": 4, "k": 2}),
        ("POST", f"/v1/bandits/{bandit}/decisions", {"k": 1}),
        ("POST", f"/v1/bandits/{bandit}/arms", {"arms": ["eel"]}),
    ):
        again["headers"]["Idempotency-Key"] = path
        said = [client.request(method, path, json=body, **again) for _ in range(2)]
        assert [one.headers.get("Idempotent-Replayed") for one in said] == [None, "true"]
        assert said[0].json() == said[1].json()
    item = {"bandit": bandit, "key": "bulk"}
    found = client.post("/v1/decisions", json={"decisions": [item, item]}).json()["results"]
    assert [one.get("replayed") for one in found] == [None, True]


def test_heads_are_those_of_answers(client):
    bandit = create(client, name="heads")
    for path in ("/v1/bandits", f"/v1/bandits/{bandit}", f"/v1/bandits/{bandit}/log?follow=true"):
        head = client.request("HEAD", path)
        assert head.status_code == 200
        wanted = "x-ndjson" if "log" in path else "json"
        assert wanted in head.headers["content-type"]
        assert ("content-length" in head.headers) == ("log" not in path)
    assert client.request("HEAD", "/v1/bandits/aaaaaaaaaa").status_code == 404
    assert "HEAD" in client.put("/v1/bandits").headers["allow"]


def test_seeds_are_exact_in_every_reader(client):
    def seed_of(bandit):
        return client.get(f"/v1/bandits/{bandit}").json()["spec"]["seed"]

    drawn = seed_of(create(client, name="drawn"))
    assert 0 <= drawn < 2**53
    large = str(2**127 + 1)
    bandit = create(client, name="large", seed=large)
    assert seed_of(bandit) == events_of(client, bandit)[0]["spec"]["seed"] == large
    assert create(client, name="large", seed=large) == bandit
    small = [create(client, name=f"small {seed!r}", seed=seed) for seed in (7, "7")]
    assert [seed_of(one) for one in small] == [7, 7]
    assert decide(client, small[0])["values"] == decide(client, small[1])["values"]
    for bad in (2**53 + 1, "-1", "x", str(2**128), 1.5):
        spec = {"name": "bad", "arms": 3, "k": 1, "seed": bad}
        assert client.post("/v1/bandits", json=spec).status_code == 422


def test_errors_name_the_arms(client):
    bandit = create(client, name="errors", arms=["ant", "arm 0", "cat", "dog"])
    for body, says in (
        ({"must": ["ant"], "must_not": ["ant"]}, "arms 'ant' are in both"),
        ({"must": ["cat"], "available": ["ant", "dog"]}, "arms 'cat' must be in"),
        ({"must": ["dog", "dog"]}, "got arm 'dog' more than once"),
        ({"must": ["arm 7"]}, "got 'arm 7'"),
        ({"weights": dict.fromkeys(["ant", "arm 0", "cat", "dog"], 5), "capacity": 2}, "capacity"),
    ):
        assert says in decide(client, bandit, status=422, **body)["detail"]


def test_errors_leave_names_as_they_are(client):
    bandit = create(client, name="names", arms=["ant", "budget", "cat", "dog"])
    body = {"must": ["budget"], "must_not": ["budget"]}
    assert "arms 'budget' are in both" in decide(client, bandit, status=422, **body)["detail"]


def test_long_ids_in_metadata_stay_what_they_are(client):
    """As floats, ids of more than 53 bits would be the same in the log."""
    bandit = create(client, name="ids")
    ids = {"user": 2**53 + 1, "order": 2**63 - 1, "debt": -(2**60) - 1, "score": 1.5, "far": 1e30}
    made = decide(client, bandit, metadata=ids)
    assert made["metadata"] == events_of(client, bandit)[-1]["ask"]["metadata"] == ids
    assert type(made["metadata"]["user"]) is int
    refused = decide(client, bandit, status=422, metadata={"user": 2**64 + 1})
    assert "metadata.user must be at most 18446744073709551616" in refused["detail"]


def test_the_next_page_is_named_by_text(client):
    bandit = create(client, name="pages")
    decide(client, bandit, n=3)
    found = client.get(f"/v1/bandits/{bandit}/decisions?limit=2").json()
    assert found["next"] == "2"
    found = client.get(f"/v1/bandits/{bandit}/decisions?limit=2&before={found['next']}").json()
    assert ([one["id"][-2:] for one in found["decisions"]], found["next"]) == (["-1"], None)


def test_impossible_numbers_of_tests_are_refused_at_once(client):
    oracle = {"kind": "group_testing", "delta": 0.1, "n_tests": -1}
    spec = {"name": "tests", "arms": 5, "k": 2, "oracle": oracle}
    refused = client.post("/v1/bandits", json=spec)
    assert refused.status_code == 422
    assert "n_tests must be at least 1, got -1" in refused.json()["detail"]


def test_arms_are_restored_but_not_added(client):
    bandit = create(client, name="restored", arms=30, k=2)
    path = f"/v1/bandits/{bandit}/arms"
    client.delete(f"{path}/7")
    refused = client.post(path, json={"arms": ["7", "new"], "known_only": True})
    assert refused.status_code == 422
    assert "got 'new'" in refused.json()["detail"]
    found = client.post(path, json={"arms": ["7", "8"], "known_only": True}).json()
    assert (found["added"], found["restored"]) == ([], ["7"])


def test_a_search_for_arms_keeps_no_decision_waiting(client, monkeypatch):
    """It looks at every name, so it does not run in the thread of the bandit."""
    threads, search = [], views.with_query

    def note(names, query):
        threads.append(threading.current_thread().name)
        return search(names, query)

    monkeypatch.setattr(views, "with_query", note)
    bandit = create(client, name="searched", arms=["ant", "Bee", "bear"], k=1)
    found = client.get(f"/v1/bandits/{bandit}/arms", params={"query": "bE"}).json()["arms"]
    best = client.get(f"/v1/bandits/{bandit}", params={"query": "ANT"}).json()["posterior"]
    assert [one["arm"] for one in found + best] == ["Bee", "bear", "ant"]
    assert len(threads) == 2
    assert all(name.startswith("superarm-read") for name in threads)

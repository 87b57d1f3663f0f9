"""Many decisions or outcomes in one request: each as a request of its own, each with its result."""

import json

import pytest

import superarm.client as sc
from serving import client_of, create, events_of

LINES = {"Content-Type": "application/x-ndjson"}


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return tmp_path_factory.mktemp("bulk") / "bandits.db"


@pytest.fixture(scope="module")
def client(path):
    with client_of(path) as client:
        yield client


def post(client, path, members):
    content = json.dumps(members)  # unlike httpx, it escapes halves of surrogate pairs
    headers = {"Content-Type": "application/json"}
    answer = client.post(path, content=content, headers=headers)
    assert answer.status_code == 200, answer.text
    return answer.json()["results"]


def test_one_by_one_or_all_at_once_is_the_same(client):
    """Two bandits with the same seed get the same decisions, and learn the same.

    So it is for few arms and this belief. Others draw several samples in another way: same law.
    """
    twins = [create(client, name=f"twin {n}", seed=5, belief="beta") for n in range(2)]
    alone, together = twins
    made = [client.post(f"/v1/bandits/{alone}/decisions", json={}).json() for _ in range(5)]
    results = post(client, "/v1/decisions", {"decisions": [{"bandit": together}] * 5})
    assert [one["answer"]["arms"] for one in results] == [one["arms"] for one in made]
    told = []
    for one, other in zip(made, results, strict=True):
        outcomes = dict.fromkeys(one["arms"], 1.0)
        client.post(f"/v1/decisions/{one['id']}/outcomes", json={"outcomes": outcomes})
        told.append({"decision": other["answer"]["id"], "outcomes": outcomes})
    for one in post(client, "/v1/outcomes", {"outcomes": told}):
        assert one["answer"]["status"] == "told"

    def known(bandit):
        state = client.get(f"/v1/bandits/{bandit}", params={"top": 4}).json()
        return state["posterior"], events_of(client, bandit)[-1]["counts"]

    assert known(together) == known(alone)


def test_a_problem_of_one_is_no_problem_of_the_others(client):
    bandit = create(client, name="mixed")
    results = post(
        client,
        "/v1/decisions",
        {"decisions": [{"bandit": "nobody"}, {"bandit": bandit}, {"bandit": bandit, "k": 999}]},
    )
    assert [one.get("problem", {}).get("status") for one in results] == [404, None, 422]
    made = results[1]["answer"]
    arm = made["arms"][0]
    items = [
        {"decision": "what?", "outcomes": {"a": 1.0}},
        {"decision": made["id"], "outcomes": {arm: 1.0}},
        {"decision": made["id"], "outcomes": {arm: 0.0}},
        {"decision": made["id"], "outcomes": {arm: 1.0}},
    ]
    results = post(client, "/v1/outcomes", {"outcomes": items})
    assert [one.get("problem", {}).get("status") for one in results] == [404, None, 409, None]
    assert [one["answer"]["new"] for one in (results[1], results[3])] == [[arm], []]


def test_the_same_key_gets_the_same_decision(client):
    item = {"bandit": create(client, name="keys"), "key": "k1"}
    first, second = post(client, "/v1/decisions", {"decisions": [item, item]})
    assert {**first, "replayed": True} == second
    assert post(client, "/v1/decisions", {"decisions": [item]}) == [second]


def test_json_lines(client):
    bandit = create(client, name="lines")
    lines = "\n".join(json.dumps({"bandit": bandit, "k": k}) for k in (1, 2)) + "\n\n"
    answer = client.post("/v1/decisions", content=lines, headers=LINES)
    assert [len(one["answer"]["arms"]) for one in answer.json()["results"]] == [1, 2]
    # Only where many are taken.
    one = client.post(f"/v1/bandits/{bandit}/decisions", content="{}", headers=LINES)
    assert one.status_code == 415


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("not JSON", "expected ident at column 2"),
        ('{"bandit": "', "EOF while parsing a string at column 12"),
        ('{"bandit": "ID"}, {"bandit": "ID"}', "trailing characters at column 25"),
        ('{"bandit": "ID"}],"decisions":[{"bandit": "ID"}', "trailing characters at column"),
        ('{"bandit": "ID", "metadata": {"cut": "\\ud83d"}}', "end of hex escape at column"),
    ],
)
def test_a_broken_line_is_a_problem_of_its_own(client, line, why):
    """A line is one item: it is neither several ones, nor the beginning of the next one."""
    bandit = create(client, name=f"broken line {why}")
    whole = json.dumps({"bandit": bandit})
    lines = f"{whole}\n\n{line.replace('ID', bandit)}\n{whole}"
    results = client.post("/v1/decisions", content=lines, headers=LINES).json()["results"]
    assert [list(one) for one in results] == [["answer"], ["problem"], ["answer"]]
    assert results[1]["problem"]["status"] == 400
    assert results[1]["problem"]["detail"].startswith("line 3 must be JSON: ")
    assert why in results[1]["problem"]["detail"]
    assert len(events_of(client, bandit)) == 2  # created, decided


def test_two_broken_lines_are_not_one_item(client):
    """A comma between two lines would complete the first one."""
    bandit = create(client, name="halves")
    whole = json.dumps({"bandit": bandit})
    halves = [f'{{"bandit": "{bandit}", "groups": [{{"arms": ["a"]}}', '{"arms": ["b"]}]}']
    lines = "\n".join([whole, *halves])
    results = client.post("/v1/decisions", content=lines, headers=LINES).json()["results"]
    assert [one.get("problem", {}).get("status") for one in results] == [None, 400, 400]


def test_lines_that_are_no_objects_are_items_that_do_not_fit(client):
    """As they are in a list."""
    for content, headers in (('1\n"a"', LINES), ('{"decisions": [1, "a"]}', {})):
        kind = headers or {"Content-Type": "application/json"}
        answer = client.post("/v1/decisions", content=content, headers=kind)
        assert [one["problem"]["status"] for one in answer.json()["results"]] == [422, 422]


def test_what_is_not_lines_is_refused_as_a_whole(client):
    """Nothing says where an item begins, or all of it is broken."""
    bandit = create(client, name="no lines")
    items = [{"bandit": bandit}] * 3
    bodies = [
        json.dumps(items, indent=1),
        "[\n" + ",\n".join(map(json.dumps, items)) + "\n]",
        json.dumps({"decisions": items}, indent=1),
        "\n".join(json.dumps({**one, "groups": []}, indent=1) for one in items),
        "\ufeff" + "\n".join(map(json.dumps, items)),
        "neither\nnor",
        "[\n" + ",\n".join(map(json.dumps, [{**items[0], "key": "cut \ud83d"}, *items])) + "\n]",
    ]
    for body in bodies:
        answer = client.post("/v1/decisions", content=body.encode(), headers=LINES)
        assert answer.status_code == 400, body
        assert answer.json()["detail"].startswith("line ")
    for body, got in (("", "none"), ("\n \n", "none"), ("{}\n" * 10_001, "more")):
        answer = client.post("/v1/decisions", content=body, headers=LINES)
        detail = f"the body must have 1 to 10,000 lines, got {got}"
        assert (answer.status_code, answer.json()["detail"]) == (422, detail)
    assert len(events_of(client, bandit)) == 1  # created


@pytest.mark.parametrize("depth", [300, 600, 900, 3000])
def test_what_is_nested_deeply_is_refused(client, depth):
    """Where it is no item, it was a failure of the server: it was too deep to describe."""
    deep = '{"a": ' * depth + "1" + "}" * depth
    unknown = ", ".join(f'"x{n}": {deep}' for n in range(50))  # so many that few are described
    bodies = [f'{{"decisions": {deep}}}', f'{{"decisions": [1], {unknown}}}', f"[{deep}]"]
    for body in bodies:
        headers = {"Content-Type": "application/json"}
        answer = client.post("/v1/decisions", content=body, headers=headers)
        assert answer.status_code in (400, 422), answer.text
        assert answer.json()["detail"]


def test_only_the_first_items_that_do_not_fit_are_described(client):
    """All requests wait while one is described."""
    for content in (json.dumps({"decisions": [{}] * 300}), "{}\n" * 300):
        headers = {"Content-Type": "application/json"} if "[" in content else LINES
        results = client.post("/v1/decisions", content=content, headers=headers).json()["results"]
        details = [one["problem"]["detail"] for one in results]
        assert details[:100] == ["bandit is missing"] * 100
        assert len({one["problem"]["status"] for one in results}) == 1
        assert len([one for one in details if one.endswith(" does not fit")]) == 200


def test_a_cut_text_in_a_list_is_a_problem_of_its_own(client):
    """Half of an emoji, as JavaScript cuts and sends texts, is JSON, but no text of Unicode."""
    bandit = create(client, name="cut text")
    good = {"bandit": bandit, "metadata": {"query": "fine \U0001f600"}}
    cut = {"bandit": bandit, "metadata": {"query": "cut \ud83d"}}
    results = post(client, "/v1/decisions", {"decisions": [good, cut, good]})
    assert [one.get("problem", {}).get("status") for one in results] == [None, 400, None]
    assert results[1]["problem"]["detail"].startswith("the item must be JSON: ")
    assert results[2]["answer"]["metadata"] == good["metadata"]
    told = [
        {"decision": results[0]["answer"]["id"], "outcomes": {arm: 1.0}}
        for arm in (results[0]["answer"]["arms"][0], "\udc00")
    ]
    results = post(client, "/v1/outcomes", {"outcomes": told})
    assert [one.get("problem", {}).get("status") for one in results] == [None, 400]


@pytest.mark.parametrize(
    ("at", "members"),
    [
        ("/v1/decisions", {"decisions": []}),
        ("/v1/decisions", {"decisions": [{"bandit": "x"}] * 10_001}),
        ("/v1/decisions", {"decisions": [{"bandit": "x"}], "more": 1}),
        ("/v1/decisions", {"outcomes": [{"k": 1}]}),
        ("/v1/outcomes", {"outcomes": {"decision": "x", "outcomes": {"a": 2.0}}}),
        ("/v1/outcomes", [{"decision": "x", "outcomes": {"a": 1.0}}]),
    ],
)
def test_a_body_that_does_not_fit_changes_nothing(client, at, members):
    assert client.post(at, json=members).status_code == 422


def test_an_item_that_does_not_fit_is_a_problem_of_its_own(client):
    """Of both routes, as a list or as lines. The other items are carried out."""
    bandit = create(client, name="misfits", arms=["a", "b"], k=2)
    items = [
        {"k": 1},
        {"bandit": bandit},
        {"bandit": "x", "key": "a b"},
        None,
        {"bandit": bandit, "colour": 1},
    ]
    results = post(client, "/v1/decisions", {"decisions": items})
    problems = [one["problem"] for one in results if "problem" in one]
    assert [one["status"] for one in problems] == [422] * 4
    assert [one["detail"] for one in problems[:3]] == [
        "bandit is missing",
        "key must be 1 to 200 visible ASCII characters, got 'a b'",
        "the item must be an object, got None",
    ]
    assert problems[3]["detail"].startswith("colour is unknown: known members are n, k,")
    told = [
        {"decision": results[1]["answer"]["id"], "outcomes": outcomes}
        for outcomes in ({"a": 2}, {"a": 1}, {"b": "1"})
    ]
    lines = "\n".join(map(json.dumps, told))
    answer = client.post("/v1/outcomes", content=lines, headers=LINES)
    high, fits, text = answer.json()["results"]
    assert high["problem"]["errors"] == [
        {"at": "outcomes.a", "detail": "must be at most 1", "got": "2"}
    ]
    assert fits["answer"]["new"] == ["a"]
    assert text["problem"]["detail"] == "outcomes.b must be a number, got '1'"
    assert len(events_of(client, bandit)) == 3  # made, decided, told


def test_the_client_asks_and_tells_many(client):
    bandit = create(client, name="python")

    def call(verb):
        """The verb of the Python client, on this server."""
        request = next(verb)
        answer = client.post(request.path, json=request.body)
        with pytest.raises(StopIteration) as ended:
            verb.send(answer.json())
        return ended.value.value

    first, second, refused = call(
        sc.bulk_verbs.ask_all([(bandit, {}), (bandit, {"k": 1}), (bandit, {"k": 999})])
    )
    assert isinstance(refused, sc.InvalidError)
    assert len(second.arms) == 1
    told = call(
        sc.bulk_verbs.tell_all([(first, {first.arms[0]: 1.0}), (second.id, {"no arm of it": 1.0})])
    )
    assert told[0] == (first.arms[0],)
    assert isinstance(told[1], sc.ProblemError)
    for nothing in (sc.bulk_verbs.ask_all([]), sc.bulk_verbs.tell_all([])):
        with pytest.raises(StopIteration) as ended:
            next(nothing)
        assert ended.value.value == []

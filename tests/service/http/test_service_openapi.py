"""The OpenAPI description: complete, and the same as it was when the API was recorded."""

import json
from pathlib import Path

from serving import client_of


def test_everything_answered_is_described(client):
    description = client.get("/openapi.json").json()
    assert set(description["paths"]["/v1/decisions/{id}/outcomes"]["post"]["responses"]) >= {
        "200",
        "409",
        "410",
        "422",
    }
    refs = set(_refs(description))
    assert refs
    for ref in refs:
        assert ref.split("/")[-1] in description["components"]["schemas"], ref


def _refs(value):
    if isinstance(value, dict):
        yield from ([value["$ref"]] if "$ref" in value else [])
        for item in value.values():
            yield from _refs(item)
    elif isinstance(value, list):
        for item in value:
            yield from _refs(item)


def test_they_are_described(client):
    schemas = client.get("/openapi.json").json()["components"]["schemas"]
    asked = schemas["DecideBody"]["properties"]["propensities"]["anyOf"][0]
    assert (asked["type"], asked["minimum"]) == ("integer", 1)
    for name in ("DecisionAnswer", "DecisionState"):
        assert {"propensities", "set_propensity", "n_samples"} <= set(schemas[name]["properties"])


RECORDED = Path(__file__).parents[2] / "data" / "openapi.json"
# What was added to the API since the recording. Nothing else may differ.
ADDED = [
    ("paths", "/v1/parts"),
    ("paths", "/v1/decisions"),
    ("paths", "/v1/outcomes"),
    ("paths", "/v1/bandits/{id}/snapshots"),
    ("paths", "/v1/bandits/{id}/batches"),
    *(
        ("components", "schemas", name)
        for name in ("SnapshotAnswer", "BatchBody", "BatchAnswer", "RemoteDecision")
    ),
    ("paths", "/v1/bandits/{id}/verdict"),
    ("paths", "/v1/bandits/{id}/arms", "get"),
    ("components", "schemas", "ArmList"),
    ("components", "schemas", "VerdictAnswer"),
    ("paths", "/v1/bandits/{id}/lift"),
    ("components", "schemas", "LiftAnswer"),
    ("components", "schemas", "BanditState", "properties", "merged"),
    ("components", "schemas", "HoldoutBody"),
    ("components", "schemas", "CreateBody", "properties", "holdout"),
    ("components", "schemas", "DecisionAnswer", "properties", "holdout"),
    ("components", "schemas", "DecisionState", "properties", "holdout"),
    ("paths", "/v1/bandits", "get", "parameters", 1),  # name
    ("paths", "/v1/bandits", "get", "parameters", 1),  # query
    ("components", "schemas", "ProblemPlace"),
    *(
        ("components", "schemas", name)
        for name in (
            *("DecideAllBody", "DecideItem", "DecideResult", "DecideResults"),
            *("TellAllBody", "TellItem", "TellResult", "TellResults"),
        )
    ),
    ("paths", "/v1/bandits", "post", "parameters"),
    ("components", "schemas", "Parts"),
    ("components", "schemas", "PartAnswer"),
    ("components", "schemas", "ParameterAnswer"),
    ("components", "schemas", "CreateBody", "properties", "features"),
    ("components", "schemas", "CreateBody", "properties", "warm_start"),
    ("components", "schemas", "WarmStartBody"),
    ("components", "schemas", "RoundBody"),
    ("components", "schemas", "ArmsBody", "properties", "features"),
    ("components", "schemas", "DecideBody", "properties", "context"),
    ("components", "schemas", "DecideBody", "properties", "metadata"),
    ("components", "schemas", "ArmsBody", "properties", "known_only"),
    ("components", "schemas", "DecisionAnswer", "properties", "metadata"),
    ("components", "schemas", "DecisionState", "properties", "metadata"),
    ("paths", "/v1/bandits/{id}", "delete"),
    ("components", "schemas", "DecisionAnswer", "properties", "context"),
    ("components", "schemas", "DecisionState", "properties", "context"),
    ("components", "schemas", "DecisionAnswer", "properties", "ranked"),
    ("components", "schemas", "DecisionState", "properties", "ranked"),
    ("components", "schemas", "ExplanationAnswer", "properties", "prior"),
    *(
        ("components", "schemas", "ReasonAnswer", "properties", name)
        for name in ("base", "columns", "own", "mostly")
    ),
]
# What was changed on purpose: seeds above 2^53 are text, and so is the next page. The other changes
# say the same as before, but in a way that generators of clients understand: see below.
CHANGED = [
    ("components", "schemas", "CreateBody", "properties", "seed"),
    ("components", "schemas", "CreateBody", "properties", "belief"),
    ("components", "schemas", "CreateBody", "properties", "oracle"),
    ("components", "schemas", "DecisionList", "properties", "next"),
    ("components", "schemas", "DecideBody", "properties", "weights"),
    ("components", "schemas", "TellBody", "properties", "outcomes"),
    ("components", "schemas", "ProblemBody", "properties", "errors"),
    ("paths", "/v1/bandits", "get", "parameters", 1),  # after
    ("paths", "/v1/bandits/{id}/decisions", "get", "parameters", 3),  # before
    ("paths", "/v1/bandits/{id}/decisions", "get", "parameters", 1),  # status
]
NEW_BELIEFS = (
    "cascading",
    "flat_gaussian",
    "learned_beta",
    "linear",
    "logistic",
    "position_biased",
    "shared_seed",
)


def operations(description):
    return [
        (path, one) for path, methods in description["paths"].items() for one in methods.values()
    ]


def without_additions(description):
    """Remove what every operation has since the recording."""
    del description["tags"]
    for path, operation in operations(description):
        del operation["tags"]
        operation["responses"].pop("504")  # every request has a deadline
        if "{id}" in path and not path.endswith("/outcomes"):
            operation["responses"].pop("410")  # the bandit was deleted
        for answer in operation["responses"].values():
            answer.pop("headers", None)
        operation.get("requestBody", {}).get("content", {}).get("application/json", {}).pop(
            "example", None
        )


def without_prose(value):
    """A description without its sentences, which may be reworded."""
    if isinstance(value, dict):
        return {
            name: without_prose(member)
            for name, member in value.items()
            if not (name == "description" and isinstance(member, str))
        }
    return [without_prose(item) for item in value] if isinstance(value, list) else value


def without_new_beliefs(value):
    """A description without the names of beliefs that the recording does not have."""
    if isinstance(value, dict):
        return {name: without_new_beliefs(member) for name, member in value.items()}
    if isinstance(value, list):
        return [without_new_beliefs(item) for item in value if str(item) not in NEW_BELIEFS]
    return value


def test_the_api_is_the_recorded_one(tmp_path):
    with client_of(tmp_path / "bandits.db", with_keys=True) as client:
        found = without_prose(client.get("/openapi.json").json())
    del found["info"]["version"]
    recorded = json.loads(RECORDED.read_text())
    without_additions(found)
    for *path, name in CHANGED:
        for place in (found, recorded):
            for step in path:
                place = place[step]
            assert place.pop(name)
    for *path, name in ADDED:
        place = found
        for step in path:
            place = place[step]
        del place[name]
    assert without_new_beliefs(found) == recorded


def test_generators_of_clients_understand_it(client):
    """What they get wrong or leave out: patterns of members, implied members, nulls in queries."""
    description = client.get("/openapi.json").json()
    schemas = description["components"]["schemas"]
    assert "patternProperties" not in json.dumps(description)
    outcomes = schemas["TellBody"]["properties"]["outcomes"]
    assert outcomes["additionalProperties"] == {"type": "number", "minimum": 0, "maximum": 1}
    names = schemas["GroupBody"]["properties"]["arms"]["items"]
    assert outcomes["propertyNames"] == {key: names[key] for key in names if key != "type"}
    for part in ("belief", "oracle"):
        words, made = schemas["CreateBody"]["properties"][part]["anyOf"][:2]
        assert made["properties"]["kind"] == words
        assert made["additionalProperties"] is True
    parameters = [
        (operation["operationId"], parameter["name"], parameter["schema"]["type"])
        for _, operation in operations(description)
        for parameter in operation.get("parameters", ())
        if parameter["in"] == "query"
    ]
    # The next of a page is text, so what takes it is, too.
    assert {("list_bandits", "after", "string"), ("list_decisions", "before", "string")} < {
        *parameters
    }
    names = [operation["operationId"] for _, operation in operations(description)]
    assert len(names) == len(set(names))


def test_without_keys_only_the_keys_are_missing(tmp_path, client):
    with client_of(tmp_path / "keys.db", with_keys=True) as other:
        wanted = other.get("/openapi.json").json()
    del wanted["components"]["securitySchemes"]
    for methods in wanted["paths"].values():
        for operation in methods.values():
            operation.pop("security", None)
            operation["responses"].pop("401", None)
    assert client.get("/openapi.json").json() == wanted


def test_every_parameter_is_described_and_every_operation_has_a_tag(client):
    description = client.get("/openapi.json").json()
    tags = {tag["name"] for tag in description["tags"]}
    for path, operation in operations(description):
        assert set(operation["tags"]) < tags, path
        for parameter in operation.get("parameters", ()):
            assert parameter["description"].endswith("."), (path, parameter["name"])
    for name, schema in description["components"]["schemas"].items():
        if name.endswith(("Body", "Item")) and name != "ProblemBody":
            for member, about in schema["properties"].items():
                assert "description" in about or "$ref" in about, (name, member)


def test_the_examples_work(client):
    """Each body is sent as it is described, for a bandit that the first one makes."""
    bodies = {
        operation["operationId"]: operation["requestBody"]["content"]["application/json"]["example"]
        for _, operation in operations(client.get("/openapi.json").json())
        if "requestBody" in operation
    }
    names = {"decide", "tell", "decide_all", "tell_all", "create_bandit", "add_arms"}
    assert set(bodies) == names | {"merge_batch"}
    bandit = client.post("/v1/bandits", json=bodies["create_bandit"]).json()["id"]
    assert client.post(f"/v1/bandits/{bandit}/arms", json=bodies["add_arms"]).is_success
    decided = client.post(f"/v1/bandits/{bandit}/decisions", json=bodies["decide"])
    assert decided.json()["metadata"] == bodies["decide"]["metadata"]
    both = client.post(f"/v1/bandits/{bandit}/decisions", json={"must": ["storm", "derby"]}).json()
    assert client.post(f"/v1/decisions/{both['id']}/outcomes", json=bodies["tell"]).is_success
    taken = client.post(f"/v1/bandits/{bandit}/snapshots").json()
    batch = bodies["merge_batch"] | {"version": taken["version"]}
    batch["decisions"][0]["id"] = f"{taken['id']}-1"
    headers = {"Idempotency-Key": "first"}
    assert client.post(f"/v1/bandits/{bandit}/batches", json=batch, headers=headers).is_success
    bodies["decide_all"]["decisions"][0]["bandit"] = bandit
    bodies["tell_all"]["outcomes"][0]["decision"] = both["id"]
    for name in ("decisions", "outcomes"):
        body = bodies["decide_all" if name == "decisions" else "tell_all"]
        assert "answer" in client.post(f"/v1/{name}", json=body).json()["results"][0]

"""The OpenAPI description."""

import pytest

from serving import client_of


@pytest.fixture
def client(tmp_path):
    with client_of(tmp_path / "bandits.db") as client:
        yield client


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

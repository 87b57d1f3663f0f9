"""A shop that shows a ranked list follows docs/slates.md.

What used to happen: arms came in the order of their numbers, so a shop that showed them as they
came learned the wrong thing; a click of the third place that was told alone counted for the first;
a brand and a category together were refused.
"""

import json
import re

import numpy as np
import pytest

import superarm as sa
from doc_pages import doc, run_python
from serving import client_of

SLATES = doc("slates.md")


@pytest.fixture(scope="module")
def followed():
    return run_python(SLATES, 1)


def test_decisions_are_ranked_best_first(followed):
    values = followed["decision"].values
    assert list(values) == sorted(values, reverse=True)


def test_a_late_click_counts_for_the_place_it_was_in(followed):
    looks = followed["belief"].state()["looks"]
    shown = [looks[followed["session"].names.index(arm)] for arm in followed["decision"].arms]
    assert shown == pytest.approx([1.0, 0.5, 0.33])


def test_places_below_a_click_that_ends_the_list_are_no_failures():
    found = run_python(SLATES)
    assert found["belief"].state()["unsure"][found["third"]] == 1


def test_the_same_over_http(tmp_path):
    """The belief is typed from the page. The third place is told alone, then the others."""
    belief = json.loads("{" + re.search(r'`("belief": .*?)`', SLATES.read_text())[1] + "}")
    with client_of(tmp_path / "shop.db") as client:
        spec = {"name": "shop", "arms": 9, "k": 3, "seed": 1, **belief}
        bandit = client.post("/v1/bandits", json=spec).json()["id"]
        decision = client.post(f"/v1/bandits/{bandit}/decisions").json()
        assert decision["values"] == sorted(decision["values"], reverse=True)
        told = f"/v1/decisions/{decision['id']}/outcomes"
        first, second, third = decision["arms"]
        client.post(told, json={"outcomes": {third: 0.0}})
        client.post(told, json={"outcomes": {second: 0.0, first: 0.0}})
        posterior = client.get(f"/v1/bandits/{bandit}?top=9").json()["posterior"]
    means = {one["arm"]: one["mean"] for one in posterior}
    # A failure further down says less.
    assert means[first] < means[second] < means[third] < 0.5


def test_a_brand_and_a_category():
    groups = [sa.Group([0, 1, 2], most=1), sa.Group([2, 3, 4], most=1)]
    rng = np.random.default_rng(0)
    best = sa.Feasible(2, n_arms=6, groups=groups).best([0.5, 0.6, 0.9, 0.8, 0.1, 0.2], rng=rng)
    assert best.tolist() == [1, 3]

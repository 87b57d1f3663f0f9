"""What goes into requests: numbers of numpy, and what cannot be sent."""

import datetime
import json

import httpx
import numpy as np
import pandas as pd
import pytest
from played_service import DECISION, SUMMARY, heard, ok

import superarm.client as sc


def sent(call, answer):
    """The body of the request that a call sends."""
    requests = []
    with sc.Client(
        "http://here", transport=httpx.MockTransport(heard(ok(answer), requests))
    ) as client:
        call(client)
    return json.loads(requests[0].content)


def test_numbers_of_numpy_are_numbers():
    body = sent(
        lambda client: client.ask(
            "b",
            np.int64(2),
            k=np.int32(1),
            at_most=np.True_,
            weights={"a": np.float32(0.5)},
            capacity=np.float64(2),
            propensities=np.int64(9),
            metadata={"n": np.int64(3), "list": "x"},
        ),
        {"decisions": []},
    )
    assert body == {
        "n": 2,
        "k": 1,
        "at_most": True,
        "weights": {"a": 0.5},
        "capacity": 2.0,
        "propensities": 9,
        "metadata": {"n": 3, "list": "x"},
    }
    made = sent(lambda client: client.create("n", np.int64(5), np.int64(2)), SUMMARY)
    assert made == {"name": "n", "arms": 5, "k": 2}


def test_outcomes_may_be_a_series():
    told = pd.Series({"ant": 1.0, "bee": 0.0})
    body = sent(lambda client: client.tell("d", told), {"new": [], "status": "open"})
    assert body == {"outcomes": {"ant": 1.0, "bee": 0.0}}


TODAY = datetime.date(2026, 11, 16)
REFUSED = {
    "a date": (lambda c: c.ask("b", metadata={"on": TODAY}), TypeError, "got datetime.date"),
    "NaN": (lambda c: c.ask("b", capacity=np.float64("nan")), ValueError, "must be finite"),
    "half an arm": (lambda c: c.create("n", 3.5, 1), TypeError, "arms must be several names"),
    "no arms": (lambda c: c.ask("b", groups=[{"most": 1}]), TypeError, "must have arms"),
    "an odd key": (lambda c: c.ask("b", key="ü"), ValueError, "visible ASCII characters, got 'ü'"),
    "an empty key": (lambda c: c.ask("b", key=""), ValueError, "visible ASCII characters, got ''"),
    "one of many": (lambda c: c.ask_all([("b", {"key": "a b"})]), ValueError, "got 'a b'"),
    "of a bandit": (lambda c: c.create("n", 3, 1, key="\n"), ValueError, "visible ASCII"),
}


@pytest.mark.parametrize(("call", "error", "words"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_sent_is_refused(call, error, words):
    with pytest.raises(error, match=words):
        sent(call, DECISION)

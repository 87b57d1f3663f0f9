"""Answers that are errors."""

import httpx
import pytest
from played_service import problem

import superarm.client as sc


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (400, sc.InvalidError),
        (422, sc.InvalidError),
        (413, sc.InvalidError),
        (401, sc.NotAllowedError),
        (403, sc.NotAllowedError),
        (404, sc.NotFoundError),
        (409, sc.ConflictError),
        (410, sc.ExpiredError),
        (500, sc.ServerError),
    ],
)
def test_refusals_raise_at_once(connect, status, error):
    client = connect(
        [problem(status, "k must be 3, got 4", fix="give 3")]
    )  # a second request would fail the test
    with pytest.raises(error, match="k must be 3, got 4") as caught:
        client.ask("b1")
    assert (caught.value.status, caught.value.title, caught.value.problem["fix"]) == (
        status,
        "No",
        "give 3",
    )
    assert isinstance(caught.value, sc.ProblemError)


def test_answers_that_are_not_from_the_service(connect):
    with pytest.raises(sc.UnreachableError, match="must be JSON"):
        connect([httpx.Response(200, text="<html>hello</html>")]).health()
    with pytest.raises(sc.ServerError, match="upstream"):
        connect([httpx.Response(500, text="upstream died")]).health()
    with pytest.raises(sc.NotFoundError, match=r'^\["\?"\]$'):
        connect([httpx.Response(404, json=["?"])]).health()
    with pytest.raises(sc.NotFoundError, match="Not Found"):
        connect([httpx.Response(404)]).health()

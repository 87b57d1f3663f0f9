"""Fixtures of the client's tests."""

import httpx
import pytest
from both_clients import BOTH
from played_service import played


@pytest.fixture(params=BOTH)
def connect(request):
    """Make a client of each kind for a stand-in service: a function, or a list of replies."""
    made = []

    def connect(service, **options):
        script = service if callable(service) else played(service)
        made.append(BOTH[request.param](transport=httpx.MockTransport(script), **options))
        return made[-1]

    yield connect
    for client in made:
        client.close()

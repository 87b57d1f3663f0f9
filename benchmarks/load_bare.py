"""A bare Starlette application with answers of the service's size. Started by load.py.

    python benchmarks/load_bare.py PORT

It reads each body and answers constant bytes: what the framework itself takes per request.
"""

from __future__ import annotations

import json
import sys

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

_DECISION = json.dumps(
    {
        "id": "aaaaaaaaaa-12345",
        "bandit": "aaaaaaaaaa",
        "arms": ["1234", "2345", "3456", "4567", "4321"],
        "values": [0.9876543210123456] * 5,
        "certified": True,
        "ranked": True,
        "round": 12345,
        "time": 1790000000.123456,
    }
).encode()
_TOLD = json.dumps(
    {
        "id": "aaaaaaaaaa-12345",
        "new": ["1234", "2345", "3456", "4567", "4321"],
        "status": "told",
    }
).encode()


async def decide(request: Request) -> Response:
    await request.body()
    return Response(_DECISION, 201, media_type="application/json")


async def tell(request: Request) -> Response:
    await request.body()
    return Response(_TOLD, media_type="application/json")


async def health(request: Request) -> Response:
    return Response(b"{}", media_type="application/json")


if __name__ == "__main__":
    app = Starlette(
        routes=[
            Route("/v1/bandits/{id}/decisions", decide, methods=["POST"]),
            Route("/v1/decisions/{id}/outcomes", tell, methods=["POST"]),
            Route("/healthz", health),
        ]
    )
    uvicorn.run(app, port=int(sys.argv[1]), access_log=False, log_level="warning")

"""Endpoints for clients that decide by themselves: snapshots, and batches of decisions."""

from __future__ import annotations

from functools import partial

from superarm.service.bandits import edge
from superarm.service.bandits.records import Answer
from superarm.service.http import answers, bodies
from superarm.service.http.endpoint import endpoint
from superarm.service.http.service import Service


@endpoint(
    "POST",
    "/v1/bandits/{id}/snapshots",
    answer=answers.SnapshotAnswer,
    problems=(404, 422, 503),
)
async def take_snapshot(service: Service, id: str) -> Answer:
    """Take a snapshot to decide with elsewhere. Each has its own ids and random draws."""
    encode = await service.engine.do(id, edge.snapshot, reads=True)
    return await service.engine.in_thread(encode)


@endpoint(
    "POST",
    "/v1/bandits/{id}/batches",
    answer=answers.BatchAnswer,
    problems=(400, 404, 409, 413, 415, 422, 503, 507),
    example={
        "version": "1-0123456789abcdef",
        "decisions": [
            {
                "id": "ers3m6njb8.k4w7n2x9qa-1",
                "arms": ["storm", "derby"],
                "outcomes": {"storm": 1.0, "derby": 0.0},
                "round": 1,
                "time": 1767225600.0,
                "ranked": True,
            }
        ],
    },
)
async def merge_batch(service: Service, id: str, body: bodies.BatchBody, key: str | None) -> Answer:
    """Learn decisions that were made with snapshots. The Idempotency-Key is needed."""
    engine = service.engine
    # Without defaults, as the log has it: a batch that is repeated is compared with the log.
    batch = body.model_dump(exclude_defaults=True)
    return await engine.do(id, partial(edge.merge, batch=batch, key=key, now=engine.clock))


ENDPOINTS = (take_snapshot, merge_batch)

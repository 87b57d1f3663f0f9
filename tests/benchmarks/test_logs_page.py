"""The page about logs quotes what the benchmark of Parquet files has recorded."""

import json
from pathlib import Path

import parquet_log

DOCS = Path(__file__).parents[2] / "docs"


def test_times_and_memory_are_the_recorded_ones():
    recorded = json.loads((DOCS / "parquet_log.json").read_text())
    assert parquet_log.table(recorded) in (DOCS / "logs.md").read_text()

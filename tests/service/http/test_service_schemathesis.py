"""schemathesis checks that the service does what its OpenAPI description says."""

import os
import subprocess
import sys
from pathlib import Path

from forked_server import ForkedServer

ROOT = Path(__file__).parents[3]
# schemathesis reads all variables in every request, to look for proxies. So it gets few.
NEEDED = ("PATH", "PYTHONPATH", "HOME", "TMPDIR", "SYSTEMROOT")
ENVIRONMENT = {name: os.environ[name] for name in NEEDED if name in os.environ}
ENVIRONMENT["PYTHONUTF8"] = "1"
# Its output is not drawn again and again, and it does not look for garbage, which takes a sixth of
# its time.
ENVIRONMENT["TERM"] = "dumb"
PROGRAM = "import gc; gc.disable(); from schemathesis.cli import schemathesis; schemathesis()"
# Tables of characters, which take two seconds to compute, are shared with the other tests.
ENVIRONMENT["HYPOTHESIS_STORAGE_DIRECTORY"] = str(ROOT / ".hypothesis")


def test_the_description_is_true(tmp_path):
    """The seed makes the requests the same in every run."""
    with ForkedServer(str(tmp_path / "service.db"), tmp_path / "log", "--quiet") as server:
        command = [
            sys.executable,
            "-c",
            PROGRAM,
            "--config-file",
            str(ROOT / "schemathesis.toml"),
            "run",
        ]
        options = ["--max-examples", "10", "--seed", "1", "--no-color"]
        # No examples are kept: the next run would begin with them, and choosing which ones to keep
        # takes a tenth of the time.
        options += ["--generation-database", "none"]
        done = subprocess.run(
            [*command, f"{server.url}/openapi.json", *options],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            encoding="utf-8",
            env=ENVIRONMENT,
        )
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-1000:]
    for phase in ("Coverage", "Fuzzing", "Stateful"):
        assert f"\u2705 {phase}" in done.stdout, done.stdout[-5000:]
    assert "trace" not in server.said

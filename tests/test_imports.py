"""`import superarm` stays quick: it loads numpy and scipy.special, and nothing else that is
large."""

import subprocess
import sys

SLOW = [
    "scipy.stats",
    "scipy.optimize",
    "scipy.sparse",
    "scipy.linalg",
    "matplotlib",
    "rich",
    "typer",
    "click",
    "jinja2",
    "fastapi",
    "starlette",
    "uvicorn",
    "httpx",
    "torch",
    "distributed",
    "asyncio",
]


def test_importing_superarm_loads_no_slow_module():
    code = f"import sys, superarm; print(*(name for name in {SLOW!r} if name in sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []

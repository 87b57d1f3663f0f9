import subprocess
import sys
from importlib.metadata import version

import superarm as sa


def test_all_is_sorted_and_true():
    assert sorted(sa.__all__) == sa.__all__
    assert all(hasattr(sa, name) for name in sa.__all__)


def test_every_public_thing_has_a_docstring():
    assert all(getattr(sa, name).__doc__ for name in sa.__all__)


def test_the_version_is_the_packages():
    assert sa.__version__ == version("superarm")


def test_importing_superarm_loads_no_extras():
    extras = ("matplotlib", "typer", "rich", "pandas", "torch", "httpx")
    code = f"import sys, superarm; print([m for m in {extras} if m in sys.modules])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"

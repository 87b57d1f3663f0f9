"""Settings for all tests."""

import os

from hypothesis import settings

# The same examples in every run; HYPOTHESIS_PROFILE=explore looks for new ones.
settings.register_profile("same", derandomize=True, deadline=None)
settings.register_profile("explore", deadline=None, max_examples=2000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "same"))

# Conftests have no doctests, and as modules of the same name they would clash.
collect_ignore_glob = ["*conftest.py"]

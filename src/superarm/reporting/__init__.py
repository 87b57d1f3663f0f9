"""What every study uses to show its results: statistics, pictures, tables, files, progress.

Only `figures` knows policies: the catalog gives them their colours. The modules import matplotlib,
Jinja2 and rich only when they draw or print.
"""

from __future__ import annotations

__all__ = ["RequestError"]


class RequestError(ValueError):
    """A request that can't be met: an unknown study, a folder of other results, a missing extra."""

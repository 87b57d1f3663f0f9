"""``superarm run``: policies over a table of the user, and a report that explains the results."""

from superarm.studies.own_table.report import FILES
from superarm.studies.own_table.study import (
    POLICIES,
    USUAL,
    USUAL_HORIZON,
    known_policies,
    run,
    run_table,
)
from superarm.studies.own_table.table_file import OwnTable, TableError, read

__all__ = [
    "FILES",
    "POLICIES",
    "USUAL",
    "USUAL_HORIZON",
    "OwnTable",
    "TableError",
    "known_policies",
    "read",
    "run",
    "run_table",
]

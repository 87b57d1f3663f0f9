"""``superarm run``: policies over a table of one's own, and a report that explains what they did."""

from superarm.studies.own_table.study import POLICIES, USUAL, USUAL_HORIZON, run
from superarm.studies.own_table.table_file import OwnTable, TableError, read

__all__ = ["POLICIES", "USUAL", "USUAL_HORIZON", "OwnTable", "TableError", "read", "run"]

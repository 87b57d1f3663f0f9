"""``superarm run`` for a log: one row per item that was shown, and what such a log can say."""

from superarm.studies.own_log.sources import Columns, Source, columns_of, guess
from superarm.studies.own_log.study import read, run

__all__ = ["Columns", "Source", "columns_of", "guess", "read", "run"]

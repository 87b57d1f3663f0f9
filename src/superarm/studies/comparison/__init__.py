"""``superarm compare``: every policy on every problem, over paired runs."""

from superarm.studies.comparison.contestants import contestants
from superarm.studies.comparison.study import compare, rebuild

__all__ = ["compare", "contestants", "rebuild"]

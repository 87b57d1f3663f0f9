"""``superarm compare``: every policy on every problem, over paired runs."""

from superarm.studies.comparison.study import compare, rebuild

__all__ = ["compare", "rebuild"]

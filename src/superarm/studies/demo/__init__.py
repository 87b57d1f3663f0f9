"""``superarm demo``: two small problems, a few policies, a table and a picture."""

from superarm.studies.demo.study import PROBLEMS, play

__all__ = ["PROBLEMS", "play"]

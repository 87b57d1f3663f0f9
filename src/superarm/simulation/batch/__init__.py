"""Many independent runs of one policy at once, as arrays of runs × arms.

The runs have the law of `simulate`, with other random numbers.
"""

from superarm.simulation.batch.play import BatchTrace, simulate_batch

__all__ = ["BatchTrace", "simulate_batch"]

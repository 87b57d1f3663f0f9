"""Many independent runs of one policy at once, as arrays of runs × arms: the law of `simulate`, not its bits."""

from superarm.simulation.batch.play import BatchTrace, simulate_batch

__all__ = ["BatchTrace", "simulate_batch"]

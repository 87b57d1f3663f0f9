"""Playing policies against environments whose true means are known."""

from superarm.simulation.batch import BatchTrace, simulate_batch
from superarm.simulation.comparison import Comparison, compare
from superarm.simulation.instances import (
    ChangingInstance,
    Instance,
    linear_instance,
    network_instance,
    planted_instance,
)
from superarm.simulation.replicate import replicate, run_one
from superarm.simulation.simulate import simulate
from superarm.simulation.trace import Trace

__all__ = [
    "BatchTrace",
    "ChangingInstance",
    "Comparison",
    "Instance",
    "Trace",
    "compare",
    "linear_instance",
    "network_instance",
    "planted_instance",
    "replicate",
    "run_one",
    "simulate",
    "simulate_batch",
]

"""Playing policies against environments whose truth is known."""

from superarm.simulation.instances import (
    ChangingInstance,
    Instance,
    linear_instance,
    network_instance,
)
from superarm.simulation.simulate import Trace, replicate, simulate

__all__ = [
    "ChangingInstance",
    "Instance",
    "Trace",
    "linear_instance",
    "network_instance",
    "replicate",
    "simulate",
]

"""``superarm reproduce``: the paper's experiments, their extensions, and verdicts on its claims."""

from superarm.studies.batched import ENGINES
from superarm.studies.paper.reproduction import EXPERIMENTS, load, rebuild, reproduce

__all__ = ["ENGINES", "EXPERIMENTS", "load", "rebuild", "reproduce"]

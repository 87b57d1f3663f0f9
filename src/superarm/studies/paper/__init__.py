"""``superarm reproduce``: the paper's experiments, their extensions, and verdicts on its claims."""

from superarm.studies.batched import ENGINES
from superarm.studies.paper.catalogue import load, names
from superarm.studies.paper.reproduction import rebuild, reproduce

__all__ = ["ENGINES", "load", "names", "rebuild", "reproduce"]

"""Features of arms and contexts, as numbers: from tables to the rows that beliefs learn from."""

from superarm.features.encoder import Encoder

__all__ = ["Encoder"]

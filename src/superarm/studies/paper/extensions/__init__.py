"""Experiments beyond the paper, with oracles that it does not have."""

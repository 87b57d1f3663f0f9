"""Experiments: each is a sweep (plain data) and an analysis of the recorded rows."""

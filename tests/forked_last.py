"""Imported last by the process that servers are forked from: what is there stays as it is."""

import gc

# Forked processes share memory until they write to it, as a search for garbage does.
gc.collect()
gc.freeze()

"""The bandits in memory: made from a spec, changed by requests, rebuilt from the log."""

"""The append-only log of every bandit: events, and the databases that store them."""

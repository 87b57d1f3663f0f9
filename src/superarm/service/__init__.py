"""The decision service: k of m over HTTP, on an append-only log. Needs ``superarm[service]``."""

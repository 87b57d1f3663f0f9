"""The decision service: k of m over HTTP, on an append-only log. Needs ``superarm[service]``.

``http`` answers requests, ``bandits`` has the bandits in memory, ``log`` stores their events, and
``page`` has the page for people. Each of the first three uses only the ones after it.
"""

"""The page at ``/``: its files in ``static/``, and how the service sends them."""

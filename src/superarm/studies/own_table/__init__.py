"""``superarm run``: a table of one's own, the policies that play it, and the report."""

"""The benchmark of superarm: what it measures, and the page that it writes."""

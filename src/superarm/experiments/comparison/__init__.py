"""Every policy on every problem: what `superarm compare` runs and writes."""

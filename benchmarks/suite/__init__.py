"""What superarm costs on this machine: times side by side, evaluations, growth and memory. ``superarm bench``."""

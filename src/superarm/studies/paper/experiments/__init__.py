"""The experiments of the paper: the figures and the table of section 5, and the theory."""

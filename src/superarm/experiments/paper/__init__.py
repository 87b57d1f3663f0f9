"""The paper's experiments, one a module: section 5's figures and table, and the theory's numbers."""

"""What the lazy oracles share: remembered answers, and the bounds that follow from them."""

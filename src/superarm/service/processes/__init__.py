"""The operator's own rewards in processes of their own, so that they can be stopped."""

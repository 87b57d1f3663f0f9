"""Sets that are not simply k of m."""

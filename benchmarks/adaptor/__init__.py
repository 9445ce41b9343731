"""Cost of shims."""

"""True if a result is what an oracle expects, and a failure in words."""

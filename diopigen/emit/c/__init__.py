"""The public C headers."""

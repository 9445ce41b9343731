"""What shims cost."""

"""What optools costs."""

"""A vendor's tree to start from."""

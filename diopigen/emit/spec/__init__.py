"""A first spec from headers that exist."""

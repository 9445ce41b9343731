"""The recipes of the spec in the established Python form."""

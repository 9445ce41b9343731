"""The cases of the suite: what the spec and its automatic axes ask of a library."""

"""The typed interface: immutable values with the meaning of the spec, never C text."""

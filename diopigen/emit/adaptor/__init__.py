"""The shims of a vendor."""

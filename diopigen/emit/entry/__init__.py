"""The functions that the reference libraries offer."""

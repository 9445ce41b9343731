"""Fixes that need no decision, carried out in the text of a spec."""

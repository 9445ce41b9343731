"""Faults in the sources of a library: planted one at a time behind a switch, and looked for by the cases that reach
them."""

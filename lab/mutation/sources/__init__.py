"""Faults in the sources of a library: injected one at a time behind a switch, and looked for by the cases that reach
them."""

"""Mutation testing of the suite: faults are injected into a library that passes, and the suite must detect them."""

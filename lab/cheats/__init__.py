"""Tests that no library passes by other means than right results: each cheat is built, and `conformance run` must fail
it."""

"""Tests any kernel library through its C functions: cases from the spec, oracles in NumPy, workers, reports."""

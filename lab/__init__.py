"""Tests of the conformance suite: faults that it must detect, and legal kernels that it must accept."""

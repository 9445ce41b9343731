"""Faults injected into a library of custom operators for PyTorch, which `conformance aten --register` tests."""

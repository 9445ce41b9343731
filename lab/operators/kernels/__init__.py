"""Kernels that each have one fault, named as the fault."""

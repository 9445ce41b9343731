"""Elementwise kernels over a vendor's own device functions."""

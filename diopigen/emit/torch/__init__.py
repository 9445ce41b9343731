"""The glue for PyTorch."""

"""Cost of a call through the PyTorch backend, compared with PyTorch's own CPU kernels."""

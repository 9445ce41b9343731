"""What a call costs through the glue for PyTorch, compared with PyTorch's own CPU kernels."""

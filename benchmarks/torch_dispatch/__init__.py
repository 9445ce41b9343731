"""What a call costs through the glue for PyTorch, beside PyTorch's own CPU kernels."""

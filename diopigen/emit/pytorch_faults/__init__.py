"""The page of faults of PyTorch's kernels that the suite has found."""

"""The CPU library compared with PyTorch, in one process, on the same tensors and threads."""

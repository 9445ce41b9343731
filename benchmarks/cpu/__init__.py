"""The CPU library beside PyTorch, in one process, on the same tensors and threads."""

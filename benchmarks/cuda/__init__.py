"""Speed of the CUDA library beside PyTorch's CUDA build."""

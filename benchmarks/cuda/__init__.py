"""Speed of the CUDA library compared with PyTorch's CUDA build."""

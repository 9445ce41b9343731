"""The elementwise kernels of the CUDA library."""

"""The elementwise kernels of the CPU library."""

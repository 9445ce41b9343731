"""What operators of the spec lack: cases, oracles, kernels of the reference libraries, glue for PyTorch."""

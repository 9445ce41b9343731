"""Missing parts of operators: cases, oracles, kernels of the reference libraries, glue for PyTorch."""

"""C headers and vendor sources, read through libclang into plain values."""

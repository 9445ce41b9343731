"""Kernel libraries called with tensors of NumPy, PyTorch and whatever speaks DLPack, without copies.

    import diopi_ffi
    import numpy as np

    library = diopi_ffi.load("libdiopi_impl.so")
    library.softmax(np.ones((2, 3), "float32"), dim=-1)

Names of operators are those of the interface in snake case, parameters and defaults those of the spec. Tensors that an
operator writes are allocated by the rules of the spec, or passed by name. docs/tvm.md has the rest.
"""

from __future__ import annotations

from diopi_ffi.generator import Generator
from diopi_ffi.library import Library, load

__all__ = ["Generator", "Library", "load"]

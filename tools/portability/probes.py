"""Settings in effect in a process: run as a program in the environment of a configuration, prints the value of an
expression."""

from __future__ import annotations

import ctypes
import sys
from pathlib import Path


def onednn(level: str) -> str:
    """The level of oneDNN's kernels in its own words, where it is `level`."""
    levels = {"SSE41": 0x1, "AVX2": 0x7, "AVX512_CORE": 0x27, "AVX512_CORE_BF16": 0xE7}
    candidates = Path(sys.prefix, "lib").glob("libdnnl.so*")
    effective = ctypes.CDLL(str(min(candidates))).dnnl_get_effective_cpu_isa()
    return next((name for name, bits in levels.items() if bits == effective), hex(effective))


def openblas() -> str:
    """The core that NumPy's OpenBLAS computes for, in small letters."""
    import numpy as np

    found = next(Path(np.__file__).parents[1].glob("numpy.libs/*openblas*"))
    library = ctypes.CDLL(str(found))
    names = ("scipy_openblas_get_corename64_", "openblas_get_corename64_")
    function = next(getattr(library, name) for name in names if hasattr(library, name))
    function.restype = ctypes.c_char_p
    return str(function().decode()).lower()


def numpy_has_avx2() -> bool:
    """Returns whether NumPy's own loops use AVX2."""
    import numpy as np

    core = np._core if hasattr(np, "_core") else np.core
    features = core._multiarray_umath.__cpu_features__
    # Since NumPy 2.4 loops are chosen by groups of features; a group is turned off, its features are still listed.
    return bool(features.get("X86_V3", features["AVX2"]))


def libm_is_fused() -> bool:
    """Returns whether the C library's `exp` is the one with fused multiply-add, which rounds this result down."""
    exp = ctypes.CDLL("libm.so.6").exp
    exp.restype, exp.argtypes = ctypes.c_double, [ctypes.c_double]
    return bool(exp(float.fromhex("0x1.5594f639a329dp+2")) == float.fromhex("0x1.9fddcd4dad10fp+7"))


def versions() -> str:
    """Python and NumPy, each as far as it is asked for."""
    import numpy as np

    return f"{sys.version_info[0]}.{sys.version_info[1]} {np.__version__}"


if __name__ == "__main__":
    print(eval(sys.argv[1], {"probes": sys.modules["__main__"]}))

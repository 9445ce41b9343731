"""Loads the libraries and gives PyTorch the device: its name, its module, its methods on tensors."""

from __future__ import annotations

import atexit
import ctypes
import importlib
import importlib.util
import os
import sys
import time
import types
from pathlib import Path

import torch

from torch_droplet import conversion, environment, printing

_loaded: str | None = None
_LET_GO = 0.02
"""Seconds at the end of the process."""


def library_folder() -> Path:
    """The folder of the libraries."""
    chosen = os.environ.get(f"TORCH_{__package__.removeprefix('torch_').upper()}_LIBRARIES")
    return Path(chosen) if chosen else Path(__file__).parent / "lib"


def extension(name: str) -> types.ModuleType | None:
    """A module of Python among the libraries; nothing where it was not built, which takes Python's headers."""
    path = library_folder() / f"{name}.so"
    spec = importlib.util.spec_from_file_location(name, path)
    if not path.is_file() or spec is None or spec.loader is None:
        return None
    assert _loaded is not None, "the modules find functions of the backend"
    backend = ctypes.CDLL(str(library_folder() / f"libtorch_{_loaded}.so"))
    if backend.diopiHostOpenLibrary(os.fsencode(path), ctypes.byref(ctypes.c_void_p())):
        text = ctypes.c_char_p()
        backend.diopiHostGetLastErrorText(ctypes.byref(text))
        raise ImportError((text.value or b"").decode())
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def load(name: str) -> None:
    """Loads the backend once, as the device `name`. Raises `ImportError` where its libraries are not there, and
    `ValueError` for a switch of the environment that has a wrong value."""
    global _loaded
    if _loaded is not None:
        return
    library = library_folder() / f"libtorch_{name}.so"
    if not library.is_file():
        fix = f"build the tree with -DDIOPI_WITH_TORCH=ON, or set TORCH_{name.upper()}_LIBRARIES"
        raise ImportError(f"{library} does not exist: {fix}")
    environment.prepare()
    try:
        # Where another host is in the global scope, calls of diopirt's functions would reach that one.
        is_taken = hasattr(ctypes.CDLL(None), "diopiGetTensorData")
        ctypes.CDLL(str(library), mode=os.RTLD_LOCAL | os.RTLD_NOW | (os.RTLD_DEEPBIND if is_taken else 0))
        torch.ops.load_library(str(library))
    except OSError as error:
        raise ImportError(f"{library} does not load: {error}") from None
    importlib.import_module(f"{__package__}.switches").read()
    torch.ops.diopi.reject_composed_for_compressed()
    importlib.import_module(f"{__package__}.gradients").install()
    torch.utils.rename_privateuse1_backend(name)
    module = importlib.import_module(f"{__package__}.device")
    # Libraries read the device's name off the module's.
    module.__name__ = f"torch.{name}"
    torch._register_device_module(name, module)
    sys.modules[module.__name__] = module
    for part in ("amp", "memory", "nvtx", "random", "streams"):
        sys.modules[f"{module.__name__}.{part}"] = importlib.import_module(f"{__package__}.{part}")
    conversion.install(name)
    printing.install(name)
    torch.utils.generate_methods_for_privateuse1_backend(
        for_tensor=True, for_module=True, for_packed_sequence=True, for_storage=True
    )
    importlib.import_module(f"{__package__}.distributed").install(name)
    atexit.register(_end, module)
    if path := os.environ.get("DIOPI_FALLBACK_REPORT"):
        atexit.register(importlib.import_module(f"{__package__}.report").write_fallback_report, path)
    _loaded = name
    importlib.import_module(f"{__package__}.compiler").install()
    libraries = importlib.import_module(f"{__package__}.libraries")
    libraries.install(libraries.ALWAYS)
    if os.environ.get("DIOPI_AS_CUDA") == "1":
        importlib.import_module(f"{__package__}.as_cuda")


def _end(module: types.ModuleType) -> None:
    """Waits for the device before the process goes, so that what still runs may use its memory. The threads of a
    backward pass that has just ended get a moment to let go of their tensors: without an interpreter they cannot. Other
    threads that still compute wait in their next operator: the interpreter would end them in the middle of C++ code,
    which ends the process with an abort."""
    if module.is_initialized() and not module._is_in_bad_fork():
        torch.ops.diopi.park_other_threads()
        module.synchronize()
        time.sleep(_LET_GO)

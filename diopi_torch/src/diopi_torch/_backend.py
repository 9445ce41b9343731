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
from dataclasses import dataclass
from pathlib import Path

import torch

from . import conversion, environment, printing, releases

_LET_GO = 0.02
"""Seconds at the end of the process."""


@dataclass(frozen=True)
class Vendor:
    """Whose device is loaded: its name in PyTorch, and the vendor's package with its folder."""

    name: str
    package: str
    folder: Path


_vendor: Vendor | None = None


def vendor() -> Vendor:
    """The vendor whose device is loaded."""
    assert _vendor is not None, "no device is loaded: import the package torch_<vendor>"
    return _vendor


def is_loaded() -> bool:
    """Returns whether a vendor's package has been imported."""
    return _vendor is not None


def library_folder() -> Path:
    """The folder of the vendor's libraries."""
    return _library_folder(vendor())


def _library_folder(vendor: Vendor) -> Path:
    chosen = os.environ.get(f"TORCH_{vendor.name.upper()}_LIBRARIES")
    return Path(chosen) if chosen else vendor.folder / "lib"


def extension(name: str) -> types.ModuleType | None:
    """A module of Python among the libraries; nothing where it was not built, which takes Python's headers."""
    path = library_folder() / f"{name}.so"
    spec = importlib.util.spec_from_file_location(name, path)
    if not path.is_file() or spec is None or spec.loader is None:
        return None
    releases.require_python(path)
    # The module finds functions of the backend.
    backend = ctypes.CDLL(str(library_folder() / f"libtorch_{vendor().name}.so"))
    if backend.diopiHostOpenLibrary(os.fsencode(path), ctypes.byref(ctypes.c_void_p())):
        text = ctypes.c_char_p()
        backend.diopiHostGetLastErrorText(ctypes.byref(text))
        raise ImportError((text.value or b"").decode())
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def load(name: str, package: str, file: str) -> None:
    """Loads the libraries of the vendor's package whose `__init__.py` is `file`, once, as the device `name`.

    Raises `ImportError` where its libraries are not there or were built for another torch, and where another vendor's
    device is loaded: PyTorch has one device of this kind in a process. Raises `ValueError` for a switch of the
    environment that has a wrong value.
    """
    global _vendor
    wanted = Vendor(name, package, Path(file).parent)
    if _vendor is not None:
        if _vendor != wanted:
            message = (
                f"{package} cannot be loaded: PyTorch has one device of this kind in a process, here {_vendor.name}"
            )
            raise ImportError(f"{message} of {_vendor.package}; start another process for {name}")
        return
    library = _library_folder(wanted) / f"libtorch_{name}.so"
    if not library.is_file():
        fix = f"build the tree with -DDIOPI_WITH_TORCH=ON, or set TORCH_{name.upper()}_LIBRARIES"
        raise ImportError(f"{library} does not exist: {fix}")
    releases.require_torch(library)
    try:
        # Where another host is in the global scope, calls of diopirt's functions would reach that one.
        is_taken = hasattr(ctypes.CDLL(None), "diopiGetTensorData")
        ctypes.CDLL(str(library), mode=os.RTLD_LOCAL | os.RTLD_NOW | (os.RTLD_DEEPBIND if is_taken else 0))
        torch.ops.load_library(str(library))
    except OSError as error:
        raise ImportError(f"{library} does not load: {error}") from None
    environment.prepare()
    _vendor = wanted
    importlib.import_module(f"{__package__}.switches").read()
    torch.ops.diopi.reject_composed_for_compressed()
    importlib.import_module(f"{__package__}.gradients").install()
    torch.utils.rename_privateuse1_backend(name)
    torch.ops.diopi.register_graphs()
    module = importlib.import_module(f"{__package__}.device_functions")
    # Libraries read the device's name off the module's.
    module.__name__ = f"torch.{name}"
    torch._register_device_module(name, module)
    sys.modules[module.__name__] = module
    for part in ("amp", "graphs", "memory", "nvtx", "random", "streams"):
        sys.modules[f"{module.__name__}.{part}"] = getattr(module, part)
    conversion.install(name)
    printing.install(name)
    torch.utils.generate_methods_for_privateuse1_backend(
        for_tensor=True, for_module=True, for_packed_sequence=True, for_storage=True
    )
    for part in ("distributed", "sharing"):
        importlib.import_module(f"{__package__}.{part}").install(name)
    atexit.register(_end, module)
    if path := os.environ.get("DIOPI_FALLBACK_REPORT"):
        atexit.register(importlib.import_module(f"{__package__}.report").write_fallback_report, path)
    for part in ("compiler", "data_parallel"):
        importlib.import_module(f"{__package__}.{part}").install()
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

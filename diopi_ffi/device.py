"""TVM's ext_dev over a library's device: a small library with TVM's DeviceAPI, for one version of TVM."""

from __future__ import annotations

import importlib
import re
from pathlib import Path
from typing import Any

from diopi_ffi.library import DEVICES, Library
from diopi_ffi.package import tvm_ffi
from diopigen.conformance.run.compiled import Recipe, compiled
from diopigen.conformance.run.tvm_ffi_library import require_installed
from diopigen.diagnostics import failure
from diopigen.package import package_data

RULES = {
    "tvm-version": "The library with TVM's DeviceAPI is loaded for the version of TVM that it was built with.",
    "tvm-build": "There is a C++ compiler, and it accepts the sources of TVM's DeviceAPI.",
}
_BUILT_FOR = re.compile(rb"diopigen: built for TVM ([0-9.]+);")
_EXISTS, _NAME, _TOTAL_MEMORY = 0, 5, 14
"""Attributes of devices as DeviceAttrKind has them."""
_registered: list[Library] = []


def register(library: Library, device_library: Path | None = None, *, name: str = "diopi") -> Any:
    """Makes the library's device `tvm.device("ext_dev", 0)`, which is returned. A process has one: the library that is
    registered last. `device_library` is libdiopi_tvm.so, which is otherwise built for the TVM that is installed.

    Raises `ImportError` without TVM, and `diopigen.diagnostics.Failure` for another version of it than the library was
    built for.
    """
    tvm = _tvm()
    if library.device_type != DEVICES["ext_dev"]:
        raise ValueError("the library's memory is that of the host: compile for tvm.cpu(), no device is needed")
    path = device_library or built(tvm)
    require_version(path, tvm.__version__)
    for key, function in _functions(library, name).items():
        tvm_ffi().register_global_func(f"diopi.device.{key}", function, override=True)
    if not _registered:
        tvm_ffi().load_module(str(path))
    _registered.append(library)  # TVM may use its memory until the process ends
    return tvm.device("ext_dev", 0)


def _tvm() -> Any:
    try:
        return importlib.import_module("tvm")
    except ImportError as error:
        raise ImportError(f"diopi_ffi.device needs the package apache-tvm: pip install apache-tvm ({error})") from None


def _functions(library: Library, name: str) -> dict[str, Any]:
    """What the DeviceAPI calls."""
    bound = library.bound

    def attribute(kind: int) -> Any:
        return {_EXISTS: 1, _NAME: name}.get(kind)

    return {
        "allocate": bound("diopi_allocate"),
        "free": library.module["diopi_free"],
        "copy": bound("diopi_copy"),
        "synchronize": bound("diopi_synchronize"),
        "attribute": attribute,
    }


def require_version(path: Path, version: str) -> None:
    """Raises `Failure` where the library was built for another TVM. It is read, not loaded: the classes of another
    version need not even be found."""
    found = _BUILT_FOR.search(path.read_bytes())
    built_for = f"TVM {found[1].decode()}" if found is not None else "no version of TVM"
    if built_for != f"TVM {_release(version)}":
        fix = f"rebuild it with TVM {version}, or install the version that it is built for"
        raise failure("tvm-version", f"{path} is built for {built_for}, and this is TVM {version}", fix=fix)


def _release(version: str) -> str:
    matched = re.match(r"[0-9]+\.[0-9]+\.[0-9]+", version)
    return matched[0] if matched is not None else version


def built(tvm: Any) -> Path:
    """libdiopi_tvm.so for the TVM that is installed, compiled once and cached. Raises `Failure`."""
    package = require_installed()
    folder = Path(tvm.__file__).parent
    source = package_data("runtime") / "tvm/device_api.cpp"
    return compiled(
        Recipe(
            name="libdiopi_tvm.so",
            code="tvm-build",
            product="the device of TVM",
            reason="libdiopi_tvm.so is not in the cache",
            written={},
            sources=(source,),
            includes=(folder / "include", package.include),
            flags=("-std=c++17", "-O2", "-fPIC"),
            link=(f"-L{folder / 'lib'}", "-ltvm_runtime", f"-L{package.library.parent}", "-ltvm_ffi"),
            inputs=(folder / "include/tvm/runtime/device_api.h", folder / "include/tvm/runtime/base.h"),
        )
    )

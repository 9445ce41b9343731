"""TVM's ext_dev over a library's device: a small library with TVM's DeviceAPI, for one version of TVM."""

from __future__ import annotations

import importlib
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from diopi_ffi.library import DEVICES, Library
from diopi_ffi.package import tvm_ffi
from diopigen.chip.model import Chip
from diopigen.chip.reader import parse_chip
from diopigen.conformance.run.compiled import Recipe, compiled
from diopigen.conformance.run.tvm_ffi_library import require_installed
from diopigen.diagnostics import Failure, Sink, failure
from diopigen.package import package_data
from diopigen.spec.text_file import read_text

RULES = {
    "tvm-version": "The library with TVM's DeviceAPI is loaded for the version of TVM that it was built with.",
    "tvm-build": "There is a C++ compiler, and it accepts the sources of TVM's DeviceAPI.",
}
_BUILT_FOR = re.compile(rb"diopigen: built for TVM ([0-9.]+);")
_EXISTS, _NAME, _TOTAL_MEMORY = 0, 5, 14
"""Attributes of devices as DeviceAttrKind has them."""
_registered: list[Library] = []


def register(
    library: Library, device_library: Path | None = None, *, name: str = "diopi", chip: Path | None = None
) -> Any:
    """Makes the library's device one of TVM, which is returned: `tvm.device("ext_dev", 0)` for the first library of the
    process, `tvm.device("ext_dev", 1)` for the second. `device_library` is libdiopi_tvm.so, which is otherwise built
    for the TVM that is installed. Name and memory of the device are those of the chip's file, where one is passed.

    Raises `ImportError` without TVM, and `diopigen.diagnostics.Failure` for another version of it than the library was
    built for.
    """
    tvm = _tvm()
    if library.device_type != DEVICES["ext_dev"]:
        raise ValueError("the library's memory is that of the host: compile for tvm.cpu(), no device is needed")
    path = device_library or built(tvm)
    require_version(path, tvm.__version__)
    read = None if chip is None else _chip(library, chip)
    attributes: dict[int, Any] = {_EXISTS: 1, _NAME: name if read is None else read.name}
    if read is not None and read.memory is not None:
        attributes[_TOTAL_MEMORY] = read.memory
    for key, function in _functions(library, attributes).items():
        tvm_ffi().register_global_func(f"diopi.device.{library.device_id}.{key}", function, override=True)
    if not _registered:
        tvm_ffi().load_module(str(path))
    _registered.append(library)  # TVM may use its memory until the process ends
    return tvm.device("ext_dev", library.device_id)


def target(library: Library, chip: Path) -> Any:
    """The target `diopi/NAME` of a chip's file, which is registered as a tag: ext_dev with a host, and what the chip
    takes as JSON in its `model`. Raises `Failure` for a file with errors."""
    read = _chip(library, chip)
    model = {
        "dtypes": list(read.dtypes),
        "max_rank": read.max_rank,
        "alignment": read.alignment,
        "memory": read.memory,
        "operators": [operator.name for operator in read.operators],
    }
    kind = {"kind": "ext_dev", "keys": [read.name], "device": read.name, "model": json.dumps(model)}
    return _tvm().target.register_tag(f"diopi/{read.name}", {**kind, "host": {"kind": "llvm"}}, override=True)


def _chip(library: Library, path: Path) -> Chip:
    sink = Sink()
    found = parse_chip(read_text(path, str(path)), str(path), library.interface, sink)
    if found is None or sink.has_errors:
        raise Failure(*sink.sorted())
    return found


def _tvm() -> Any:
    try:
        return importlib.import_module("tvm")
    except ImportError as error:
        raise ImportError(f"diopi_ffi.device needs the package apache-tvm: pip install apache-tvm ({error})") from None


def _functions(library: Library, attributes: Mapping[int, Any]) -> dict[str, Any]:
    """Functions that the DeviceAPI calls."""
    bound = library.bound

    def attribute(kind: int) -> Any:
        return attributes.get(kind)

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

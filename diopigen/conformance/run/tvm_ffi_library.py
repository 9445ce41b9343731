"""libdiopi_tvm_ffi.so: the packed functions of tvm-ffi, built from the sources that diopigen brings along."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from pathlib import Path

from diopigen.conformance.run.compiled import Recipe, compiled
from diopigen.conformance.run.host_runtime import written_headers
from diopigen.conformance.run.locate import PACKED_NAME
from diopigen.diagnostics import failure
from diopigen.emit.tvm_ffi.functions import emit
from diopigen.ir.model import Interface
from diopigen.package import package_data

RULES = {
    "tvm-ffi-missing": "What speaks tvm-ffi needs the package apache-tvm-ffi in the Python that runs diopigen.",
    "tvm-ffi-build": "There is a C++ compiler, and it accepts the sources of the packed functions.",
}
_FLAGS = ("-std=c++17", "-O1", "-fPIC", "-fvisibility=hidden", "-Wno-deprecated-declarations")


@dataclass(frozen=True, slots=True)
class TvmFfi:
    """Paths of the headers and the library of the package apache-tvm-ffi."""

    include: Path
    library: Path


def installed() -> TvmFfi | None:
    """The package that this Python finds; it is not imported. None where there is none."""
    spec = importlib.util.find_spec("tvm_ffi")
    folder = Path(spec.origin).parent if spec is not None and spec.origin else None
    found = None if folder is None else TvmFfi(folder / "include", folder / "lib/libtvm_ffi.so")
    return found if found is not None and found.library.is_file() else None


def require_installed() -> TvmFfi:
    """The package. Raises `Failure` with how it is installed."""
    found = installed()
    if found is None:
        fix = "pip install apache-tvm-ffi"
        raise failure("tvm-ffi-missing", "this Python has no package apache-tvm-ffi", fix=fix)
    return found


def tvm_ffi_library(interface: Interface, templates: Path) -> Path:
    """The library for an interface, compiled once and cached. Raises `Failure` where apache-tvm-ffi is missing or it
    cannot be compiled."""
    package = require_installed()
    runtime = package_data("runtime")
    own = sorted((runtime / "tvm_ffi").iterdir())
    emitted = ((Path(file.path), file.content) for file in emit(interface.settled(), templates).files)
    generated = {path.name: content for path, content in emitted if path.suffix in (".h", ".cpp")}
    c_headers = (package.include / "tvm/ffi/c_api.h", package.include / "dlpack/dlpack.h")
    return compiled(
        Recipe(
            name=PACKED_NAME,
            code="tvm-ffi-build",
            product="the packed functions of tvm-ffi",
            reason=f"{PACKED_NAME} is not in the library's folder",
            written={**written_headers(interface, templates), **generated},
            sources=tuple(path for path in own if path.suffix == ".cpp"),
            includes=(runtime / "tvm_ffi", runtime / "include", package.include),
            flags=_FLAGS,
            link=(f"-L{package.library.parent}", "-ltvm_ffi", "-ldl"),
            inputs=(
                *(path for path in own if path.suffix == ".h"),
                *sorted((runtime / "include/diopigen").iterdir()),
                *c_headers,
            ),
        )
    )

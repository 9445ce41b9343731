"""The host runtime, built from the sources that diopigen brings along where a library comes without one."""

from __future__ import annotations

from pathlib import Path

from diopigen.conformance.run.compiled import Recipe, compiled
from diopigen.conformance.run.locate import RUNTIME_NAME
from diopigen.emit.c import dtypes, headers
from diopigen.ir.model import Interface
from diopigen.package import package_data

RULES = {
    "runtime-build": "There is a C++ compiler, and it accepts the sources of the host runtime and of the executor."
}

_FLAGS = ("-std=c++17", "-O2", "-fPIC")


def written_headers(interface: Interface, templates: Path) -> dict[str, bytes]:
    """The headers that follow from the spec, as they are included: `diopi/diopirt.h`, `diopigen/dtypes.h`."""
    files = [item for target in (headers, dtypes) for item in target.emit(interface, templates).items()]
    return {path.removeprefix("include/"): content for path, content in files}


def host_runtime(interface: Interface, templates: Path) -> Path:
    """libdiopirt.so for an interface. It is compiled once and cached under a digest of compiler, sources and headers;
    without a cache folder it lives as long as this process. Raises `Failure` where it cannot be compiled."""
    runtime = package_data("runtime")
    exports = runtime / "libdiopirt.map"
    own = [path for folder in ("src", "include/diopigen") for path in sorted((runtime / folder).iterdir())]
    return compiled(
        Recipe(
            name=RUNTIME_NAME,
            code="runtime-build",
            product="the host runtime",
            reason=f"{RUNTIME_NAME} is not in the library's folder",
            written=written_headers(interface, templates),
            sources=tuple(path for path in own if path.suffix == ".cpp"),
            includes=(runtime / "include",),
            flags=_FLAGS,
            link=(f"-Wl,--version-script={exports}", "-ldl"),
            inputs=(exports, *(path for path in own if path.suffix == ".h")),
        )
    )

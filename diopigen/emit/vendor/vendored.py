"""The copy of what the package brings along for C++, for a vendor's tree that builds where diopigen is not installed.

Laid out as the package itself (`package_data`), so that `find_package(diopigen)` works with either.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from diopigen import __version__
from diopigen.emit.c import dtypes, headers
from diopigen.emit.plan import Plan, PlannedFile
from diopigen.emit.torch import glue as torch
from diopigen.emit.tvm import table as tvm_table
from diopigen.emit.tvm_ffi import functions as packed_functions
from diopigen.ir.model import Interface

VERSION_FILE = "VERSION"
"""Has the version of diopigen that made the copy."""
CMAKE_DIR = "cmake"
"""The folder of the CMake package, below the package's data and below the copy."""

# What the host runtime consists of: there may be more in its folder, such as build trees.
_FILES = (f"{CMAKE_DIR}/diopigenConfig.cmake", "runtime/CMakeLists.txt", "runtime/libdiopirt.map")
_FOLDERS = ("adaptor", "include", "kernels", "src")
_TORCH_FOLDERS = ("torch",)
_TVM_FOLDERS = ("tvm", "tvm_ffi")

_COPIED = "Copied from diopigen by `diopigen scaffold --vendored`: do not edit, `diopigen sync` brings it up to date."
_BANNERS = {
    ".h": f"/* {_COPIED} */\n",
    ".cpp": f"// {_COPIED}\n",
    ".map": f"/* {_COPIED} */\n",
    ".txt": f"# {_COPIED}\n",
    ".cmake": f"# {_COPIED}\n",
}


def emit_vendored(
    interface: Interface, templates: Path, package: Path, *, torch_too: bool = False, tvm_too: bool = False
) -> Plan:
    """The files below `VENDORED_FOLDER`. `package` is the folder that `runtime` and `cmake` are in."""
    generated = [*headers.emit(interface, templates).files, *dtypes.emit(interface, templates).files]
    if torch_too:
        generated += torch.emit(interface, templates).files
    if tvm_too:
        plans = packed_functions.emit(interface, templates), tvm_table.emit(interface, templates)
        generated += [file for plan in plans for file in plan.files if not file.path.endswith(".pyi")]
    folders = (*_FOLDERS, *(_TORCH_FOLDERS if torch_too else ()), *(_TVM_FOLDERS if tvm_too else ()))
    files = [
        PlannedFile(VERSION_FILE, f"{__version__}\n".encode(), (), "vendor"),
        *_copies(package, folders),
        *(replace(file, path=f"generated/{file.path}", emitter="vendor") for file in generated),
    ]
    return Plan(tuple(files))


def _copies(package: Path, folders: tuple[str, ...]) -> list[PlannedFile]:
    """The files as they are, each with a line that says that it is a copy."""
    paths = [package / name for name in _FILES]
    for folder in folders:
        paths += [path for path in (package / "runtime" / folder).rglob("*") if path.suffix in _BANNERS]
    found = []
    for path in sorted(paths):
        name = path.relative_to(package).as_posix()
        found.append(PlannedFile(name, _BANNERS[path.suffix].encode() + path.read_bytes(), (name,), "vendor"))
    return found

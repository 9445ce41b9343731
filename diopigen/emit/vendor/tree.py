"""A vendor's tree to start from: CMake, headers, the host runtime, device functions, one skeleton per operator, a test.

A plan of the whole tree. Its files are of two kinds: what `is_generated` says belongs to diopigen and follows the
spec; everything else is a start that is written once and then belongs to the vendor.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from diopigen.emit.c import dtypes, headers
from diopigen.emit.plan import Plan, PlannedFile
from diopigen.emit.templates import render
from diopigen.emit.torch import glue as torch
from diopigen.emit.tvm import table as tvm_table
from diopigen.emit.tvm_ffi import functions as packed_functions
from diopigen.emit.vendor.device_functions import device_function
from diopigen.emit.vendor.selection import NOTHING, Selection
from diopigen.emit.vendor.skeleton import Operator, first_versions, operators, skeleton_file
from diopigen.ir.model import Interface

MARK = "vendor.json"
"""The generated file that says whose tree it is."""

_GENERATED_FOLDERS = ("include/", "runtime/")
_GENERATED_FILES = frozenset({MARK, "test/operators.inc"})

_STARTS = {
    "README.md": "README.md.j2",
    "CMakeLists.txt": "CMakeLists.txt.j2",
    "CMakePresets.json": "CMakePresets.json.j2",
    "convert_config.yaml": "convert_config.yaml.j2",
    ".clang-format": "clang-format.j2",
    ".editorconfig": "editorconfig.j2",
    ".gitignore": "gitignore.j2",
    ".ci/run": "ci.sh.j2",
    "test/main.cpp": "main.cpp.j2",
    "impl/{vendor}/device.cpp": "device.cpp.j2",
    "impl/{vendor}/library.cpp": "library.cpp.j2",
    "impl/{vendor}/error.h": "error.h.j2",
    "impl/{vendor}/exports.map": "exports.map.j2",
}
_KERNEL_STARTS = {
    "impl/{vendor}/kernel.h": "kernel.h.j2",
    "impl/{vendor}/elementwise.h": "elementwise.h.j2",
}
"""What kernels behind shims build on."""

_PACKAGE_START = {"torch_{vendor}/__init__.py": "torch/__init__.py.j2", "pyproject.toml": "torch/pyproject.toml.j2"}
"""The vendor's package for PyTorch, over diopi_torch."""
_TVM_START = {"test/relax_mlp.py": "relax_mlp.py.j2"}
"""What a tree with TVM starts with."""
# The functions of the newer form of a test library that are not device functions.
_LIBRARY_FUNCTIONS = ("initLibrary", "finalizeLibrary", "buildGeneratorState")

# What the host runtime consists of: there may be more in its folder, such as build trees.
_RUNTIME_FILES = ("CMakeLists.txt", "libdiopirt.map", "kernels/CMakeLists.txt")
_RUNTIME_FOLDERS = ("adaptor/include", "include", "kernels/include", "kernels/src", "src")
_TVM_FOLDERS = ("tvm", "tvm_ffi")
_TORCH_PARTS = ("compile", "distributed", "include", "operators", "python", "run", "src")
_TORCH_FOLDERS = tuple(f"torch/{part}" for part in _TORCH_PARTS)

_COPIED = "Copied from diopigen by `diopigen scaffold`: do not edit, scaffold again to bring it up to date."
_BANNERS = {
    ".h": f"/* {_COPIED} */\n",
    ".cpp": f"// {_COPIED}\n",
    ".map": f"/* {_COPIED} */\n",
    ".txt": f"# {_COPIED}\n",
}


@dataclass(frozen=True, slots=True)
class VendorOptions:
    """What to scaffold: the vendor's name, the operators that get a skeleton, and what they were selected by.

    `shimmed`: kernels are in the vendor's namespace, and what is exported are shims over them. `torch`: the tree has
    a backend for PyTorch as well, `tvm`: packed functions and TVM's ext_dev.
    """

    vendor: str
    operators: tuple[Operator, ...]
    selection: Selection = NOTHING
    shimmed: bool = True
    torch: bool = False
    tvm: bool = False
    chip: bytes | None = None
    """The chip's file that a tree starts with, of trees that build on the kernel library."""
    elementwise: int = 0
    """How many functions get generated kernels, besides `operators`."""


CHIP_FOLDER = "generated/chip"
"""Where the table of the chip is in a vendor's tree."""


def chip_file(vendor: str) -> str:
    """The name of the chip's file in a vendor's tree."""
    return f"{vendor}.yaml"


def default_chip(interface: Interface, templates: Path, vendor: str) -> bytes:
    """The file of a chip that takes everything."""
    dtypes = [dtype.name for dtype in interface.dtypes]
    return render(templates, "vendor/chip.yaml.j2", {"vendor": vendor, "dtypes": dtypes})


def shims_folder(vendor: str) -> str:
    """Where the shims are in a vendor's tree: where `diopigen adaptors impl/VENDOR` writes them, called there."""
    return f"generated/adaptors/{vendor}"


def is_generated(path: str) -> bool:
    """Whether a file of a vendor's tree belongs to diopigen; the others are written once."""
    return path in _GENERATED_FILES or path.startswith(_GENERATED_FOLDERS)


def emit_vendor(interface: Interface, templates: Path, runtime: Path, options: VendorOptions) -> Plan:
    """The whole tree. `runtime` is the folder of the host runtime, which is copied."""
    library = first_versions(interface, runtime) if options.chip is not None else {}
    files = [
        *headers.emit(interface, templates).files,
        *dtypes.emit(interface, templates).files,
        *_runtime(runtime, options),
        *(_torch(interface, templates) if options.torch else ()),
        *(_tvm(interface, templates) if options.tvm else ()),
        _file(templates, "runtime/README.md", "runtime_readme.md.j2", {}),
        _operator_list(interface, templates),
        PlannedFile(MARK, _mark(interface, options), ("specs/types.yaml",), "vendor"),
        *_starts(interface, templates, options, library),
        *(
            skeleton_file(
                interface,
                templates,
                options.vendor,
                operator,
                shimmed=options.shimmed,
                kernels=options.chip is not None,
                library=library,
            )
            for operator in options.operators
        ),
    ]
    return Plan(tuple(files))


def _starts(
    interface: Interface, templates: Path, options: VendorOptions, library: Mapping[str, str]
) -> list[PlannedFile]:
    names = [function.name for operator in options.operators for function in operator.functions]
    called = sum(name in library for name in names)
    unwritten = [one for one in options.operators if any(each.name not in library for each in one.functions)]
    functions = [device_function(function) for function in interface.device_functions]
    values = {
        "vendor": options.vendor,
        "shimmed": options.shimmed,
        "kernels": options.chip is not None,
        "shims": shims_folder(options.vendor),
        "functions": functions,
        "exported": [*(function["name"] for function in functions), *_LIBRARY_FUNCTIONS],
        "first": (unwritten or options.operators or operators(interface))[0],
        "elementwise": options.elementwise,
        "called": called,
        "open": len(names) - called,
    }
    starts = {
        **_STARTS,
        **(_KERNEL_STARTS if options.chip is not None else {}),
        **(_PACKAGE_START if options.torch else {}),
        **(_TVM_START if options.tvm else {}),
    }
    found = _starts_of(templates, starts, values, options.vendor)
    if options.chip is not None:
        found.append(PlannedFile(chip_file(options.vendor), options.chip, ("specs/types.yaml",), "vendor"))
    return found


def _starts_of(templates: Path, starts: Mapping[str, str], values: Mapping[str, Any], vendor: str) -> list[PlannedFile]:
    return [_file(templates, path.format(vendor=vendor), name, values) for path, name in starts.items()]


def _torch(interface: Interface, templates: Path) -> list[PlannedFile]:
    """The kernels for PyTorch in runtime/."""
    return [
        replace(file, path=f"runtime/{file.path}", emitter="vendor") for file in torch.emit(interface, templates).files
    ]


def _tvm(interface: Interface, templates: Path) -> list[PlannedFile]:
    """The packed functions and the table of Relax operators in runtime/."""
    plans = packed_functions.emit(interface, templates), tvm_table.emit(interface, templates)
    files = (file for plan in plans for file in plan.files if not file.path.endswith(".pyi"))
    return [replace(file, path=f"runtime/{file.path}", emitter="vendor") for file in files]


def _file(templates: Path, path: str, template: str, values: Mapping[str, Any]) -> PlannedFile:
    name = f"vendor/{template}"
    return PlannedFile(path, render(templates, name, values), (f"templates/{name}",), "vendor")


def _operator_list(interface: Interface, templates: Path) -> PlannedFile:
    names = [function.name for operator in operators(interface) for function in operator.functions]
    return _file(templates, "test/operators.inc", "operators.inc.j2", {"operators": names})


def _mark(interface: Interface, options: VendorOptions) -> bytes:
    document = {
        "vendor": options.vendor,
        "interface": str(interface.version),
        "operators": options.selection.as_json(),
        "shims": options.shimmed,
        **({"kernels": True} if options.chip is not None else {}),
        **({"torch": True} if options.torch else {}),
        **({"tvm": True} if options.tvm else {}),
    }
    return (json.dumps(document, indent=2) + "\n").encode()


def _runtime(folder: Path, options: VendorOptions) -> list[PlannedFile]:
    """The host runtime, file by file, each with a line that says that it is a copy."""
    found = []
    paths = [folder / name for name in (*_RUNTIME_FILES, *(("torch/CMakeLists.txt",) if options.torch else ()))]
    folders = (
        *_RUNTIME_FOLDERS,
        *(_TORCH_FOLDERS if options.torch else ()),
        *(_TVM_FOLDERS if options.tvm else ()),
    )
    paths += [path for name in folders for path in (folder / name).rglob("*") if path.suffix in _BANNERS]
    for path in sorted(paths):
        name = path.relative_to(folder).as_posix()
        content = _BANNERS[path.suffix].encode() + path.read_bytes()
        found.append(PlannedFile(f"runtime/{name}", content, (f"runtime/{name}",), "vendor"))
    return found

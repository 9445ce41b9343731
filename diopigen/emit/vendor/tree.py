"""A vendor's tree to start from: CMake, device functions, one skeleton per operator, a test.

A plan of the whole tree. Its files are of two kinds: what `is_generated` says belongs to diopigen and follows the
spec; everything else is a start that is written once and then belongs to the vendor. Headers, the host runtime and the
kernel library come from the installed package, or from a copy of it (emit/vendor/vendored.py).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from diopigen import __version__
from diopigen.emit.plan import Plan, PlannedFile
from diopigen.emit.templates import render
from diopigen.emit.vendor.device_functions import device_function
from diopigen.emit.vendor.selection import NOTHING, Selection
from diopigen.emit.vendor.skeleton import Operator, operators, skeleton_file
from diopigen.ir.model import Interface

MARK = "vendor.json"
"""The generated file that says whose tree it is."""

WHEEL = "generated/torch_wheel.py"
"""Names the wheel of the package for PyTorch after its libraries."""

_GENERATED_FILES = frozenset({MARK, "test/operators.inc", WHEEL})

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
    "impl/{vendor}/kernel.h": "kernel.h.j2",
    "impl/{vendor}/elementwise.h": "elementwise.h.j2",
}
_PACKAGE_START = {"torch_{vendor}/__init__.py": "torch/__init__.py.j2", "pyproject.toml": "torch/pyproject.toml.j2"}
"""The vendor's package for PyTorch, over diopi_torch."""
_VLLM_START = {"torch_{vendor}/serving.py": "torch/serving.py.j2", "test/serve.py": "torch/serve.py.j2"}
"""Layers of the vendor's own for the plugin vllm_diopi, and a program that serves."""
_TVM_START = {"test/relax_mlp.py": "relax_mlp.py.j2"}
"""Initial files of a tree with TVM."""
# The functions of the newer form of a test library that are not device functions.
_LIBRARY_FUNCTIONS = ("initLibrary", "finalizeLibrary", "buildGeneratorState")


@dataclass(frozen=True, slots=True)
class VendorOptions:
    """Request of a scaffold: the vendor's name, the operators that get a skeleton, and what they were selected by.

    `torch`: the tree has a backend for PyTorch as well, `vllm`: what the plugin for vLLM reads, `tvm`: packed functions
    and TVM's ext_dev. `chip` is the chip's file that a tree starts with. `elementwise` and `library` count the
    functions with generated kernels and with first versions of the kernel library, besides `operators`.
    """

    vendor: str
    operators: tuple[Operator, ...]
    chip: bytes
    selection: Selection = NOTHING
    torch: bool = False
    vllm: bool = False
    tvm: bool = False
    vendored: bool = False
    elementwise: int = 0
    library: int = 0


CHIP_FOLDER = "generated/chip"
"""Path of the table of the chip in a vendor's tree."""


def chip_file(vendor: str) -> str:
    """The name of the chip's file in a vendor's tree."""
    return f"{vendor}.yaml"


def default_chip(interface: Interface, templates: Path, vendor: str) -> bytes:
    """The file of a chip that takes whatever a framework computes with: the dtypes of the set `any`, else all."""
    sets = {one.name: one.dtypes for one in interface.dtype_sets}
    dtypes = sets.get("any", tuple(dtype.name for dtype in interface.dtypes))
    return render(templates, "vendor/chip.yaml.j2", {"vendor": vendor, "dtypes": dtypes})


def shims_folder(vendor: str) -> str:
    """Path of the shims in a vendor's tree: that of `diopigen adaptors impl/VENDOR`, run in the tree."""
    return f"generated/adaptors/{vendor}"


def is_generated(path: str) -> bool:
    """Returns whether a file of a vendor's tree belongs to diopigen; the others are written once."""
    return path in _GENERATED_FILES


def emit_vendor(
    interface: Interface, templates: Path, first_versions: Mapping[str, str], options: VendorOptions
) -> Plan:
    """The whole tree. `first_versions` are the functions with one in the kernel library, by their names there."""
    files = [
        _operator_list(interface, templates),
        PlannedFile(MARK, _mark(interface, options), ("specs/types.yaml",), "vendor"),
        *([_wheel(templates)] if options.torch else []),
        *_starts(interface, templates, options, first_versions),
        *(
            skeleton_file(interface, templates, options.vendor, operator, library=first_versions)
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
        "version": __version__,
        "shims": shims_folder(options.vendor),
        "functions": functions,
        "exported": [*(function["name"] for function in functions), *_LIBRARY_FUNCTIONS],
        "first": (unwritten or options.operators or operators(interface))[0],
        "vendored": options.vendored,
        "vllm": options.vllm,
        "elementwise": options.elementwise,
        "library": options.library + called,
        "open": len(names) - called,
    }
    added = ((_PACKAGE_START, options.torch), (_VLLM_START, options.vllm), (_TVM_START, options.tvm))
    starts = {**_STARTS, **{path: name for files, is_added in added if is_added for path, name in files.items()}}
    found = _starts_of(templates, starts, values, options.vendor)
    return [*found, PlannedFile(chip_file(options.vendor), options.chip, ("specs/types.yaml",), "vendor")]


def _starts_of(templates: Path, starts: Mapping[str, str], values: Mapping[str, Any], vendor: str) -> list[PlannedFile]:
    return [_file(templates, path.format(vendor=vendor), name, values) for path, name in starts.items()]


def _file(templates: Path, path: str, template: str, values: Mapping[str, Any]) -> PlannedFile:
    name = f"vendor/{template}"
    return PlannedFile(path, render(templates, name, values), (f"templates/{name}",), "vendor")


def _wheel(templates: Path) -> PlannedFile:
    source = "runtime/torch/package/torch_wheel.py"
    return PlannedFile(WHEEL, (templates.parent / source).read_bytes(), (source,), "vendor")


def _operator_list(interface: Interface, templates: Path) -> PlannedFile:
    names = [function.name for operator in operators(interface) for function in operator.functions]
    return _file(templates, "test/operators.inc", "operators.inc.j2", {"operators": names})


def _mark(interface: Interface, options: VendorOptions) -> bytes:
    document = {
        "vendor": options.vendor,
        "interface": str(interface.version),
        "operators": options.selection.as_json(),
        **({"torch": True} if options.torch else {}),
        **({"vllm": True} if options.vllm else {}),
        **({"tvm": True} if options.tvm else {}),
        **({"vendored": True} if options.vendored else {}),
    }
    return (json.dumps(document, indent=2) + "\n").encode()

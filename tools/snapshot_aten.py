"""Writes `specs/aten/torch.yaml`: the schema of every ATen overload of the installed torch.

The check of the spec against ATen and the glue for PyTorch must come out the same on machines without torch, so the
schemas and the groups of structured operators are kept as data; `tests/pytorch` compares them with an installed torch.
Run it with the Python that has torch: `python tools/snapshot_aten.py specs/aten/torch.yaml`.
"""

from __future__ import annotations

import sys
from pathlib import Path

import torch
import torchgen
from torchgen.api import meta
from torchgen.gen import get_grouped_native_functions, parse_native_yaml
from torchgen.model import NativeFunctionsGroup

HEAD = """\
# yaml-language-server: $schema=../../generated/schema/aten.schema.json
# Every overload of native_functions.yaml in the torch wheel, the generated out variants included.
# Written by tools/snapshot_aten.py.
"""


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _structured(group: NativeFunctionsGroup) -> str:
    """A group of structured operators: what its meta function is called and which overloads share it."""
    parts = [f"meta: {meta.name(group)}", f"out: {group.out.func.name}", f"functional: {group.functional.func.name}"]
    if group.inplace is not None:
        parts.append(f"inplace: {group.inplace.func.name}")
    if group.out.structured_inherits is not None:
        parts.append("iterator: true")
    return "{" + ", ".join(parts) + "}"


def _needs_kernel(name: str) -> bool:
    """Whether a new device has no kernel for the overload, as long as it brings none itself."""
    packet, _, overload = name.partition(".")
    qualified = f"aten::{packet}" + (f".{overload}" if overload else "")
    try:
        return not torch._C._dispatch_has_computed_kernel_for_dispatch_key(qualified, "PrivateUse1")
    except RuntimeError:
        return False  # not in this build


def text() -> str:
    """The file for the installed torch."""
    package = Path(torchgen.__file__).parent / "packaged" / "ATen" / "native"
    parsed = parse_native_yaml(str(package / "native_functions.yaml"), str(package / "tags.yaml"))
    schemas = sorted(str(function.func) for function in parsed.native_functions)
    release = (Path(torchgen.__file__).parent.parent / "torch" / "version.py").read_text(encoding="utf-8")
    version = release.split("__version__ = ")[1].split("'")[1].partition("+")[0]
    groups = get_grouped_native_functions(parsed.native_functions)
    structured = sorted(_structured(g) for g in groups if isinstance(g, NativeFunctionsGroup) and g.structured)
    names = sorted(str(function.func.name) for function in parsed.native_functions)
    lines = [
        f"torch: '{version}'",
        "structured:",
        *(f"  - {group}" for group in structured),
        "needed:",
        *(f"  - {name}" for name in names if _needs_kernel(name)),
        "schemas:",
        *(f"  - {_quoted(schema)}" for schema in schemas),
    ]
    return HEAD + "\n".join(lines) + "\n"


def main() -> None:
    Path(sys.argv[1]).write_text(text(), encoding="utf-8")


if __name__ == "__main__":
    main()

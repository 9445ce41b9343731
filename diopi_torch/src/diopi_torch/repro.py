"""`python -m diopi_torch.repro FOLDER`: runs a call that autocompare kept, on the device and on the CPU.

`--package torch_<vendor>` loads the device of a package that is not installed, so that `import torch` does not.

Exit status 0 where they agree, 1 where they differ, 2 where the folder holds no call.
"""

from __future__ import annotations

import argparse
import importlib
import sys
from pathlib import Path
from typing import Any

import torch
import torch.jit._pickle as _pickle

from . import _backend
from .switches import autocompare

_LISTS = [
    _pickle.restore_type_tag,
    _pickle.build_intlist,
    _pickle.build_doublelist,
    _pickle.build_boollist,
    _pickle.build_tensorlist,
]
"""Constructors of lists in a file that C++ wrote: each returns its argument."""


def _overload(name: str) -> Any:
    """The operator of ATen that a case names; None where torch has none, or where it opens a file: a case may come
    from another machine."""
    base, _, overload = name.partition(".")
    found = getattr(getattr(torch.ops.aten, base, None), overload or "default", None)
    if not isinstance(found, torch._ops.OpOverload):
        return None
    return None if any("file" in argument.name for argument in found._schema.arguments) else found


def _moved(value: Any, device: str) -> Any:
    if isinstance(value, torch.Tensor):
        return value.to(device)
    if isinstance(value, torch.device):
        return torch.device(device)
    return [_moved(item, device) for item in value] if isinstance(value, list) else value


def main(arguments: list[str]) -> int:
    """Runs the call of the folder that is named."""
    parser = argparse.ArgumentParser(prog="python -m diopi_torch.repro", description="Run a kept call again.")
    parser.add_argument("folder", type=Path, help="a folder with case.pt that autocompare kept")
    parser.add_argument("--package", help="the vendor's package, where it is not installed")
    options = parser.parse_args(arguments)
    if not (options.folder / "case.pt").is_file():
        parser.error(f"{options.folder} holds no case.pt")
    if options.package:
        importlib.import_module(options.package)
    with torch.serialization.safe_globals(_LISTS):
        name, values = torch.load(options.folder / "case.pt", weights_only=True)
    overload = _overload(name)
    if overload is None:
        parser.error(f"{options.folder}: '{name}' is no operator that computes on tensors")
    device = _backend.vendor().name
    positional, keywords = [], {}
    for argument, value in zip(overload._schema.arguments, values, strict=True):
        moved = _moved(value, device)
        if argument.kwarg_only:
            keywords[argument.name] = moved
        else:
            positional.append(moved)
    with autocompare(folder=str(options.folder / "again")) as found:
        overload(*positional, **keywords)
    print(f"{name}: {'differs' if found.differences else 'agrees with the CPU'}")
    return 1 if found.differences else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

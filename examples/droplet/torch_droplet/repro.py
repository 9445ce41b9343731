"""`python -m torch_droplet.repro FOLDER`: runs a call that autocompare kept, on the device and on the CPU.

Exit status 0 where they agree, 1 where they differ, 2 where the folder holds no call.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import torch
import torch.jit._pickle as _pickle

import torch_droplet
from torch_droplet.switches import autocompare

_LISTS = [
    _pickle.restore_type_tag,
    _pickle.build_intlist,
    _pickle.build_doublelist,
    _pickle.build_boollist,
    _pickle.build_tensorlist,
]
"""What lists are made with in a file that C++ wrote: functions that give back what they are given."""


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
    if len(arguments) != 1 or not (Path(arguments[0]) / "case.pt").is_file():
        print(
            "usage: python -m torch_droplet.repro FOLDER, a folder with case.pt that autocompare kept", file=sys.stderr
        )
        return 2
    with torch.serialization.safe_globals(_LISTS):
        name, values = torch.load(Path(arguments[0]) / "case.pt", weights_only=True)
    overload = _overload(name)
    if overload is None:
        print(f"{arguments[0]}: '{name}' is no operator that computes on tensors", file=sys.stderr)
        return 2
    device = torch_droplet.device()
    positional, keywords = [], {}
    for argument, value in zip(overload._schema.arguments, values, strict=True):
        moved = _moved(value, device)
        if argument.kwarg_only:
            keywords[argument.name] = moved
        else:
            positional.append(moved)
    with autocompare(folder=str(Path(arguments[0]) / "again")) as found:
        overload(*positional, **keywords)
    print(f"{name}: {'differs' if found.differences else 'agrees with the CPU'}")
    return 1 if found.differences else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""`python -m diopigen.conformance.aten.coverage DEVICE [--register MODULE]... [--compile BACKEND] < NAMES`: where the
kernels of overloads come from on a device, by the dispatcher of torch, as JSON. What cannot be used is the last line
of standard error."""

from __future__ import annotations

import argparse
import importlib
import json
import sys
import warnings
from collections.abc import Iterable

from diopigen.ir.aten import FOR_ALL_DEVICES

KINDS = {
    "kernel": "kernels of the device",
    "decomposed": "decompose into other operators",
    "cpu": "fall back to the CPU",
    "absent": "no kernel",
    "missing": "not in this torch",
}
"""Origins of the kernel of an overload on a device."""

_MARKS = {
    "[kernel]": "kernel",
    "[math kernel]": "decomposed",
    "[default backend kernel]": "decomposed",
    "[backend fallback]": "cpu",
}


def parts_of(name: str) -> tuple[str, str, str]:
    """The namespace, name and overload name of what is called for an overload of the spec on any device."""
    space, sign, operator = name.partition("::")
    base, _, overload = (operator if sign else FOR_ALL_DEVICES.get(name, name)).partition(".")
    return space if sign else "aten", base, overload


def origin(name: str, device: str) -> str:
    """The origin of an overload's kernel on a type of device."""
    import torch

    key = torch._C._dispatch_key_for_device(device)
    space, base, overload = parts_of(name)
    table = torch._C._dispatch_dump_table(f"{space}::{base}{'.' if overload else ''}{overload}")
    if not table:
        return "missing"
    line = next((line for line in table.split("\n") if line.startswith(f"{key}:")), "")
    return next((kind for mark, kind in _MARKS.items() if line.endswith(mark)), "absent")


def origins(names: Iterable[str], device: str) -> dict[str, list[str]]:
    """The overloads by origin."""
    import torch

    found: dict[str, list[str]] = {kind: [] for kind in KINDS}
    for name in names:
        found[origin(name, torch.device(device).type)].append(name)
    return found


def _require(device: str, modules: Iterable[str], compiler: str) -> None:
    """Ends the program where a module, the device or the compiler cannot be used."""
    what = "torch"
    try:
        import torch

        for module in modules:
            what = f"module '{module}' of --register"
            importlib.import_module(module)
        what = f"device '{device}'"
        torch.empty(1, device=device)
        if torch.device(device).type == "meta":
            raise ValueError("it computes nothing")
        if compiler:
            what = f"backend '{compiler}' of torch.compile"
            torch._dynamo.lookup_backend(compiler)
    except Exception as error:
        lines = str(error).strip().splitlines() or [""]
        sys.exit(f"{what}: {type(error).__name__}: {lines[0]}")


def main() -> int:
    """Entry of the program."""
    parser = argparse.ArgumentParser()
    parser.add_argument("device")
    parser.add_argument("--register", action="append", default=[])
    parser.add_argument("--compile", default="")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    _require(options.device, options.register, options.compile)
    json.dump(origins(sys.stdin.read().split(), options.device), sys.stdout)
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Writes the files of `specs/aten`: the schema of every ATen overload of the releases of torch that are supported.

The check of the spec against ATen and the glue for PyTorch must come out the same on machines without torch, so the
schemas and the groups of structured operators are kept as data; `tests/pytorch` compares them with an installed torch.
Run it with the Python that has torch: `python tools/snapshot_aten.py specs/aten` adds its release, or replaces the one
of the same minor. To drop a release, remove its file, and run it again.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import torch
import torchgen
from torchgen.api import meta
from torchgen.gen import get_grouped_native_functions, parse_native_yaml
from torchgen.model import NativeFunctionsGroup

HEAD = """\
# yaml-language-server: $schema=../../generated/schema/aten.schema.json
# ATen overloads of {of}, with the out variants that torch generates.
# Written by tools/snapshot_aten.py.
"""
COMMON = "torch.yaml"
"""The file with what all releases have."""
LISTS = ("structured", "needed", "schemas")
FLOATING = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
INTEGRAL = (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)
Facts = dict[str, set[str]]
"""The lines of each list."""


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _structured(group: NativeFunctionsGroup) -> str:
    """A group of structured operators: what its meta function is called and which overloads share it."""
    parts = [f"meta: {meta.name(group)}", f"out: {group.out.func.name}", f"functional: {group.functional.func.name}"]
    if group.inplace is not None:
        parts.append(f"inplace: {group.inplace.func.name}")
    if group.out.structured_inherits is not None:
        parts.append("iterator: true")
        if alike := _alike(group):
            parts.append(f"alike: {alike}")
    return "{" + ", ".join(parts) + "}"


def _alike(group: NativeFunctionsGroup) -> str:
    """The rule for the dtype of a result where all operands are tensors of one shape and dtype, or ordinary numbers.
    Found by calls on the CPU, which must accept every number: its kernels ask the meta function, and those of the
    device `meta` are others. Empty where there are other arguments, or no rule."""
    own = group.functional.func
    kinds = {argument.name: str(argument.type) for argument in own.arguments.flat_all}
    if len(own.returns) != 1 or not set(kinds.values()) <= {"Tensor", "Scalar"}:
        return ""
    packet, _, overload = str(own.name).partition(".")
    function = getattr(getattr(torch.ops.aten, packet), overload or "default")
    found = {dtype: _result(function, kinds, dtype) for dtype in FLOATING + INTEGRAL}
    if all(result == torch.bool for result in found.values()):
        return "compared"
    if all(result == dtype for dtype, result in found.items()):
        return "real"
    return "floating" if all(found[dtype] == dtype for dtype in FLOATING) else ""


def _result(function: Callable[..., torch.Tensor], kinds: Mapping[str, str], dtype: torch.dtype) -> torch.dtype | None:
    """The dtype of the result, for several numbers; None where they differ, or one of them is rejected."""
    operand = torch.ones((2, 3), dtype=dtype)
    numbers = [-3, 0, 1, 100, *([-2.5, 0.0, 0.5, float("inf"), float("nan")] if dtype in FLOATING else [])]
    calls = [{name: operand if kind == "Tensor" else number for name, kind in kinds.items()} for number in numbers]
    try:
        found = {function(**call).dtype for call in calls}
    except (RuntimeError, ValueError, TypeError):
        return None
    return found.pop() if len(found) == 1 else None


def _needs_kernel(name: str) -> bool:
    """Returns whether a new device has no kernel for the overload, as long as it brings none itself."""
    packet, _, overload = name.partition(".")
    qualified = f"aten::{packet}" + (f".{overload}" if overload else "")
    try:
        return not torch._C._dispatch_has_computed_kernel_for_dispatch_key(qualified, "PrivateUse1")
    except RuntimeError:
        return False  # not in this build


def installed() -> tuple[str, Facts]:
    """The release of the installed torch, and the lines of each list."""
    package = Path(torchgen.__file__).parent / "packaged" / "ATen" / "native"
    parsed = parse_native_yaml(str(package / "native_functions.yaml"), str(package / "tags.yaml"))
    groups = get_grouped_native_functions(parsed.native_functions)
    structured = {_structured(g) for g in groups if isinstance(g, NativeFunctionsGroup) and g.structured}
    needed = {name for f in parsed.native_functions if _needs_kernel(name := str(f.func.name))}
    schemas = {_quoted(str(function.func)) for function in parsed.native_functions}
    return torch.__version__.partition("+")[0], {"structured": structured, "needed": needed, "schemas": schemas}


def recorded(folder: Path) -> dict[str, Facts]:
    """The lines of each list, by release."""
    files = {path: path.read_text(encoding="utf-8") for path in sorted(folder.glob("torch*.yaml"))}
    common = _lines(files.pop(folder / COMMON, ""))
    releases = {}
    for content in files.values():
        own = _lines(content)
        release = content.split("torch: '")[1].partition("'")[0]
        releases[release] = {name: common[name] | own[name] for name in LISTS}
    return releases


def _lines(content: str) -> Facts:
    """The items of each list of a file, as they are written."""
    facts: Facts = {name: set() for name in LISTS}
    name = ""
    for line in content.splitlines():
        if line.startswith("  - "):
            facts[name].add(line.removeprefix("  - "))
        elif line.removesuffix(":") in LISTS:
            name = line.removesuffix(":")
    return facts


def texts(releases: Mapping[str, Facts]) -> dict[str, str]:
    """The files by name: one with the lines of all releases, and for each release those that not all have."""
    common = {name: set.intersection(*(facts[name] for facts in releases.values())) for name in LISTS}
    files = {COMMON: _text(HEAD.format(of="all releases"), common)}
    for release, facts in releases.items():
        head = HEAD.format(of=f"torch {release} that some other release lacks") + f"torch: '{release}'\n"
        files[f"torch-{minor(release)}.yaml"] = _text(head, {name: facts[name] - common[name] for name in LISTS})
    return files


def minor(release: str) -> str:
    """`2.13` of 2.13.0: releases of one minor have the same overloads."""
    return ".".join(release.split(".")[:2])


def _text(head: str, facts: Facts) -> str:
    lines = [line for name in LISTS for line in (f"{name}:", *(f"  - {item}" for item in sorted(facts[name])))]
    return head + "\n".join(line if facts.get(line[:-1], {line}) else f"{line[:-1]}: []" for line in lines) + "\n"


def updated(folder: Path) -> dict[str, str]:
    """The files with the facts of the installed torch in place of those of its minor."""
    release, facts = installed()
    releases = {old: lines for old, lines in recorded(folder).items() if minor(old) != minor(release)}
    return texts(releases | {release: facts})


def main() -> None:
    folder = Path(sys.argv[1])
    for name, content in updated(folder).items():
        (folder / name).write_text(content, encoding="utf-8")


if __name__ == "__main__":
    main()

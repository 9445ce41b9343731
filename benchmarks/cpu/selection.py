"""Options that the benchmarks of the CPU library share, and the cases that they select."""

from __future__ import annotations

import argparse
import fnmatch
import importlib
import pkgutil
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

import benchmarks.cpu

if TYPE_CHECKING:
    from benchmarks.cpu.device import Device
    from benchmarks.cpu.measure import Case


def parser_of(module: str) -> argparse.ArgumentParser:
    """A parser of the libraries, and of globs over names, groups and sizes of cases."""
    parser = argparse.ArgumentParser(prog=f"python -m {module}")
    parser.add_argument("--lib", type=Path, required=True)
    parser.add_argument("--runtime", type=Path, required=True)
    parser.add_argument("--only", default="*", help="glob over names")
    parser.add_argument("--group", default="*", help="glob over groups")
    parser.add_argument("--size", default="*", help="glob over sizes")
    return parser


def is_selected(case: Case, options: argparse.Namespace) -> bool:
    """Returns whether a case is one that the options name."""
    requested = ((case.name, options.only), (case.group, options.group), (case.size, options.size))
    return all(fnmatch.fnmatch(text, glob) for text, glob in requested)


def selected_modules(group: str) -> list[ModuleType]:
    """The modules `cases_*` of this package, which have `cases(device)`. A module that says in `GROUPS` which groups it
    has is passed over where none matches: making cases costs a call each."""
    names = sorted(found.name for found in pkgutil.iter_modules(benchmarks.cpu.__path__))
    modules = [importlib.import_module(f"benchmarks.cpu.{name}") for name in names if name.startswith("cases_")]
    return [
        module for module in modules if any(fnmatch.fnmatch(own, group) for own in getattr(module, "GROUPS", (group,)))
    ]


def selected_cases(device: Device, options: argparse.Namespace) -> Iterator[Case]:
    """The cases that the options name."""
    for module in selected_modules(options.group):
        yield from (case for case in module.cases(device) if is_selected(case, options))

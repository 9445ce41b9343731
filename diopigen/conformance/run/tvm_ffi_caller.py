"""Calls through packed functions of tvm-ffi, as the suite sees them."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from diopigen.conformance.model import Case
from diopigen.conformance.run.execute import Checker
from diopigen.conformance.run.interface_file import interface_file
from diopigen.emit.tvm_ffi.arguments import is_choice, returned
from diopigen.ir.model import Function, Interface


def expresses(function: Function, case: Case) -> bool:
    """Returns whether a packed function can make a call: it returns what the C function writes through a pointer, so
    that there is none to be null."""
    return not any(
        param.name in case.arguments and case.arguments[param.name] is None and not is_choice(param)
        for param in returned(function)
    )


@dataclass(frozen=True, slots=True)
class PackedCaller:
    """A `Caller` through the library of packed functions at `packed`."""

    packed: Path
    names_files: bool = True

    def command(self, interface: Interface) -> list[str]:
        """The words that start the program."""
        program = "diopigen.conformance.run.tvm_ffi_executor"
        return [sys.executable, "-m", program, interface_file(interface), str(self.packed)]

    def checker(self, interface: Interface, **settings: Any) -> Checker:
        """The checker of its calls."""
        return Checker(interface, expresses=expresses, **settings)

    def called(self, interface: Interface) -> Sequence[str]:
        """The names of the functions."""
        return [function.name for function in interface.functions]

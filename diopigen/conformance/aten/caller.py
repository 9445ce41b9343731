"""Calls of ATen, as the suite sees them."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from diopigen.conformance.aten.checker import AtenChecker
from diopigen.conformance.aten.forms import called_names
from diopigen.conformance.run.execute import Checker
from diopigen.conformance.run.interface_file import interface_file
from diopigen.ir.model import Interface


@dataclass(frozen=True, slots=True)
class AtenCaller:
    """A `Caller` of overloads of ATen. `modules` are imported ahead, `compiler` is a backend of torch.compile, `python`
    the interpreter that has torch, `threads` those of each operator on the CPU."""

    modules: tuple[str, ...] = ()
    compiler: str = ""
    python: str = sys.executable
    threads: int = 1
    names_files: bool = False

    def words(self, device: str) -> tuple[str, ...]:
        """The options of `conformance aten` that say this, with a device."""
        words = ["--device", device, *(word for module in self.modules for word in ("--register", module))]
        words += ["--compile", self.compiler] if self.compiler else []
        words += ["--python", self.python] if self.python != sys.executable else []
        return tuple(words)

    def command(self, interface: Interface) -> list[str]:
        """The words that start the program."""
        words = [self.python, "-m", "diopigen.conformance.aten.executor", interface_file(interface)]
        words += [word for module in self.modules for word in ("--register", module)]
        words += ["--compile", self.compiler] if self.compiler else []
        return [*words, "--threads", str(self.threads)]

    def checker(self, interface: Interface, **settings: Any) -> Checker:
        """The checker of its calls."""
        return AtenChecker(interface, **settings)

    def called(self, interface: Interface) -> Sequence[str]:
        """The names of the overloads and of their meta functions."""
        return called_names(interface)

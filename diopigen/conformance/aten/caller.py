"""Calls of ATen, as the suite sees them."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from diopigen.conformance.aten.checker import AtenChecker
from diopigen.conformance.aten.fork_server import forking
from diopigen.conformance.aten.forms import called_names
from diopigen.conformance.aten.known import Excepting, is_cpu
from diopigen.conformance.run.execute import Checker
from diopigen.conformance.run.interface_file import interface_file
from diopigen.ir.model import Interface


@dataclass(frozen=True, slots=True)
class AtenCaller:
    """A `Caller` of overloads of ATen on a device. `modules` are imported ahead, `compiler` is one of torch.compile,
    `python` the interpreter that has torch, `threads` the number of those of an operator on the CPU."""

    device: str
    modules: tuple[str, ...] = ()
    compiler: str = ""
    python: str = sys.executable
    threads: int = 1
    names_files: bool = False

    @property
    def preparing(self) -> list[str]:
        """The options of all programs: what is imported, and what compiles."""
        words = [word for module in self.modules for word in ("--register", module)]
        return [*words, "--compile", self.compiler] if self.compiler else words

    @property
    def words(self) -> tuple[str, ...]:
        """The options of `conformance aten` that say this."""
        words = ["--device", self.device, *self.preparing]
        words += ["--python", self.python] if self.python != sys.executable else []
        return tuple(words)

    def command(self, interface: Interface) -> list[str]:
        """The words that start the program."""
        words = [self.python, "-m", "diopigen.conformance.aten.program.executor", interface_file(interface)]
        words += self.preparing
        words += ["--threads", str(self.threads)]
        return forking(words) if is_cpu(self.device) and not self.modules else words

    def checker(self, interface: Interface, **settings: Any) -> Checker:
        """The checker of its calls."""
        return AtenChecker(interface, is_on_cpu=is_cpu(self.device), **settings)

    @property
    def excepting(self) -> Excepting:
        """Excepts known failures of its calls."""
        return Excepting(self.device, self.compiler)

    def called(self, interface: Interface) -> Sequence[str]:
        """The names of the overloads and of their meta functions."""
        return called_names(interface)

"""Programs in the place of diopi-executor that call functions in another way than through C."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from diopigen.conformance.run.execute import Checker
from diopigen.ir.model import Interface


class Caller(Protocol):
    """Starts such a program, and checks what comes of its calls."""

    @property
    def names_files(self) -> bool:
        """Returns whether library and runtime are files; else they are names that the program understands."""

    def command(self, interface: Interface) -> list[str]:
        """The words that start the program."""

    def checker(self, interface: Interface, **settings: Any) -> Checker:
        """The checker of its calls, with the settings of `Checker`."""

    def called(self, interface: Interface) -> Sequence[str]:
        """The names of what it is to call, as cases have them (`Case.called`)."""

"""Options of the process that has the library under test."""

from __future__ import annotations

import shlex
from dataclasses import dataclass

from diopigen.conformance.run.frames import ALLOWANCES, CONFINED

CRASH_LIMIT = 20
"""Crashes of one function after which its other cases count as crashed without being called: each costs a process."""


@dataclass(frozen=True, slots=True)
class Execution:
    """The process that calls the library, and its limits. `executor` are the words of a command that speaks the
    protocol, empty for the program of this machine; `launcher` those of a command that the executor's own are appended
    to, such as an emulator's. A confined library may write to the files and folders of `writable` alone, and do what
    `allowed` has of `frames.ALLOWANCES`."""

    executor: tuple[str, ...] = ()
    launcher: tuple[str, ...] = ()
    writable: tuple[str, ...] = ()
    is_confined: bool = True
    crash_limit: int = CRASH_LIMIT
    allowed: tuple[str, ...] = ()

    @property
    def confinement(self) -> int:
        """The limits as bits of the protocol."""
        return sum(ALLOWANCES[word] for word in self.allowed) | CONFINED if self.is_confined else 0

    @property
    def words(self) -> tuple[str, ...]:
        """The options of `conformance run` that say this."""
        values = [shlex.join(self.executor)] if self.executor else []
        values += [f"launcher={shlex.join(self.launcher)}"] if self.launcher else []
        values += [f"writable={path}" for path in self.writable]
        values += [f"allow={word}" for word in self.allowed]
        values += [] if self.is_confined else ["unconfined"]
        return tuple(word for value in values for word in ("--executor", value))


DEFAULT = Execution()

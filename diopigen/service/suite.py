"""All that requests have in common, read and built once: the interface, its cases, the executor and the runtime."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from diopigen.conformance.cases.suite import select
from diopigen.conformance.model import Case
from diopigen.conformance.run.execution import Execution
from diopigen.conformance.run.executor import executor_program
from diopigen.ir.model import Function, Interface

_CRASHES = 5
"""Crashes of one function after which its other cases count as crashed."""


@dataclass(frozen=True, slots=True)
class Suite:
    """`small` are calls of models by function, `derived` returns the cases of a function, `runtime` is the host runtime
    of libraries that have none in their folder."""

    interface: Interface
    small: Mapping[str, Sequence[Case]]
    derived: Callable[[Function], Sequence[Case]]
    runtime: str
    executor: str

    @property
    def execution(self) -> Execution:
        return Execution(executor=(self.executor,), crash_limit=_CRASHES)

    @property
    def confine(self) -> tuple[str, ...]:
        """The words in front of the path of a folder that a command may write to."""
        return self.executor, "--confine", "--writable"

    def cases(self, ops: Sequence[str]) -> list[Case]:
        """The cases of the functions that match. Raises `Failure` for a name that no function has."""
        return select(self.interface, ops=ops, small=self.small, derived=self.derived)


def confinement(executor: str) -> tuple[str, ...]:
    """Names of what confines a command on this machine."""
    command = [executor, "--confine", "--", "sh", "-c", 'printf %s "$DIOPI_EXECUTOR_IN_FORCE"']
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return tuple(done.stdout.splitlines())


def suite(
    interface: Interface,
    small: Mapping[str, Sequence[Case]],
    derived: Callable[[Function], Sequence[Case]],
    runtime: str,
) -> Suite:
    """The suite with the executor of this machine. Raises `Failure` where that cannot be compiled."""
    return Suite(interface, small, derived, runtime, str(executor_program()))

"""Asks the torch that is called for the origins of its kernels, in a process of its own (`coverage.py`)."""

from __future__ import annotations

import contextlib
import json
import subprocess
from collections.abc import Iterable

from diopigen.conformance.aten.caller import AtenCaller
from diopigen.conformance.model import Case
from diopigen.diagnostics import failure
from diopigen.ir.model import Interface

_FIX = "pip install diopigen torch for this Python, and name the package of the device by --register"


def ask_origins(caller: AtenCaller, interface: Interface) -> subprocess.Popen[str]:
    """A process that finds the origins of all overloads, while cases are derived here."""
    command = [caller.python, "-m", "diopigen.conformance.aten.coverage", caller.device, *caller.preparing]
    try:
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
    except OSError as error:
        raise failure("torch-missing", f"'{caller.python}' cannot be started: {error.strerror}", fix=_FIX) from None
    assert process.stdin is not None
    with contextlib.suppress(BrokenPipeError):
        process.stdin.write("\n".join({one.name for function in interface.functions for one in function.aten}))
        process.stdin.close()
    process.stdin = None
    return process


def origins_of(process: subprocess.Popen[str], caller: AtenCaller, cases: Iterable[Case]) -> dict[str, tuple[str, ...]]:
    """The overloads of the cases by the origin of their kernels. Raises `Failure` where torch has no such device."""
    output, errors = process.communicate()
    if process.returncode:
        said = (errors.strip().splitlines() or [f"exit status {process.returncode}"])[-1]
        raise failure("torch-missing", f"torch cannot be used as asked: {said}", fix=_FIX)
    called = {case.overload for case in cases}
    return {kind: tuple(name for name in names if name in called) for kind, names in json.loads(output).items()}

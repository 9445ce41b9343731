"""Variables of the environment (`specs/environment.yaml` declares them): checked before the libraries read them."""

from __future__ import annotations

import difflib
import os
import warnings
from collections.abc import Callable, Iterable

import torch


def _level(value: str) -> str:
    """As C reads a number there: text is 0, and all above 3 shows everything."""
    try:
        return str(min(max(int(value), 0), 3))
    except ValueError:
        return "0"


def _flag(value: str) -> str:
    return "0" if value.lower() == "false" else "1"


_CONVERSIONS: dict[str, Callable[[str], str]] = {"0|1": _flag, "0|1|2|3": _level}
"""The value of a variable for that of an alias, by the values that the variable has."""
_LEAKS = "torch.<device>.memory_allocated() counts what is in use; on a simulated device "
_LEAKS += "DIOPI_SIM_MEMORY_CHECK=1 lists at exit what is not freed, with the calls that allocated it"
ELSEWHERE = {"DIPU_MEM_CHECK": _LEAKS, "DIPU_MEM_CHECK_ENABLE_BACKTRACE": _LEAKS}
"""Switches of torch_dipu without one of the same meaning here: what serves in their stead."""


def nearest(name: str, names: Iterable[str]) -> str:
    """The name that was probably meant, as the end of a message; empty where none is near."""
    close = difflib.get_close_matches(name, list(names), n=1)
    return f"; did you mean {close[0]}?" if close else ""


def names() -> dict[str, str]:
    """The values of each variable that is declared, separated by `|`."""
    declared, values, _ = torch.ops.diopi.environment()
    return dict(zip(declared, values, strict=True))


def aliases_of_names() -> dict[str, str]:
    """The variable that each alias sets. Ours counts where both are set."""
    declared, _, aliases = torch.ops.diopi.environment()
    return {alias: own for own, each in zip(declared, aliases, strict=True) for alias in each.split("|") if alias}


def prepare() -> None:
    """Sets the variables that aliases name, before a library reads them. Raises `ValueError` for a value that a
    variable does not have, and warns of names with our prefix that are not declared: they may be another program's."""
    declared, aliases = names(), aliases_of_names()
    for alias, own in aliases.items():
        if (text := os.environ.get(alias)) is not None:
            os.environ.setdefault(own, _CONVERSIONS.get(declared[own], str)(text))
    for name in sorted(os.environ):
        if fault := torch.ops.diopi.environment_fault(name):
            raise ValueError(fault)
        if name in ELSEWHERE:
            warnings.warn(f"{name} does nothing here: {ELSEWHERE[name]}", stacklevel=2)
        if name.startswith("DIOPI_") and name not in {**declared, **aliases}:
            warnings.warn(f"{name} is no switch of {__package__}{nearest(name, declared)}", stacklevel=2)

"""The run-time switches as context managers; the environment sets them for a whole run (`DIOPI_FORCE_FALLBACK_OPS` and
its kin). Expressions are regular expressions for whole names, separated by commas: of ATen overloads (`add.out`,
`.*\\.Scalar`), or of operators that lead to them (`conv2d`)."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import torch

from .environment import nearest

_operators = torch.ops.diopi
_on = {"now": False}


def are_on() -> bool:
    """Returns whether a switch wants to see calls one by one."""
    return _on["now"]


def _note() -> None:
    forced, compared, _, dump = _operators.switches()
    _on["now"] = bool(forced or compared or dump)


_NAMES = {"forced": "DIOPI_FORCE_FALLBACK_OPS", "compared": "DIOPI_AUTOCOMPARE"}


def _warn_of_unmatched(**switches: str | int) -> None:
    """Warns of expressions that no operator has: they may be those of a library that is loaded later."""
    names: set[str] = set()
    for switch, expressions in switches.items():
        for expression in filter(None, (part.strip() for part in str(expressions).split(","))):
            if not names:
                overloads = {name.split("::", 1)[1] for name in torch._C._dispatch_get_all_op_names()}
                names = overloads | {name.split(".")[0] for name in overloads}
            try:
                matched = expression in names or any(map(re.compile(expression).fullmatch, names))
            except re.error:  # whether it is one of C++ is not for Python to say
                continue
            if not matched:
                text = f"{_NAMES[switch]}: no operator is named '{expression}'{nearest(expression, names)}"
                warnings.warn(text, stacklevel=5)


def read() -> None:
    """Sets the switches as the environment has them. Raises `ValueError` for values that they do not have."""
    _operators.read_switches()
    forced, compared, _, _ = _operators.switches()
    _warn_of_unmatched(forced=forced, compared=compared)
    _note()


@contextmanager
def _switched(**changes: str | int) -> Iterator[None]:
    names = ("forced", "compared", "folder", "dump")
    before = dict(zip(names, _operators.switches(), strict=True))
    _warn_of_unmatched(**{name: changes[name] for name in _NAMES if name in changes})
    _operators.set_switches(*{**before, **changes}.values())
    _note()
    try:
        yield
    finally:
        _operators.set_switches(*before.values())
        _note()


@contextmanager
def force_fallback(expressions: str) -> Iterator[None]:
    """Runs operators on the CPU. Raises `ValueError` for what is no regular expression, and warns of a name that no
    operator has."""
    with _switched(forced=expressions):
        yield


@contextmanager
def dump_arguments(level: int = 1) -> Iterator[None]:
    """Writes every call to standard error: 1 with the functions of the interface that it leads to, 2 with its
    arguments, 3 with their values."""
    with _switched(dump=level):
        yield


class Comparisons:
    """Result of `autocompare`."""

    def __init__(self) -> None:
        self._before = int(_operators.difference_count())
        self._count: int | None = None

    @property
    def differences(self) -> int:
        """The number of calls that differed from the CPU."""
        return int(_operators.difference_count()) - self._before if self._count is None else self._count

    def _close(self) -> None:
        self._count = self.differences


@contextmanager
def autocompare(expressions: str = ".*", folder: str = "diopi_dump") -> Iterator[Comparisons]:
    """Runs operators on the CPU as well, forward and backward, and reports on standard error what differs. Calls that
    do are kept in `folder`; `python -m diopi_torch.repro FOLDER/CALL` runs one again."""
    found = Comparisons()
    with _switched(compared=expressions, folder=folder):
        try:
            yield found
        finally:
            found._close()

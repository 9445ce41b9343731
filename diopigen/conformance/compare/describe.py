"""The arguments of a case in words, for reports of failures."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from diopigen.conformance.compare.results import show
from diopigen.conformance.model import Case, Number, Operand
from diopigen.conformance.strides import strides_of
from diopigen.ir.recipe import Drawn


def describe(case: Case, values: Mapping[str, Any] | None = None) -> tuple[str, ...]:
    """The arguments of a case, one line each, with the first elements where the values are known."""
    known = values or {}
    return tuple(
        f"{name} = {_described(value)}{_shown(value, known.get(name))}" for name, value in case.arguments.items()
    )


_FIRST = 12


def _shown(value: Any, known: Any) -> str:
    """The first elements of a tensor that is read."""
    poisoned = isinstance(value, Operand) and value.values == Drawn("zeros") and value.alias is None
    if not isinstance(value, Operand) or not isinstance(known, np.ndarray) or known.size == 0 or poisoned:
        return ""
    elements = ", ".join(show(item) for item in known.ravel()[:_FIRST])
    return f": {elements}{', ...' if known.size > _FIRST else ''}"


def _described(value: Any) -> str:
    if isinstance(value, Operand):
        text = f"{value.dtype}{list(value.shape)}"
        if value.layout != "contiguous":
            text += f" {value.layout} strides {list(strides_of(value.shape, value.layout))}"
        if value.alias:
            text += f" in the memory of {value.alias}" + (f" + {value.shift} elements" if value.shift else "")
        return text + (" on the host" if value.on_host else "")
    if isinstance(value, Number):
        return f"{value.value} ({value.dtype})"
    if isinstance(value, tuple):
        return "[" + ", ".join(_described(item) for item in value) + "]"
    return "null" if value is None else str(value)

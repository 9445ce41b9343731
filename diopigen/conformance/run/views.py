"""A call as an oracle sees it and its results as they are compared: as it is, converted by shims, without denormals."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from diopigen.conformance.compare.order import Stored
from diopigen.conformance.dtypes import Array, decode, encode, rounded
from diopigen.conformance.model import Conversion
from diopigen.conformance.oracles import Call
from diopigen.contract.dtypes import SMALLEST_NORMAL, kind, real_of

Casts = Mapping[str, Mapping[str, str]]
"""The target dtype by parameter and source dtype."""


@dataclass(frozen=True, slots=True)
class View:
    """`call` is what the oracle is asked, `casts` what results go through before they are compared."""

    call: Call
    casts: Casts = field(default_factory=dict)

    def dtype(self, name: str, dtype: str) -> str:
        """The dtype in which a tensor is compared."""
        return self.casts.get(name, {}).get(dtype, dtype)

    def seen(self, name: str, stored: Stored) -> Stored:
        """A tensor in the dtype that the kernel had it in. A shim's cast back loses nothing but integers that were
        narrowed, so that this is the inverse."""
        target = self.dtype(name, stored.dtype)
        if target == stored.dtype:
            return stored
        return Stored(encode(decode(stored.elements, stored.dtype), target), target)

    def fits(self, name: str, stored: Stored) -> bool:
        """Returns whether the elements can have come from the dtype that the kernel had them in."""
        target = self.dtype(name, stored.dtype)
        if target == stored.dtype or kind(stored.dtype) != "int":
            return True
        values = decode(stored.elements, stored.dtype)
        return bool(np.array_equal(rounded(values, target), values))


def converted(call: Call, conversion: Conversion) -> View:
    """The call with its tensors in the dtypes that shims convert them to."""

    def cast(name: str, dtype: str, values: Array) -> Array:
        target = conversion.casts.get(name, {}).get(dtype)
        return values if target is None else np.asarray(rounded(values, target))

    dtypes = {name: _each(dtype, conversion.casts.get(name, {})) for name, dtype in call.dtypes.items()}
    return View(_changed(call, cast, dtypes), conversion.casts)


def flushed(call: Call) -> View | None:
    """The call with the denormals of its tensors read as zero; None where it has none."""
    changed = False

    def flush(_name: str, dtype: str, values: Array) -> Array:
        nonlocal changed
        if kind(dtype) != "float":
            return values
        tiny = (values != 0) & (np.abs(values) < SMALLEST_NORMAL[real_of(dtype)])
        changed = changed or bool(np.any(tiny))
        return np.where(tiny, np.copysign(np.zeros_like(values), values), values)

    found = _changed(call, flush, call.dtypes)
    return View(found) if changed else None


def loses_integers(call: Call, conversion: Conversion) -> bool:
    """Returns whether a conversion changes integers, which shims may reject (DIOPI_CHECK_OVERFLOW=1)."""
    after = converted(call, conversion).call
    for name, casts in conversion.casts.items():
        listed = isinstance(call.values.get(name), list)
        pairs = zip(
            *((one.values[name] if listed else [one.values.get(name)]) for one in (call, after)),
            call.dtypes[name] if listed else [call.dtypes.get(name)],
            strict=True,
        )
        for before, now, dtype in pairs:
            if dtype in casts and kind(dtype) == "int" and not np.array_equal(before, now):
                return True
    return False


def _each(dtype: Any, casts: Mapping[str, str]) -> Any:
    if isinstance(dtype, list):
        return [casts.get(one, one) for one in dtype]
    return casts.get(dtype, dtype)


def _changed(call: Call, change: Callable[[str, str, Array], Array], dtypes: Mapping[str, Any]) -> Call:
    """The call with each of its tensors changed."""
    values = dict(call.values)
    for name, value in call.values.items():
        if isinstance(value, np.ndarray):
            values[name] = change(name, call.dtypes[name], value)
        elif isinstance(value, list):
            pairs = zip(value, call.dtypes[name], strict=True)
            values[name] = [one if one is None else change(name, dtype, one) for one, dtype in pairs]
    return Call(call.function, values, dtypes, call.shapes)

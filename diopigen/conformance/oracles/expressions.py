"""The oracle of every elementwise operator: its `kernel:` expression, evaluated over NumPy arrays in a wider type.

Written from docs/spec.md, independent of the emitters and of C++. That an expression is the right definition is shown
against ATen (tests/conformance/test_oracles_against_aten.py).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from diopigen.conformance.dtypes import STORAGE, Array, convert
from diopigen.conformance.oracles.call import Answer, Call, Expected
from diopigen.conformance.oracles.evaluation import ZERO_SIGN_OPEN, Evaluation
from diopigen.contract.dtypes import MANTISSA, category, kind, real_of
from diopigen.ir.clauses import Formula
from diopigen.ir.model import DtypeList, Function
from diopigen.spec import expression as spec


def serves(function: Function) -> bool:
    """Returns whether a function has a kernel that computes in one dtype: not in both integers and floats, as two
    outputs without a common dtype do."""
    if function.kernel is None:
        return False
    written = (param.dtype for param in function.params if param.is_written)
    listed = [set(dtype.dtypes) for dtype in written if isinstance(dtype, DtypeList)]
    return not listed or bool(set.intersection(*listed))


def answer(call: Call) -> Answer:
    """Expected results of a call of a function with a kernel."""
    kernel = call.function.kernel
    assert kernel is not None
    lists = [p.name for p in call.function.params if p.type == "tensors" and p.name in call.dtypes]
    if not lists:
        return _answer(call)
    found: dict[str, Any] = {name: [] for name, _ in kernel.results}
    for position in range(len(call.dtypes[lists[0]])):
        one = {
            "values": {name: call.values[name][position] for name in lists if call.has(name)},
            "dtypes": {name: call.dtypes[name][position] for name in lists},
            "shapes": {name: call.shapes[name][position] for name in lists},
        }
        values, dtypes, shapes = ({**getattr(call, part), **items} for part, items in one.items())
        for name, expected in _answer(Call(call.function, values, dtypes, shapes)).items():
            found[name].append(expected)
    return found


def _answer(call: Call) -> dict[str, Any]:
    kernel = call.function.kernel
    assert kernel is not None
    found: dict[str, Any] = {}
    with np.errstate(all="ignore"):
        for name, formula in kernel.results:
            if name not in call.outputs:
                continue
            evaluation = Evaluation(call, name, dict(kernel.lets), formula.expression)
            result = evaluation.strong(formula.expression)
            values, scale = result.values, result.scale
            if result.is_double and values.dtype.kind == "f":
                values = values.astype(np.float64)
            terms, may_be_any = _latitude(call, name, evaluation)
            scale = scale if terms is None else terms
            expected = _cast(call, name, values, evaluation.compute, scale)
            free = expected.free
            used = {part.function for part in spec.walk(formula.expression) if isinstance(part, spec.Call)}
            signed_zero = not used & ZERO_SIGN_OPEN and call.function.backward_of is None
            if may_be_any is not None:
                free = np.broadcast_to(may_be_any, call.shapes[name])
            found[name] = replace(expected, signed_zero=signed_zero, free=free)
    return found


def _latitude(call: Call, name: str, evaluation: Evaluation) -> tuple[Array | None, Array | None]:
    """Latitude of kernels in the spec: the magnitude of the terms that they sum, and positions at which any value is
    accepted."""
    latitude, kernel = call.function.latitude, call.function.kernel
    if latitude is None or kernel is None:
        return None, None
    if isinstance(latitude.dtypes, DtypeList) and evaluation.compute not in latitude.dtypes.dtypes:
        return None, None

    def value(formula: Formula | None, compute: str) -> Array | None:
        if formula is None:
            return None
        own = Evaluation(call, name, dict(kernel.lets), formula.expression)
        own.compute = compute
        return own.strong(formula.expression).values

    # A multiple of the largest number of a dtype is no infinity: terms are measured in float64.
    free = value(latitude.free, evaluation.compute)
    double = "complex128" if kind(evaluation.compute) == "complex" else "float64"
    return value(latitude.terms, double), None if free is None else np.asarray(free != 0)


def _cast(call: Call, name: str, values: Any, compute: str, scale: Any) -> Expected:
    """The result of a computation in a dtype, cast to the dtype and shape of an output. A float that an integer cannot
    hold may become anything, and of a complex number that becomes a real one the real part is kept."""
    out, shape = call.dtype(name), call.shapes[name]
    found = np.asarray(values)
    precision, free = None, None
    if found.dtype.kind in "fc" and kind(out) == "int":
        limits, whole = np.iinfo(STORAGE[out]), np.trunc(found.real)
        inside = (whole >= float(limits.min)) & (whole <= float(limits.max)) & (np.abs(whole) < 2.0**63)
        free = np.broadcast_to(~inside, shape)
    if kind(compute) in ("bool", "int") or found.dtype.kind == "b" or category(out) < category(compute):
        found = convert(found, out)
    elif (category(out) == 2 and MANTISSA[out] > MANTISSA[real_of(compute)]) or (
        category(out) == 3 and MANTISSA[real_of(out)] > MANTISSA[real_of(compute)]
    ):
        precision = real_of(compute)
    wide = None if scale is None else np.broadcast_to(scale, shape)
    return Expected(np.broadcast_to(found, shape), wide, 1, precision, free=free)

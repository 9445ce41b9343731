"""Outcomes of the calls of a case: the results of a library and those of PyTorch are compared with the oracles."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from calls import Results
from published_calls import Line, Values

from diopigen.calling import CallError, Generator, Library
from diopigen.conformance.dtypes import encode
from diopigen.conformance.model import Operand
from diopigen.conformance.oracles import Allocated, Call, Expected, Property, answer_of
from diopigen.diagnostics import Failure
from diopigen.ir.model import Function, Interface


@dataclasses.dataclass(frozen=True)
class Outcome:
    """Of one call: `passed`, `differs` or `refused`. `torch` is empty where PyTorch agrees, else why it does not or
    why it was not asked."""

    line: str
    function: str
    kind: str
    message: str = ""
    torch: str = ""


def outcomes(library: Library, line: Line, ask_torch: Any = None) -> list[Outcome]:
    """Outcomes of the calls of a case; those after a rejected one are skipped."""
    values = Values(line)
    found: list[Outcome] = []
    for number, (name, _) in enumerate(line.calls):
        function = library.interface.function(f"diopi{name}")
        assert function is not None, f"{line.name}: there is no function diopi{name}"
        arguments = values.arguments(number)
        before = {key: np.array(value) if isinstance(value, np.ndarray) else value for key, value in arguments.items()}
        try:
            results = library.call(function.name, **arguments, **_generators(function, line.calls[number][1]))
        except (CallError, Failure) as error:
            found.append(Outcome(line.name, function.name, "refused", str(error)))
            return found
        found.append(_compared(library, line, function, before, results, ask_torch))
        values.keep(number, results)
    return found


def _generators(function: Function, provided: Mapping[str, Any]) -> dict[str, Any]:
    """Generators are made with a seed, so that a run is like the last one."""
    return {p.name: Generator(1) for p in function.params if p.type == "generator" and provided.get(p.name) == "made"}


def call_as_seen(
    library: Library, function: Function, arguments: Mapping[str, Any], results: Mapping[str, Any]
) -> Call:
    """The call as an oracle sees it: outputs have the shapes and dtypes of the results."""
    case = library.case(function, arguments)
    values: dict[str, Any] = {}
    dtypes: dict[str, Any] = {}
    shapes: dict[str, Any] = {}
    for param in function.params:
        value = arguments.get(param.name, case.arguments.get(param.name))
        tensor = results.get(param.name) if param.is_written and not param.is_read else value
        if param.type == "tensor" and isinstance(tensor, np.ndarray):
            values[param.name], dtypes[param.name], shapes[param.name] = value, tensor.dtype.name, tensor.shape
        elif param.type == "tensors" and isinstance(tensor, (list, tuple)):
            values[param.name] = list(value) if isinstance(value, (list, tuple)) else list(tensor)
            dtypes[param.name] = [None if one is None else one.dtype.name for one in tensor]
            shapes[param.name] = [None if one is None else one.shape for one in tensor]
        elif param.type == "scalar" and value is not None:
            number = case.arguments[param.name]
            values[param.name], dtypes[param.name] = value, getattr(number, "dtype", "float64")
        elif param.type == "float" and isinstance(value, (int, float)):
            values[param.name] = float(np.float32(value))
        elif param.type == "sizes" and value is not None:
            values[param.name] = tuple(value)
        elif param.direction == "in":
            values[param.name] = case.arguments.get(param.name)
    return Call(function, values, dtypes, shapes)


def _compared(
    library: Library, line: Line, function: Function, arguments: Mapping[str, Any], results: Mapping[str, Any], ask: Any
) -> Outcome:
    call = call_as_seen(library, function, arguments, results)
    with np.errstate(all="ignore"):
        try:
            answer = answer_of(call)
        except Exception as error:
            return Outcome(line.name, function.name, "differs", f"the oracle fails: {type(error).__name__}: {error}")
    case = library.case(function, arguments)
    fault = _fault(Results(case, call, answer, results, encode), call, answer, results, encode)
    torch = ask(case, call, library.interface) if ask is not None else "not asked"
    return Outcome(line.name, function.name, "differs" if fault else "passed", fault, torch)


def _fault(held: Results, call: Call, answer: Any, results: Mapping[str, Any], stored: Any) -> str:
    """Errors in the results of a library; empty if there are none."""
    for name, expected in answer.items():
        result = results.get(name)
        if result is None or expected is None:
            continue
        if isinstance(result, (list, tuple)):
            pairs = list(zip(expected, result, strict=True))
            dtypes = call.dtypes.get(name) or [getattr(one, "dtype", "") for one in expected]
        else:
            pairs, dtypes = [(expected, result)], [call.dtypes.get(name, "float64")]
        for (one, array), dtype in zip(pairs, dtypes, strict=True):
            message = _wrong(held, call, name, one, array, dtype, stored)
            if message:
                return f"{name}: {message}"
    return ""


def _wrong(held: Results, call: Call, name: str, expected: Any, array: Any, dtype: str, stored: Any) -> str:
    if expected is None or array is None:
        return ""
    if isinstance(expected, Allocated):
        expected, dtype = expected.expected, expected.dtype
    if isinstance(expected, Property):
        return held.complaint(expected, stored(array, dtype), dtype) or ""
    if not isinstance(expected, Expected):
        return "" if expected == array or (expected != expected and array != array) else f"{array} is not {expected}"
    required = np.shape(expected.values)
    array = np.asarray(array) if isinstance(array, (bool, int, float)) else array
    if math.prod(array.shape) == math.prod(required) == 1:
        array = array.reshape(required)
    if tuple(array.shape) != required:
        return f"the shape is {list(array.shape)} and must be {list(required)}"
    fault = held.fault(name, stored(array, dtype), dtype, expected)
    return "" if fault is None else f"{fault.kind}: {fault.message}"


def sparse_inputs(function: Function) -> bool:
    """Returns whether an operand is in compressed sparse rows."""
    return any(param.sparse for param in function.params)


_runners: list[Any] = []


def _torch(interface: Interface) -> Any:
    """The process with torch, one for all calls."""
    if not _runners:
        from aten_runs import TorchRunner  # torch is optional

        _runners.append(TorchRunner(interface))
    return _runners[0]


def torch_asked(case: Any, call: Call, interface: Interface) -> str:
    """Returns whether PyTorch's results are those of the oracle: empty, or why they are not or cannot be had."""
    if call.function.tolerance == "random" or sparse_inputs(call.function):
        return "not asked: random numbers, or compressed rows"
    filled = {name: _filled(value, call.values.get(name)) for name, value in case.arguments.items()}
    results = _torch(interface).results(dataclasses.replace(case, arguments=filled))
    if any(result.outcome in ("passed", "excepted") for result in results.results):
        return ""
    for result in results.failures:
        return "; ".join(f"{fault.parameter}: {fault.message}" for fault in result.faults)
    return f"not asked: {results.results[0].reason}" if results.results else "not asked: the spec names no overload"


def _filled(value: Any, elements: Any) -> Any:
    """An operand with the elements that the call has."""
    if isinstance(value, tuple) and isinstance(elements, (list, tuple)):
        return tuple(map(_filled, value, elements))
    if not isinstance(value, Operand) or not isinstance(elements, np.ndarray) or not elements.size:
        return value
    return dataclasses.replace(value, values=_nested(elements.tolist()))


def _nested(value: Any) -> Any:
    return tuple(map(_nested, value)) if isinstance(value, list) else value

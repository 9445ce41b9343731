"""Functions of a kernel library called from Python with NumPy arrays: to try an operator out, and to debug it.

Outputs, defaults and dtypes follow from the spec, as in the conformance suite. For a whole program see the PyTorch
backend; each call here copies its operands to the device and its results back.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np

from diopigen import api
from diopigen.conformance.cases.choices import Choice, primary_dtypes, primary_parameter
from diopigen.conformance.cases.resolve import Resolver
from diopigen.conformance.cases.values import RecipeError
from diopigen.conformance.dtypes import decode, encode
from diopigen.conformance.model import SUCCESS, Case, Operand, Value
from diopigen.conformance.run.binding import Host, Types
from diopigen.conformance.run.binding import Library as Binding
from diopigen.conformance.run.host_runtime import host_runtime
from diopigen.conformance.run.locate import library_and_runtime
from diopigen.conformance.run.memory import Arena, Block
from diopigen.conformance.run.prepare import ALLOCATED, Prepared, Preparer
from diopigen.diagnostics import Failure, Sink, did_you_mean, failure
from diopigen.ir.model import Function, Interface
from diopigen.ir.recipe import Argument, Drawn, TensorRecipe

RULES = {
    "call-unknown-function": "A function that is called from Python is one of the spec, and the library has it.",
    "call-unfit": "The arguments of a call from Python fit the spec.",
}


class CallError(Exception):
    """A library rejected a call. `status` is the name of the status, for example `diopiErrorOccurred`."""

    def __init__(self, status: str, text: str) -> None:
        super().__init__(f"{status}: {text}" if text else status)
        self.status = status


@dataclass
class Generator:
    """The state of a random generator: its seed, and how many numbers have been drawn. A call that takes it advances
    it."""

    seed: int
    offset: int = 0


class Library:
    """A kernel library, ready to be called."""

    def __init__(self, path: str, runtime: str | None = None, spec: str | None = None) -> None:
        """`runtime` names libdiopirt.so, which is otherwise searched for near the library, and built where there is
        none; `spec` names a folder other than the usual one.

        Raises `Failure` where one of them is missing or cannot be loaded.
        """
        where = api.workspace(spec)
        self.interface = _interface(where)
        library, host = library_and_runtime(path, runtime, lambda: host_runtime(self.interface, where.templates))
        self._host = Host(host)
        self._library = Binding(library, Types(self.interface), self.interface.functions)
        values = {value.name: value.value for enum in self.interface.enums for value in enum.values}
        error = self.interface.enum("diopiError_t")
        self._statuses = {value.value: value.name for value in error.values} if error is not None else {}
        self._arena = Arena(self._host, {info.name: values[info.enum] for info in self.interface.dtypes})
        self._preparer = Preparer(self.interface, self._arena)

    def call(self, name: str, /, **arguments: Any) -> dict[str, Any]:
        """Calls a function, named with `diopi`, and returns what it wrote, by parameter.

        Tensors are arrays, lists of tensors lists of arrays; numbers, lists and texts are plain. Outputs may be left
        out where the spec has rules for them; of those that are passed only shape, strides and dtype matter. Arrays
        keep their strides. The context is made, and so are generators, unless a `Generator` or a list of them is
        passed. Results of bfloat16 are float32 arrays. Raises `CallError` where the library rejects the call, and
        `Failure` for a function that does not exist and arguments that do not fit the spec.
        """
        function = self.interface.function(name)
        target = self._library.functions.get(name)
        if function is None or target is None:
            fix = did_you_mean(name, [one.name for one in self.interface.functions])
            what = "the library has no function" if function is not None else "there is no function"
            raise failure("call-unknown-function", f"{what} '{name}'", fix=fix or "list them with `diopigen explain`")
        generators = [one for value in arguments.values() for one in _generators(value)]
        plain = {name: value for name, value in arguments.items() if not _generators(value)}
        try:
            ready = self._preparer.prepare(self.case(function, plain), function)
            for (handle, _), generator in zip(ready.generators, generators, strict=False):
                self._host.call("diopiGeneratorSetSeedAndOffset", handle, generator.seed, generator.offset)
            for param in function.params:
                if param.is_read and not param.sparse:
                    self._fill(ready.blocks.get(param.name, ()), arguments.get(param.name))
            status = self._statuses.get(target(*ready.arguments), "an unknown status")
            if status == SUCCESS:
                late = self._host.status("diopiHostSynchronize", self._arena.context)
                status = self._statuses.get(late, "an unknown status")
            if status != SUCCESS:
                raise CallError(status, self._library.text("diopiGetLastErrorString"))
            for (handle, _), generator in zip(ready.generators, generators, strict=False):
                generator.seed, generator.offset = self._arena.state(handle)
            return dict(self._results(function, ready))
        finally:
            self._arena.clear()

    def _fill(self, blocks: Sequence[Block | None], value: Any) -> None:
        """Writes the elements of the arrays that were passed for a parameter."""
        arrays = [value] if isinstance(value, np.ndarray) else value if isinstance(value, (list, tuple)) else []
        for block, array in zip(blocks, arrays, strict=False):
            if block is not None and isinstance(array, np.ndarray):
                block.elements(block.before)[...] = encode(array, block.dtype)
                self._arena.write(block, block.before)

    def case(self, function: Function, arguments: Mapping[str, Any]) -> Case:
        """The call as a case of the conformance suite; tensors hold zeros, but for sparse ones. Raises as `call`."""
        for name in arguments:
            if function.param(name) is None:
                fix = did_you_mean(name, [param.name for param in function.params])
                message = f"{function.name} has no parameter '{name}'"
                raise failure("call-unfit", message, fix=fix or "see `diopigen explain`")
        sparse = {param.name for param in function.params if param.sparse}
        recipe = {name: _argument(value, is_sparse=name in sparse) for name, value in arguments.items()}
        primary = primary_parameter(function)
        provided = recipe.get(primary.name) if primary is not None else None
        first = provided[0] if isinstance(provided, tuple) and provided else provided
        dtype = first.dtype if isinstance(first, TensorRecipe) and first.dtype else primary_dtypes(function)[0]
        try:
            resolved = Resolver(self.interface, function).resolve(recipe, Choice(dtype), checked=False)
        except RecipeError as error:
            fix = f"see `diopigen explain {function.name}`"
            raise failure("call-unfit", f"{function.name}: {error}", fix=fix) from None
        for name, value in arguments.items():
            resolved[name] = _laid_out(resolved[name], value)
        return Case(f"{function.name}/{dtype}/call", function.name, function.family, dtype, "call", resolved)

    def _results(self, function: Function, ready: Prepared) -> Mapping[str, Any]:
        found: dict[str, Any] = {}
        for param in function.params:
            if not param.is_written:
                continue
            if param.type in ALLOCATED:
                fetched = [self._arena.fetch(handle) for handle in ready.allocated(param.name) if handle.value]
                several = [decode(stored, dtype) for stored, dtype, _ in fetched]
                if param.type == "new_tensors":
                    found[param.name] = several
                elif several:
                    found[param.name] = several[0]
            elif param.type in ("tensor", "tensors"):
                blocks = ready.blocks.get(param.name, [])
                arrays = [
                    None if block is None else np.array(decode(block.elements(self._arena.read(block)), block.dtype))
                    for block in blocks
                ]
                found[param.name] = arrays if param.type == "tensors" else arrays[0] if arrays else None
            elif param.name in ready.slots:
                found[param.name] = ready.slots[param.name].value
            elif param.name in ready.numbers:
                found[param.name] = ready.numbers[param.name].value
        return found


@cache
def _interface(where: api.Workspace) -> Interface:
    """The interface of a spec folder. Only `diopigen check` runs the rules over it."""
    sink = Sink()
    found = api.load(where, sink, check=False).interface
    if sink.has_errors:
        raise Failure(*sink.sorted())
    return found


def _generators(value: object) -> list[Generator]:
    """The generators that an argument consists of."""
    if isinstance(value, Generator):
        return [value]
    if isinstance(value, (list, tuple)) and value and all(isinstance(one, Generator) for one in value):
        return list(value)
    return []


def _laid_out(operand: Value, value: object) -> Value:
    """A tensor, or a list of them, with the strides of the array."""
    if isinstance(operand, tuple) and isinstance(value, (list, tuple)):
        return tuple(_laid_out(one, array) for one, array in zip(operand, value, strict=False))
    if not isinstance(operand, Operand) or not isinstance(value, np.ndarray) or value.flags.c_contiguous:
        return operand
    steps = [stride // value.itemsize for stride in value.strides]
    return replace(operand, layout="by " + ",".join(map(str, steps))) if min(steps) >= 0 else operand


def _argument(value: object, *, is_sparse: bool = False) -> Argument:
    """An argument as the recipes of the spec have it."""
    if isinstance(value, np.ndarray) and is_sparse:
        return TensorRecipe(value.shape, value.dtype.name, _tuples(value.tolist()))
    if isinstance(value, np.ndarray):
        return TensorRecipe(value.shape, value.dtype.name, Drawn("zeros"))  # the elements follow in `_fill`
    if isinstance(value, np.generic):
        return _argument(value.item())
    if isinstance(value, (list, tuple)):
        return tuple(_argument(item) for item in value)
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    fix = "pass NumPy arrays, numbers, texts, None, and lists of these"
    raise failure("call-unfit", f"a call cannot take a value of the type {type(value).__name__}", fix=fix)


def _tuples(value: Any) -> Any:
    return tuple(map(_tuples, value)) if isinstance(value, list) else value

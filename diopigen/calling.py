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
from diopigen.conformance.run.blocks import Block
from diopigen.conformance.run.executor import Ended, Executor, Opening, Overdue, Rejected, executor_program
from diopigen.conformance.run.fields import FrameError
from diopigen.conformance.run.frames import OWN
from diopigen.conformance.run.host_runtime import host_runtime
from diopigen.conformance.run.locate import library_and_runtime
from diopigen.conformance.run.prepare import ALLOCATED, Prepared, Preparer
from diopigen.diagnostics import Failure, Sink, did_you_mean, failure
from diopigen.ir.model import Function, Interface
from diopigen.ir.recipe import Argument, Drawn, TensorRecipe

RULES = {
    "call-unknown-function": "A function that is called from Python is one of the spec, and the library has it.",
    "call-unfit": "The arguments of a call from Python fit the spec.",
}


_LIMIT = 24 * 3600.0
"""Seconds that a call may take: a person who debugs it waits, or interrupts it."""


class CallError(Exception):
    """A library rejected a call, or its process ended. `status` is the name of the status, for example
    `diopiErrorOccurred`, or `crashed`."""

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
        error = self.interface.enum("diopiError_t")
        self._statuses = {value.value: value.name for value in error.values} if error is not None else {}
        self._preparer = Preparer(self.interface)
        self._opening = Opening(
            str(library.resolve()),
            str(host.resolve()),
            [function.name for function in self.interface.functions],
            self._preparer.dtypes["uint8"],
            confinement=0,
        )
        self._executor = self._opened()

    def _opened(self) -> Executor:
        try:
            return Executor([str(executor_program())], self._opening, _LIMIT, {})
        except (Ended, Overdue, Rejected, FrameError) as error:
            printed = f" {error.printed}" if isinstance(error, Ended) and error.printed else ""
            fix = "look for undefined symbols with ldd, and at initLibrary"
            raise failure("library-unloadable", f"the library does not load: {error}{printed}", fix=fix) from None

    def call(self, name: str, /, **arguments: Any) -> dict[str, Any]:
        """Calls a function, named with `diopi`, and returns what it wrote, by parameter.

        Tensors are arrays, lists of tensors lists of arrays; numbers, lists and texts are plain. Outputs may be left
        out where the spec has rules for them; of those that are passed only shape, strides and dtype matter. Arrays
        keep their strides. The context is made, and so are generators, unless a `Generator` or a list of them is
        passed. Results of bfloat16 are float32 arrays. The library has a process of its own: where it ends that, the
        next call starts it again. Raises `CallError` where the library rejects the call or ends its process, and
        `Failure` for a function that does not exist and arguments that do not fit the spec.
        """
        function = self.interface.function(name)
        if function is None or self._executor.state[name] != OWN:
            fix = did_you_mean(name, [one.name for one in self.interface.functions])
            what = "the library has no function" if function is not None else "there is no function"
            raise failure("call-unknown-function", f"{what} '{name}'", fix=fix or "list them with `diopigen explain`")
        generators = [one for value in arguments.values() for one in _generators(value)]
        plain = {name: value for name, value in arguments.items() if not _generators(value)}
        frame, ready = self._preparer.frame(self.case(function, plain), function)
        seeds = [(one.seed, one.offset) for one in generators]
        frame.seeds = [*seeds, *frame.seeds[len(seeds) :]]
        for param in function.params:
            if param.is_read and not param.sparse:
                _fill(ready.blocks.get(param.name, ()), arguments.get(param.name))
        try:
            answer = self._executor.call(name, frame, ready.arguments, _LIMIT)
            ready.answered(frame, answer)
        except Rejected as error:
            raise CallError("diopiErrorOccurred", str(error)) from None
        except (Ended, FrameError) as error:
            self._executor.kill()
            self._executor = self._opened()
            raise CallError("crashed", f"{error} {getattr(error, 'printed', '')}".strip()) from None
        status = self._statuses.get(answer.status or answer.late, "an unknown status")
        if status != SUCCESS:
            raise CallError(status, answer.text)
        for generator, state in zip(generators, answer.generators, strict=False):
            generator.seed, generator.offset = state
        return dict(self._results(function, ready))

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
                fetched = [one for one in ready.allocated(param.name) if one is not None]
                several = [decode(one.elements, one.dtype) for one in fetched]
                if param.type == "new_tensors":
                    found[param.name] = several
                elif several:
                    found[param.name] = several[0]
            elif param.type in ("tensor", "tensors"):
                blocks = ready.blocks.get(param.name, [])
                arrays = [
                    None if block is None else np.array(decode(block.elements(ready.after(block)), block.dtype))
                    for block in blocks
                ]
                found[param.name] = arrays if param.type == "tensors" else arrays[0] if arrays else None
            elif param.name in ready.slots:
                found[param.name] = ready.slots[param.name].value
        return found


@cache
def _interface(where: api.Workspace) -> Interface:
    """The interface of a spec folder. Only `diopigen check` runs the rules over it."""
    sink = Sink()
    found = api.load(where, sink, check=False).interface
    if sink.has_errors:
        raise Failure(*sink.sorted())
    return found


def _fill(blocks: Sequence[Block | None], value: Any) -> None:
    """Writes the elements of the arrays that were passed for a parameter."""
    arrays = [value] if isinstance(value, np.ndarray) else value if isinstance(value, (list, tuple)) else []
    for block, array in zip(blocks, arrays, strict=False):
        if block is not None and isinstance(array, np.ndarray):
            block.elements(block.before)[...] = encode(array, block.dtype)


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

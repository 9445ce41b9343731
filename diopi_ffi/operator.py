"""An operator as a Python function: arguments by the spec, outputs allocated by its rules."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from diopi_ffi.generator import Generator
from diopi_ffi.tensors import allocator, as_kind, described, is_tensor, wait_for
from diopigen.conformance.cases.choices import Choice, primary_dtypes, primary_parameter
from diopigen.conformance.cases.resolve import Resolver
from diopigen.conformance.cases.values import RecipeError
from diopigen.conformance.model import Number, Operand
from diopigen.diagnostics import did_you_mean
from diopigen.emit.tvm_ffi.arguments import is_choice, is_destination, passed, returned
from diopigen.emit.tvm_ffi.stubs import argument_name, doc_text, method_parameters
from diopigen.ir.model import DtypeList, Function, Parameter
from diopigen.ir.recipe import Argument, Drawn, TensorRecipe

if TYPE_CHECKING:
    from diopi_ffi.library import Library

_MOST_PLANS = 1024
_TENSORS = ("tensor", "tensors")


@dataclass(frozen=True, slots=True)
class _Plan:
    """A plan that depends only on shapes, dtypes and numbers: values by parameter, and the outputs to allocate as a
    shape and a dtype, or a list of these for a list."""

    values: Mapping[str, Any]
    outputs: Mapping[str, Any]


class Operator:
    """An operator of a library. Calling it returns what the operator writes: one result as it is, several as a tuple,
    None where it only changes its arguments."""

    def __init__(self, library: Library, function: Function) -> None:
        self._library = library
        self._function = function
        self._packed = library.packed(function.name)
        self._parameters = method_parameters(function)
        self._resolver = Resolver(library.interface, function)
        self._enums = {value.name: value.value for enum in library.interface.enums for value in enum.values}
        self._plans: dict[Any, _Plan] = {}
        self._order = passed(function)
        self._results = [p for p in function.params if is_destination(p)], returned(function)
        self._indices = {param.name: "int64" for param in function.params if _is_index(param)}
        self.__name__ = function.short_name
        self.__doc__ = doc_text(function, library.interface)

    def __repr__(self) -> str:
        return f"<{self._function.name} of {self._library!r}>"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Calls the operator. Raises `TypeError` and `ValueError` for arguments that do not fit the spec,
        `RuntimeError` with status and text where the library rejects the call, and `NotImplementedError` where it does
        not have the operator."""
        arguments = self._bound(args, kwargs)
        plan = self._plan(arguments)
        tensors = [one for value in arguments.values() for one in _tensors_of(value)]
        like = next(iter(tensors), None)
        allocate = allocator(like, self._library.empty)
        for name, output in plan.outputs.items():
            if arguments.get(name) is None:
                arguments[name] = _allocated(output, allocate)
        if self._library.runs_apart():
            for tensor in tensors:
                wait_for(tensor)
        result = self._packed(*[self._value(param, arguments, plan) for param in self._order])
        if self._library.runs_apart():
            self._library.synchronize()
        return self._returned(arguments, result, like)

    def _bound(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        """Arguments by parameter."""
        name = self._function.name
        if len(args) > len(self._parameters):
            raise TypeError(f"{name} takes {len(self._parameters)} positional arguments, not {len(args)}")
        bound: dict[str, Any] = {
            param.name: _plain_numbers(value) for param, value in zip(self._parameters, args, strict=False)
        }
        for key, value in kwargs.items():
            param = self._function.param(key) or self._function.param(key.rstrip("_"))
            if param is None:
                hint = did_you_mean(key, [argument_name(one) for one in self._function.params])
                raise TypeError(f"{name} has no parameter '{key}'" + (f"; {hint}" if hint else ""))
            if param.name in bound:
                raise TypeError(f"{name}: '{key}' is passed twice")
            bound[param.name] = _plain_numbers(value)
        for param in self._function.params:
            required = param.type in _TENSORS and param.is_read and not param.nullable
            value = bound.get(param.name)
            if required and value is None:
                raise TypeError(f"{name}: the tensor '{param.name}' is missing")
            if param.type in _TENSORS and value is not None and not is_choice(param):
                _require_tensors(name, param, value)
        return bound

    # ---- what follows from the spec ---------------------------------------------------------------------------------

    def _plan(self, arguments: Mapping[str, Any]) -> _Plan:
        key = tuple((name, _signature(value)) for name, value in arguments.items())
        found = self._plans.get(key)
        if found is None:
            if len(self._plans) >= _MOST_PLANS:
                self._plans.clear()
            found = self._plans[key] = self._resolved(arguments)
        return found

    def _resolved(self, arguments: Mapping[str, Any]) -> _Plan:
        function = self._function
        recipe = {name: _recipe(name, value) for name, value in arguments.items() if not isinstance(value, Generator)}
        primary = primary_parameter(function)
        first = recipe.get(primary.name) if primary is not None else None
        first = first[0] if isinstance(first, tuple) and first else first
        dtype = first.dtype if isinstance(first, TensorRecipe) and first.dtype else primary_dtypes(function)[0]
        try:
            resolved = self._resolver.resolve(recipe, Choice(dtype, special=self._indices), checked=False)
        except RecipeError as error:
            raise ValueError(
                f"{function.name}: {error}; pass it by name, help() of the operator has the rules"
            ) from None
        values: dict[str, Any] = {}
        outputs: dict[str, Any] = {}
        for param in function.params:
            value = resolved.get(param.name)
            if is_destination(param):
                if value is not None and value != ():
                    outputs[param.name] = _shapes_of(value)
            elif param.type not in _TENSORS:
                values[param.name] = self._plain(value)
        return _Plan(values, outputs)

    def _plain(self, value: Any) -> Any:
        """A resolved number, list or text as tvm-ffi takes it."""
        if isinstance(value, Number):
            return {"bool": bool, "int64": int, "float64": float}[value.dtype](value.value)
        if isinstance(value, tuple):
            return [int(item) for item in value]
        return value

    def _value(self, param: Parameter, arguments: Mapping[str, Any], plan: _Plan) -> Any:
        if is_choice(param):
            return arguments.get(param.name, True) not in (None, False)
        value = arguments.get(param.name)
        if param.type in _TENSORS:
            return list(value) if isinstance(value, (list, tuple)) else value
        if param.type == "generator":
            return (value if value is not None else self._library.default_generator()).handle
        if param.type == "generators":
            return [generator.handle for generator in value or ()]
        value = plan.values.get(param.name)
        if isinstance(value, str) and param.type != "string":
            return self._enums[value]
        return value

    def _returned(self, arguments: Mapping[str, Any], result: Any, like: Any) -> Any:
        destinations, results = self._results
        several = [as_kind(like, one) for one in (list(result) if len(results) > 1 else [result])]
        by_name = dict(zip((param.name for param in results), several, strict=False))
        by_name.update({param.name: arguments.get(param.name) for param in destinations})
        found = [
            by_name[param.name]
            for param in self._function.params
            if param.name in by_name and not (param.nullable and by_name[param.name] is None)
        ]
        return None if not found else found[0] if len(found) == 1 else tuple(found)


def _is_index(param: Parameter) -> bool:
    """Returns whether it is an output of indices: frameworks make them int64."""
    dtypes = param.dtype.dtypes if isinstance(param.dtype, DtypeList) else ()
    return is_destination(param) and set(dtypes) == {"int32", "int64"}


def _tensors_of(value: Any) -> list[Any]:
    if isinstance(value, (list, tuple)):
        return [item for item in value if is_tensor(item)]
    return [value] if is_tensor(value) else []


def _require_tensors(function: str, param: Parameter, value: Any) -> None:
    """Raises `TypeError` where a parameter gets no tensor, or no list of these where it is one."""
    if param.type == "tensor":
        fits, expected = is_tensor(value), "a tensor"
    else:
        is_list = isinstance(value, (list, tuple))
        fits, expected = is_list and all(each is None or is_tensor(each) for each in value), "a list of tensors"
    if not fits:
        raise TypeError(f"{function}: '{param.name}' is a {type(value).__name__}: pass {expected}")


def _signature(value: Any) -> Any:
    """Cache key of a plan."""
    if isinstance(value, (list, tuple)):
        return tuple(_signature(item) for item in value)
    if is_tensor(value):
        return described(value)
    # As text: -0.0 equals 0.0.
    return (type(value), repr(value)) if isinstance(value, (bool, int, float, str)) else type(value)


def _plain_numbers(value: Any) -> Any:
    """Numbers of NumPy as those of Python."""
    if isinstance(value, (list, tuple)):
        return type(value)(_plain_numbers(item) for item in value)
    return value.item() if isinstance(value, np.generic) else value


def _recipe(name: str, value: Any) -> Argument:
    if isinstance(value, (list, tuple)):
        return tuple(_recipe(name, item) for item in value)
    if is_tensor(value):
        shape, dtype = described(value)
        return TensorRecipe(shape, dtype, Drawn("zeros"))
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    raise TypeError(
        f"'{name}' cannot be a {type(value).__name__}: pass tensors, numbers, texts, None, or lists of these"
    )


def _shapes_of(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_shapes_of(item) for item in value]
    assert isinstance(value, Operand), "an output is a tensor"
    return list(value.shape), value.dtype


def _allocated(output: Any, allocate: Any) -> Any:
    return [allocate(*one) for one in output] if isinstance(output, list) else allocate(*output)

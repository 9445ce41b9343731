"""Calls that a library must reject, with a status and without writing its outputs.

Broken constraints come from the spec, those of keys of parameters from `refusals_keys`; the rest are arguments that a
library accepts, changed in one respect: dtypes, null, shapes and enums here, devices and memory in `refusals_memory`.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from diopigen.conformance.cases import refusals_keys, refusals_memory
from diopigen.conformance.cases.axes import cases as axis_cases
from diopigen.conformance.cases.choices import Choice, primary_dtypes, shape_rule
from diopigen.conformance.cases.resolve import Arguments, Resolver, dtypes_of, read_recipe
from diopigen.conformance.cases.values import RecipeError
from diopigen.conformance.dtypes import STORAGE
from diopigen.conformance.model import ANY_FAILURE, Case, Number, Operand, Value, operands_of
from diopigen.contract.dtype_rules import alternatives
from diopigen.contract.dtypes import kind
from diopigen.contract.functions import ONE_OF
from diopigen.ir.model import DtypeList, DtypeRule, Function, Interface, Parameter, ShapeList, ShapeRule
from diopigen.ir.recipe import Argument, TensorRecipe

_STRANGE = ("complex64", "bool", "float64", "int8", "float32", "int64", "uint16")
"""Dtypes to try where a parameter's list does not hold them."""
_POINTERS = frozenset({"tensor", "tensors", "new_tensor", "new_tensors", "scalar", "string", "generator"})
"""Types whose arguments are pointers or handles."""


def cases(
    interface: Interface, function: Function, resolver: Resolver, recipes: Sequence[Mapping[str, Argument]]
) -> Iterator[Case]:
    """The cases that a library must refuse."""
    yield from _constraints(interface, function, resolver)
    yield from refusals_keys.cases(function, resolver, recipes)
    seen: set[str] = set()
    for dtype, arguments in _good(function, resolver, recipes):
        maker = _Maker(interface, function, dtype, arguments)
        invalid = itertools.chain(
            maker.nulls(), maker.wrong_dtypes(), maker.wrong_shapes(), maker.enums(),
            refusals_memory.cases(function, dtype, arguments),
        )  # fmt: skip
        for case in invalid:
            if case.id not in seen:
                seen.add(case.id)
                yield case


def _constraints(interface: Interface, function: Function, resolver: Resolver) -> Iterator[Case]:
    for constraint in function.constraints:
        if constraint.case is None:
            continue
        recipe = read_recipe(interface, function, constraint.case)
        arguments = _broken(function, resolver, recipe)
        if arguments is not None:
            case_id = f"{function.name}/{constraint.id}/error"
            yield Case(
                case_id, function.name, function.family, _dtype_of(arguments), "error", arguments,
                constraint.error, f"{constraint.id}: {constraint.text}", breaks=constraint.id,
            )  # fmt: skip


def _dtype_of(arguments: Arguments) -> str:
    return next((value.dtype for value in arguments.values() if isinstance(value, Operand)), "none")


def _broken(function: Function, resolver: Resolver, recipe: Mapping[str, Argument]) -> Arguments | None:
    """Arguments that break a constraint. Where they leave an output without a shape, it takes that of an input."""
    for dtype in ("float32", *primary_dtypes(function)):
        try:
            return resolver.resolve(recipe, Choice(dtype), checked=False)
        except RecipeError:
            continue
    items = [item for value in recipe.values() for item in (value if isinstance(value, tuple) else (value,))]
    first = next((item for item in items if isinstance(item, TensorRecipe)), None)
    if first is None:
        return None
    blank = replace(first, values=0, dtype=None)
    padded = {p.name: blank for p in function.params if p.direction == "out" and p.type == "tensor"}
    try:
        return resolver.resolve({**padded, **recipe}, Choice("float32"), checked=False)
    except RecipeError:
        return None


def _good(
    function: Function, resolver: Resolver, recipes: Sequence[Mapping[str, Argument]]
) -> list[tuple[str, Arguments]]:
    """Arguments that a library accepts, to be made invalid in one place: with several elements in every tensor where
    there are such, never without any. And those with the most tensors, where optional ones are null in the first."""
    plains = [case for case in axis_cases(function, resolver) if case.axis == "plain"]
    plain = next((case for case in plains if case.dtype == "float32"), next(iter(plains), None))
    found: list[tuple[str, Arguments]] = []
    for dtype in ("float32", *primary_dtypes(function)):
        for recipe in recipes:
            try:
                arguments = resolver.resolve(recipe, Choice(dtype))
            except RecipeError:
                continue
            if all(0 not in operand.shape for operand in operands_of(arguments.values())):
                found.append((_dtype_of(arguments), arguments))
        if plain is not None:
            found.append((plain.dtype, dict(plain.arguments)))
        if found:
            break
    if not found:
        return []
    best = max(found, key=lambda one: _smallest(one[1]))
    fuller = max(found, key=lambda one: (_actual(one[1]), _smallest(one[1])))
    return [best, fuller] if _actual(fuller[1]) > _actual(best[1]) else [best]


def _smallest(arguments: Arguments) -> int:
    """2 where every tensor has several elements, else 1."""
    return min((min(2, math.prod(operand.shape)) for operand in operands_of(arguments.values())), default=1)


def _actual(arguments: Arguments) -> int:
    """Number of tensors, members of arrays included."""
    return sum(1 for _ in operands_of(arguments.values()))


class _Maker:
    def __init__(self, interface: Interface, function: Function, dtype: str, arguments: Arguments) -> None:
        self.interface = interface
        self.function = function
        self.dtype = dtype
        self.arguments = arguments

    def _case(self, kind: str, param: Parameter | None, about: str, changes: Mapping[str, Value]) -> Case:
        function = self.function
        name = kind if param is None else f"{kind}-{param.name}"
        case_id = f"{function.name}/{name}/error"
        return Case(
            case_id, function.name, function.family, self.dtype, "error", {**self.arguments, **changes},
            ANY_FAILURE, about, param.name if param is not None else "",
        )  # fmt: skip

    def _operands(self) -> Iterator[tuple[Parameter, Operand]]:
        for param in self.function.params:
            value = self.arguments.get(param.name)
            if param.type == "tensor" and isinstance(value, Operand) and not param.sparse:
                yield param, value

    def nulls(self) -> Iterator[Case]:
        """Null where it is not allowed, in every argument that is passed by a pointer."""
        for param in self.function.params:
            value = self.arguments.get(param.name)
            is_open = param.nullable or "nullability" in param.free
            if is_open or value is None or (param.type == "tensors" and value == ()):
                continue
            if param.type in _POINTERS or param.pointer or (param.direction == "out" and value is True):
                yield self._case("null", param, f"'{param.name}' must not be null", {param.name: None})

    def wrong_dtypes(self) -> Iterator[Case]:
        """A dtype that is not in the list, and one that differs from what a rule asks for, in tensors, members of
        arrays and numbers."""
        for param in self.function.params:
            value = self.arguments.get(param.name)
            first = next(operands_of([value]), None)
            if "dtype" in param.free:
                continue
            if isinstance(value, Number) and isinstance(param.dtype, DtypeList):
                strange = next((d for d in ("float64", "int64") if not _suits(d, param.dtype.dtypes)), None)
                if strange is not None:
                    about = f"'{param.name}' must not be a number of dtype {strange}"
                    yield self._case("dtype", param, about, {param.name: Number(value.value, strange)})
            elif first is not None:
                strange = self._strange(param, first)
                if strange is not None:
                    about = f"'{param.name}' must not be {strange}"
                    for position, one in _ends(value):
                        wrong = replace(one, dtype=strange, values=0)
                        yield self._case(
                            f"dtype{position}", param, about, {param.name: _exchanged(value, position, wrong)}
                        )

    def _strange(self, param: Parameter, operand: Operand) -> str | None:
        if isinstance(param.dtype, DtypeList):
            return next((d for d in _STRANGE if d not in param.dtype.dtypes and d in STORAGE), None)
        if isinstance(param.dtype, DtypeRule) and param.dtype.formula.text.startswith(f"{ONE_OF}("):
            operands = {name: dtypes_of(value) for name, value in self.arguments.items()}
            possible = alternatives(param.dtype.formula.expression, lambda name: operands.get(name, []))
            return next((d for d in ("float64", "float32", "float16") if d not in possible), None)
        if isinstance(param.dtype, DtypeRule) and param.dtype.formula.text.startswith("same("):
            return "float64" if operand.dtype != "float64" else "float32"
        if isinstance(param.dtype, DtypeRule) and param.direction == "out" and kind(operand.dtype) == "float":
            # Other floats may be taken as an output that is cast; an integer would lose what is behind the point.
            return "int64"
        return None

    def wrong_shapes(self) -> Iterator[Case]:
        """Shapes that do not broadcast, or differ where they must be the same or are written out; outputs of another
        shape than their rule gives."""
        for param, value in self._operands():
            rule = shape_rule(param)
            if "shape" in param.free:
                continue
            clash = (*value.shape, 3) if value.shape[-1:] != (3,) else (*value.shape, 2)
            if param.direction == "out" and rule not in ("", "any") and value.shape:
                changes = {param.name: replace(value, shape=clash)}
                yield self._case("shape", param, f"'{param.name}' has another shape than the rule says", changes)
                if rule in ("same", "broadcast"):
                    # Operands would broadcast to it: a library that only looks whether they do takes it.
                    wide = {param.name: replace(value, shape=(2, *value.shape))}
                    yield self._case("wide", param, f"'{param.name}' has a dimension more than the rule says", wide)
            elif param.is_read and rule in ("same", "broadcastable", "reduce", ONE_OF) and len(value.shape) > 0:
                changes = {param.name: replace(value, shape=clash, values=0)}
                yield self._case("shape", param, f"'{param.name}' does not have the shape of the rule", changes)
            elif isinstance(param.shape, ShapeList) and all(d.kind != "variadic" for d in param.shape.dimensions):
                values = 0 if param.is_read else value.values
                changes = {param.name: replace(value, shape=clash, values=values)}
                yield self._case("shape", param, f"'{param.name}' has a dimension too many", changes)
                if len(value.shape) > 1:
                    # What is left may pass for the tensor without its first dimensions: a library counts them all.
                    short = {param.name: replace(value, shape=value.shape[:-1], values=values)}
                    yield self._case("short", param, f"'{param.name}' lacks its last dimension", short)
            elif isinstance(param.shape, ShapeList):
                yield from self._too_few_dimensions(param, param.shape)
        yield from self._no_broadcast()
        yield from self._wrong_members()

    def _too_few_dimensions(self, param: Parameter, rule: ShapeList) -> Iterator[Case]:
        """A tensor of any number of leading dimensions without the trailing ones: 0-d, and with one too few. What has
        the same shape goes with it, so that only the first check of the dimensions refuses it."""
        required = sum(dimension.kind != "variadic" for dimension in rule.dimensions)
        for count in sorted({0, required - 1} if required else ()):
            changes: dict[str, Value] = {
                one.name: replace(operand, shape=operand.shape[len(operand.shape) - count :], values=0)
                for one, operand in self._operands()
                if one is param
                or (isinstance(one.shape, ShapeRule) and one.shape.formula.text == f"same({param.name})")
            }
            about = f"'{param.name}' has {count} dimensions, at least {required} are required"
            yield self._case("short" if count else "scalar", param, about, changes)

    def _wrong_members(self) -> Iterator[Case]:
        """Members of an array whose shape is not that of the rule."""
        for param in self.function.params:
            value = self.arguments.get(param.name)
            if not isinstance(value, tuple) or shape_rule(param) not in ("same", "split") or "shape" in param.free:
                continue
            for position, one in _ends(value):
                larger = tuple(size + 1 for size in one.shape)
                shape = larger if shape_rule(param) == "split" else (*one.shape, 3)
                clash = replace(one, shape=shape, values=0 if param.is_read else one.values)
                about = f"a member of '{param.name}' does not have the shape of the rule"
                yield self._case(f"shape{position}", param, about, {param.name: _exchanged(value, position, clash)})

        yield from self._unlike_members()

    def _unlike_members(self) -> Iterator[Case]:
        """A last member of tensors that are joined which is larger than the others in a dimension that must agree."""
        joined = {p.shape.formula.text for p, _ in self._operands() if isinstance(p.shape, ShapeRule)}
        for param in self.function.params:
            value = self.arguments.get(param.name)
            if not isinstance(value, tuple) or len(value) < 2 or not isinstance(value[-1], Operand):
                continue
            shape = value[-1].shape
            concat, stack = f"concat({param.name}, dim)" in joined, f"stack({param.name}, dim)" in joined
            dim = self.arguments.get("dim")
            free = dim % len(shape) if concat and isinstance(dim, int) else -1
            position = next((d for d in range(len(shape)) if d != free), None)
            if (concat or stack) and position is not None:
                larger = tuple(size + (d == position) for d, size in enumerate(shape))
                unlike = (*value[:-1], replace(value[-1], shape=larger, values=0))
                about = f"the members of '{param.name}' differ in a dimension that must agree"
                yield self._case("unlike", param, about, {param.name: unlike})

    def _no_broadcast(self) -> Iterator[Case]:
        output = next((p for p, _ in self._operands() if p.is_written and shape_rule(p) == "broadcast"), None)
        free = [(p, v) for p, v in self._operands() if p.is_read and shape_rule(p) == "any"]
        if output is None or len(free) < 2:
            return
        (first, one), (second, two) = free[0], free[1]
        changes: dict[str, Value] = {
            first.name: replace(one, shape=(2, 3), values=1),
            second.name: replace(two, shape=(2, 4), values=1),
            output.name: replace(dict(self._operands())[output], shape=(2, 3)),
        }
        yield self._case("no-broadcast", None, "[2, 3] and [2, 4] do not broadcast", changes)

    def enums(self) -> Iterator[Case]:
        """The value that only counts the others, and texts that are none of the list."""
        for param in self.function.params:
            enum = self.interface.enum(param.type)
            last = next((value.name for value in enum.values if value.name.endswith("END")), None) if enum else None
            if last is not None:
                yield self._case("enum", param, f"{last} is no value of '{param.name}'", {param.name: last})
            elif param.type == "string" and param.values:
                yield self._case("text", param, f"'{param.name}' is none of its texts", {param.name: "no such text"})


def _suits(dtype: str, allowed: Sequence[str]) -> bool:
    """Returns whether a number of the dtype may be passed: a float64 stands for all floats, an int64 for all
    integers."""
    floats = {"float16", "bfloat16", "float32", "float64"}
    return bool(floats & set(allowed)) if dtype == "float64" else any(name not in floats for name in allowed)


def _ends(value: Value) -> Iterator[tuple[str, Operand]]:
    """The tensor itself; of an array the first member and, as `-last`, the last."""
    members = value if isinstance(value, tuple) else (value,)
    for position, one in (("", members[0]), ("-last", members[-1])):
        if isinstance(one, Operand) and (position == "" or len(members) > 1):
            yield position, one


def _exchanged(value: Value, position: str, operand: Operand) -> Value:
    """An argument with its only tensor, or this end of its array, exchanged."""
    if not isinstance(value, tuple):
        return operand
    return (*value[:-1], operand) if position else (operand, *value[1:])

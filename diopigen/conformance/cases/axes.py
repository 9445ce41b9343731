"""The automatic axes of elementwise operators: shapes, layouts, aliasing, mixed dtypes and the edges of each dtype."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace

from diopigen.conformance.cases.choices import (
    Choice,
    distribution,
    follows_promotion,
    primary_dtypes,
    primary_parameter,
    shape_rule,
)
from diopigen.conformance.cases.examples import example, is_sized_by_numbers, other_modes
from diopigen.conformance.cases.resolve import Arguments, Resolver
from diopigen.conformance.cases.values import RecipeError, fits, specials
from diopigen.conformance.dtypes import STORAGE
from diopigen.conformance.model import Case, Operand, Value
from diopigen.contract.dtypes import category, kind, to_float
from diopigen.ir.model import DtypeList, Function, Parameter, ShapeList
from diopigen.ir.recipe import Argument, Drawn, TensorRecipe

NAMES = (
    "plain", "empty", "0d", "size-1", "broadcast", "non-contiguous", "expanded", "channels-last", "aliased", "special",
    "mixed", "cast",
)  # fmt: skip

_PLAIN = (4, 5)
_LARGE = (131, 1001)
"""More elements than a kernel takes at a time, and a multiple of no block."""
_BROADCASTS: tuple[tuple[tuple[int, ...], ...], ...] = (
    ((4, 1), (5,), (4, 5)),
    ((3,), (2, 1, 3), (2, 4, 1)),
    ((), (2, 3), (1,)),
    ((4, 4), (4,), (4, 1)),
    ((4,), (4, 4), (1, 4)),
)
"""Shapes of the first, second and third operand that broadcast with one another; a square one also where dimensions are
aligned to the first."""


def cases(function: Function, resolver: Resolver) -> Iterator[Case]:
    """The cases of an elementwise operator; none for others."""
    if function.kernel is None or not tensors(function) or is_sized_by_numbers(function):
        return
    maker = Maker(function, resolver)
    dtypes = primary_dtypes(function)
    for step, dtype in enumerate(dtypes):
        yield from maker.case("plain", "plain", dtype, step)
        yield from maker.special(dtype, step)
        yield from maker.mixed(dtype, step, dtypes)
    common = dtypes.index("float32") if "float32" in dtypes else 0
    yield from maker.case("large", "large", dtypes[common], common, _LARGE)
    for number, (axis, shape, layouts) in enumerate(_STRUCTURES):
        for extra in range(min(2, len(dtypes))):
            dtype = dtypes[(2 * number + extra) % len(dtypes)]
            yield from maker.structure(axis, shape, layouts, dtype, number)
    yield from maker.broadcasts(dtypes)
    yield from maker.aliased(dtypes)
    yield from maker.cast(dtypes)


_STRUCTURES: tuple[tuple[str, tuple[int, ...], tuple[str, str]], ...] = (
    ("empty", (0, 3), ("contiguous", "contiguous")),
    ("0d", (), ("contiguous", "contiguous")),
    ("size-1", (1, 1), ("contiguous", "contiguous")),
    ("non-contiguous", (3, 4, 5), ("strided", "contiguous")),
    ("non-contiguous", (3, 4, 5), ("transposed", "strided")),
    ("non-contiguous", (3, 70), ("contiguous", "transposed")),
    ("expanded", (4, 5), ("expanded", "contiguous")),
    ("channels-last", (2, 3, 4, 5), ("channels-last", "channels-last")),
    ("channels-last", (2, 3, 4, 5), ("channels-last", "contiguous")),
    ("non-contiguous", (16, 16, 16), ("transposed", "contiguous")),
    ("non-contiguous", (3, 4), ("distant", "contiguous")),
    ("non-contiguous", (2, 1, 3, 1), ("odd", "contiguous")),
)
"""Axis, shape, layout of what is read and of what is only written."""


def tensors(function: Function) -> list[Parameter]:
    """The parameters that are tensors."""
    return [p for p in function.params if p.type == "tensor"]


class Maker:
    """Makes arguments of an elementwise operator for given shapes and dtypes."""

    def __init__(self, function: Function, resolver: Resolver) -> None:
        self.function = function
        self.resolver = resolver
        self.operands = [p for p in tensors(function) if p.is_read]
        self.free = [p for p in self.operands if shape_rule(p) in ("any", "broadcastable")]
        self.modes = tuple(other_modes(resolver.interface, function))

    def recipe(self, shapes: Mapping[str, tuple[int, ...]], shape: tuple[int, ...]) -> dict[str, Argument]:
        """Arguments with the given shapes, `shape` for all others, and elements from the domains of the parameters."""
        found: dict[str, Argument] = {}
        for param in tensors(self.function):
            if not param.is_read and shape_rule(param) not in ("any", ""):
                continue
            own = shapes.get(param.name, shape)
            if isinstance(param.shape, ShapeList):
                if param.shape.dimensions:
                    raise RecipeError("a fixed shape")
                own = ()
            found[param.name] = TensorRecipe(own, None, distribution(param))
        for param in self.function.params:
            if param.type == "scalar" and (param.example is not None or param.default is None or param.nullable):
                found[param.name] = example(param)
            elif param.type not in ("tensor", "scalar") and param.default is None and param.direction == "in":
                raise RecipeError(f"no value for '{param.name}'")
        return found

    def resolved(self, shapes: Mapping[str, tuple[int, ...]], shape: tuple[int, ...], choice: Choice) -> Arguments:
        """Resolved arguments; values that a dtype cannot hold are replaced by ordinary ones."""
        recipe = self.recipe(shapes, shape)
        for name, value in recipe.items():
            param = self.function.param(name)
            if isinstance(value, TensorRecipe) and isinstance(value.values, Drawn) and param is not None:
                dtype = choice.pick(param) if isinstance(param.dtype, DtypeList) else choice.dtype
                if not fits(value.values, dtype):
                    recipe[name] = replace(value, values=Drawn("normal"))
        try:
            return self.resolver.resolve(recipe, choice)
        except RecipeError as reason:
            for mode in self.modes:
                with suppress(RecipeError):
                    return self.resolver.resolve({**recipe, **mode}, choice)
            raise reason

    def created(self, axis: str, name: str, dtype: str, arguments: Arguments) -> Case:
        function = self.function
        return Case(f"{function.name}/{dtype}/{name}", function.name, function.family, dtype, axis, arguments)

    def case(self, axis: str, name: str, dtype: str, step: int, shape: tuple[int, ...] = _PLAIN) -> Iterator[Case]:
        try:
            yield self.created(axis, name, dtype, self.resolved({}, shape, Choice(dtype, step)))
        except RecipeError:
            return

    def structure(
        self, axis: str, shape: tuple[int, ...], layouts: tuple[str, str], dtype: str, number: int
    ) -> Iterator[Case]:
        try:
            arguments = self.resolved({}, shape, Choice(dtype, number))
        except RecipeError:
            return
        laid_out: dict[str, Value] = {}
        for name, value in arguments.items():
            param = self.function.param(name)
            if isinstance(value, Operand) and param is not None:
                layout = layouts[0] if param.is_read else layouts[1]
                if layout == "expanded" and param.is_written:
                    layout = "contiguous"
                value = replace(value, layout=layout if value.shape else "contiguous")
            laid_out[name] = value
        name = axis if layouts[0] == layouts[1] or axis == "expanded" else f"{axis}-{layouts[0]}-{layouts[1]}"
        yield self.created(axis, name, dtype, laid_out)

    def broadcasts(self, dtypes: tuple[str, ...]) -> Iterator[Case]:
        """Operands of different shapes; an in-place target keeps the full one."""
        if len(self.free) < 2:
            return
        for number, shapes in enumerate(_BROADCASTS, 1):
            selected = dict(zip([p.name for p in self.free], shapes, strict=False))
            if any(p.is_written for p in self.operands):
                full = ((4, 5), (2, 4, 3), (2, 3), (4, 4), (4, 4))[number - 1]
                selected.update({p.name: full for p in self.operands if p.is_written})
            for extra in range(min(2, len(dtypes))):
                dtype = dtypes[(number + 3 * extra) % len(dtypes)]
                try:
                    arguments = self.resolved(selected, _PLAIN, Choice(dtype, number))
                except RecipeError:
                    continue
                yield self.created("broadcast", f"broadcast-{number}", dtype, arguments)

    def aliased(self, dtypes: tuple[str, ...]) -> Iterator[Case]:
        """The output in the memory of an input, where the operator has an in-place form; for that form itself, the
        second operand in the memory of the target."""
        function = self.function
        for dtype in dtypes[-3::2]:
            try:
                arguments = self.resolved({}, _PLAIN, Choice(dtype))
            except RecipeError:
                continue
            target = next((p for p in tensors(function) if p.is_written), None)
            if target is None:
                return
            if target.is_read:
                others = [p.name for p in self.operands if p is not target]
                pair = (others[0], target.name) if others else None
            else:
                pair = (target.name, "input") if self.resolver.has_inplace and "input" in arguments else None
            if pair is None:
                return
            one, two = arguments[pair[0]], arguments[pair[1]]
            if not isinstance(one, Operand) or not isinstance(two, Operand):
                continue
            if (one.shape, one.dtype) == (two.shape, two.dtype):
                arguments[pair[0]] = replace(one, alias=pair[1])
                yield self.created("aliased", "aliased", dtype, arguments)

    def special(self, dtype: str, step: int) -> Iterator[Case]:
        """NaN, infinities, zeros of both signs, denormals and the ends of integers, in all pairs of two operands."""
        function = self.function
        if "special_values" in function.unspecified or kind(dtype) == "complex":
            return
        count = len(specials(dtype))
        try:
            arguments = self.resolved({}, (count * count,), Choice(dtype, step))
        except RecipeError:
            return
        period = 1
        for param in self.operands:
            value = arguments[param.name]
            if not isinstance(value, Operand) or not value.shape or kind(value.dtype) == "complex":
                continue
            zeros = {**arguments, param.name: replace(value, values=0)}
            nonzero = not self.resolver.calls.admits(zeros)
            if value.dtype == "bool" and nonzero:
                continue
            small = "overflow" in function.unspecified and category(value.dtype) == 2
            drawn = Drawn("small-special" if small else "special", (period, int(nonzero)))
            arguments[param.name] = replace(value, values=drawn)
            period = period * count if period == 1 else 1
        yield self.created("special", "special", dtype, arguments)

    def mixed(self, dtype: str, step: int, dtypes: tuple[str, ...]) -> Iterator[Case]:
        """Operands of different dtypes, where they are promoted: every dtype of the second operand."""
        lists = [p for p in self.operands if isinstance(p.dtype, DtypeList) and len(p.dtype.dtypes) > 2]
        if len(lists) < 2:
            return
        primary = primary_parameter(self.function)
        second = [p for p in lists if p is not primary]
        for turn in range(len(_others(second[0], dtype))):
            others = {p.name: _other(p, dtype, turn + position) for position, p in enumerate(second)}
            try:
                arguments = self.resolved({}, _PLAIN, Choice(dtype, step, others))
            except RecipeError:
                continue
            yield self.created("mixed", "mixed-" + "-".join(others.values()), dtype, arguments)

    def cast(self, dtypes: tuple[str, ...]) -> Iterator[Case]:
        """An output that is wider than the promoted dtype: the result is computed as promoted, then cast."""
        if not follows_promotion(self.function):
            return
        for dtype in [name for name in ("uint8", "float16") if name in dtypes]:
            try:
                arguments = self.resolved({}, _PLAIN, Choice(dtype))
            except RecipeError:
                continue
            name = next(p.name for p in tensors(self.function) if p.is_written)
            value = arguments[name]
            if isinstance(value, Operand) and value.dtype == dtype:
                arguments[name] = replace(value, dtype=to_float(dtype) if dtype == "uint8" else "float32")
                yield self.created("cast", "cast-float32", dtype, arguments)


def _others(param: Parameter, dtype: str) -> list[str]:
    """The other dtypes of the list, of no higher category, so that in-place forms admit them."""
    assert isinstance(param.dtype, DtypeList)
    return [d for d in param.dtype.dtypes if d in STORAGE and d != dtype and category(d) <= category(dtype)]


def _other(param: Parameter, dtype: str, turn: int) -> str:
    """One of them, by turns; the dtype itself where there is none."""
    fitting = _others(param, dtype)
    return fitting[turn % len(fitting)] if fitting else dtype

"""The recipes of the spec as groups of test cases in the form that DIOPI's users know (`diopi_configs.py`).

A group is a function with argument lists that are zipped: the i-th shape of every tensor goes with the i-th value of
every other argument, and all of them with every dtype. Recipes of a function fall into one group where they give the
same tensors with the same dtypes and the same way to draw values.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from keyword import iskeyword
from typing import Any, cast

from diopigen.diagnostics import Sink
from diopigen.emit.conformance.python_text import CallText, Code, Literal
from diopigen.ir.boxes import PLACED, rows_of
from diopigen.ir.load import known_dtypes
from diopigen.ir.model import BASE, COLLECTIVE, DtypeList, Function, Interface, Parameter, ShapeList
from diopigen.ir.recipe import Argument, Drawn, RecipeReader, TensorRecipe
from diopigen.ir.types import TENSORS

NUMPY = {
    name: Code(f"np.{name}_" if name == "bool" else f"np.{name}")
    for name, info in known_dtypes().items()
    if info.numpy == name or name == "bool"
}
"""The dtypes that NumPy has; bfloat16, tfloat32 and float8 cannot be said in the format."""

_CREATED = frozenset({"context", "generator", "generators", "stream", "opaque"})
_WORDS: dict[str, str | None] = {
    "ReductionNone": "none",
    "ReductionMean": "mean",
    "ReductionSum": "sum",
    "RoundModeNone": None,
    "RoundModeFloor": "floor",
    "RoundModeTrunc": "trunc",
}
"""Values of enums as the reference functions of PyTorch take them."""


@dataclass(frozen=True, slots=True)
class Group:
    """A group: its key in the file, the function, the dtypes, and its recipes with their numbers, counted from 1."""

    key: str
    function: Function
    dtypes: tuple[str, ...]
    recipes: tuple[tuple[int, Mapping[str, Argument]], ...]

    @property
    def tensors(self) -> tuple[Parameter, ...]:
        """The tensors that the recipes give."""
        provided = self.recipes[0][1]
        return tuple(param for param in self.function.params if isinstance(provided.get(param.name), TensorRecipe))


def groups(interface: Interface) -> tuple[tuple[Group, ...], tuple[str, ...]]:
    """The groups of all forward functions in order, and the names of those that the format cannot say.

    In-place forms and gradients have no groups of their own: they are run with that of their function.
    """
    found: list[Group] = []
    left: list[str] = []
    keys: set[str] = set()
    dtypes = frozenset(info.name for info in interface.dtypes)
    enums = {value.name: enum.name for enum in interface.enums for value in enum.values}
    for function in interface.functions:
        if function.family in ("runtime", COLLECTIVE) or function.returns != "status":
            continue
        if function.backward_of is not None:
            continue
        if function.variant not in (BASE, "scalar") or not function.params:
            continue
        results = list(_of_function(function, dtypes, enums, keys))
        found += results
        if not results:
            left.append(function.name)
    return tuple(found), tuple(left)


def _of_function(
    function: Function, dtypes: frozenset[str], enums: Mapping[str, str], keys: set[str]
) -> Iterator[Group]:
    reader = RecipeReader(function, dtypes, enums, Sink())
    by_form: dict[object, list[tuple[int, Mapping[str, Argument]]]] = {}
    read = [reader.read(case) for case in function.cases] or _elementwise(function)
    for number, recipe in enumerate(read, 1):
        if _can_be_said(function, recipe):
            by_form.setdefault(_form(function, recipe), []).append((number, recipe))
    for members in by_form.values():
        selected = _dtypes(function, members[0][1])
        if selected:
            key = _new_key(_snake(function.short_name), keys)
            yield Group(key, function, selected, tuple(members))


_SHAPES: tuple[tuple[int, ...], ...] = ((4, 5), (2, 3, 4), (3, 70), (), (0, 3))


def _elementwise(function: Function) -> list[dict[str, Argument]]:
    """Recipes of an elementwise function that has none in the spec: the suite makes up its cases, here as there."""
    tensors = [param for param in function.params if param.type == "tensor" and param.is_read]
    if function.kernel is None or any(isinstance(param.shape, ShapeList) for param in tensors):
        return []
    scalars: dict[str, Argument] = {p.name: 3 for p in function.params if p.type == "scalar" and p.default is None}
    return [{**{param.name: TensorRecipe(shape) for param in tensors}, **scalars} for shape in _SHAPES]


def _can_be_said(function: Function, recipe: Mapping[str, Argument]) -> bool:
    """Arrays of tensors, tensors that only a rule gives, and dtypes that NumPy lacks are beyond the format."""
    for param in function.params:
        value = recipe.get(param.name)
        if param.type in ("tensors", "new_tensors"):
            return False
        if isinstance(value, TensorRecipe) and value.dtype is not None and value.dtype not in NUMPY:
            return False
        if param.type == "tensor" and param.is_read and not param.nullable and not isinstance(value, TensorRecipe):
            return False
    return any(isinstance(value, TensorRecipe) for value in recipe.values())


def _form(function: Function, recipe: Mapping[str, Argument]) -> object:
    found = []
    for param in function.params:
        value = recipe.get(param.name)
        if isinstance(value, TensorRecipe):
            sampled = value.values if _is_plain(value.values) else "literal"
            found.append((param.name, value.dtype, sampled))
    return tuple(found)


def _is_plain(values: object) -> bool:
    """Returns whether a generator of the format draws such values; permutations, definite matrices, boxes are written
    out."""
    return isinstance(values, Drawn) and values.distribution not in _WRITTEN_OUT


_WRITTEN_OUT = frozenset({"permutation", "distinct", "definite", "peaks", "ascending", "descending", *PLACED})


def _dtypes(function: Function, recipe: Mapping[str, Argument]) -> tuple[str, ...]:
    """The dtypes of a group: that of the primary tensor where the recipe fixes it, else its list."""
    primary = next((p for p in function.params if isinstance(recipe.get(p.name), TensorRecipe)), None)
    if primary is None:
        return ()
    value = recipe[primary.name]
    assert isinstance(value, TensorRecipe)
    if value.dtype is not None:
        return (value.dtype,)
    listed = [p for p in function.params if isinstance(p.dtype, DtypeList) and p.type == "tensor" and p.is_read]
    first = next(iter(listed), None)
    assert first is None or isinstance(first.dtype, DtypeList)
    names = first.dtype.dtypes if first is not None and isinstance(first.dtype, DtypeList) else ("float32",)
    return tuple(name for name in names if name in NUMPY and _suits(recipe, name))


def _suits(recipe: Mapping[str, Argument], dtype: str) -> bool:
    """Returns whether numbers and literal values keep what they are in the dtype."""
    if dtype.startswith(("float", "complex")):
        return True
    open_values = [value.values for value in recipe.values() if isinstance(value, TensorRecipe) and not value.dtype]
    numbers: list[Any] = [value for value in recipe.values() if isinstance(value, float)]
    for values in open_values:
        numbers += values.arguments if isinstance(values, Drawn) else _flat(values)
    integral = all(float(number).is_integer() for number in numbers)
    low = 0 if dtype == "bool" or dtype.startswith("uint") else -math.inf
    return integral and all(number >= low and (dtype != "bool" or number <= 1) for number in numbers)


def _flat(values: Any) -> list[Any]:
    return [item for value in values for item in _flat(value)] if isinstance(values, tuple) else [values]


def _snake(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()


def _new_key(name: str, keys: set[str]) -> str:
    key, number = name, 2
    while key in keys:
        key, number = f"{name}_{number}", number + 1
    keys.add(key)
    return key


# ---- the entry of a group -------------------------------------------------------------------------------------------


def entry(interface: Interface, group: Group) -> CallText:
    """The group as `dict(...)`."""
    function = group.function
    name, module = reference(function)
    backward = interface.backward_functions.get(function.operator, ())
    keywords: dict[str, Literal] = {"name": [name], "interface": [module], "tag": [function.name]}
    keywords["dtype"] = [NUMPY[dtype] for dtype in group.dtypes]
    if function.tolerance == "exact":
        keywords |= {"atol": 0, "rtol": 0, "atol_half": 0, "rtol_half": 0}
    if any(f.variant.startswith("inplace") for f in interface.functions_of(function.operator)):
        keywords["is_inplace"] = True
    if function.tolerance == "random":
        keywords["no_output_ref"] = True
    floating = any(dtype.startswith(("float", "complex")) for dtype in group.dtypes)
    if backward and floating:
        keywords["requires_backward"] = [0]
    para = _para(group)
    if para:
        keywords["para"] = para if any(map(iskeyword, para)) else CallText("dict", (), para)
    expected = {
        param.name.removeprefix("grad_") for f in backward if floating for param in f.params if param.is_written
    }
    arguments: list[Literal] = [_tensor(group, param, param.name in expected) for param in group.tensors]
    keywords["tensor_para"] = CallText("dict", (), {"gen_fn": "Genfunc.randn", "args": arguments})
    return CallText("dict", (), keywords)


def reference(function: Function) -> tuple[str, str]:
    """The reference function and its module: PyTorch's where the spec names it, or an overload of a public one."""
    if function.functional:
        return function.functional, "torch.nn.functional"
    for overload in function.aten:
        base = overload.name.partition(".")[0]
        if not base.startswith("_") and not base.endswith("_"):
            return base, "torch"
    return _snake(function.short_name), "CustomizedTest"


def _para(group: Group) -> dict[str, Literal]:
    """The arguments that are no tensors, one value for each recipe."""
    found: dict[str, Literal] = {}
    for param in group.function.params:
        counts = any(other.count == param.name for other in group.function.params)
        if param.type in TENSORS or param.type in _CREATED or param.direction != "in" or counts:
            continue
        values: list[Literal] = []
        for _, recipe in group.recipes:
            default: Any = param.default.value if param.default is not None else None
            values.append(_plain(recipe.get(param.name, default)))
        if any(value is not None for value in values):
            found[param.name] = values
    return found


def _plain(value: Any) -> Literal:
    if isinstance(value, str):
        return _WORDS.get(value, value)
    return tuple(_plain(item) for item in value) if isinstance(value, tuple) else value


def _tensor(group: Group, param: Parameter, gets_gradient: bool) -> Mapping[str, Literal]:
    recipes = [recipe[param.name] for _, recipe in group.recipes]
    tensors = [recipe for recipe in recipes if isinstance(recipe, TensorRecipe)]
    found: dict[str, Literal] = {"ins": [param.name]}
    if gets_gradient:
        found["requires_grad"] = [True]
    found["shape"] = tuple(tensor.shape for tensor in tensors)
    first = tensors[0]
    if first.dtype is not None:
        found["dtype"] = [NUMPY[first.dtype]]
    if not _is_plain(first.values):
        found["value"] = tuple(_spelt(tensor) for tensor in tensors)
    elif isinstance(first.values, Drawn) and first.values.distribution != "normal":
        found["gen_fn"] = _generator(first.values)
    return found


def _spelt(tensor: TensorRecipe) -> Literal:
    """Literal values; a permutation is the numbers from the last to the first, a definite matrix has its size plus one
    on its diagonal and one elsewhere, around peaks there are zeros."""
    if not isinstance(tensor.values, Drawn):
        values = _listed(tensor.values)
        # One value may stand for all elements.
        return values if isinstance(values, list) else _shaped([values] * math.prod(tensor.shape), tensor.shape)
    count = math.prod(tensor.shape)
    if tensor.values.distribution == "definite":
        n = tensor.shape[-1]
        row_major = [n + 1 if index // n % n == index % n else 1 for index in range(count)]
        return _shaped(row_major, tensor.shape)
    if tensor.values.distribution == "peaks":
        return _peaks(tensor.shape, tensor.values.arguments[0])
    if tensor.values.distribution in PLACED:
        rows = rows_of(tensor.values.distribution, tensor.shape, tensor.values.arguments)
        return _shaped([number for row in rows or () for number in row], tensor.shape)
    if tensor.values.distribution in ("ascending", "descending"):
        numbers = range(count) if tensor.values.distribution == "ascending" else range(count, 0, -1)
        return _shaped(list(numbers), tensor.shape)
    return _shaped(list(range(count - 1, -1, -1)), tensor.shape)


def _peaks(shape: tuple[int, ...], height: float) -> Code:
    """Zeros but for one element of each row, as `recipe.peak_indices` says; as an expression, for there are many."""
    rows, length = math.prod(shape[:-1]), shape[-1]
    row = f"np.arange({rows})[:, None] * {length - 1} // {max(rows - 1, 1)}"
    return Code(f"(({row} == np.arange({length})) * {height!r}).reshape({shape!r}).tolist()")


def _listed(values: Any) -> Literal:
    return [_listed(item) for item in values] if isinstance(values, tuple) else values


def _shaped(numbers: Sequence[Any], shape: tuple[int, ...]) -> Literal:
    if not shape:
        return cast("Literal", numbers[0])
    step = len(numbers) // shape[0] if shape[0] else 0
    return [_shaped(numbers[index * step : (index + 1) * step], shape[1:]) for index in range(shape[0])]


def _generator(sampled: Drawn) -> Literal:
    name, arguments = sampled.distribution, sampled.arguments
    if name == "uniform":
        return CallText("dict", (), {"fn": "Genfunc.uniform", "low": arguments[0], "high": arguments[1]})
    if name == "integers":
        return CallText("dict", (), {"fn": "Genfunc.randint", "low": arguments[0], "high": arguments[1]})
    return {"zeros": "Genfunc.zeros", "ones": "Genfunc.ones", "bools": "Genfunc.mask"}[name]

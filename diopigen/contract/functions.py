"""The functions of expressions, in one table: predicates, dtype rules, shape rules and dimensions.

A row has the kinds of the arguments, that of the result, the documentation, and the evaluation in Python. In C++ it is
the function of that name in `runtime/contract`, which `diopigen generate` declares and calls. Functions that are
formulas over others are rows of `specs/formulas.yaml`, which both evaluators read. docs/expressions.md has the table.

Kinds of a value: `bool`, `number`, `integer`, `list` (numbers, or the elements of a tensor), `sizes` (a list of
integers), `shape` (the same, as a tensor has it), `shapes` (one for each member of an array), `bools`, `dtype`, `text`,
`tensor`, `tensors` (an array of tensors), `enum` (a value of an enum). An argument accepts what stands for its kind:

- `list`, `sizes`, `shape`, `dims`: a tensor for its shape, a number for a list of one entry; `dims`: null for `list()`
- `tensors`: a tensor for an array of one; null members are left out, of `indices` they are not
- `dtype`: a tensor, an array or a scalar for its dtype
- `numbers`: a number or a list; `items`: a list or an array; `elements`: a tensor for its elements; `value`: any value
- `operand`, `extent`: a tensor, an array, a number, or null, which is left out; of an `extent` the shape counts

A function of a fixed number of arguments whose result is a number or a bool takes a list for a number, and is then
evaluated for each entry.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any

from diopigen.contract import dtypes, indices, lists, matrices, ranges, shapes, tensors
from diopigen.diagnostics import Sink
from diopigen.ir.lower import mappings_of, text_of
from diopigen.package import package_data
from diopigen.spec.expression import Expression, parse
from diopigen.spec.grammar_formulas import FORMULAS_FILE
from diopigen.spec.nodes import MappingNode
from diopigen.spec.schema import validate
from diopigen.spec.yaml_reader import load_yaml


def _not_by_value(*_: Any) -> Any:
    """Stands where the compiler needs no function: for formulas, those of `LAZY` and forms of rules."""
    raise NotImplementedError


@dataclass(frozen=True, slots=True)
class Function:
    """A function of expressions. The last kind of `arguments` repeats where `variadic`, and as many as `optional` of
    the last arguments may be left out; `reads_values`: it needs the elements of its tensors."""

    name: str
    arguments: tuple[str, ...]
    result: str
    doc: str
    evaluate: Callable[..., Any] = _not_by_value
    """Its value in Python, unless it is a formula, one of `LAZY`, or a form of a rule."""
    variadic: bool = False
    optional: int = 0
    reads_values: bool = False
    in_layer: bool = True
    """True if `runtime/contract` has it; there a predicate with another function holds."""
    of_dimensions: bool = False
    """True if an entry of a list of dimensions may call it."""
    parameters: tuple[str, ...] = ()
    formula: Expression | None = None
    """Its value in terms of its `parameters`."""

    @property
    def by_entry(self) -> tuple[int, ...]:
        """The positions of numbers in whose place a list gives one result for each entry."""
        if self.variadic or self.result not in ("number", "integer", "bool"):
            return ()
        return tuple(index for index, kind in enumerate(self.arguments) if kind in ("number", "integer"))

    def kind(self, position: int) -> str:
        """The kind of an argument."""
        return self.arguments[min(position, len(self.arguments) - 1)]

    def accepts(self, count: int) -> bool:
        """Returns whether it may be called with that many arguments."""
        most = count if self.variadic else len(self.arguments)
        return len(self.arguments) - self.optional <= count <= most

    @property
    def arity(self) -> str:
        """Number of arguments, as text."""
        least, most = len(self.arguments) - self.optional, len(self.arguments)
        count = f"at least {least}" if self.variadic else str(most) if least == most else f"{least} to {most}"
        return f"{count} {'argument' if count.endswith('1') else 'arguments'}"


def _row(
    signature: str,
    doc: str,
    evaluate: Callable[..., Any] = _not_by_value,
    *,
    reads_values: bool = False,
    in_layer: bool = True,
    of_dimensions: bool = False,
) -> Function:
    """A row, as `size(tensor, integer) -> integer`; `...` follows a kind that repeats, `?` one that may be left out."""
    head, _, result = signature.partition(" -> ")
    name, _, inner = head.rstrip(")").partition("(")
    kinds = tuple(kind.strip().rstrip(".?") for kind in inner.split(",") if kind)
    repeats, optional = inner.endswith("..."), inner.count("?")
    return Function(name, kinds, result, doc, evaluate, repeats, optional, reads_values, in_layer, of_dimensions)


def _is_broadcast(*operands: tuple[int, ...]) -> bool:
    try:
        shapes.broadcast(*operands)
    except shapes.ShapeError:
        return False
    return True


_ROWS = (
    # ---- not evaluated by value
    _row("implies(bool, bool) -> bool", "whether the second holds where the first does"),
    _row("where(bool, any, any) -> any", "the second argument where the first holds, else the third"),
    _row("when(bool, any) -> any", "the second argument where the first holds, else no value"),
    _row("is_null(any) -> bool", "whether a nullable parameter is null"),
    # ---- tensors
    _row("rank(tensor) -> integer", "the number of dimensions", lambda t: len(t.shape), of_dimensions=True),
    _row("size(tensor, integer) -> integer", "the size in a dimension; 0-d counts as [1]", tensors.size_of,
         of_dimensions=True),
    _row("axis(shape, integer) -> integer", "a dimension of a shape; negative counts from the end", tensors.axis_of),
    _row("sizes(tensor) -> sizes", "the shape of a tensor", lambda t: t.shape),
    _row("numel(tensor) -> integer", "the number of elements", lambda t: math.prod(t.shape), of_dimensions=True),
    _row("ranks(tensors) -> sizes", "the rank of each tensor", lambda ts: tuple(len(t.shape) for t in ts)),
    _row("numels(tensors) -> sizes", "the number of elements of each tensor",
         lambda ts: tuple(math.prod(t.shape) for t in ts)),
    _row("sizes_in(tensors, integer) -> sizes", "the size of each tensor in a dimension", tensors.sizes_in),
    _row("have_shape(tensors, shape) -> bool", "whether each has this shape", tensors.have_shape),
    _row("same_but(tensors, shape, integer) -> bool", "whether each has this shape but in one dimension",
         tensors.same_but),
    _row("same_dtype(tensors) -> bool", "whether all have one dtype", tensors.same_dtype),
    _row("same_shape(tensors) -> bool", "whether all have one shape", tensors.same_shape),
    _row("broadcasts(shape...) -> bool", "whether shapes broadcast together", _is_broadcast),
    # ---- elements
    _row("elements(elements) -> list", "the elements in row-major order", lambda values: values, reads_values=True),
    _row("norm(tensors, number) -> number", "the p-norm of all elements", tensors.norm, reads_values=True,
         in_layer=False),
    _row("select(tensor, integer, integer) -> list", "the elements with one index in one dimension, in order",
         tensors.select, reads_values=True, in_layer=False),
    _row("coordinates(tensor, integer) -> list", "the index of each element in one dimension, in order",
         tensors.coordinates, in_layer=False),
    _row("nondecreasing(list) -> bool", "whether no entry is below the one before", lists.nondecreasing),
    _row("is_permutation(list) -> bool", "whether it has each of 0 to n - 1 once", lists.is_permutation),
    _row("is_definite(tensor, bool) -> bool", "whether one triangle of each matrix is that of a positive definite one",
         matrices.is_definite, reads_values=True, in_layer=False),
    # ---- arrays of index tensors, as in input[indices]
    _row("indexed_dims(indices) -> integer", "how many dimensions index tensors stand for: a mask for as many as it "
         "has, any other entry or null for one", indices.dims),
    _row("masks_fit(shape, indices) -> bool", "whether each mask has the sizes of the dimensions it stands for",
         indices.masks_fit),
    _row("indices_fit(shape, indices) -> bool", "whether each index is in [-size, size - 1] of its dimension",
         indices.indices_fit, reads_values=True, in_layer=False),
    _row("indices_broadcast(indices) -> bool", "whether they broadcast together, masks as their true positions",
         indices.broadcast_together, reads_values=True, in_layer=False),
    _row("indexed(shape, indices) -> sizes", "the shape that they pick from this shape, as `input[indices]`",
         indices.shape, reads_values=True, in_layer=False),
    # ---- lists
    _row("len(items) -> integer", "the number of entries or tensors", len, of_dimensions=True),
    _row("item(list, integer) -> number", "an entry; negative counts from the end", lists.item, of_dimensions=True),
    _row("pick(list, sizes) -> list", "the entries at these indices", lists.pick),
    _row("positions(list) -> sizes", "the index of each entry", lambda v: tuple(range(len(v)))),
    _row("repeat_each(list, sizes) -> list", "each entry as often as the count at its index says", lists.repeat_each,
         in_layer=False),
    _row("differences(list) -> list", "each entry but the first less the one before", lists.differences,
         in_layer=False),
    _row("sum(list) -> number", "the sum", sum, of_dimensions=True),
    _row("prod(list) -> number", "the product", math.prod, of_dimensions=True),
    _row("head(list, integer) -> list", "the first n entries", lambda v, n: tuple(v)[: max(n, 0)]),
    _row("drop(list, integer) -> list", "all but the first n entries", lambda v, n: tuple(v)[max(n, 0) :]),
    _row("list(number?...) -> list", "a list of these entries; `list()` is empty", lambda *v: v),
    _row("join(list, list...) -> list", "one list after the other", lambda *v: tuple(chain.from_iterable(v))),
    _row("equal(list, list) -> bool", "whether two lists are the same", lists.equal),
    _row("distinct(list) -> bool", "whether no entry occurs twice", lists.distinct),
    _row("one_of(value, value...) -> bool", "whether the first argument, or each of its entries, is one of the others",
         lists.one_of),
    _row("all(bools) -> bool", "whether it holds for each entry", all),
    _row("any(bools) -> bool", "whether it holds for some entry", any),
    _row("count(bools) -> integer", "for how many entries it holds", lambda v: sum(map(bool, v))),
    _row("row_counts(bools, integer) -> list", "for how many entries it holds in each row of n entries",
         lists.row_counts, in_layer=False),
    _row("row_heads(list, integer, sizes) -> list",
         "of each row of n entries the first ones, as many as the second list says", lists.row_heads, in_layer=False),
    # ---- numbers
    _row("min(numbers...) -> number", "the smallest, of lists of all entries", lists.extreme(min), of_dimensions=True),
    _row("max(numbers...) -> number", "the largest, of lists of all entries", lists.extreme(max), of_dimensions=True),
    _row("abs(number) -> number", "the magnitude", abs),
    _row("ceil_div(number, number) -> number", "division rounded up", lists.ceil_div, of_dimensions=True),
    # ---- dtypes
    _row("dtype(dtype) -> dtype", "the dtype of a tensor or of a scalar", lambda dtype: dtype),
    _row("promote(operand...) -> dtype", "the promoted dtype, as PyTorch promotes tensors and scalars",
         tensors.promoted),
    _row("to_float(dtype) -> dtype", "the dtype, or float32 where it is integral or bool", dtypes.to_float),
    _row("accumulate(dtype) -> dtype", "the dtype, or int64 where it is integral or bool", dtypes.accumulate),
    _row("opmath(dtype) -> dtype", "the dtype, or float32 where it is float16 or bfloat16, as `at::opmath_type`",
         dtypes.opmath),
    _row("to_real(dtype) -> dtype", "the dtype of the real part", dtypes.real_of),
    _row("to_complex(dtype) -> dtype", "the complex dtype with that real part", dtypes.complex_of),
    _row("category(dtype) -> integer", "0 for bool, 1 integral, 2 floating, 3 complex", dtypes.category),
    _row("categories(tensors) -> sizes", "the category of the dtype of each tensor",
         lambda ts: tuple(dtypes.category(t.dtype) for t in ts)),
    _row("can_hold(dtype, number) -> bool", "whether a number is in the range of a dtype; for an integral one its "
         "fraction is cut off first", ranges.can_hold),
    _row("lowest(dtype) -> number", "the smallest integer of an integral dtype", ranges.lowest),
    _row("highest(dtype) -> number", "the largest integer of an integral dtype", ranges.highest),
    _row("exact_integers(dtype) -> number", "the largest n for which the dtype has each integer in [0, n]",
         ranges.exact_integers),
    # ---- shapes
    _row("broadcast(extent...) -> shape", "the shape that all broadcast to; numbers count as 0-d",
         tensors.broadcast_of),
    _row("reduce(shape, dims, bool?) -> shape", "the shape without, or where the third argument holds with size 1 in, "
         "the named dimensions; null or an empty list: all", shapes.reduce),
    _row("concat(tensors, integer) -> shape", "tensors joined along a dimension", tensors.concat),
    _row("split(shape, sizes, integer) -> shapes", "parts of a tensor, one for each member of an array", shapes.split),
)  # fmt: skip


def _formulas() -> Iterator[Function]:
    """The rows of the package's `specs/formulas.yaml`."""
    sink = Sink()
    root = load_yaml(package_data("specs") / "formulas.yaml", "specs/formulas.yaml", sink)
    assert isinstance(root, MappingNode) and validate(root, FORMULAS_FILE, "the formulas file", sink), sink.sorted()
    for node in mappings_of(root.get("formulas")):
        parameters = node.get("parameters")
        assert isinstance(parameters, MappingNode)
        name, result, doc, value = (text_of(node.get(key)) for key in ("name", "result", "doc", "value"))
        kinds = tuple(text_of(entry.value) for entry in parameters.entries.values())
        yield Function(name, kinds, result, doc, parameters=tuple(parameters.entries), formula=parse(value))


FUNCTIONS: Mapping[str, Function] = {function.name: function for function in (*_ROWS, *_formulas())}
"""All functions of expressions."""
NULLABLE = frozenset({"operand", "extent", "dims"})
"""Kinds of arguments that may be null."""
LAZY = frozenset({"implies", "where", "when", "is_null"})
"""Functions whose arguments are not all evaluated, or not by value: those that the evaluators themselves know."""
ONE_OF = "one_of"
"""The rule with alternatives, of which the caller selects one. It is no argument of another rule."""


def _with_forms(results: frozenset[str], *forms: Function) -> dict[str, Function]:
    """The functions with such a result, and the forms of a rule that are no functions."""
    rows = (function for function in FUNCTIONS.values() if function.result in results and function.name != "dtype")
    return {row.name: row for row in (*forms[:-1], *rows, forms[-1])}


DTYPE_RULES: Mapping[str, Function] = _with_forms(
    frozenset({"dtype"}),
    _row("same(operand) -> dtype", "the dtype of a parameter"),
    _row("one_of(choice, choice...) -> dtype", "any of several dtypes"),
)
SHAPE_RULES: Mapping[str, Function] = _with_forms(
    frozenset({"shape", "shapes"}),
    _row("same(tensor) -> shape", "the shape of a tensor"),
    _row("broadcastable(tensor) -> shape", "anything that broadcasts to the shape of a tensor"),
    _row("any() -> shape", "decided by the caller"),
    _row("value(sizes) -> shape", "the value of a sizes parameter"),
    _row("one_of(form, form...) -> shape", "any of several shapes"),
)
DIMENSION_FUNCTIONS: Mapping[str, Function] = {
    name: function for name, function in FUNCTIONS.items() if function.of_dimensions
}
DIMENSION_OPERATORS = frozenset({"+", "-", "*", "//"})

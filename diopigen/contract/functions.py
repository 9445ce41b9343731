"""The functions of predicates: what each takes and returns, and how it is evaluated.

Kinds of a value: `bool`, `number`, `list` (integers, or the elements of a tensor), `bools`, `dtype`, `text`, `tensor`
(one tensor), `tensors` (an array of tensors), `enum` (a value of an enum). The checker and the evaluator read this
table. An argument of the kind `tensors` accepts a single tensor as an array of one, and leaves null entries out; one of
the kind `indices` is an array of tensors with its null entries; one of the kind `list` accepts a tensor for its shape;
one of the kind `numbers` is a number or a list. A function of a fixed number of arguments whose result is a number or
a bool takes a list for a number, and is then evaluated for each entry.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from diopigen.contract import dtypes, indices, lists, matrices, ranges, shapes, tensors
from diopigen.contract.arguments import Undefined


@dataclass(frozen=True, slots=True)
class Function:
    """A function of predicates. The last kind of `arguments` repeats where `variadic`; `reads_values`: it needs the
    elements of its tensors."""

    name: str
    arguments: tuple[str, ...]
    result: str
    doc: str
    evaluate: Callable[..., Any]
    variadic: bool = False
    reads_values: bool = False
    in_layer: bool = True
    """Whether the validation layer (`runtime/contract`) has it; a predicate with another function holds there."""
    may_be_empty: bool = False
    """Whether it may be called without arguments."""

    @property
    def by_entry(self) -> bool:
        """Whether a list in place of a number gives one result for each entry."""
        return not self.variadic and "number" in self.arguments and self.result in ("number", "bool")

    def accepts(self, count: int) -> bool:
        """Whether it may be called with that many arguments."""
        least = 0 if self.may_be_empty else len(self.arguments)
        return count >= least if self.variadic else count == len(self.arguments)


def _broadcasts(*operands: Sequence[int]) -> bool:
    try:
        shapes.broadcast(*(tuple(shape) for shape in operands))
    except shapes.ShapeError:
        return False
    return True


def _is(*kinds: str) -> Callable[[str], bool]:
    return lambda dtype: dtypes.kind(dtype) in kinds


def _rule(name: str, arguments: tuple[str, ...], doc: str, variadic: bool = False) -> Function:
    """A function of shape rules, with a list as its result."""

    def evaluate(*values: Any) -> Any:
        try:
            return shapes.BY_RULE[name](*(tuple(v) if isinstance(v, (tuple, list)) else v for v in values))
        except (shapes.ShapeError, ValueError, ZeroDivisionError, IndexError) as error:
            raise Undefined from error

    return Function(name, arguments, "list", doc, evaluate, variadic)


FUNCTIONS: Mapping[str, Function] = {
    function.name: function
    for function in (
        # ---- tensors
        Function("rank", ("tensor",), "number", "the number of dimensions", lambda t: len(t.shape)),
        Function("size", ("tensor", "number"), "number", "the size in a dimension; 0-d counts as [1]", tensors.size_of),
        Function(
            "axis", ("list", "number"), "number", "a dimension of a shape; negative counts from the end",
            tensors.axis_of,
        ),
        Function("sizes", ("tensor",), "list", "the shape of a tensor", lambda t: t.shape),
        Function("numel", ("tensor",), "number", "the number of elements", lambda t: math.prod(t.shape)),
        Function("ranks", ("tensors",), "list", "the rank of each tensor", lambda ts: tuple(len(t.shape) for t in ts)),
        Function(
            "numels", ("tensors",), "list", "the number of elements of each tensor",
            lambda ts: tuple(math.prod(t.shape) for t in ts),
        ),
        Function("sizes_in", ("tensors", "number"), "list", "the size of each tensor in a dimension", tensors.sizes_in),
        Function("have_shape", ("tensors", "list"), "bool", "whether each has this shape", tensors.have_shape),
        Function(
            "same_but", ("tensors", "list", "number"), "bool", "whether each has this shape but in one dimension",
            tensors.same_but,
        ),
        Function("same_dtype", ("tensors",), "bool", "whether all have one dtype", tensors.same_dtype),
        Function("same_shape", ("tensors",), "bool", "whether all have one shape", tensors.same_shape),
        Function("is_null", ("any",), "bool", "whether a nullable parameter is null", lambda v: v is None),
        Function("broadcasts", ("list",), "bool", "whether shapes broadcast together", _broadcasts, variadic=True),
        Function("broadcasts_to", ("list", "list"), "bool", "whether one shape broadcasts to another",
            lambda a, b: shapes.broadcasts_to(tuple(a), tuple(b))),
        # ---- elements
        Function(
            "elements", ("tensor",), "list", "the elements in row-major order", tensors.elements, reads_values=True,
        ),
        Function(
            "norm", ("tensors", "number"), "number", "the p-norm of all elements", tensors.norm, reads_values=True,
            in_layer=False,
        ),
        Function(
            "select", ("tensor", "number", "number"), "list", "the elements with one index in one dimension, in order",
            tensors.select, reads_values=True, in_layer=False,
        ),
        Function(
            "coordinates", ("tensor", "number"), "list", "the index of each element in one dimension, in order",
            tensors.coordinates, in_layer=False,
        ),
        Function("nondecreasing", ("list",), "bool", "whether no entry is below the one before", lists.nondecreasing),
        Function("is_permutation", ("list",), "bool", "whether it has each of 0 to n - 1 once", lists.is_permutation),
        Function(
            "is_definite", ("tensor",), "bool", "whether each matrix, by its lower triangle, is positive definite",
            matrices.is_definite, reads_values=True, in_layer=False,
        ),
        # ---- arrays of index tensors, as in input[indices]
        Function(
            "indexed_dims", ("indices",), "number", "how many dimensions they stand for: a mask for as many as it has",
            indices.dims,
        ),
        Function(
            "masks_fit", ("list", "indices"), "bool", "whether each mask has the sizes of the dimensions it stands for",
            indices.masks_fit,
        ),
        Function(
            "indices_fit", ("list", "indices"), "bool", "whether each index is in [-size, size - 1] of its dimension",
            indices.indices_fit, reads_values=True, in_layer=False,
        ),
        Function(
            "indices_broadcast", ("indices",), "bool", "whether they broadcast together, masks as their true positions",
            indices.broadcast_together, reads_values=True, in_layer=False,
        ),
        Function(
            "indexed", ("list", "indices"), "list", "the shape that they pick from this shape", indices.shape,
            reads_values=True, in_layer=False,
        ),
        # ---- lists
        Function("len", ("items",), "number", "the number of entries or tensors", len),
        Function("item", ("list", "number"), "number", "an entry; negative counts from the end", lists.item),
        Function("pick", ("list", "list"), "list", "the entries at these indices", lists.pick, in_layer=False),
        Function(
            "repeat_each", ("list", "list"), "list", "each entry as often as the count at its index says",
            lists.repeat_each, in_layer=False,
        ),
        Function(
            "differences", ("list",), "list", "each entry but the first less the one before", lists.differences,
            in_layer=False,
        ),
        Function("sum", ("list",), "number", "the sum", sum),
        Function("prod", ("list",), "number", "the product", math.prod),
        Function("head", ("list", "number"), "list", "the first n entries", lambda v, n: tuple(v)[: max(n, 0)]),
        Function("tail", ("list", "number"), "list", "the last n entries", lists.tail),
        Function("drop", ("list", "number"), "list", "all but the first n entries", lambda v, n: tuple(v)[max(n, 0) :]),
        Function(
            "list", ("number",), "list", "a list of these entries", lambda *v: tuple(v), variadic=True,
            may_be_empty=True,
        ),
        Function(
            "join", ("list", "list"), "list", "one list after the other", lambda *v: tuple(chain.from_iterable(v)),
            variadic=True,
        ),
        Function("equal", ("list", "list"), "bool", "whether two lists are the same", lists.equal),
        Function("distinct", ("list",), "bool", "whether no entry occurs twice", lambda v: len(set(v)) == len(v)),
        Function("all", ("bools",), "bool", "whether it holds for each entry", all),
        Function("any", ("bools",), "bool", "whether it holds for some entry", any),
        Function("count", ("bools",), "number", "for how many entries it holds", lambda v: sum(map(bool, v))),
        Function(
            "row_counts", ("bools", "number"), "list", "for how many entries it holds in each row of n entries",
            lists.row_counts, in_layer=False,
        ),
        Function(
            "row_heads", ("list", "number", "list"), "list",
            "of each row of n entries the first ones, as many as the second list says", lists.row_heads, in_layer=False,
        ),
        # ---- numbers
        Function(
            "min", ("numbers",), "number", "the smallest, of lists of all entries", lists.extreme(min), variadic=True,
        ),
        Function(
            "max", ("numbers",), "number", "the largest, of lists of all entries", lists.extreme(max), variadic=True,
        ),
        Function("abs", ("number",), "number", "the magnitude", abs),
        Function("ceil_div", ("number", "number"), "number", "division rounded up", lists.ceil_div),
        Function(
            "divides", ("number", "number"), "bool", "whether it is at least 1 and divides the other", lists.divides,
        ),
        Function("is_whole", ("number",), "bool", "whether it has no fraction", lambda v: float(v).is_integer()),
        Function("is_finite", ("number",), "bool", "whether it is neither infinite nor NaN", math.isfinite),
        # ---- dtypes
        Function("is_bool", ("dtype",), "bool", "whether the dtype is bool", _is("bool")),
        Function("is_integral", ("dtype",), "bool", "whether the dtype is integral; bool is not", _is("int")),
        Function("is_floating", ("dtype",), "bool", "whether the dtype is floating", _is("float")),
        Function("is_complex", ("dtype",), "bool", "whether the dtype is complex", _is("complex")),
        Function("category", ("dtype",), "number", "0 for bool, 1 integral, 2 floating, 3 complex", dtypes.category),
        Function(
            "categories", ("tensors",), "list", "the category of the dtype of each tensor",
            lambda ts: tuple(dtypes.category(t.dtype) for t in ts),
        ),
        Function(
            "can_hold", ("dtype", "number"), "bool",
            "whether a number is in the range of a dtype; for an integral one its fraction is cut off first",
            ranges.can_hold,
        ),
        Function("lowest", ("dtype",), "number", "the smallest integer of an integral dtype", ranges.lowest),
        Function("highest", ("dtype",), "number", "the largest integer of an integral dtype", ranges.highest),
        Function(
            "exact_integers", ("dtype",), "number", "the largest n for which the dtype has each integer in [0, n]",
            ranges.exact_integers,
        ),
        Function("to_float", ("dtype",), "dtype", "itself, or float32 for integral and bool", dtypes.to_float),
        Function("accumulate", ("dtype",), "dtype", "itself, or int64 for integral and bool", dtypes.accumulate),
        Function("opmath", ("dtype",), "dtype", "itself, or float32 for float16 and bfloat16", dtypes.opmath),
        Function("to_real", ("dtype",), "dtype", "the dtype of the real part", dtypes.real_of),
        # ---- shapes, as in shape rules
        _rule("broadcast", ("list",), "the broadcast shape", variadic=True),
        _rule("reduce", ("list", "list"), "the shape without the named dimensions"),
        _rule("without", ("list", "number"), "the shape without one dimension"),
        _rule("resize", ("list", "number", "number"), "the shape with another size in one dimension"),
        _rule("matmul", ("list", "list"), "as torch.matmul"),
        _rule("conv", ("list", "list", "list", "list", "list"), "the shape of a convolution"),
        _rule(
            "conv_transpose", ("list", "list", "list", "list", "list", "number", "list"),
            "the shape of a transposed convolution",
        ),
        _rule("pool", ("list", "list", "list", "list", "list", "bool"), "the shape of a pooling"),
        _rule("adaptive_pool", ("list", "list"), "the shape with other trailing sizes"),
        _rule("pad", ("list", "list"), "the shape after padding"),
    )
}  # fmt: skip
"""All functions but those that the evaluator itself knows: see `SPECIAL`."""

SPECIAL: Mapping[str, str] = {
    "dtype": "the dtype of a tensor or of a scalar",
    "promote": "the promoted dtype of tensors and scalars",
    "implies": "whether the second holds where the first does",
    "where": "the second argument where the first holds, else the third",
    "one_of": "whether the first argument is one of the others",
}
"""Functions whose arguments are not all evaluated, or not by value."""

"""The functions of dtype rules, shape rules and dimensions, with what they take.

Each argument position names a kind: `operand` (a tensor or a scalar), `tensor` (one or several), `sizes`, `dims` (sizes
or an integer), `sizes_or_value`, `dtype` (an operand or a nested rule), `choice` (the same, or a floating dtype),
`form` (another rule, or a list as in predicates), `value` (an integer expression) or `flag`.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RuleFunction:
    """A function of a rule: kinds of its arguments.

    The last one repeats where `variadic`; `optional` trailing ones may be left out.
    """

    name: str
    arguments: tuple[str, ...]
    doc: str
    variadic: bool = False
    optional: int = 0

    @property
    def minimum(self) -> int:
        return len(self.arguments) - self.optional

    def accepts(self, count: int) -> bool:
        return count >= self.minimum and (self.variadic or count <= len(self.arguments))

    @property
    def arity(self) -> str:
        """How many arguments it takes, in words."""
        count = str(len(self.arguments)) if not self.optional else f"{self.minimum} to {len(self.arguments)}"
        if self.variadic:
            count = f"at least {self.minimum}"
        return f"{count} {'argument' if count.endswith('1') else 'arguments'}"


def _table(*functions: RuleFunction) -> dict[str, RuleFunction]:
    return {function.name: function for function in functions}


ONE_OF = "one_of"
"""The rule with alternatives, of which the caller selects one. It is no argument of another rule."""

DTYPE_RULES = _table(
    RuleFunction("same", ("operand",), "the dtype of a parameter"),
    RuleFunction("promote", ("operand",), "the promoted dtype", variadic=True),
    RuleFunction("to_float", ("dtype",), "the dtype, or float32 where it is integral or bool"),
    RuleFunction("accumulate", ("dtype",), "the dtype, or int64 where it is integral or bool"),
    RuleFunction("opmath", ("dtype",), "the dtype, or float32 where it is float16 or bfloat16"),
    RuleFunction("to_real", ("dtype",), "the dtype of the real part"),
    RuleFunction("to_complex", ("dtype",), "the complex dtype with that real part"),
    RuleFunction(ONE_OF, ("choice", "choice"), "any of several dtypes", variadic=True),
)

SHAPE_RULES = _table(
    RuleFunction("same", ("tensor",), "the shape of a tensor"),
    RuleFunction("broadcast", ("operand",), "the broadcast shape; scalars count as 0-d", variadic=True),
    RuleFunction("broadcastable", ("tensor",), "anything that broadcasts to the shape of a tensor"),
    RuleFunction("any", (), "decided by the caller"),
    RuleFunction("value", ("sizes",), "the value of a sizes parameter"),
    RuleFunction("reduce", ("tensor", "dims", "flag"), "the tensor without the named dimensions", optional=1),
    RuleFunction("without", ("tensor", "value"), "the tensor without one dimension"),
    RuleFunction("resize", ("tensor", "value", "value"), "the tensor with another size in one dimension"),
    RuleFunction("matmul", ("tensor", "tensor"), "as torch.matmul"),
    RuleFunction("conv", ("tensor", "tensor", "sizes", "sizes", "sizes"), "a forward convolution"),
    RuleFunction(
        "conv_transpose",
        ("tensor", "tensor", "sizes", "sizes", "sizes", "value", "sizes"),
        "a transposed convolution",
    ),
    RuleFunction("pool", ("tensor", "sizes", "sizes", "sizes", "sizes_or_value", "flag"), "a pooling window"),
    RuleFunction("adaptive_pool", ("tensor", "sizes"), "trailing dimensions replaced by a sizes parameter"),
    RuleFunction("concat", ("tensor", "value"), "tensors joined along a dimension"),
    RuleFunction("stack", ("tensor", "value"), "tensors joined along a new dimension"),
    RuleFunction("split", ("tensor", "sizes", "value"), "parts of a tensor, one for each member of an array"),
    RuleFunction("permute", ("tensor", "sizes"), "dimensions in another order"),
    RuleFunction("transpose", ("tensor", "value", "value"), "two dimensions exchanged"),
    RuleFunction("repeat", ("tensor", "sizes"), "as torch.Tensor.repeat"),
    RuleFunction("pad", ("tensor", "sizes"), "as torch.nn.functional.pad"),
    RuleFunction("unfold", ("tensor", "value", "value", "value"), "as torch.Tensor.unfold"),
    RuleFunction("slice", ("tensor", "value", "value", "value", "value"), "as slicing one dimension"),
    RuleFunction(ONE_OF, ("form", "form"), "any of several shapes", variadic=True),
)

DIMENSION_FUNCTIONS = _table(
    RuleFunction("size", ("tensor", "value"), "the size of a tensor in a dimension"),
    RuleFunction("numel", ("tensor",), "the number of elements"),
    RuleFunction("rank", ("tensor",), "the number of dimensions"),
    RuleFunction("len", ("sizes",), "the length of a sizes parameter or of an array of tensors"),
    RuleFunction("item", ("sizes", "value"), "an entry of a sizes parameter"),
    RuleFunction("sum", ("sizes",), "the sum of a sizes parameter"),
    RuleFunction("prod", ("sizes",), "the product of a sizes parameter"),
    RuleFunction("min", ("value", "value"), "the smaller value", variadic=True),
    RuleFunction("max", ("value", "value"), "the larger value", variadic=True),
    RuleFunction("ceil_div", ("value", "value"), "division rounded up"),
)

DIMENSION_OPERATORS = frozenset({"+", "-", "*", "//"})

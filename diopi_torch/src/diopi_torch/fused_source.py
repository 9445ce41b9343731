"""Source of a fused kernel: operators, each as the spec's expression, and the loop over elements.

Sizes and strides are numbers of the launch, so that one kernel serves all sizes of the same layout. Every value is
rounded to the dtype of its node, as the operators do one by one.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from .fused_prelude import INTEGERS, STORAGES, value_type

GRAIN = 16384
"""Elements that are worth a thread."""


@dataclass(frozen=True)
class Body:
    """The kernel of a function: its parameters, its operands and whether they are masks, its constants as C++ over the
    parameters, and the lines that compute `results[0]` from `operands`. `kinds` are the kinds of dtypes that it
    computes in; `nonzero` are operands that must not be 0 where these are integers, and `rounded` the parameters whose
    numbers have the dtype that the function is computed in."""

    parameters: tuple[str, ...]
    operands: tuple[str, ...]
    constants: tuple[tuple[str, str, str], ...]
    lines: tuple[str, ...]
    kinds: tuple[str, ...]
    nonzero: tuple[str, ...]
    rounded: tuple[str, ...]


@functools.cache
def bodies() -> dict[str, Body]:
    """The kernels by function."""
    found = {}
    for name, *parts in _lines(_BODY):
        parameters, operands, constants, lines, kinds, nonzero, rounded = parts
        found[name] = Body(
            tuple(parameters),
            tuple(one for one, _ in operands),
            tuple(map(tuple, constants)),
            tuple(lines),
            tuple(kinds),
            tuple(nonzero),
            tuple(rounded),
        )
    return found


@functools.cache
def reductions() -> dict[str, str]:
    """The forms of overloads that reduce."""
    return dict(_lines(_FORM))


_BODY, _FORM = 8, 2
"""Parts of a line."""


def _lines(parts: int) -> list[Any]:
    found = [json.loads(line) for line in torch.ops.diopi.compiled_kernels().split("\n") if line]
    return [one for one in found if len(one) == parts]


@dataclass(frozen=True)
class Operation:
    """A step of the chain: the function with its plain arguments, a conversion where there is none, or a `reduction` of
    all columns of a row to one value. `operands` are earlier values: `("input", k)` or `("value", k)`; or
    `("number", x)`. It is computed in `computed` and rounded to `dtype`."""

    function: str | None
    plain: tuple[tuple[str, Any], ...]
    operands: tuple[tuple[str, Any], ...]
    dtype: torch.dtype
    computed: torch.dtype
    reduction: str = ""
    is_row: bool = False
    """True if there is one value for a row, not one for each of its columns."""


@dataclass(frozen=True)
class Chain:
    """Contents of one kernel: operations in order, the dtypes of its inputs, and which values it stores. `inner`
    says for each buffer, inputs first, whether its elements are adjacent (1), all the same (0), or neither (2)
    along the last dimension of `rank`. With reductions the last dimension has the columns of a row; `columns` is a
    limit for their number where values of a row are worth keeping between its passes, and 0 otherwise."""

    operations: tuple[Operation, ...]
    inputs: tuple[torch.dtype, ...]
    outputs: tuple[int, ...]
    inner: tuple[int, ...]
    rank: int
    columns: int = 0
    in_place: bool = False
    """True if outputs may be inputs."""

    @property
    def has_rows(self) -> bool:
        """Returns whether it reduces."""
        return any(operation.reduction for operation in self.operations)

    @property
    def storages(self) -> list[str]:
        """Of each buffer, inputs first."""
        return [STORAGES[dtype] for dtype in (*self.inputs, *(self.operations[k].dtype for k in self.outputs))]


def number_text(value: float) -> str:
    """A number as a double of C++."""
    number = float(value)
    if number != number:
        return "std::numeric_limits<double>::quiet_NaN()"
    if number in (float("inf"), float("-inf")):
        return f"{'-' if number < 0 else ''}std::numeric_limits<double>::infinity()"
    return repr(number)


def _whole_text(value: int) -> str:
    return "INT64_MIN" if value == -(2**63) else f"INT64_C({value})"


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and -(2**63) <= value < 2**63


def declaration(name: str, value: Any) -> list[str]:
    """A parameter as constants of C++: a number is a pointer, as in the interface, and a Number."""
    if value is None:
        return [f"constexpr const Number* {name} = nullptr;", f"constexpr Number {name}_number{{}};"]
    if isinstance(value, str):
        return [f"constexpr std::string_view {name} = {json.dumps(value)};"]
    text = f"{number_text(value)}, {_whole_text(int(value)) if _is_whole(value) else 0}"
    return [f"constexpr Number {name}_number{{{text}}};", f"static constexpr const Number* {name} = &known;"]


def _constant(name: str, kind: str, host: str, plain: Sequence[tuple[str, Any]]) -> list[str]:
    """A constant of the body, computed from the plain arguments when the kernel is compiled."""
    lines = [f"    const {kind} {name}_ = [] {{", "        static constexpr Number known{};", "        (void)known;"]
    for parameter, value in plain:
        if parameter == "rounding_mode":
            mode = {None: "RoundModeNone", "trunc": "RoundModeTrunc", "floor": "RoundModeFloor"}[value]
            lines.append(f"        constexpr RoundMode rounding_mode = {mode};")
        else:
            lines += [f"        {line}" for line in declaration(parameter, value)]
    return [*lines, f"        return {host};", "    }();"]


def _function(number: int, operation: Operation) -> list[str]:
    if operation.function is None:
        return []
    body = bodies()[operation.function]
    lines = [f"// {operation.function}", f"template <typename T> INLINE T operation{number}(const T* operands) {{"]
    plain = [(name, _rounded(x, operation) if name in body.rounded else x) for name, x in operation.plain]
    for name, kind, host in body.constants:
        lines += _constant(name, kind, host, plain)
    return [*lines, "    T results[1];", *(f"    {line}" for line in body.lines), "    return results[0];", "}"]


def _rounded(value: Any, operation: Operation) -> Any:
    """A number as the operator has it that computes in 16 bits."""
    is_short = operation.computed in (torch.float16, torch.bfloat16) and value is not None
    return torch.tensor(value, dtype=operation.computed).item() if is_short else value


def compute_type(operation: Operation) -> str:
    """The C++ type that an operation is computed in. Masks are computed as 0 and 1, bit operators in bools."""
    if operation.computed == torch.bool and operation.function is not None:
        return "float" if "floating" in bodies()[operation.function].kinds else "Integer<bool>"
    return value_type(operation.computed)


def value_lines(number: int, chain: Chain) -> list[str]:
    """The definition of the value of an operation that is no reduction."""
    operation = chain.operations[number]
    result, storage = value_type(operation.dtype), STORAGES[operation.dtype]
    kind = compute_type(operation)
    names = []
    for source, value in operation.operands:
        if source == "number":
            is_whole = operation.computed in INTEGERS
            names.append(f"{kind}({_whole_text(value)})" if is_whole else f"static_cast<{kind}>({number_text(value)})")
            continue
        own = value_type(chain.inputs[value] if source == "input" else chain.operations[value].dtype)
        name = f"{'x' if source == 'input' else 'v'}{value}"
        if operation.function is None:
            kind = own
        names.append(name if own == kind else f"to<{kind}>({name})")
    lines = []
    text = names[0] if names else f"{kind}(0)"
    if operation.function is not None:
        lines.append(f"const {kind} operands{number}[] = {{{', '.join(names) or text}}};")
        text = f"operation{number}<{kind}>(operands{number})"
    if result != kind or storage in ("Float16", "Bfloat16", "Bool"):
        text = f"rounded<{storage}>({text})"
    return [*lines, f"const {result} v{number} = {text};"]


def functions_of(chain: Chain) -> list[str]:
    """Each operation of a function, as a function of C++."""
    return [line for k, operation in enumerate(chain.operations) for line in _function(k, operation)]


def offset_lines(chain: Chain, row: str) -> list[str]:
    """Start of a row in each buffer."""
    count, rank = len(chain.inner), chain.rank
    lines = [f"    int64_t rest = {row};", *(f"    int64_t offset{k} = 0;" for k in range(count))]
    for dimension in reversed(range(rank - 1)):
        lines += ["    {", f"        const int64_t at = rest % numbers[{dimension}];"]
        lines.append(f"        rest /= numbers[{dimension}];")
        lines += [f"        offset{k} += at * numbers[{rank + k * rank + dimension}];" for k in range(count)]
        lines.append("    }")
    return lines


def pointer_lines(chain: Chain) -> list[str]:
    """Buffers as pointers, and elements that are the same for all columns as values."""
    lines = []
    for k, storage in enumerate(chain.storages):
        is_input = k < len(chain.inputs)
        offset = f" + offset{k}" if chain.rank > 1 else ""
        element = f"{storage}::Element"
        const = "const " if is_input else ""
        alone = "" if chain.in_place else "__restrict "
        lines.append(f"    {const}{element}* {alone}p{k} = static_cast<{element}*>(buffers[{k}]){offset};")
        if chain.inner[k] == 2:
            lines.append(f"    const int64_t stride{k} = numbers[{chain.rank + k * chain.rank + chain.rank - 1}];")
        elif chain.inner[k] == 0 and is_input:
            lines.append(f"    const {storage}::Value same{k} = {storage}::load(*p{k});")
    return lines


def load_line(chain: Chain, k: int) -> str:
    """The definition of the value of an input in column i."""
    index = f"i * stride{k}" if chain.inner[k] == 2 else "i"
    storage = chain.storages[k]
    value = f"same{k}" if chain.inner[k] == 0 else f"{storage}::load(p{k}[{index}])"
    return f"const {storage}::Value x{k} = {value};"


def store_line(chain: Chain, k: int, number: int) -> str:
    """Writes a value to a buffer in column i."""
    index = f"i * stride{k}" if chain.inner[k] == 2 else "i"
    return f"p{k}[{index}] = {chain.storages[k]}::store(v{number});"


def loop_lines(chain: Chain) -> list[str]:
    """The body of a kernel without reductions."""
    rank = chain.rank
    lines = ["    // numbers: the sizes, then the strides of each buffer."]
    begin, end = ("first", "last") if rank == 1 else ("0", "inner")
    if rank > 1:
        lines.append(f"    const int64_t inner = numbers[{rank - 1}];")
        lines += ["    for (int64_t row = first; row < last; ++row) {", *offset_lines(chain, "row")]
    lines += pointer_lines(chain)
    lines += ["#pragma GCC ivdep", f"    for (int64_t i = {begin}; i < {end}; ++i) {{"]
    lines += [f"        {load_line(chain, k)}" for k in range(len(chain.inputs))]
    lines += [f"        {line}" for number in range(len(chain.operations)) for line in value_lines(number, chain)]
    first = len(chain.inputs)
    lines += [f"        {store_line(chain, first + k, number)}" for k, number in enumerate(chain.outputs)]
    return [*lines, "    }", *(["    }"] if rank > 1 else [])]

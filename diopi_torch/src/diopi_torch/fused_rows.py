"""The passes of a fused kernel with reductions: a row at a time, as often as one reduction follows from another.

A value with one element per column is computed in the first pass in which it can be. A later pass that needs it again
computes it again where that is cheap, and keeps it in the row's own memory where it is not.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from .fused_prelude import STORAGES, value_type
from .fused_source import (
    Chain,
    Operation,
    bodies,
    load_line,
    number_text,
    offset_lines,
    pointer_lines,
    store_line,
    value_lines,
)

COLUMNS = (256, 1024, 4096, 16384)
"""Numbers of columns for which a kernel may keep values; of more they are computed again."""
MOST_KEPT = 1 << 18
"""Bytes of them, which are on the stack of a thread."""
_CHEAP = 6
_COSTLY = ("std::exp", "std::log", "std::tanh", "std::pow", "std::erf", "std::sin", "std::cos", "sigmoid", "std::fmod",
           "floorDivide", "floorRemainder", "std::a")  # fmt: skip
_HOW = {"sum": "Add", "mean": "Add", "variance": "Add", "max": "Largest", "min": "Smallest", "any": "Largest",
        "all": "Smallest"}  # fmt: skip
KINDS = tuple(_HOW)
"""The reductions that there are."""


@dataclass(frozen=True)
class Passes:
    """Pass in which each operation can be computed: the first pass, or for a value of a row the number of passes that
    are over; which values are kept; and for each pass the values that it computes and takes from those that are kept,
    and the inputs that it loads."""

    stages: tuple[int, ...]
    kept: tuple[int, ...]
    computed: tuple[tuple[int, ...], ...]
    taken: tuple[tuple[int, ...], ...]
    loaded: tuple[tuple[int, ...], ...]


def columns_of(chain_operations: Sequence[Operation], outputs: Sequence[int], columns: int) -> int:
    """The limit for the number of columns that a kernel for so many has; 0 where nothing is kept."""
    kept = _kept(chain_operations, _stages(chain_operations), outputs)
    if not kept:
        return 0
    limit = next((one for one in COLUMNS if columns <= one), 0)
    size = sum(8 if "64" in str(chain_operations[k].dtype) else 4 for k in kept)
    return limit if limit * size <= MOST_KEPT else 0


def _stages(operations: Sequence[Operation]) -> list[int]:
    stages: list[int] = []
    for operation in operations:
        own = 0
        for source, k in operation.operands:
            if source == "value":
                own = max(own, stages[k])
        stages.append(own + 1 if operation.reduction else own)
    return stages


def _needed(operations: Sequence[Operation], wanted: Sequence[int], at_hand: set[int]) -> list[int]:
    """The values of columns that a pass takes from those at hand, or computes, for those that it wants."""
    found: set[int] = set()
    pending = list(wanted)
    while pending:
        number = pending.pop()
        if number in found or operations[number].is_row:
            continue
        found.add(number)
        if number not in at_hand:
            pending += [k for source, k in operations[number].operands if source == "value"]
    return sorted(found)


def _all_needed(
    operations: Sequence[Operation], stages: Sequence[int], outputs: Sequence[int], kept: Sequence[int]
) -> list[tuple[list[int], set[int]]]:
    """For each pass what it needs, and what of that earlier passes have kept."""
    found = []
    at_hand: set[int] = set()
    for now in range(max(stages) + 1):
        needed = _needed(operations, _wanted(operations, stages, outputs, now), at_hand)
        found.append((needed, at_hand & set(needed)))
        at_hand = at_hand | (set(needed) & set(kept))
    return found


def _wanted(operations: Sequence[Operation], stages: Sequence[int], outputs: Sequence[int], now: int) -> list[int]:
    """Values that a pass stores, and those that it reduces."""
    wanted = [k for k in outputs if not operations[k].is_row and stages[k] == now]
    for number, operation in enumerate(operations):
        if operation.reduction and stages[number] == now + 1:
            wanted += [k for source, k in operation.operands if source == "value"]
    return wanted


def _kept(operations: Sequence[Operation], stages: Sequence[int], outputs: Sequence[int]) -> list[int]:
    """Values that later passes need again and that are costly."""
    seen: set[int] = set()
    again: set[int] = set()
    for needed, _ in _all_needed(operations, stages, outputs, ()):
        again |= seen & set(needed)
        seen |= set(needed)
    costs: list[int] = []
    kept: list[int] = []
    for number, operation in enumerate(operations):
        cost = 1
        if operation.function is not None:
            lines = " ".join(bodies()[operation.function].lines)
            cost = 20 if any(word in lines for word in _COSTLY) else 2
        cost += sum(costs[k] for source, k in operation.operands if source == "value" and not operations[k].is_row)
        is_kept = number in again and cost > _CHEAP
        if is_kept:
            kept.append(number)
        costs.append(1 if is_kept else cost)
    used = {k for _, taken in _all_needed(operations, stages, outputs, kept) for k in taken}
    return [k for k in kept if k in used]


def passes_of(chain: Chain) -> Passes:
    """The passes of a chain."""
    operations = chain.operations
    stages = _stages(operations)
    kept = _kept(operations, stages, chain.outputs) if chain.columns else []
    computed, taken, loaded = [], [], []
    for now, (needed, at_hand) in enumerate(_all_needed(operations, stages, chain.outputs, kept)):
        own = [k for k in needed if k not in at_hand]
        reading = [n for n, one in enumerate(operations) if one.reduction and stages[n] == now + 1]
        computed.append(tuple(own))
        taken.append(tuple(sorted(at_hand)))
        inputs = {k for n in (*own, *reading) for source, k in operations[n].operands if source == "input"}
        loaded.append(tuple(sorted(inputs)))
    return Passes(tuple(stages), tuple(kept), tuple(computed), tuple(taken), tuple(loaded))


def _accumulator(operation: Operation) -> str:
    """The C++ type that reduces. Sums of float32 are added in double."""
    kind = value_type(operation.computed)
    total = "double" if kind == "float" and _HOW[operation.reduction] == "Add" else kind
    return f"Reduction<{_HOW[operation.reduction]}, {kind}, {total}>"


def _result(number: int, operation: Operation) -> str:
    """The definition of what a reduction gives."""
    text = f"total{number}.total"
    if operation.reduction == "mean":
        text = f"{text} / columns"
    elif operation.reduction == "variance":
        correction = number_text(dict(operation.plain)["correction"])
        text = f"{text} / std::fmax(columns - {correction}, 0.0)"
    storage = STORAGES[operation.dtype]
    if storage in ("Float16", "Bfloat16"):
        # Operators round sums of halves to float32 first.
        text = f"static_cast<float>({text})"
    return f"const {value_type(operation.dtype)} v{number} = rounded<{storage}>({text});"


def row_lines(chain: Chain) -> list[str]:
    """The body of a kernel with reductions: an item is a row."""
    plan = passes_of(chain)
    operations = chain.operations
    lines = ["    // numbers: the sizes, the columns of a row last, then the strides of each buffer."]
    lines.append(f"    const int64_t columns = numbers[{chain.rank - 1}];")
    for number in plan.kept:
        lines.append(f"    alignas(64) {value_type(operations[number].dtype)} kept{number}[{chain.columns}];")
    for number, operation in enumerate(operations):
        if operation.reduction:
            lines.append(f"    alignas(64) {value_type(operation.computed)} block{number}[kBlock];")
    lines += ["    for (int64_t row = first; row < last; ++row) {", *offset_lines(chain, "row"), *pointer_lines(chain)]
    of_row = [one for one in operations if one.is_row and not one.reduction]
    for k in sorted({k for one in of_row for source, k in one.operands if source == "input"}):
        lines.append(f"    {load_line(chain, k)}")
    for now in range(len(plan.computed)):
        lines += [f"    {line}" for line in _values_of_row(chain, plan, now)]
        lines += [f"    {line}" for line in _pass(chain, plan, now)]
    first = len(chain.inputs)
    for k, number in enumerate(chain.outputs):
        if operations[number].is_row:
            lines.append(f"    *p{first + k} = {chain.storages[first + k]}::store(v{number});")
    return [*lines, "    }"]


def _values_of_row(chain: Chain, plan: Passes, now: int) -> Iterator[str]:
    """Values of the row that follow from the passes so far."""
    for number, operation in enumerate(chain.operations):
        if operation.is_row and plan.stages[number] == now:
            yield from [_result(number, operation)] if operation.reduction else value_lines(number, chain)


def _pass(chain: Chain, plan: Passes, now: int) -> Iterator[str]:
    """The loop over the columns, in blocks where it reduces."""
    operations = chain.operations
    reduced = [k for k, one in enumerate(operations) if one.reduction and plan.stages[k] == now + 1]
    if not plan.computed[now] and not plan.taken[now] and not reduced:
        return
    for number in reduced:
        yield f"{_accumulator(operations[number])} total{number};"
    if reduced:
        yield "for (int64_t begin = 0; begin < columns; begin += kBlock) {"
        yield "const int64_t size = columns - begin < kBlock ? columns - begin : kBlock;"
        bounds = ("begin", "begin + size")
    else:
        bounds = ("0", "columns")
    yield "#pragma GCC ivdep"
    yield f"for (int64_t i = {bounds[0]}; i < {bounds[1]}; ++i) {{"
    for k in plan.loaded[now]:
        yield f"    {load_line(chain, k)}"
    first = len(chain.inputs)
    for number in plan.taken[now]:
        yield f"    const {value_type(operations[number].dtype)} v{number} = kept{number}[i];"
    for number in plan.computed[now]:
        yield from (f"    {line}" for line in value_lines(number, chain))
        if number in plan.kept:
            yield f"    kept{number}[i] = v{number};"
        if plan.stages[number] == now:
            own = [k for k, one in enumerate(chain.outputs) if one == number]
            yield from (f"    {store_line(chain, first + k, number)}" for k in own)
    for number in reduced:
        yield f"    block{number}[i - begin] = {_reduced_value(chain, number)};"
    yield "}"
    for number in reduced:
        yield f"total{number}.add(block{number}, size);"
    if reduced:
        yield "}"


def _reduced_value(chain: Chain, number: int) -> str:
    operation = chain.operations[number]
    ((source, k),) = operation.operands
    own = chain.inputs[k] if source == "input" else chain.operations[k].dtype
    name = f"{'x' if source == 'input' else 'v'}{k}"
    kind = value_type(operation.computed)
    return name if value_type(own) == kind else f"to<{kind}>({name})"

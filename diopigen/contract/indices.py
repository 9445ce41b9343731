"""Arrays of index tensors, as `input[indices]` reads them: each entry stands for the next dimensions of the input.

An entry is None (a full slice), a mask (bool or uint8; as many dimensions as it has), or a tensor of indices (one
dimension; negative indices count from the end). Source: the advanced indexing of NumPy, which torch follows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from diopigen.contract import shapes
from diopigen.contract.arguments import Tensor, Undefined
from diopigen.contract.dtypes import kind

Entries = Sequence[Tensor | None]


def _is_mask(entry: Tensor | None) -> bool:
    return entry is not None and entry.dtype in ("bool", "uint8")


def _covered(entry: Tensor | None) -> int:
    return len(entry.shape) if entry is not None and _is_mask(entry) else 1


def dims(entries: Entries) -> int:
    """Number of dimensions of all entries."""
    return sum(map(_covered, entries))


def _placed(shape: Sequence[int], entries: Entries) -> Iterator[tuple[int, tuple[int, ...], Tensor | None]]:
    """Each entry with its first dimension and the sizes of its dimensions. Undefined where the shape has too few."""
    if dims(entries) > len(shape):
        raise Undefined
    first = 0
    for entry in entries:
        count = _covered(entry)
        yield first, tuple(shape[first : first + count]), entry
        first += count


def masks_fit(shape: Sequence[int], entries: Entries) -> bool:
    """Returns whether each mask has the sizes of its dimensions."""
    placed = _placed(shape, entries)
    return all(entry is None or not _is_mask(entry) or entry.shape == sizes for _, sizes, entry in placed)


def indices_fit(shape: Sequence[int], entries: Entries) -> bool:
    """Returns whether each index is in [-size, size - 1] of its dimension. Undefined where an entry holds no
    integers."""
    for _, sizes, entry in _placed(shape, entries):
        if entry is None or _is_mask(entry):
            continue
        if kind(entry.dtype) != "int":
            raise Undefined
        if not all(-sizes[0] <= index < sizes[0] for index in entry.elements()):
            return False
    return True


def _common(entries: Entries) -> tuple[int, ...]:
    """The shape that the entries broadcast to; a mask is the list of its true positions. Raises `ShapeError`."""
    actual = [entry for entry in entries if entry is not None]
    return shapes.broadcast(*((sum(map(bool, e.elements())),) if _is_mask(e) else e.shape for e in actual))


def broadcast_together(entries: Entries) -> bool:
    """Returns whether the entries broadcast together."""
    try:
        _common(entries)
    except shapes.ShapeError:
        return False
    return True


def shape(sizes: Sequence[int], entries: Entries) -> tuple[int, ...]:
    """The shape of `input[entries]` for an input of these sizes. Undefined where the entries do not fit.

    The common shape of the entries takes the place of their dimensions, or comes first where a full slice separates
    them.
    """
    if not masks_fit(sizes, entries):
        raise Undefined
    try:
        common = _common(entries)
    except shapes.ShapeError as error:
        raise Undefined from error
    positions = [(first, len(own)) for first, own, entry in _placed(sizes, entries) if entry is not None]
    taken = {first + k for first, count in positions for k in range(count)}
    retained = [size for position, size in enumerate(sizes) if position not in taken]
    if not positions:
        return tuple(retained)
    numbers = [number for number, entry in enumerate(entries) if entry is not None]
    is_apart = numbers[-1] - numbers[0] + 1 != len(numbers)
    start = 0 if is_apart else positions[0][0]
    return (*retained[:start], *common, *retained[start:])

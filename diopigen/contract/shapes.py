"""Functions of shapes that are no formulas, from values (shapes, lists, integers) to a shape."""

from __future__ import annotations

from collections.abc import Sequence

from diopigen.contract.arguments import Undefined

Dims = tuple[int, ...]


class ShapeError(Undefined):
    """The arguments have no such shape: they do not broadcast, a name has two sizes, and so on."""


def axis(dim: int, rank: int) -> int:
    """A dimension counted from the front; a 0-d tensor counts as 1-d."""
    span = max(rank, 1)
    if not -span <= dim < span:
        raise ShapeError(f"dimension {dim} of a tensor with {rank}")
    return dim % span


def broadcast(*shapes: Dims) -> Dims:
    """NumPy broadcasting."""
    rank = max((len(shape) for shape in shapes), default=0)
    padded = [(1,) * (rank - len(shape)) + shape for shape in shapes]
    result = []
    for sizes in zip(*padded, strict=True):
        others = {size for size in sizes if size != 1}
        if len(others) > 1:
            raise ShapeError(f"sizes {sorted(others)} do not broadcast")
        result.append(others.pop() if others else 1)
    return tuple(result)


def broadcasts_to(shape: Dims, target: Dims) -> bool:
    """Returns whether a shape broadcasts to another one as it is."""
    try:
        return broadcast(shape, target) == target
    except ShapeError:
        return False


def reduce(shape: Dims, dims: Sequence[int] | int | None, keepdim: bool = False) -> Dims:
    """Without the named dimensions, or with size 1 there; None or an empty list names all."""
    named = [dims] if isinstance(dims, int) else list(dims or range(len(shape)))
    gone = {axis(dim, len(shape)) for dim in named}
    if keepdim:
        return tuple(1 if position in gone else size for position, size in enumerate(shape))
    return tuple(size for position, size in enumerate(shape) if position not in gone)


def concat(shapes: Sequence[Dims], dim: int) -> Dims:
    """Tensors joined along a dimension; 1-d tensors of no elements do not count, as in `torch.cat`."""
    counted = [shape for shape in shapes if shape != (0,)]
    if not counted:
        return (0,)
    if not counted[0]:
        raise ShapeError("a 0-d tensor cannot be joined")
    position = axis(dim, len(counted[0]))
    if len({(len(shape), *shape[:position], *shape[position + 1 :]) for shape in counted}) > 1:
        raise ShapeError("the other sizes differ")
    return (*counted[0][:position], sum(shape[position] for shape in counted), *counted[0][position + 1 :])


def split(shape: Dims, sizes: Sequence[int], dim: int) -> tuple[Dims, ...]:
    """The consecutive parts of those sizes along a dimension."""
    at = axis(dim, len(shape)) if sizes else 0
    return tuple((*shape[:at], size, *shape[at + 1 :]) for size in sizes)

"""The functions of shape rules, from values (shapes, lists, integers) to a shape: read and tested one by one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

Dims = tuple[int, ...]


class ShapeError(Exception):
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
    """Whether a shape broadcasts to another one as it is."""
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


def resize(shape: Dims, dim: int, size: int) -> Dims:
    """With another size in one dimension; a 0-d tensor keeps its shape unless the size is not 1."""
    if not shape:
        return () if size == 1 else (size,)
    position = axis(dim, len(shape))
    return (*shape[:position], size, *shape[position + 1 :])


def without(shape: Dims, dim: int) -> Dims:
    """Without one dimension."""
    position = axis(dim, len(shape))
    return shape[:position] + shape[position + 1 :]


def matmul(first: Dims, second: Dims) -> Dims:
    """As `torch.matmul`."""
    if not first or not second:
        raise ShapeError("matmul of a 0-d tensor")
    left = first if len(first) > 1 else (1, *first)
    right = second if len(second) > 1 else (*second, 1)
    if left[-1] != right[-2]:
        raise ShapeError(f"inner sizes {left[-1]} and {right[-2]} differ")
    rows = (left[-2],) if len(first) > 1 else ()
    columns = (right[-1],) if len(second) > 1 else ()
    return (*broadcast(left[:-2], right[:-2]), *rows, *columns)


def _each(values: Sequence[int] | int, count: int, fallback: Sequence[int] = ()) -> list[int]:
    """One value per window dimension: a single one is repeated, an empty list takes the fallback."""
    found = [values] if isinstance(values, int) else list(values) or list(fallback)
    return found * count if len(found) == 1 else found


def conv(shape: Dims, weight: Dims, stride: Sequence[int], padding: Sequence[int], dilation: Sequence[int]) -> Dims:
    """Forward convolution of [N, C, spatial...] or [C, spatial...] with [K, C/groups, kernel...]."""
    window = weight[2:]
    count = len(window)
    steps, pads, spreads = (_each(values, count) for values in (stride, padding, dilation))
    sizes = [
        (size + 2 * pad - spread * (kernel - 1) - 1) // step + 1
        for size, kernel, step, pad, spread in zip(shape[-count:], window, steps, pads, spreads, strict=True)
    ]
    return (*shape[: -count - 1], weight[0], *sizes)


def conv_transpose(
    shape: Dims,
    weight: Dims,
    stride: Sequence[int],
    padding: Sequence[int],
    output_padding: Sequence[int],
    groups: int,
    dilation: Sequence[int],
) -> Dims:
    """Transposed convolution of [N, C, spatial...] with [C, K/groups, kernel...]."""
    window = weight[2:]
    count = len(window)
    steps, pads, extras, spreads = (_each(values, count) for values in (stride, padding, output_padding, dilation))
    sizes = [
        (size - 1) * step - 2 * pad + spread * (kernel - 1) + extra + 1
        for size, kernel, step, pad, extra, spread in zip(
            shape[-count:], window, steps, pads, extras, spreads, strict=True
        )
    ]
    return (*shape[: -count - 1], weight[1] * groups, *sizes)


def pool(
    shape: Dims,
    kernel: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int] | int,
    ceil_mode: bool,
) -> Dims:
    """Pooling of trailing dimensions; with `ceil_mode` the last window starts inside the input or its left padding."""
    count = len(kernel)
    steps, pads, spreads = _each(stride, count, kernel), _each(padding, count), _each(dilation, count)
    sizes = []
    for size, window, step, pad, spread in zip(shape[-count:], kernel, steps, pads, spreads, strict=True):
        room = size + 2 * pad - spread * (window - 1) - 1
        number = (-(-room // step) if ceil_mode else room // step) + 1
        if ceil_mode and (number - 1) * step >= size + pad:
            number -= 1
        sizes.append(number)
    return (*shape[:-count], *sizes)


def concat(shapes: Sequence[Dims], dim: int) -> Dims:
    """Tensors joined along a dimension; 1-d tensors of no elements do not count, as in `torch.cat`."""
    counted = [shape for shape in shapes if shape != (0,)]
    if not counted:
        return (0,)
    position = axis(dim, len(counted[0]))
    if len({without(shape, position) for shape in counted}) > 1:
        raise ShapeError("the other sizes differ")
    return resize(counted[0], position, sum(shape[position] for shape in counted))


def stack(shapes: Sequence[Dims], dim: int) -> Dims:
    """Equal tensors joined along a new dimension."""
    if len(set(shapes)) > 1:
        raise ShapeError("the shapes differ")
    position = axis(dim, len(shapes[0]) + 1)
    return (*shapes[0][:position], len(shapes), *shapes[0][position:])


def split(shape: Dims, sizes: Sequence[int], dim: int) -> tuple[Dims, ...]:
    """The consecutive parts of those sizes along a dimension."""
    return tuple(resize(shape, axis(dim, len(shape)), size) for size in sizes)


def permute(shape: Dims, order: Sequence[int]) -> Dims:
    """Dimensions in another order."""
    return tuple(shape[axis(dim, len(shape))] for dim in order)


def transpose(shape: Dims, first: int, second: int) -> Dims:
    """Two dimensions exchanged."""
    if not shape:
        return ()
    order = list(range(len(shape)))
    one, two = axis(first, len(shape)), axis(second, len(shape))
    order[one], order[two] = order[two], order[one]
    return permute(shape, order)


def repeat(shape: Dims, times: Sequence[int]) -> Dims:
    """As `torch.Tensor.repeat`: missing leading dimensions are added."""
    if len(times) < len(shape):
        raise ShapeError("fewer repeats than dimensions")
    padded = (1,) * (len(times) - len(shape)) + shape
    return tuple(size * count for size, count in zip(padded, times, strict=True))


def pad(shape: Dims, pads: Sequence[int]) -> Dims:
    """As `torch.nn.functional.pad`: pairs of (before, after), the last dimension first."""
    sizes = list(shape)
    for pair in range(len(pads) // 2):
        sizes[-1 - pair] += pads[2 * pair] + pads[2 * pair + 1]
    return tuple(sizes)


def unfold(shape: Dims, dim: int, size: int, step: int) -> Dims:
    """As `torch.Tensor.unfold`: windows of `size` every `step`, the window as a new last dimension."""
    if not shape:
        return (size,)
    position = axis(dim, len(shape))
    return (*resize(shape, position, (shape[position] - size) // step + 1), size)


def slice_of(shape: Dims, dim: int, start: int, end: int, step: int) -> Dims:
    """As slicing one dimension in Python, with a positive step."""
    position = axis(dim, len(shape))
    return resize(shape, position, len(range(*slice(start, end, step).indices(shape[position]))))


def adaptive_pool(shape: Dims, output: Sequence[int]) -> Dims:
    """The trailing dimensions become the output sizes."""
    return (*shape[: len(shape) - len(output)], *output)


BY_RULE: dict[str, Callable[..., Any]] = {
    "same": lambda shape: shape,
    "broadcast": broadcast,
    "broadcastable": lambda shape: shape,
    "value": tuple,
    "reduce": reduce,
    "without": without,
    "resize": resize,
    "matmul": matmul,
    "conv": conv,
    "conv_transpose": conv_transpose,
    "pool": pool,
    "adaptive_pool": adaptive_pool,
    "concat": concat,
    "stack": stack,
    "split": split,
    "permute": permute,
    "transpose": transpose,
    "repeat": repeat,
    "pad": pad,
    "unfold": unfold,
    "slice": slice_of,
}
"""The rules but `any`, which leaves the shape to the caller, and `one_of`, which has several. Arguments are values in
the order of the grammar. A shape; of `split` one for each member of an array."""

"""Rotary positions in plain operators: `x * cos + rotate_half(x) * sin`, or the two halves of a head one by one."""

from __future__ import annotations

from typing import Any

import torch
import torch.fx

from .graph_calls import FLOATING
from .patterns import Found, Maker, Pattern, register
from .plain_operators import is_tensor, number_of, operation, same, same_shape, value_of
from .walk import Miss, NoMatch, Walk


def _match(node: torch.fx.Node) -> Found:
    """From where halves are put together: what is rotated, the angles, and the last node."""
    parts, dimension = _joined(node)
    if dimension != -1 or len(parts) != 2:
        raise NoMatch
    walk = Walk([node])
    first = operation(parts[0])
    if first is not None and first.name == "neg":
        return _whole(walk, node, parts)
    return _halves(walk, node, parts)


def _joined(node: torch.fx.Node) -> tuple[tuple[Any, ...], Any]:
    seen = operation(node)
    if seen is None or seen.name != "cat":
        raise NoMatch
    return seen.operands[0], seen.operands[1]


def _half(walk: Walk, node: Any) -> tuple[torch.fx.Node, int]:
    """Of which tensor a node is a half, and which half."""
    source, first, end = walk.read(node, "narrow")
    size = value_of(source).shape[-1]
    if size % 2 or (first, end) not in ((0, size // 2), (size // 2, size)):
        raise NoMatch
    return source, int(first > 0)


def _whole(walk: Walk, node: torch.fx.Node, parts: tuple[Any, ...]) -> Found:
    """`x * cos + cat(-right, left) * sin`."""
    (right,) = walk.read(parts[0], "neg")
    (x, of_right), (other, of_left) = _half(walk, right), _half(walk, parts[1])
    if x is not other or (of_right, of_left) != (1, 0):
        raise NoMatch
    turned = walk.user(node)
    if turned is None:
        raise Miss("the rotated half is used several times, or after a write")
    sin = _factor(walk, turned, node)
    last = walk.user(turned)
    if last is None:
        raise Miss("the product with the sine is used several times, or after a write")
    others = [one for one in walk.read(last, "add") if walk.uncopied(one) is not turned]
    if len(others) != 1:
        raise NoMatch
    cos = _factor(walk, others[0], x)
    for name, angle in (("cos", cos), ("sin", sin)):
        if not same(value_of(angle).shape[-1], value_of(x).shape[-1]):
            raise NoMatch
        if not _repeats(angle):
            raise Miss(f"{name} is not known to repeat its first half: it is no cat((a, a), -1) in this graph")
    return Found(last, walk, _builder(x, cos, sin))


def _halves(walk: Walk, node: torch.fx.Node, parts: tuple[Any, ...]) -> Found:
    """`cat(left * cos - right * sin, right * cos + left * sin)`."""
    terms = [walk.read(parts[0], "sub"), walk.read(parts[1], "add")]
    products = [[_term(walk, term) for term in pair] for pair in terms]
    (x, first, cos), (_, second, sin) = products[0]
    if first != 0 or second != 1:
        raise NoMatch
    if {id(each[0]) for pair in products for each in pair} != {id(x)}:
        raise NoMatch
    if {(each[1], each[2]) for each in products[1]} != {(1, cos), (0, sin)}:
        raise NoMatch
    return Found(node, walk, _builder(x, cos, sin))


def _term(walk: Walk, node: Any) -> tuple[torch.fx.Node, int, torch.fx.Node]:
    """A product of a half and an angle."""
    first, second = walk.read(node, "mul")
    for half, angle in ((first, second), (second, first)):
        seen = operation(half)
        if seen is not None and seen.name == "narrow" and is_tensor(angle):
            source, which = _half(walk, half)
            if same(value_of(angle).shape[-1], value_of(half).shape[-1]):
                return source, which, angle
    raise NoMatch


def _factor(walk: Walk, node: Any, of: torch.fx.Node) -> torch.fx.Node:
    """The other factor of a product."""
    others = [one for one in walk.read(node, "mul") if walk.uncopied(one) is not of]
    if len(others) != 1 or not is_tensor(others[0]):
        raise NoMatch
    found: torch.fx.Node = others[0]
    return found


def _repeats(node: Any) -> bool:
    """Returns whether the second half of a node's last dimension is its first half: a tensor is joined with itself, and
    what follows goes element by element."""
    while (seen := operation(node, as_value=True)) is not None:
        if seen.name == "cat":
            parts, dimension = seen.operands
            return dimension == -1 and len(parts) == 2 and parts[0] is parts[1]
        if seen.name == "repeat":
            return bool(seen.operands[1][-1] == 2)
        if seen.name in ("mul", "add"):
            if number_of(seen.operands[1]) is None:
                return False
        elif seen.name == "unsqueeze":
            if seen.operands[1] in (None, -1):
                return False
        elif seen.name not in ("cos", "sin", "cast", "contiguous"):
            return False
        node = seen.operands[0]
    return False


def _heads_first(x: Any, angle: Any) -> bool:
    """Returns whether heads come before positions. Raises `Miss` for angles that are not one for each position."""
    shape = list(angle.shape)
    if x.dim() < 3 or len(shape) < 2:
        raise Miss(f"{x.dim()} dimensions")
    if len(shape) > x.dim() or not all(same(size, 1) for size in shape[:-3]):
        raise Miss("the angles differ between samples")
    heads = shape[-3] if len(shape) > 2 else 1
    if same(heads, 1) and same(shape[-2], x.shape[-2]):
        return True
    if same(shape[-2], 1) and same(heads, x.shape[-3]):
        return False
    raise Miss("the angles differ between heads or samples")


def _builder(x: torch.fx.Node, cos: torch.fx.Node, sin: torch.fx.Node) -> Any:
    """Makes the call: positions, heads and elements are the last three dimensions of what the function rotates."""
    value = value_of(x)
    if value.dtype not in FLOATING or any(value_of(one).dtype != value.dtype for one in (cos, sin)):
        raise Miss(f"angles of {value_of(cos).dtype} for {value.dtype}")
    if not isinstance(value.shape[-1], int) or not same_shape(value_of(cos).shape, value_of(sin).shape):
        raise Miss("the size of a head is a symbol, or sine and cosine have different shapes")
    is_heads_first = _heads_first(value, value_of(cos))

    def angles(make: Maker, node: torch.fx.Node) -> torch.fx.Node:
        half = value.shape[-1] // 2
        if value_of(node).shape[-1] != half:
            node = make(torch.narrow, node, -1, 0, half)
        while value_of(node).dim() > (2 if is_heads_first else 3):
            node = make(torch.select, node, 0, 0)
        return make(torch.unsqueeze, node, 1) if is_heads_first else node

    def build(make: Maker) -> torch.fx.Node:
        rotated = make(torch.transpose, x, -3, -2) if is_heads_first else x
        found = make(torch.ops.diopi.rotary_embedding.default, rotated, angles(make, cos), angles(make, sin))
        return make(torch.transpose, found, -3, -2) if is_heads_first else found

    return build


register(Pattern("rotary_embedding", ("diopiRotaryEmbedding",), frozenset({"cat"}), _match))

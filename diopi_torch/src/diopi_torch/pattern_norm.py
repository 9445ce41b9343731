"""RMSNorm in plain operators, as in Llama: `weight * (x * rsqrt(mean(x ** 2) + eps))`, computed in float32."""

from __future__ import annotations

from typing import Any

import torch
import torch.fx

from .graph_calls import FLOATING
from .patterns import Found, Maker, Pattern, register
from .plain_operators import is_tensor, number_of, operation, same_shape, value_of
from .walk import Miss, NoMatch, Walk, uncast


def _squared(walk: Walk, node: Any) -> torch.fx.Node:
    """Operand of which a node is the square."""
    seen = operation(node)
    operands = walk.read(node, "pow", "mul", "square")
    assert seen is not None
    is_square = {
        "pow": lambda: number_of(operands[1]) == 2,
        "mul": lambda: operands[0] is operands[1],
        "square": lambda: True,
    }
    if not is_square[seen.name]() or not is_tensor(operands[0]):
        raise NoMatch
    found: torch.fx.Node = operands[0]
    return found


def _match(node: torch.fx.Node) -> Found:
    """From the inverse root back to the input, then on to the product with the weight."""
    walk = Walk()
    (summed,) = walk.read(node, "rsqrt")
    mean, eps = walk.read(summed, "add")
    if number_of(mean) is not None:
        mean, eps = eps, mean
    squares, count, _ = walk.read(mean, "mean")
    wide = _squared(walk, squares)
    x = uncast(wide)
    if number_of(eps) is None:
        raise Miss("eps is no number")
    own, expected = value_of(x).dtype, value_of(squares).dtype
    computed = torch.float64 if own == torch.float64 else torch.float32
    if own not in FLOATING or {expected, value_of(mean).dtype, value_of(node).dtype} != {computed}:
        raise Miss(f"squares and their mean are computed in {expected}: the function computes in {computed}")
    sizes = value_of(x).shape[-count:]
    if not all(isinstance(size, int) for size in sizes):
        raise Miss("the sizes that are normalised are symbols")
    scaled = _scaled(walk, node, x, computed)
    last, weight = _weighted(walk, scaled, x, sizes)

    def build(make: Maker) -> torch.fx.Node:
        return make(torch.nn.functional.rms_norm, x, list(sizes), weight, number_of(eps))

    return Found(last, walk, build)


def _scaled(walk: Walk, root: torch.fx.Node, x: torch.fx.Node, computed: torch.dtype) -> torch.fx.Node:
    """The product of the input and the inverse root."""
    product = walk.user(root)
    if product is None:
        raise Miss("the inverse root is used several times, or after a write")
    operands = walk.read(product, "mul")
    others = [one for one in operands if walk.uncopied(one) is not root]
    if len(others) != 1 or not is_tensor(others[0]) or uncast(others[0]) is not x:
        raise NoMatch
    if value_of(product).dtype != computed:
        raise Miss(f"the product is computed in {value_of(product).dtype}")
    return product


def _weighted(
    walk: Walk, scaled: torch.fx.Node, x: torch.fx.Node, sizes: Any
) -> tuple[torch.fx.Node, torch.fx.Node | None]:
    """The node that has the result of the function, and the weight, if there is one."""
    own = value_of(x).dtype
    at, back = scaled, list(walk.nodes)
    result: tuple[torch.fx.Node, torch.fx.Node | None] | None = None
    why = f"the result is used in {value_of(scaled).dtype}, and the input is {own}"
    weight: torch.fx.Node | None = None
    while True:
        if value_of(at).dtype == own:
            result, back = (at, weight), list(walk.nodes)
        user = walk.user(at)
        seen = operation(user)
        if user is None or seen is None:
            break
        if seen.name == "cast" and (value_of(at).dtype != own or value_of(user).dtype == own):
            walk.nodes.append(user)
            at = user
            continue
        others = [one for one in seen.operands if walk.uncopied(one) is not at] if seen.name == "mul" else []
        if weight is not None or len(others) != 1 or not is_tensor(others[0]):
            break
        if not same_shape(value_of(others[0]).shape, sizes):
            break
        weight = uncast(others[0])
        if value_of(weight).dtype != own:
            why = f"the weight is {value_of(weight).dtype}, and the input {own}"
            break
        walk.nodes.append(user)
        at = user
    if result is None:
        raise Miss(why)
    walk.nodes[:] = back
    return result


register(Pattern("rms_norm", ("diopiRMSNorm", "diopiRMSNormBackward"), frozenset({"rsqrt"}), _match))

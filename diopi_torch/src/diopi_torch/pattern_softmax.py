"""Attention in plain operators: a product of queries and keys, a scale, a mask, a softmax, a product with the values.
Where it is no whole attention, a softmax of masked scores."""

from __future__ import annotations

from typing import Any

import torch
import torch.fx

from .patterns import Found, Maker, Pattern, register
from .plain_operators import is_tensor, number_of, operation, same, same_shape, value_of
from .walk import Miss, NoMatch, Walk, constant_of, uncast

HIDDEN = -10000.0
"""Value that the interface has for hidden scores."""
_HALVES = (torch.float16, torch.bfloat16)


def _scaled(walk: Walk, node: Any) -> tuple[Any, float]:
    """A tensor and the number that it is multiplied with."""
    node = _uncast(walk, node)
    seen = operation(node)
    if seen is None or seen.name not in ("mul", "div"):
        return node, 1.0
    first, second = seen.operands
    if seen.name == "mul" and number_of(first) is not None:
        first, second = second, first
    number = number_of(second)
    if number is None or number == 0 or not is_tensor(first):
        return node, 1.0
    walk.nodes.append(node)
    return _uncast(walk, first), number if seen.name == "mul" else 1.0 / number


def _uncast(walk: Walk, node: Any) -> Any:
    """Source of copies and of conversions to a wider dtype, which become part of the match."""
    while (seen := operation(node)) is not None and seen.name in ("cast", "contiguous"):
        if seen.name == "cast" and uncast(node) is node:
            break
        walk.nodes.append(node)
        node = seen.operands[0]
    return node


def _probabilities(walk: Walk, node: torch.fx.Node, dtype: torch.dtype) -> torch.fx.Node:
    """The softmax, or what it is converted to."""
    user = walk.user(node)
    seen = operation(user)
    if value_of(node).dtype != dtype and user is not None and seen is not None and seen.name == "cast":
        walk.nodes.append(user)
        return user
    return node


def _hides(value: Any, dtype: torch.dtype) -> bool:
    """Returns whether a number added to a score, or in its place, makes its exponential 0."""
    return bool(value == float("-inf") or value == torch.finfo(dtype).min)


def _is_causal(mask: Any, scores: Any, dtype: torch.dtype) -> bool:
    """Returns whether a constant hides what is behind a query, and nothing else. A bool is true where a score is
    hidden."""
    found = constant_of(mask)
    rows, columns = scores.shape[-2:]
    if found is None or not same(rows, columns) or not isinstance(rows, int):
        return False
    if found.dim() > scores.dim() or any(size != 1 for size in found.shape[:-2]) or found.shape[-2:] != (rows, columns):
        return False
    found = found.reshape(rows, columns)
    behind = torch.ones(rows, columns, dtype=torch.bool).triu(1)
    if found.dtype == torch.bool:
        return bool(torch.equal(found, behind))
    if not found.is_floating_point() or bool((found[~behind] != 0).any()):
        return False
    return all(_hides(value, dtype) for value in found[behind].unique().tolist())


def _masked(walk: Walk, node: Any) -> tuple[Any, bool]:
    """Scores without their mask, and whether they were causal. Raises `Miss` for other masks."""
    node = _uncast(walk, node)
    seen = operation(node)
    if seen is None or seen.name not in ("add", "masked_fill", "where"):
        return node, False
    scores = value_of(node)
    unlike = Miss("the mask is no constant that hides what is behind each query: the function has no other")
    if seen.name == "add":
        for first, second in (seen.operands, seen.operands[::-1]):
            if is_tensor(first) and is_tensor(second) and _is_causal(second, scores, scores.dtype):
                walk.nodes.append(node)
                return first, True
        raise unlike
    if seen.name == "masked_fill":
        inner, mask, number = seen.operands
        is_causal = _is_causal(mask, scores, scores.dtype)
    else:
        mask, inner, number = seen.operands
        shown = constant_of(mask)
        is_causal = shown is not None and shown.dtype == torch.bool and _is_lower(shown, scores)
    number = _number(number)
    if number is None or not _hides(number, scores.dtype) or not is_causal:
        raise unlike
    walk.nodes.append(node)
    return inner, True


def _is_lower(shown: torch.Tensor, scores: Any) -> bool:
    rows, columns = scores.shape[-2:]
    if not same(rows, columns) or shown.shape[-2:] != (rows, columns) or shown.numel() != rows * columns:
        return False
    lower = torch.ones(rows, columns, dtype=torch.bool).tril()
    return bool(torch.equal(shown.reshape(rows, columns), lower))


def _number(operand: Any) -> float | None:
    """A number, which may be a constant tensor of one element."""
    found = number_of(operand)
    if found is None and is_tensor(operand) and (value := constant_of(operand)) is not None and value.numel() == 1:
        return float(value)
    return found


def _attention(node: torch.fx.Node) -> Found:
    walk = Walk()
    (scores,) = walk.read(node, "softmax")
    before = Walk()
    probabilities, last, value = _weighted(before, node)
    query, key, scale, is_causal = _scores(walk, scores)
    walk.nodes += before.nodes
    dtype = value_of(query).dtype
    if dtype not in _HALVES or {value_of(one).dtype for one in (key, value, probabilities)} != {dtype}:
        raise Miss(f"queries are {dtype}: the function accepts float16 and bfloat16")
    own, other, third = (value_of(one) for one in (query, key, value))
    is_batch = own.dim() == 4 and same_shape(own.shape[:2], other.shape[:2]) and same_shape(other.shape, third.shape)
    if not is_batch or not same(own.shape[-1], other.shape[-1]):
        raise Miss("queries, keys and values are not (batch, heads, positions, size) of the same sizes")

    def build(make: Maker) -> torch.fx.Node:
        attention = torch.nn.functional.scaled_dot_product_attention
        return make(attention, query, key, value, is_causal=is_causal, scale=scale)

    return Found(last, walk, build)


def _weighted(walk: Walk, node: torch.fx.Node) -> tuple[torch.fx.Node, torch.fx.Node, torch.fx.Node]:
    """The probabilities as they are multiplied, the product, and the values."""
    probabilities = node
    while True:
        at = walk.user(probabilities)
        if at is None:
            raise NoMatch
        seen = operation(at)
        if seen is not None and seen.name == "dropout":
            raise Miss("probabilities are dropped")
        if seen is None or seen.name != "cast":
            break
        walk.nodes.append(at)
        probabilities = at
    first, second = walk.read(at, "matmul")
    if walk.uncopied(first) is not probabilities or not is_tensor(second):
        raise NoMatch
    return probabilities, at, second


def _scores(walk: Walk, node: Any) -> tuple[torch.fx.Node, torch.fx.Node, float, bool]:
    """Queries, keys, scale and whether the mask is causal."""
    probe = Walk()
    inner = operation(_uncast(probe, node))
    candidates = [one for one in inner.operands if is_tensor(one)] if inner is not None else []
    if not any(_is_product(one) for one in [node, *candidates]):
        raise NoMatch
    unmasked, is_causal = _masked(walk, node)
    product, scale = _scaled(walk, unmasked)
    query, turned = walk.read(product, "matmul")
    key, *dimensions = walk.read(turned, "transposed")
    if dimensions != [-2, -1] or not is_tensor(query):
        raise NoMatch
    return query, key, scale, is_causal


def _is_product(node: Any) -> bool:
    inner, _ = _scaled(Walk(), node)
    seen = operation(inner)
    return seen is not None and seen.name == "matmul"


def _hidden(walk: Walk, scores: Any) -> tuple[Any, Any, Any, bool]:
    """Scores, the mask, the number of those that it hides, and whether it is true where it does."""
    seen = operation(scores)
    if seen is not None and seen.name == "masked_fill":
        walk.nodes.append(scores)
        return (*seen.operands, True)
    if seen is not None and seen.name == "where":
        walk.nodes.append(scores)
        shown, inner, number = seen.operands
        return inner, shown, number, False
    raise NoMatch


def _softmax(node: torch.fx.Node) -> Found:
    walk = Walk()
    (scores,) = walk.read(node, "softmax")
    scores = _uncast(walk, scores)
    inner, mask, number, is_fill = _hidden(walk, scores)
    if not is_tensor(inner) or not is_tensor(mask):
        raise NoMatch
    if _number(number) != HIDDEN:
        found = "something else" if _number(number) is None else f"{_number(number):g}"
        raise Miss(f"hidden scores become {found}: those of the function become {HIDDEN:g}")
    x, scale = _scaled(walk, inner)
    value, hidden = value_of(x), value_of(mask)
    if value.dim() != 4 or value.dtype not in (*_HALVES, torch.float32) or hidden.dtype != torch.bool:
        raise Miss(f"scores are {value.dtype} of {value.dim()} dimensions, the mask is {hidden.dtype}")
    last = _probabilities(walk, node, value.dtype)
    if value_of(last).dtype != value.dtype:
        raise Miss(f"scores are {value.dtype}, probabilities {value_of(last).dtype}")

    def build(make: Maker) -> torch.fx.Node:
        own = mask if is_fill else make(torch.logical_not, mask)
        return make(torch.ops.diopi.scaled_masked_softmax.default, x, own, scale, False)

    return Found(last, walk, build)


register(
    Pattern("attention", ("diopiFlashAttention", "diopiFlashAttentionBackward"), frozenset({"softmax"}), _attention)
)
register(
    Pattern(
        "scaled_masked_softmax",
        ("diopiScaledMaskedSoftmax", "diopiScaledMaskedSoftmaxBackward"),
        frozenset({"softmax"}),
        _softmax,
    )
)

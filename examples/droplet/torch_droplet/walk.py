"""How patterns walk through a graph: the nodes of a match, what may come between them, and constants."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
import torch.fx
from torch._subclasses.fake_tensor import unset_fake_temporarily

from torch_droplet.folding import LARGEST
from torch_droplet.plain_operators import is_tensor, name_of, operation, value_of

_LARGEST_CONSTANT = 100
"""Nodes of a constant that is worth evaluating."""


class NoMatch(Exception):
    """The node is something else."""


class Miss(Exception):
    """Nearly a match; the text says what is missing."""


@dataclass
class Walk:
    """The nodes of a match, as they are read."""

    nodes: list[torch.fx.Node] = field(default_factory=list)

    def read(self, node: Any, *names: str) -> tuple[Any, ...]:
        """The operands of a node, which belongs to the match. Raises `NoMatch` where it has none of the operators."""
        seen = operation(node)
        if seen is None or seen.name not in names:
            raise NoMatch
        self.nodes.append(node)
        return seen.operands

    def uncopied(self, node: Any) -> Any:
        """What a node copies, through any number of copies."""
        while (seen := operation(node)) is not None and seen.name == "contiguous":
            self.nodes.append(node)
            node = seen.operands[0]
        return node

    def user(self, node: torch.fx.Node) -> torch.fx.Node | None:
        """The only node that reads it, past copies; None where there are several."""
        if len(node.users) != 1:
            return None
        (user,) = node.users
        seen = operation(user)
        if seen is not None and seen.name == "contiguous":
            self.nodes.append(user)
            return self.user(user)
        return user

    def used_elsewhere(self, last: torch.fx.Node) -> torch.fx.Node | None:
        """A node of the match, other than the last, that something outside reads."""
        inner = {*self.nodes, last}
        for node in self.nodes:
            if node is not last and any(user not in inner for user in node.users):
                return node
        return None

    def written_between(self, last: torch.fx.Node) -> torch.fx.Node | None:
        """A node between the first and the last one of the match that writes to a tensor, or switches gradients or
        autocast: the values that the match reads may be others at its end."""
        inner = {*self.nodes, last}
        has_begun = False
        for node in last.graph.nodes:
            if node is last:
                return None
            if node in inner:
                has_begun = True
            elif has_begun and writes(node):
                return node
        return None

    def ordered(self, last: torch.fx.Node) -> list[torch.fx.Node]:
        """The nodes of the match from the last one backwards."""
        inner = {*self.nodes, last}
        return [node for node in reversed(list(last.graph.nodes)) if node in inner]


def uncast(node: Any) -> Any:
    """What a node converts, through any number of conversions that lose nothing."""
    while (seen := operation(node)) is not None and seen.name == "cast":
        before, after = value_of(seen.operands[0]).dtype, value_of(node).dtype
        if torch.promote_types(before, after) != after:
            break
        node = seen.operands[0]
    return node


def constant_of(node: Any) -> torch.Tensor | None:
    """The value of a small node that follows from no input, on the CPU."""
    value = value_of(node)
    if not is_tensor(node) or value.layout != torch.strided or not all(isinstance(n, int) for n in value.shape):
        return None
    if value.numel() * value.element_size() > LARGEST:
        return None
    needed: dict[torch.fx.Node, None] = {}
    remaining: list[torch.fx.Node] = [node]
    while remaining:
        one = remaining.pop()
        if one in needed:
            continue
        if one.op not in ("call_function", "call_method") or len(needed) > _LARGEST_CONSTANT or _is_random(one):
            return None
        needed[one] = None
        remaining += one.all_input_nodes
    if any(writes(one) and _comes_from(one, needed) for one in node.graph.nodes):
        return None
    values: dict[torch.fx.Node, Any] = {}
    with unset_fake_temporarily(), torch.no_grad():
        for one in (each for each in node.graph.nodes if each in needed):
            args, kwargs = torch.fx.node.map_arg((one.args, one.kwargs), lambda each: values[each])
            try:
                if one.op == "call_method":
                    values[one] = getattr(args[0], str(one.target))(*args[1:], **kwargs)
                else:
                    assert callable(one.target)  # its name belongs to methods alone
                    values[one] = one.target(*args, **kwargs)
            except (RuntimeError, TypeError, ValueError):
                return None
        found = values[node]
        return found.cpu() if isinstance(found, torch.Tensor) else None


def _comes_from(node: torch.fx.Node, sources: Mapping[torch.fx.Node, None]) -> bool:
    """Whether one of the sources is among what a node is made of."""
    remaining, seen = [node], {node}
    while remaining:
        one = remaining.pop()
        if one in sources:
            return True
        new = [each for each in one.all_input_nodes if each not in seen]
        seen.update(new)
        remaining += new
    return False


_SWITCHES = ("_set_grad_enabled", "_enter_autocast", "_exit_autocast")


def writes(node: torch.fx.Node) -> bool:
    """Whether a node may change a tensor that is there already, or how later nodes compute."""
    if node.op == "call_method":
        name = str(node.target)
        return (name.endswith("_") and not name.endswith("__")) or name == "__setitem__"
    if node.op != "call_function":
        return False
    if isinstance(node.target, torch._ops.OpOverload):
        return node.target._schema.is_mutable
    name = getattr(node.target, "__name__", "")
    if name in _SWITCHES or name.endswith("_") or "out" in node.kwargs or node.kwargs.get("inplace"):
        return True
    return name in _IN_PLACE and getattr(operator, name) is node.target


_IN_PLACE = {"setitem", *(name for name in dir(operator) if name.startswith("i") and hasattr(operator, f"__{name}__"))}


def in_autocast(node: torch.fx.Node) -> bool:
    """Whether autocast is on where a node is."""
    depth = 0
    for each in node.graph.nodes:
        if each is node:
            break
        name = getattr(each.target, "__name__", "") if each.op == "call_function" else ""
        depth += (name == "_enter_autocast") - (name == "_exit_autocast")
    return depth > 0 or torch._C._is_any_autocast_enabled()


def _is_random(node: torch.fx.Node) -> bool:
    name = name_of(node)
    return not name or "rand" in name or name in ("dropout", "bernoulli", "multinomial", "normal", "exponential_")

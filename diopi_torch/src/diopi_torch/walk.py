"""Traversal of a graph by patterns: the nodes of a match, what may come between them, and constants."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import torch
import torch.fx
from torch._subclasses.fake_tensor import unset_fake_temporarily

from .folding import LARGEST
from .functional import is_readable, is_repeatable
from .plain_operators import is_tensor, operation, value_of

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
        """Source of a node, through any number of copies."""
        while (seen := operation(node)) is not None and seen.name == "contiguous":
            self.nodes.append(node)
            node = seen.operands[0]
        return node

    def user(self, node: torch.fx.Node) -> torch.fx.Node | None:
        """The only node that reads it, past copies; None where there are several, or where it is in another part of
        the graph."""
        if len(node.users) != 1:
            return None
        (user,) = node.users
        if not is_readable(user):
            return None
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

    def ordered(self, last: torch.fx.Node) -> list[torch.fx.Node]:
        """The nodes of the match from the last one backwards."""
        inner = {*self.nodes, last}
        return [node for node in reversed(list(last.graph.nodes)) if node in inner]


def uncast(node: Any) -> Any:
    """Source of a node, through any number of conversions that lose nothing."""
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
        if one.op not in ("call_function", "call_method") or len(needed) > _LARGEST_CONSTANT or not is_repeatable(one):
            return None
        needed[one] = None
        remaining += one.all_input_nodes
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

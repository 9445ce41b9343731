"""The layouts of images in a graph, chosen before it is planned, where the chip's functions demand some.

A function that takes channels last alone gets its operands so, and what is between such functions stays so: values
change their strides, and nothing is copied. Copies are left at the borders: inputs of the graph, results, which have
the strides of eager mode, views, and what runs through the dispatcher. Functions that demand nothing read and write any
strides. Activations that a forward graph saves keep their new strides, which its backward graph is told.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
import torch.fx
from torch._subclasses.fake_tensor import unset_fake_temporarily
from torch.fx import Node

from .graph_nodes import overload_name, results_of, source_of, storage_key, tensors_of
from .layout_roles import META, demanded, demanded_values, is_served, operand_format, result_format
from .table import layouts

LAST = "channels_last"
FORMATS = {4: torch.channels_last, 5: torch.channels_last_3d}
"""By the number of dimensions."""


def is_enabled() -> bool:
    """Returns whether layouts are chosen: `DIOPI_COMPILE_LAYOUTS=0` turns that off, and so do functions without any."""
    return os.environ.get("DIOPI_COMPILE_LAYOUTS", "1") != "0" and bool(layouts())


@dataclass
class Chosen:
    """A graph with its layouts; the strides of its results where some are not those of eager mode."""

    module: torch.fx.GraphModule
    strides: list[tuple[int, ...] | None] | None = None
    changed: list[Node] = field(default_factory=list)
    """Nodes whose values have other strides than in eager mode."""
    conversions: list[Node] = field(default_factory=list)
    before: int = 0
    """Tensors that shims would convert."""
    after: int = 0
    """Conversions of the graph, and tensors that shims still convert."""


def chosen(module: torch.fx.GraphModule, inputs: Sequence[Any] = (), saved: Sequence[int] = ()) -> Chosen:
    """A graph with its layouts chosen: a copy, or the module itself where no function demands one or fewer conversions
    are not to be had. Tensors among `inputs` say the strides of placeholders. `saved` are positions of results for the
    backward graph alone."""
    restrided = _restrided(module, inputs)
    may_choose = is_enabled() and any(_has_demand(node) for node in module.graph.nodes)
    if not may_choose and not restrided:
        return Chosen(module)
    copied, known = _copied(module)
    found = _Choice(copied, set(saved), may_choose).made({known[node]: value for node, value in restrided.items()})
    if found.after >= found.before and not restrided:
        found = Chosen(module, before=found.before, after=found.before)
    if "layout" in os.environ.get("DIOPI_COMPILE_LOG", "").split(","):
        print("\n".join(_lines(found)), file=sys.stderr)
    return found


def _lines(found: Chosen) -> Iterator[str]:
    """The log."""
    for node in found.module.graph.nodes:
        if _has_demand(node):
            listed = ", ".join(f"{name} {format}" for name, format in demanded(node).items())
            yield f"diopi: layout: {node.name} ({overload_name(node.target)}): {listed}{_line(node)}"
    for node in found.conversions:
        yield f"diopi: layout: {node.name} converts {node.args[0]} to {node.meta[META]}"
    changed = len(found.changed)
    yield f"diopi: layout: {found.before} conversions of shims became {found.after}, {changed} values changed"


def _line(node: Node) -> str:
    return f" ({source})" if (source := source_of(node)) else ""


def _has_demand(node: Node) -> bool:
    return any(format == LAST for format in demanded(node).values())


def unfit(graph: torch.fx.Graph) -> int:
    """Counts the tensors that do not have the layout that their function demands, so that its shim converts them."""
    found = 0
    for node in graph.nodes:
        for value, layout in demanded_values(node):
            found += not (is_last(value) if layout == LAST else _is_row_major(value))
    return found


def _copied(module: torch.fx.GraphModule) -> tuple[torch.fx.GraphModule, dict[Node, Node]]:
    """The same graph once more, and its nodes by those of the first one, which PyTorch runs where a graph cannot be
    planned."""
    graph = torch.fx.Graph()
    known: dict[Node, Node] = {}
    graph.output(graph.graph_copy(module.graph, known))
    graph.output_node().meta = dict(module.graph.output_node().meta)
    parts: dict[tuple[Node, Any], Node] = {}
    for node in list(graph.nodes):  # each result of a call once
        if _is_part(node) and parts.setdefault((_maker(node), node.args[1]), node) is not node:
            node.replace_all_uses_with(parts[_maker(node), node.args[1]])
            graph.erase_node(node)
    return torch.fx.GraphModule(module, graph), known


def _restrided(module: torch.fx.GraphModule, inputs: Sequence[Any]) -> dict[Node, torch.Tensor]:
    """Placeholders whose inputs have other strides: a forward graph has changed them."""
    found = {}
    placeholders = [node for node in module.graph.nodes if node.op == "placeholder"]
    for node, value in zip(placeholders, inputs, strict=False):
        known = node.meta.get("val")
        if not isinstance(known, torch.Tensor) or not isinstance(value, torch.Tensor) or known is value:
            continue
        if _plain(known.stride()) != _plain(value.stride()):
            # Memory of its own: the forward graph may have copied one of two tensors that shared some.
            found[node] = _strided(value, value.stride())
    return found


def _plain(sizes: Sequence[Any]) -> list[Any]:
    """Numbers, or expressions of symbols, which can be compared without a guard."""
    return [size.node.expr if isinstance(size, torch.SymInt) else size for size in sizes]


def _order(rank: int) -> list[int]:
    """Dimensions from the innermost one on: channels, the others from the last, the batch."""
    return [1, *range(rank - 1, 1, -1), 0]


def _fits(value: torch.Tensor, order: Sequence[int]) -> bool:
    """Returns whether the elements of a tensor are dense in this order of dimensions, whatever those of one element
    have."""
    expected: Any = 1
    sizes, strides = _plain(value.shape), _plain(value.stride())
    for k in order:
        if sizes[k] != 1:
            if strides[k] != expected and not _are_equal(strides[k], expected):
                return False
            expected = expected * sizes[k]
    return True


def _are_equal(one: Any, other: Any) -> bool:
    """Returns whether two expressions of symbols are the same number wherever there are elements: strides count sizes
    of 0 as 1."""
    if isinstance(one, int) and isinstance(other, int):
        return one == other
    import sympy

    difference = sympy.sympify(one - other).replace(_is_at_least_one, lambda each: each.args[each.args[0] == 1])
    return bool(sympy.expand(difference) == 0)


def _is_at_least_one(each: Any) -> bool:
    return type(each).__name__ == "Max" and len(each.args) == 2 and 1 in each.args


def is_last(value: torch.Tensor) -> bool:
    """Returns whether the channels of an image are its innermost dimension."""
    return _fits(value, _order(value.dim()))


def _is_row_major(value: torch.Tensor) -> bool:
    return _fits(value, range(value.dim() - 1, -1, -1))


def _last(value: torch.Tensor) -> torch.Tensor:
    """A tensor like this one with its channels last, over memory of its own."""
    strides: list[Any] = [0] * value.dim()
    step: Any = 1
    for k in _order(value.dim()):
        strides[k] = step
        step = step * torch.sym_max(value.shape[k], 1)
    return _strided(value, strides)


def _strided(value: torch.Tensor, strides: Sequence[Any]) -> torch.Tensor:
    """A tensor like this one with such strides, over memory of its own."""
    mode = getattr(value, "fake_mode", None)
    assert mode is not None, "values of graphs are fake tensors"
    with unset_fake_temporarily(), mode:
        return torch.empty_strided(value.shape, strides, dtype=value.dtype, device=value.device)


class _Choice:
    """The values of a graph that get their channels last."""

    def __init__(self, module: torch.fx.GraphModule, saved: set[int], may_choose: bool) -> None:
        self.module = module
        self.graph = module.graph
        self.nodes = list(self.graph.nodes)
        self.saved = saved
        self.may_choose = may_choose
        self.last: set[Node] = set()
        owners: dict[int, Node] = {}
        for node in self.nodes:
            for value in tensors_of(node.meta.get("val")):
                if node.target is not torch.ops.aten.copy_.default and not _is_part(node):
                    owners.setdefault(storage_key(value), node)
        self.owners = owners

    def made(self, restrided: dict[Node, torch.Tensor]) -> Chosen:
        """Chooses, and puts conversions where they are needed. Placeholders that are `restrided` have these values."""
        found = Chosen(self.module, before=unfit(self.graph))
        originals: dict[Node, torch.Tensor] = {}
        for node, value in restrided.items():
            originals[node] = node.meta["val"]
            self._set(node, value)
        for node in reversed(self.nodes) if self.may_choose else ():
            if self._may_change(node) and self._shall_change(node):
                self.last.add(node)
        for node in self.nodes:
            if node in self.last and not is_last(node.meta["val"]):
                originals[node] = node.meta["val"]
                self._set(node, _last(node.meta["val"]))
                found.changed.append(node)
            elif node.target in _SAME and node.args[0] in originals:
                originals[node] = node.meta["val"]
                (source,) = node.all_input_nodes
                node.meta = {**node.meta, "val": source.meta["val"]}
        for node in self.nodes:
            value = node.meta.get("val")
            if node in originals:
                readers = [user for user in node.users if not self._reads_any(user, node)]
                self._convert(found, node, readers, originals[node], "row_major")
            elif not self.may_choose:
                continue
            elif isinstance(value, torch.Tensor) and value.dim() in FORMATS and not is_last(value):
                readers = [user for user in node.users if operand_format(user, node) == LAST]
                if readers:
                    self._convert(found, node, readers, _last(value), LAST)
        self._note_results(found, originals)
        if found.conversions:
            self.module.recompile()
        found.after = len(found.conversions) + unfit(self.graph)
        return found

    # What gets its channels last.

    def _may_change(self, node: Node) -> bool:
        """Returns whether a value is one that a function of the interface writes, dense, and no view of another."""
        value = node.meta.get("val")
        if node.op != "call_function" or not isinstance(value, torch.Tensor) or value.dim() not in FORMATS:
            return False
        maker = _maker(node)
        if value.layout != torch.strided or not isinstance(maker.target, torch._ops.OpOverload):
            return False
        if not is_served(maker) or self.owners.get(storage_key(value)) is not maker:
            return False
        return is_last(value) or _is_row_major(value)

    def _shall_change(self, node: Node) -> bool:
        demand = result_format(node)
        return demand == LAST or (demand == "" and any(self._wants(user, node) for user in node.users))

    def _wants(self, user: Node, node: Node) -> bool:
        """Returns whether what reads a value is better off with its channels last."""
        if user.op != "call_function" or not isinstance(user.target, torch._ops.OpOverload):
            return False
        if user.target in _SAME:
            return any(self._wants(one, user) for one in user.users)
        if demand := operand_format(user, node):
            return demand == LAST
        return is_served(user) and any(one in self.last for one in (user, *user.users) if one is user or _is_part(one))

    # What changes for it.

    def _set(self, node: Node, value: torch.Tensor) -> None:
        """The value of a node, which may be one of several of another."""
        node.meta = {**node.meta, "val": value}
        self.owners[storage_key(value)] = _maker(node)
        if _is_part(node):
            maker, number = node.args
            assert isinstance(maker, Node) and isinstance(number, int)
            values = list(maker.meta["val"])
            values[number] = value
            maker.meta = {**maker.meta, "val": tuple(values)}

    def _reads_any(self, user: Node, node: Node) -> bool:
        """Returns whether something reads a value whatever its strides are."""
        if user.op == "output" or not isinstance(user.target, torch._ops.OpOverload):
            return False
        if user.target in _SAME:
            return True
        if operand_format(user, node) not in ("", LAST) or not is_served(user):
            return False
        own = {storage_key(value) for value in tensors_of(user.meta.get("val"))}
        return user.target is torch.ops.aten.copy_.default or all(self.owners.get(key) is user for key in own)

    def _convert(self, found: Chosen, node: Node, readers: Sequence[Node], value: torch.Tensor, layout: str) -> None:
        """A copy in another layout for those that need it."""
        position = {one: k for k, one in enumerate(self.nodes)}
        results = [user for user in readers if user.op == "output"]
        if results and not self._is_returned(node):
            readers = [user for user in readers if user.op != "output"]
        if not readers:
            return
        first = min(readers, key=lambda user: position[user])
        format = torch.contiguous_format if layout != LAST else FORMATS[value.dim()]
        with self.graph.inserting_before(first):
            made = self.graph.call_function(torch.ops.aten.clone.default, (node,), {"memory_format": format})
        kept = ("stack_trace", "nn_module_stack", "fwd_nn_module_stack")
        made.meta = {key: node.meta[key] for key in kept if key in node.meta}
        made.meta |= {"val": value, META: layout}
        for user in readers:
            if user.op == "output":
                user.args = (self._results_with(node, made),)
            else:
                user.replace_input_with(node, made)
        found.conversions.append(made)

    # Results of the graph.

    def _is_returned(self, node: Node) -> bool:
        """Returns whether a value is a result that others than the backward graph see."""
        return any(one is node and k not in self.saved for k, one in enumerate(results_of(self.graph)))

    def _results_with(self, node: Node, made: Node) -> Any:
        results = results_of(self.graph)
        return type(results)(made if one is node and k not in self.saved else one for k, one in enumerate(results))

    def _note_results(self, found: Chosen, originals: dict[Node, torch.Tensor]) -> None:
        results = results_of(self.graph)
        if not any(one in originals for one in results if isinstance(one, Node)):
            return
        values = [one.meta.get("val") if isinstance(one, Node) else None for one in results]
        found.strides = [tuple(one.stride()) if isinstance(one, torch.Tensor) else None for one in values]


_SAME = (torch.ops.aten.alias.default, torch.ops.aten.detach.default)
"""Node that copies its operand."""


def _is_part(node: Node) -> bool:
    return getattr(node.target, "__name__", "") == "getitem"


def _maker(node: Node) -> Node:
    """The call that a value comes from."""
    maker = node.args[0] if _is_part(node) else node
    assert isinstance(maker, Node)
    return maker

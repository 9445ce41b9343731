"""Plain code that one function of the interface computes: found in Dynamo's graphs before there are gradients.

Every module of this package whose name begins with `pattern_` may register patterns; a vendor adds one by adding such a
file. A pattern is asked about each node that has one of its anchors. It raises `NoMatch` where the node is something
else, `Miss` with the reason where little is missing, or returns what to call instead. What it calls has a gradient, so
that forward and backward graphs have the function, and its gradient's.
"""

from __future__ import annotations

import functools
import importlib
import os
import pkgutil
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import torch.fx

from ._backend import vendor
from .functional import Part, is_savable, parts_of, reading
from .graph_nodes import source_of
from .plain_operators import name_of, operation, value_of
from .table import has_function, has_own_function
from .walk import Miss, NoMatch, Walk


@dataclass(frozen=True)
class Found:
    """A match: the node that goes, those inside that nothing else may use, and what makes the value instead."""

    last: torch.fx.Node
    walk: Walk
    build: Callable[[Maker], torch.fx.Node]


@dataclass(frozen=True)
class Pattern:
    """`functions` are those that the chip must have, `anchors` the operators at which `match` looks."""

    name: str
    functions: tuple[str, ...]
    anchors: frozenset[str]
    match: Callable[[torch.fx.Node], Found]


@dataclass(frozen=True)
class Note:
    """Result of matching a pattern at one node of the graph."""

    pattern: str
    node: str
    source: str
    functions: tuple[str, ...]
    why: str = ""

    def text(self) -> str:
        """A line of the log."""
        outcome = f"not matched: {self.why}" if self.why else f"becomes {self.functions[0]}"
        return f"{self.pattern}: {self.node} {outcome}" + (f" ({self.source})" if self.source else "")


_PATTERNS: dict[str, Pattern] = {}


def register(pattern: Pattern) -> None:
    """Adds a pattern; one of the same name goes."""
    _PATTERNS[pattern.name] = pattern


@functools.cache
def _load() -> None:
    """Imports the modules `pattern_*` of this package, then those of the vendor's."""
    for package, folder in ((str(__package__), Path(__file__).parent), (vendor().package, vendor().folder)):
        for module in sorted(one.name for one in pkgutil.iter_modules([str(folder)])):
            if module.startswith("pattern_"):
                importlib.import_module(f"{package}.{module}")


def registered() -> dict[str, Pattern]:
    """All patterns by name, in the order in which they are tried."""
    _load()
    return dict(_PATTERNS)


def enabled() -> list[Pattern]:
    """Those that `DIOPI_COMPILE_PATTERNS` leaves: all where it is not set, none with 0, else those that it names.
    Raises `ValueError` for names that no pattern has."""
    known = registered()
    chosen = os.environ.get("DIOPI_COMPILE_PATTERNS", "1").strip()
    if chosen in ("", "0"):
        return []
    if chosen == "1":
        return list(known.values())
    names = [name.strip() for name in chosen.split(",")]
    if unknown := [name for name in names if name not in known]:
        raise ValueError(f"DIOPI_COMPILE_PATTERNS has {', '.join(unknown)}; there are {', '.join(known)}")
    return [pattern for name, pattern in known.items() if name in names]


def is_named() -> bool:
    """Returns whether `DIOPI_COMPILE_PATTERNS` has names: these patterns are used also where a library behind the
    vendor's computes the function."""
    return os.environ.get("DIOPI_COMPILE_PATTERNS", "1").strip() not in ("", "0", "1")


class Maker:
    """Makes nodes before one that goes. What they give is known at once."""

    def __init__(self, graph: torch.fx.Graph, before: torch.fx.Node) -> None:
        self.graph = graph
        self.before = before
        self.made: list[torch.fx.Node] = []

    def __call__(self, target: Callable[..., Any], *args: Any, **kwargs: Any) -> torch.fx.Node:
        """A call. Raises `Miss` where PyTorch rejects it."""
        mode = value_of(self.before).fake_mode
        real = torch.fx.node.map_arg((args, kwargs), value_of)
        try:
            with mode:
                value = target(*real[0], **real[1])
        except (RuntimeError, TypeError, ValueError) as error:  # what PyTorch's checks of arguments raise
            raise Miss(f"PyTorch rejects the call: {error}") from None
        with self.graph.inserting_before(self.before):
            node = self.graph.call_function(target, args, kwargs)
        for key in ("stack_trace", "nn_module_stack", "source_fn_stack"):
            if key in self.before.meta:
                node.meta[key] = self.before.meta[key]
        node.meta["example_value"] = value
        self.made.append(node)
        return node

    def like(self, node: torch.fx.Node, model: torch.fx.Node) -> torch.fx.Node:
        """The node, or a copy that has the strides of `model`. Raises `Miss` where no operator makes these."""
        own, expected = value_of(node), value_of(model)
        if own.shape != expected.shape or own.dtype != expected.dtype:
            raise Miss(f"the function gives {own.dtype} {list(own.shape)}")
        if own.stride() == expected.stride() or _has_free_layout(model):
            return node
        if expected.is_contiguous():
            return self(torch.Tensor.contiguous, node)
        raise Miss("the function gives another layout")

    def require_savable(self, last: torch.fx.Node) -> None:
        """Raises `Miss` where something writes later to an operand of the calls, or to the result: plain code may save
        neither for its gradients."""
        operands = {each for node in self.made for each in node.all_input_nodes if each not in self.made}
        for node in (*operands, last):
            if not is_savable(node):
                raise Miss(f"{node.name} is written to later, and gradients may need it")

    def drop(self) -> None:
        """Takes back what was made."""
        for node in reversed(self.made):
            self.graph.erase_node(node)
        self.made.clear()


def _has_free_layout(node: torch.fx.Node) -> bool:
    """Returns whether all that reads a node copies it or looks at it in a way that no strides forbid."""
    return bool(node.users) and all(
        (seen := operation(user)) is not None
        and (seen.name in ("contiguous", "reshape") or (seen.name == "transposed" and _has_free_layout(user)))
        for user in node.users
    )


def apply(module: torch.fx.GraphModule, inputs: Sequence[Any] = ()) -> torch.fx.GraphModule:
    """The module, in which `replace` has done what there was to do."""
    replace(module)
    return module


def replace(module: torch.fx.GraphModule) -> bool:
    """Replaces what the enabled patterns match, in the module itself; whether there was anything. Where
    `DIOPI_COMPILE_LOG` has `pattern`, what was done is shown on standard error."""
    notes = matched(module)
    module.recompile()
    if "pattern" in os.environ.get("DIOPI_COMPILE_LOG", "").split(","):
        for note in notes:
            print(f"diopi: pattern: {note.text()}", file=sys.stderr)
    return any(not note.why for note in notes)


def matched(module: torch.fx.GraphModule) -> list[Note]:
    """Replaces what matches in the functional parts of a graph, and says what was done and what was not."""
    notes: list[Note] = []
    patterns = enabled()
    names = {name_of(node) for node in module.graph.nodes}
    if not any(names & pattern.anchors for pattern in patterns):
        return notes
    for part in parts_of(module):
        with reading(part):
            for pattern in patterns:
                notes += _matched(module.graph, pattern, part)
    return notes


def _matched(graph: torch.fx.Graph, pattern: Pattern, part: Part) -> Iterator[Note]:
    for node in part.anchors:
        if node._erased:
            continue
        seen = operation(node)
        if seen is None or seen.name not in pattern.anchors:
            continue
        try:
            found = pattern.match(node)
        except NoMatch:
            continue
        except Miss as miss:
            yield _note(pattern, node, str(miss))
            continue
        yield _note(pattern, found.last, _replaced(graph, pattern, found))


def _note(pattern: Pattern, node: torch.fx.Node, why: str) -> Note:
    return Note(pattern.name, node.name, source_of(node), pattern.functions, why)


def _replaced(graph: torch.fx.Graph, pattern: Pattern, found: Found) -> str:
    """Puts the calls in the place of a match; why not, where it stays."""
    has = has_function if is_named() else has_own_function
    missing = [name for name in pattern.functions if not has(name)]
    if missing:
        return f"the chip's own library has no {missing[0]}"
    if used := found.walk.used_elsewhere(found.last):
        return f"{used.name} is used elsewhere as well"
    maker = Maker(graph, found.last)
    try:
        node = found.build(maker)
        node = maker.like(node, found.last)
        maker.require_savable(found.last)
    except Miss as miss:
        maker.drop()
        return str(miss)
    found.last.replace_all_uses_with(node)
    for each in found.walk.ordered(found.last):
        if not each.users:
            graph.erase_node(each)
    return ""

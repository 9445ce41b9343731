"""The functional parts of a graph: nodes whose operators hold as equations of the values that there are at one time.

Dynamo's graphs write in place, switch gradients and autocast, and enter transforms such as vmap. A graph is run once
with fake tensors, and the schemas of the operators that run show which memory a node writes to. Between two such nodes
lies a part: it has the nodes up to its end of which neither result nor operands were written to since. So a part is a
graph without effects, and what patterns read in it holds at its end.
"""

from __future__ import annotations

import contextlib
import contextvars
import itertools
import logging
import math
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch.fx
from torch._dispatch.python import enable_python_dispatcher
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Part:
    """`nodes` compute with gradients alike, `values` with or without; a pattern begins at one of `anchors`, which no
    earlier part has. Of `random` nodes another run has other values. What is `overwritten` after the part must not be
    saved for gradients."""

    nodes: frozenset[torch.fx.Node]
    values: frozenset[torch.fx.Node]
    anchors: Sequence[torch.fx.Node]
    random: frozenset[torch.fx.Node]
    overwritten: frozenset[torch.fx.Node]


_PART: contextvars.ContextVar[Part] = contextvars.ContextVar("part")


@contextlib.contextmanager
def reading(part: Part) -> Iterator[None]:
    """Patterns read this part meanwhile."""
    token = _PART.set(part)
    try:
        yield
    finally:
        _PART.reset(token)


def is_readable(node: torch.fx.Node, as_value: bool = False) -> bool:
    """Returns whether the operator of a node holds in the part that is read, without its gradient `as_value`. Raises
    `LookupError` where no part is read."""
    part = _PART.get()
    return node in (part.values if as_value else part.nodes)


def is_repeatable(node: torch.fx.Node) -> bool:
    """Returns whether the value of a node can be read, and is the same in each run."""
    part = _PART.get()
    return node in part.values and node not in part.random


def is_savable(node: torch.fx.Node) -> bool:
    """Returns whether the gradient of a call may need the value of a node: nothing writes to it later."""
    return node not in _PART.get().overwritten


class _Effects(TorchDispatchMode):
    """Records the storages that operators write to, and whether one of them draws random numbers."""

    supports_higher_order_operators = True

    def __init__(self) -> None:
        super().__init__()
        self.written: set[int] = set()
        self.is_random = False

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if not isinstance(func, torch._ops.OpOverload):  # of a graph: it may write to all that it reads
            self.written |= _storages((args, kwargs))
            self.is_random = True
            return func(*args, **kwargs)
        self.is_random |= torch.Tag.nondeterministic_seeded in func.tags
        for k, argument in enumerate(func._schema.arguments):
            if argument.alias_info is not None and argument.alias_info.is_write:
                self.written |= _storages(args[k] if k < len(args) else kwargs.get(argument.name))
        return func(*args, **kwargs)


def _storages(value: Any) -> set[int]:
    return {leaf.untyped_storage()._cdata for leaf in tree_leaves(value) if isinstance(leaf, torch.Tensor)}


def _forms(value: Any) -> list[Any]:
    """Dtypes and layouts of the tensors in a value."""
    return [
        (leaf.dtype, leaf.shape, leaf.stride(), leaf.storage_offset())
        for leaf in tree_leaves(value)
        if isinstance(leaf, torch.Tensor)
    ]


@dataclass(frozen=True)
class _State:
    """Computations of nodes."""

    has_gradients: bool
    in_autocast: bool
    transforms: int

    @classmethod
    def now(cls) -> _State:
        depth = torch._C._functorch.get_dynamic_layer_stack_depth()
        return cls(torch.is_grad_enabled(), torch._C._is_any_autocast_enabled(), depth)

    @property
    def is_plain(self) -> bool:
        return not self.in_autocast and self.transforms == 0


class _Run(torch.fx.Interpreter):
    """Runs a graph with fake tensors, node by node."""

    def __init__(self, module: torch.fx.GraphModule, mode: FakeTensorMode) -> None:
        super().__init__(module, garbage_collect_values=False)
        self.mode = mode
        self.effects = _Effects()
        self.states: dict[torch.fx.Node, _State] = {}
        """Of nodes that leave the state as it is."""
        self.storages: dict[torch.fx.Node, set[int]] = {}
        self.written: dict[torch.fx.Node, set[int]] = {}
        self.forms: dict[torch.fx.Node, list[Any]] = {}
        self.random: set[torch.fx.Node] = set()
        self.known: set[int] = set()

    def run_node(self, n: torch.fx.Node) -> Any:
        before, self.effects.written, self.effects.is_random = _State.now(), set(), False
        value = super().run_node(n)
        if _State.now() == before:
            self.states[n] = before
        if self.effects.is_random:
            self.random.add(n)
        # What a node makes for itself, it may write to.
        self.written[n] = self.effects.written & self.known
        self.storages[n] = set() if before.transforms or n.op == "output" else _storages(value)
        self.forms[n] = [] if before.transforms else _forms(value)
        self.known |= self.storages[n]
        return value

    def get_attr(self, target: Any, args: Any, kwargs: Any) -> Any:
        value = super().get_attr(target, args, kwargs)
        return self.mode.from_tensor(value, static_shapes=True) if isinstance(value, torch.Tensor) else value

    def has_forms_that_change(self) -> bool:
        """Returns whether a tensor got another layout in place: what is known of its node is not what it was."""
        return any(form != _forms(self.env[node]) for node, form in self.forms.items() if form)


def _run(module: torch.fx.GraphModule) -> _Run | None:
    """A run of the graph with its own inputs; none where PyTorch cannot run it without data."""
    values = [(node, _known(node)) for node in module.graph.nodes]
    inputs = [value for node, value in values if node.op == "placeholder"]
    modes = [value.fake_mode for _, value in values if isinstance(value, FakeTensor)]
    if not modes or any(isinstance(one, torch.Tensor) and not isinstance(one, FakeTensor) for one in inputs):
        return None
    if not _State.now().is_plain or any(node.meta.get("unbacked_bindings") for node, _ in values):
        return None
    run = _Run(module, modes[0])
    has_gradients, is_inference = torch.is_grad_enabled(), torch.is_inference_mode_enabled()
    device = torch.accelerator.current_device_index()
    failures: list[Exception] = []

    def start() -> None:
        symbols = run.mode.shape_env
        with contextlib.ExitStack() as stack:
            if symbols is not None:
                stack.enter_context(symbols.suppress_guards())
                stack.enter_context(symbols.ignore_fresh_unbacked_symbols())
            stack.enter_context(torch.accelerator.device_index(device))
            stack.enter_context(torch.inference_mode(is_inference))
            stack.enter_context(torch.set_grad_enabled(has_gradients))
            stack.enter_context(run.mode)
            stack.enter_context(enable_python_dispatcher())
            try:
                # Without the gradients and versions of the inputs that PyTorch will trace.
                twins = [value.data if isinstance(value, torch.Tensor) else value for value in inputs]
                with run.effects:
                    run.run(*twins, enable_io_processing=False)
            except Exception as failure:  # of whatever the model calls
                failures.append(failure)

    # What nodes switch belongs to the thread, and goes with it.
    thread = threading.Thread(target=start)
    thread.start()
    thread.join()
    if failures:
        log.info("no patterns in a graph of %d nodes: %s", len(values), failures[0])
    return None if failures or run.has_forms_that_change() else run


def _known(node: torch.fx.Node) -> Any:
    return node.meta["example_value"] if "example_value" in node.meta else node.meta.get("val")


_VALUES = ("add_", "div_", "masked_fill_", "mul_", "sub_")
"""Operators in place whose results are those of the operators without the last letter."""


def _as_values(run: _Run) -> list[torch.fx.Node]:
    """The nodes of the graph, in which writes to memory that the graph has made, and that nothing else looks at, are
    replaced by new values."""
    nodes: list[torch.fx.Node] = []
    fresh = itertools.count(1)
    for node in list(run.module.graph.nodes):
        value = _value(run, node, nodes) if run.written[node] else None
        if value is not None:
            old = value.args[0]
            assert isinstance(old, torch.fx.Node)
            earlier = {*nodes, value}
            old.replace_all_uses_with(value, lambda user, earlier=earlier: user not in earlier)
            node.replace_all_uses_with(value)
            run.storages[value], run.storages[old] = run.storages.pop(node), {-next(fresh)}
            run.written[value], run.states[value] = set(), run.states.pop(node)
            run.env[value] = run.env[node]
            run.module.graph.erase_node(node)
        nodes.append(value or node)
    return nodes


def _value(run: _Run, node: torch.fx.Node, before: Sequence[torch.fx.Node]) -> torch.fx.Node | None:
    """A new node with the value of one that writes, if there is one."""
    is_method = node.op == "call_method"
    target: Any = node.target
    if not is_method and not (isinstance(target, torch._ops.OpOverload) and target.namespace == "aten"):
        return None
    name = str(target) if is_method else target._schema.name.removeprefix("aten::")
    own = node.args[0] if node.args else None
    if name not in _VALUES or not isinstance(own, torch.fx.Node) or own.op == "placeholder" or node not in run.states:
        return None
    memory = run.storages[own]
    if len(memory) != 1 or run.written[node] != memory or memory != run.storages[node]:
        return None
    if any(run.storages[each] & memory for each in before if each is not own):
        return None
    function = getattr(torch.Tensor, name[:-1]) if is_method else getattr(torch.ops.aten, name[:-1])
    function = function if is_method else getattr(function, target._overloadname)
    args, kwargs = torch.fx.node.map_arg((node.args, node.kwargs), lambda each: run.env[each])
    try:
        with torch.no_grad(), run.mode:
            result = function(*args, **kwargs)
    except (RuntimeError, TypeError):
        return None
    if _forms(result) != _forms(run.env[own]):
        return None
    with run.module.graph.inserting_before(node):
        made = run.module.graph.create_node(node.op, name[:-1] if is_method else function, node.args, node.kwargs)
    made.meta = dict(node.meta)
    return made


def parts_of(module: torch.fx.GraphModule) -> list[Part]:
    """The parts of a graph, in order; some writes in place become values in it. None of them has nodes that PyTorch
    cannot run without data, nor those under autocast or in a transform."""
    run = _run(module)
    if run is None:
        return []
    nodes = _as_values(run)
    expires, last_writes = _expiries(run, nodes)
    found: list[Part] = []
    start = 0
    for k in range(len(nodes) + 1):
        is_within = k < len(nodes) and not run.written[nodes[k]]
        if is_within and run.states.get(nodes[k]) == run.states.get(nodes[start]) is not None:
            continue
        state = run.states.get(nodes[start]) if start < k else None
        if state is not None and state.is_plain:
            values = {n for n in nodes[:k] if expires[n] >= k and n in run.states and run.states[n].is_plain}
            own = frozenset(n for n in values if run.states[n] == state)
            anchors = [n for n in nodes[start:k] if n in own]
            overwritten = [n for n in nodes if last_writes[n] >= k] if state.has_gradients else []
            found.append(Part(own, frozenset(values), anchors, frozenset(run.random & values), frozenset(overwritten)))
        start = k if is_within else k + 1
    return found


def _expiries(run: _Run, nodes: Sequence[torch.fx.Node]) -> tuple[dict[torch.fx.Node, float], dict[torch.fx.Node, int]]:
    """By node the index of the next one that writes to its result or to its operands, its own where it writes; and the
    index of the last one that writes to its result, -1 for none."""
    expires: dict[torch.fx.Node, float] = {}
    writes: dict[int, int] = {}
    last_writes: dict[int, int] = {}
    for k in reversed(range(len(nodes))):
        node = nodes[k]
        memory = run.storages[node].union(*(run.storages[each] for each in node.all_input_nodes))
        expires[node] = k if run.written[node] else min((writes.get(one, math.inf) for one in memory), default=math.inf)
        writes |= dict.fromkeys(run.written[node], k)
        last_writes = dict.fromkeys(run.written[node], k) | last_writes
    last = {n: max((last_writes.get(one, -1) for one in run.storages[n]), default=-1) for n in nodes}
    return expires, last

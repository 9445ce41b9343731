"""Calls of graphs without what PyTorch wraps around them, where that has nothing to do.

Around an inference, PyTorch copies inputs that were changed, makes results anew that are views, and switches gradients
and autocast off. For a graph without these, the wrappers take as long as a small graph.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

import torch
import torch.fx
from torch._functorch._aot_autograd.schemas import PlainTensorMeta


class Inference(Protocol):
    """A graph that is called with the list of its inputs. `is_direct`: whether `is_plain` was true of it."""

    is_direct: bool
    input_count: int

    def __call__(self, args: list[Any]) -> list[Any]: ...


def is_plain() -> bool:
    """Returns whether the inference that is being compiled needs nothing around it; to be asked by its compiler."""
    context = torch._guards.TracingContext.try_get()
    meta = None if context is None else context.fw_metadata
    if meta is None:
        return False
    is_changed = meta.num_mutated_inp_runtime_indices or meta.mutated_graph_handled_indices_seen_by_autograd
    is_aliased = meta.num_outputs_aliased or meta.num_intermediate_bases
    is_subclass = any(
        not isinstance(one, PlainTensorMeta) for one in (*meta.subclass_inp_meta, *meta.subclass_fw_graph_out_meta)
    )
    is_stateful = meta.grad_enabled_mutation is not None or meta.tokens or meta.is_rng_op_functionalized
    return not (is_changed or is_aliased or is_subclass or is_stateful or meta.dynamic_outputs)


class _Compiled(threading.local):
    """The graphs of the compilation that this thread is in."""

    def __init__(self) -> None:
        self.graphs: list[Inference] | None = None


_compiled = _Compiled()


@contextlib.contextmanager
def collected() -> Iterator[list[Inference]]:
    """The graphs that are compiled, or found in the cache, meanwhile."""
    before = _compiled.graphs
    graphs: list[Inference] = []
    _compiled.graphs = graphs
    try:
        yield graphs
    finally:
        _compiled.graphs = before
        for graph in graphs:
            note(graph)  # a compilation within another one


def note(graph: Inference) -> None:
    """Tells the compilation under way of a graph."""
    if _compiled.graphs is not None and all(one is not graph for one in _compiled.graphs):
        _compiled.graphs.append(graph)


def call_of(
    module: torch.fx.GraphModule, inputs: Sequence[Any], graphs: Sequence[Inference], wrapped: Callable[..., Any]
) -> Callable[..., Any]:
    """Callable that runs the graph of a module of dynamo: directly, or `wrapped`, which also switches autocast off."""
    if torch._C._is_any_autocast_enabled():
        return wrapped
    if len(graphs) != 1 or not graphs[0].is_direct or graphs[0].input_count != len(inputs):
        return wrapped
    if next(module.parameters(), None) is not None or next(module.buffers(), None) is not None:
        return wrapped  # which hands these over as inputs
    (graph,) = graphs

    def call(*arguments: Any) -> list[Any]:
        return graph(list(arguments))

    return call

"""Graphs as files: `save` writes a model for programs without Python (`diopi-run`, `diopigen_torch/saved_graph.h`).

A file has the plan, the parameters and buffers, and the form of each input. Sizes are those of the example.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Sequence
from typing import Any

import torch
import torch.fx
from torch.utils._pytree import tree_leaves, tree_structure, tree_unflatten

from torch_droplet.graph_nodes import DataDependent, Unplanned
from torch_droplet.graphs import decompositions
from torch_droplet.indices import device_name
from torch_droplet.planner import Plan, plan

FORMAT = 1


def save(
    model: torch.nn.Module | torch.export.ExportedProgram, arguments: Sequence[Any], path: str | os.PathLike[str]
) -> None:
    """Writes a model on the device, or what `torch.export` made of it, for inputs like these. Raises `ValueError` for
    what a file cannot have: a graph without a plan, results that are no tensors, writes to buffers."""
    program = model if isinstance(model, torch.export.ExportedProgram) else None
    if program is None:
        with torch.no_grad():
            program = torch.export.export(model, tuple(arguments))  # type: ignore[arg-type]
    try:
        planned, names = _planned(program, arguments)
    except (Unplanned, DataDependent) as reason:
        raise ValueError(f"the model cannot be saved: its graph has {reason}") from None
    if any(not is_tensor for is_tensor, _ in planned.outputs):
        raise ValueError("the model cannot be saved: a result is no tensor")
    if any(_shares(value) for value in planned.constants):
        raise ValueError("the model cannot be saved: a parameter has elements that share memory")
    forms = [torch.empty_strided(one.shape, one.stride(), dtype=one.dtype) for one in _tensors(arguments)]
    content = {
        "format": FORMAT,
        "device": device_name(),
        "plan": planned.text(),
        "constants": [value.detach().cpu() for value in planned.constants],
        "inputs": [[name, form] for name, form in zip(names, forms, strict=True)],
    }
    torch.save(content, path)


class Saved:
    """A saved graph. It is called with the tensors of the inputs, and returns the list of its results."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.number: int = torch.ops.diopi.load_graph(os.fspath(path))
        weakref.finalize(self, torch.ops.diopi.remove_graph, self.number)

    def __call__(self, *inputs: torch.Tensor) -> list[torch.Tensor]:
        return list(torch.ops.diopi.run_graph(self.number, list(inputs)))


def load(path: str | os.PathLike[str]) -> Saved:
    """What `save` wrote. Raises `RuntimeError` where the file is not a saved graph."""
    return Saved(path)


def _tensors(arguments: Sequence[Any]) -> list[torch.Tensor]:
    return [leaf for leaf in tree_leaves(tuple(arguments)) if isinstance(leaf, torch.Tensor)]


def _shares(value: torch.Tensor) -> bool:
    return any(stride == 0 and size > 1 for size, stride in zip(value.shape, value.stride(), strict=True))


class _Flat(torch.nn.Module):  # type: ignore[misc]
    """A module over the leaves of its arguments, which returns the leaves of its results."""

    def __init__(self, inner: torch.nn.Module, arguments: Sequence[Any]) -> None:
        super().__init__()
        self.inner = inner
        self.structure = tree_structure(tuple(arguments))

    @staticmethod
    def leaves(arguments: Sequence[Any]) -> tuple[Any, ...]:
        return tuple(tree_leaves(tuple(arguments)))

    def forward(self, *leaves: Any) -> tuple[Any, ...]:
        return tuple(tree_leaves(self.inner(*tree_unflatten(leaves, self.structure))))


def _planned(program: torch.export.ExportedProgram, arguments: Sequence[Any]) -> tuple[Plan, list[str]]:
    """The plan, with parameters and buffers as constants, and the names of the inputs."""
    from torch._functorch.aot_autograd import aot_export_module

    module = _Flat(program.module(check_guards=False), arguments)
    with torch.no_grad():
        graph, signature = aot_export_module(
            module, module.leaves(arguments), trace_joint=False, decompositions=decompositions()
        )
    if signature.buffers_to_mutate or signature.user_inputs_to_mutate:
        raise Unplanned("writes to buffers or inputs")
    state = {**dict(module.named_parameters()), **dict(module.named_buffers())}
    owners = {**signature.inputs_to_parameters, **signature.inputs_to_buffers}
    given: dict[str, torch.Tensor] = {}
    names: list[str] = []
    for node in graph.graph.nodes:
        if node.op == "placeholder":
            if node.name in owners:
                given[node.name] = state[owners[node.name]]
            elif isinstance(node.meta.get("val"), torch.Tensor):
                names.append(node.name)
    return plan(graph, {}, given=given), names

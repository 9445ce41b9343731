"""Graphs as files: `save` writes a model for programs without Python (`diopi-run`, `diopigen_torch/saved_graph.h`).

A file has plans, the parameters and buffers, and the form of each input. Sizes are those of the example, but for
dimensions that are named.
"""

from __future__ import annotations

import contextlib
import ctypes
import inspect
import json
import os
import struct
import weakref
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
import torch.fx
from torch.utils._pytree import keystr, tree_flatten, tree_flatten_with_path, tree_leaves, tree_unflatten

from . import layouts
from .export_sizes import Dimension, Tracing, dimensions_of, dimensions_of_program, plans_for
from .graph_nodes import DataDependent, Unplanned
from .indices import device_name
from .planner import Plan, plan
from .runners import saved_runner
from .symbolic import Untranslated
from .symbols import sources_of
from .table import dtype_name

FORMAT = 3
MAGIC = b"DIOPI\r\n\x1a"
_ALIGNMENT = 64


def save(
    model: torch.nn.Module | torch.export.ExportedProgram,
    arguments: Sequence[Any],
    path: str | os.PathLike[str],
    dynamic_shapes: Sequence[Any] | None = None,
) -> None:
    """Writes a model on the device, or what `torch.export` made of it, for inputs like these. `dynamic_shapes` names
    the dimensions whose sizes are open, as that of `torch.export` does, for each argument; what `torch.export` made has
    them already. Raises `ValueError` for what a file cannot have: a graph without a plan, results that are no tensors,
    writes to buffers."""
    arguments = tuple(arguments)
    if isinstance(model, torch.export.ExportedProgram):
        inner, dimensions = model.module(check_guards=False), dimensions_of_program(model)
    else:
        inner, dimensions = model, dimensions_of(arguments, dynamic_shapes, "input")
    tracing = Tracing()
    try:
        plans = _planned(inner, arguments, dimensions, tracing)
    except (Unplanned, DataDependent, Untranslated) as reason:
        raise ValueError(f"the model cannot be saved: its graph has {reason}") from None
    if any(what != "tensor" for each in plans for what, _, _ in each.outputs):
        raise ValueError("the model cannot be saved: a result is no tensor")
    if any(_shares(value) for each in plans for value in each.constants):
        raise ValueError("the model cannot be saved: a parameter has elements that share memory")
    constants: dict[Any, torch.Tensor] = {}
    indices = []
    for each in plans:
        keys = [(one.data_ptr(), one.dtype, one.shape, one.stride()) for one in each.constants]
        constants |= dict(zip(keys, each.constants, strict=True))
        indices.append(keys)
    positions = {key: k for k, key in enumerate(constants)}
    forms = [_form(one, own) for one, own in zip(_tensors(arguments), dimensions, strict=True)]
    document = {
        "device": device_name(),
        "plans": [
            {"plan": one.document, "constants": [positions[key] for key in keys]}
            for one, keys in zip(plans, indices, strict=True)
        ],
        "inputs": [{"name": name, "form": form} for name, form in zip(_names(model, arguments), forms, strict=True)],
    }
    _write(path, document, list(constants.values()))


def _write(path: str | os.PathLike[str], document: dict[str, Any], constants: Sequence[torch.Tensor]) -> None:
    """A file as `runtime/torch/compile/saved_graph_file.h` describes it."""
    forms, start = [], 0
    for value in constants:
        form = {"dtype": dtype_name(value.dtype), "sizes": list(value.shape), "strides": list(value.stride())}
        forms.append({**form, "start": start})
        start += _aligned(_extent(value) * value.element_size())
    text = json.dumps({**document, "constants": forms}).encode()
    header = MAGIC + struct.pack("<IIQ", FORMAT, 0, len(text)) + text
    with Path(path).open("wb") as file:
        checksum = 0

        def add(content: Any, size: int) -> None:
            nonlocal checksum
            for part in (content, bytes(_aligned(size) - size)):
                checksum = zlib.crc32(part, checksum)
                file.write(part)

        add(header, len(header))
        for value in constants:
            memory = torch.zeros(_extent(value), dtype=value.dtype)
            memory.as_strided(value.shape, value.stride()).copy_(value.detach())
            size = memory.numel() * memory.element_size()
            add((ctypes.c_char * size).from_address(memory.data_ptr()) if size else b"", size)
        file.write(struct.pack("<I", checksum))


def _aligned(size: int) -> int:
    return -(-size // _ALIGNMENT) * _ALIGNMENT


def _extent(value: torch.Tensor) -> int:
    """Elements from the first to the last one in memory."""
    if value.numel() == 0:
        return 0
    extent: int = 1 + sum((size - 1) * stride for size, stride in zip(value.shape, value.stride(), strict=True))
    return extent


def _names(model: torch.nn.Module | torch.export.ExportedProgram, arguments: tuple[Any, ...]) -> list[str]:
    """Names of the model's tensors: a parameter of `forward`, with the keys inside it."""
    leaves = tree_flatten_with_path(arguments)[0]
    if isinstance(model, torch.export.ExportedProgram):
        named = list(model.graph_signature.user_inputs)
        names = (
            [str(name) for name in named] if len(named) == len(leaves) else [f"input_{k}" for k in range(len(leaves))]
        )
    else:
        names = [_name(model, path) for path, _ in leaves]
    return [name for name, (_, leaf) in zip(names, leaves, strict=True) if isinstance(leaf, torch.Tensor)]


def _name(model: torch.nn.Module, path: tuple[Any, ...]) -> str:
    parameters = list(inspect.signature(model.forward).parameters.values())
    index = path[0].idx
    for k, parameter in enumerate(parameters):
        if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
            return f"{parameter.name}[{index - k}]{keystr(path[1:])}"
        if k == index:
            return f"{parameter.name}{keystr(path[1:])}"
    return f"input_{index}{keystr(path[1:])}"


def _form(value: torch.Tensor, dimensions: dict[int, Dimension]) -> str:
    """The sizes of an input, and the ranges of those that are open."""
    sizes = [dimensions[k].name if k in dimensions else str(size) for k, size in enumerate(value.shape)]
    ranges = dict.fromkeys(one.text() for one in dimensions.values())
    return ", ".join([f"[{', '.join(sizes)}]", *ranges])


class _Traced(Exception):
    """There is a graph, which is not to run."""


class Saved:
    """A saved graph. It is called with the tensors of the inputs, and returns the list of its results."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.number: int = torch.ops.diopi.load_graph(os.fspath(path))
        self._run = saved_runner(self.number)
        weakref.finalize(self, torch.ops.diopi.remove_graph, self.number)

    def __call__(self, *inputs: torch.Tensor) -> list[torch.Tensor]:
        return self._run(list(inputs))


def load(path: str | os.PathLike[str]) -> Saved:
    """Reads a file that `save` wrote. Raises `RuntimeError` where the file is no saved graph, or where a byte of it has
    changed."""
    return Saved(path)


def _tensors(arguments: Sequence[Any]) -> list[torch.Tensor]:
    return [leaf for leaf in tree_leaves(tuple(arguments)) if isinstance(leaf, torch.Tensor)]


def _shares(value: torch.Tensor) -> bool:
    return any(stride == 0 and size > 1 for size, stride in zip(value.shape, value.stride(), strict=True))


def _with_functions(
    call: Callable[..., list[Any]], values: list[torch.Tensor], inputs: list[torch.Tensor], tracing: Tracing
) -> Callable[..., list[Any]]:
    """The call, with functions in the place of plain code that patterns match; as it is where there is none."""
    from torch._dispatch.python import enable_python_dispatcher
    from torch.fx.experimental.proxy_tensor import make_fx
    from torch.fx.traceback import preserve_node_meta

    from . import patterns

    if not patterns.enabled():
        return call
    trace = make_fx(call, pre_dispatch=True, _allow_non_fake_inputs=True, record_stack_traces=True)
    with enable_python_dispatcher(), tracing.mode:  # for tensors that follow from no input, or from sizes alone
        module = trace(values, inputs)
    if not patterns.replace(module):
        return call

    def replaced(values: list[torch.Tensor], inputs: list[torch.Tensor]) -> list[Any]:
        with preserve_node_meta():  # lines of the model
            return list(torch.fx.Interpreter(module).run(values, inputs))

    return replaced


def _planned(
    inner: torch.nn.Module, arguments: Sequence[Any], dimensions: Sequence[dict[int, Dimension]], tracing: Tracing
) -> list[Plan]:
    """The plans, with parameters and buffers as constants. The graph is the one that `torch.compile` gets: an export of
    PyTorch's would take operators apart for which the device has kernels."""
    from torch._functorch.aot_autograd import aot_function

    from .graphs import decompositions  # here: a program that loads does without the compiler

    state = {**dict(inner.named_parameters()), **dict(inner.named_buffers())}
    leaves, structure = tree_flatten(tuple(arguments))
    places = [k for k, leaf in enumerate(leaves) if isinstance(leaf, torch.Tensor)]
    graphs: list[torch.fx.GraphModule] = []
    returned: list[Any] = []

    def call(values: list[torch.Tensor], inputs: list[torch.Tensor]) -> list[Any]:
        own = list(leaves)
        for place, one in zip(places, inputs, strict=True):
            own[place] = one
        named = dict(zip(state, values, strict=True))
        results = torch.func.functional_call(inner, named, tree_unflatten(own, structure))
        returned[:] = tree_leaves(results)
        return list(returned)

    def stop(_: list[Any]) -> Any:
        raise _Traced

    stop._boxed_call = True  # type: ignore[attr-defined]  # PyTorch looks for it at any callable

    def record(module: torch.fx.GraphModule, _: Any) -> Any:
        targets = [node.target for node in module.graph.nodes]
        if any(isinstance(one, torch._ops.OpOverload) and one._schema.is_mutable for one in targets):
            raise Unplanned("writes to buffers or inputs")
        graphs.append(module)
        return stop

    values = [value.detach() for value in state.values()]
    # An input that is given twice is two inputs of the graph.
    inputs = [
        tracing.input(leaves[place].detach().clone(), own, f"input_{k}")
        for k, (place, own) in enumerate(zip(places, dimensions, strict=True))
    ]
    traced_values = [tracing.parameter(value) for value in values]
    with torch.no_grad():
        traced = aot_function(
            _with_functions(call, traced_values, inputs, tracing),
            fw_compiler=record,
            decompositions=decompositions(),
            keep_inference_input_mutations=True,
            dynamic=bool(tracing.symbols),
        )
        with contextlib.suppress(_Traced):
            traced(traced_values, inputs)
    (graph,) = graphs
    placeholders = [node for node in graph.graph.nodes if node.op == "placeholder"]
    (output,) = [node for node in graph.graph.nodes if node.op == "output"]
    if len(placeholders) != len(values) + len(inputs) or len(output.args[0]) != len(returned):
        raise Unplanned("inputs or results that share memory")
    for node in list(graph.graph.nodes):
        if node.target is torch.ops.aten._assert_tensor_metadata.default:
            graph.graph.erase_node(node)  # dtypes of a plan are fixed, and those of its inputs are checked
    given = {node.name: value for node, value in zip(placeholders, values, strict=False)}
    guards, own_names = tracing.guards(), tracing.names()
    chosen = layouts.chosen(graph).module
    sources = sources_of(chosen.graph, given)
    hints = {source.symbol: tracing.hint(source.symbol) for source in sources}

    def make(sizes: Any) -> Plan:
        return plan(chosen, sizes, given=given, guards=guards, names=own_names)

    return plans_for(make, sources, hints, guards)

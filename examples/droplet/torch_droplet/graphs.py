"""`torch.compile(model, backend="diopi")`: graphs of ATen overloads that the library runs without Python.

PyTorch finds `backend` by the entry point `torch_dynamo_backends` of the package.
"""

from __future__ import annotations

import collections
import contextlib
import logging
import threading
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch.fx
from torch._functorch._aot_autograd.autograd_cache import BypassAOTAutogradCache
from torch._functorch.aot_autograd import SerializableAOTDispatchCompiler
from torch._inductor.output_code import OutputCode
from torch._subclasses.fake_tensor import unset_fake_temporarily
from torch.utils._python_dispatch import _disable_current_modes

from torch_droplet import foreach, graph_cache, patterns
from torch_droplet.fusion_report import show
from torch_droplet.graph_cache import Kept
from torch_droplet.graph_nodes import Unplanned
from torch_droplet.planner import Plan, plan
from torch_droplet.switches import are_on

log = logging.getLogger(__name__)
_NOTHING = contextlib.nullcontext()

PLANS = 32
"""Plans of one graph for different sizes that are kept; the least recently used one goes first."""


def decompositions() -> dict[Any, Callable[..., Any]]:
    """What is composed of other overloads before it is planned: what no function of the interface computes, and whose
    parts the interface has. A list by name: PyTorch's whole table also has entries that change results."""
    from torch._decomp import get_decompositions

    aten = torch.ops.aten
    named = [aten.rsub, aten.native_dropout_backward, aten._safe_softmax, aten.stack]
    named += [aten.mse_loss, aten.mse_loss_backward]
    return {**get_decompositions(named), **foreach.decompositions()}


class Program:
    """A plan in the library; it goes with this object."""

    def __init__(self, planned: Plan) -> None:
        with unset_fake_temporarily():
            self.number = torch.ops.diopi.make_program(planned.text(), planned.constants)
        self.outputs = planned.outputs
        self.is_plain = all(is_tensor for is_tensor, _ in planned.outputs)
        weakref.finalize(self, torch.ops.diopi.remove_program, self.number)

    def statistics(self) -> dict[str, int]:
        """Bytes of the arena, steps, and those that go through the dispatcher."""
        return dict(torch.ops.diopi.program_statistics(self.number))


class Graph(OutputCode):
    """A compiled graph. It is called with a list of its inputs, which it empties. One without symbols can be kept by
    PyTorch's cache (`graph_cache.py`)."""

    def __init__(self, module: torch.fx.GraphModule) -> None:
        super().__init__()
        self._boxed_call = True  # of the object: PyTorch copies its attributes to what wraps it
        self.module: torch.fx.GraphModule | None = module
        self.kept: Kept | None = None
        """Instead of the module, in a process that found the graph in the cache."""
        self.programs: collections.OrderedDict[tuple[Any, ...], Program] = collections.OrderedDict()
        self.plans = 0
        self._lock = threading.Lock()
        placeholders = [node for node in module.graph.nodes if node.op == "placeholder"]
        self._tensors = [k for k, node in enumerate(placeholders) if isinstance(node.meta.get("val"), torch.Tensor)]
        self._all_tensors = len(self._tensors) == len(placeholders)
        self._symbols = [
            (k, node.meta["val"].node.expr)
            for k, node in enumerate(placeholders)
            if isinstance(node.meta.get("val"), (torch.SymInt, torch.SymFloat)) and node.meta["val"].node.expr.is_symbol
        ]
        self._only: Program | None = None

    def __call__(self, args: list[Any]) -> list[Any]:
        if self._all_tensors:
            program = self._only if self._only is not None and not are_on() else self.program(())
            inputs = list(args)
        else:
            program = self.program(tuple(args[k] for k, _ in self._symbols))
            inputs = [args[k] for k in self._tensors]
        # PyTorch looks at a graph's first run for operators with results that share memory, which these may have.
        with _disable_current_modes() if torch._C._len_torch_dispatch_stack() > 0 else _NOTHING:
            torch.ops.diopi.stage.default(inputs)
            args.clear()
            inputs.clear()
            results = torch.ops.diopi.run_program.default(program.number)
        if program.is_plain:
            return list(results)
        return [results[value] if is_tensor else value for is_tensor, value in program.outputs]

    def program(self, sizes: tuple[int, ...]) -> Program:
        """The program for the values of the graph's symbols, planned where there is none. While a switch wants to see
        calls one by one, nothing is fused. Raises `Unplanned`."""
        is_watched = are_on()
        key = (is_watched, *sizes)
        with self._lock:
            found = self.programs.get(key)
            if found is None:
                found = self._made(sizes, is_watched)
                self.programs[key] = found
                if len(self.programs) > PLANS:
                    self.programs.popitem(last=False)
            else:
                self.programs.move_to_end(key)
            if self._all_tensors and not is_watched:
                self._only = found
            return found

    def _made(self, sizes: tuple[int, ...], is_watched: bool) -> Program:
        if self.kept is not None:
            return Program(self.kept.plan(not is_watched))
        planned = self._planned(sizes, not is_watched)
        show(planned.document, planned.notes)
        self.plans += 1
        return Program(planned)

    def _planned(self, sizes: tuple[int, ...], fuses: bool) -> Plan:
        assert self.module is not None
        symbols = {symbol: value for (_, symbol), value in zip(self._symbols, sizes, strict=True)}
        with unset_fake_temporarily():
            return plan(self.module, _numbers(symbols), fuses=fuses)

    # What PyTorch's cache asks for.

    def prepare_for_serialization(self) -> None:
        """Leaves what another process needs. Called with a copy. Raises `BypassAOTAutogradCache` for symbols."""
        if not self._all_tensors:
            raise BypassAOTAutogradCache("sizes of the graph are symbols")
        fused, single = self._planned((), True), self._planned((), False)
        self.kept = Kept.of(fused, single)
        self.module = self._only = self._lock = None  # type: ignore[assignment]
        self.programs = collections.OrderedDict()

    def post_compile(self, example_inputs: Sequence[Any], constants: Any, graph_kwargs: Any) -> None:
        """Makes the program of a graph that was found."""
        self._lock = threading.Lock()
        self.program(())


def _numbers(symbols: dict[Any, Any]) -> dict[Any, Any]:
    import sympy

    return {symbol: sympy.sympify(value) for symbol, value in symbols.items()}


class Interpreted(OutputCode):
    """A graph that has no plan: PyTorch runs it node by node, and the report says why."""

    def __init__(self, module: torch.fx.GraphModule, reason: str) -> None:
        super().__init__()
        self._boxed_call = True
        self.module = module
        self.reason = reason

    def __call__(self, args: list[Any]) -> Any:
        torch.ops.diopi.note_unplanned(self.reason)
        inputs = list(args)
        args.clear()
        return torch.fx.Interpreter(self.module).boxed_run(inputs)

    def prepare_for_serialization(self) -> None:
        """Raises `BypassAOTAutogradCache`: the warning belongs to each process."""
        raise BypassAOTAutogradCache(self.reason)


def compile_graph(module: torch.fx.GraphModule, inputs: Sequence[Any]) -> Graph | Interpreted:
    """What runs a graph of ATen overloads; planned now where no size is open."""
    graph = Graph(module)
    try:
        examples = tuple(_hint(inputs[k]) for k, _ in graph._symbols)
        graph.program(examples)
    except Unplanned as reason:
        log.warning("a graph of %d nodes is interpreted: it has %s", len(module.graph.nodes), reason)
        return Interpreted(module, str(reason))
    return graph


def _hint(value: Any) -> Any:
    return value.node.hint if isinstance(value, (torch.SymInt, torch.SymFloat)) else value


def backend(module: torch.fx.GraphModule, inputs: Sequence[Any], **options: Any) -> Callable[..., Any]:
    """The backend `diopi` of `torch.compile`. Raises `RuntimeError` for options: it has none."""
    if any(options.values()):
        raise RuntimeError(f"the backend diopi has no options, and got {options}")
    import torch._functorch.config
    from torch._dynamo.backends.common import aot_autograd

    keeps = graph_cache.is_on() and graph_cache.may_keep(module, inputs)
    compilers = [SerializableAOTDispatchCompiler(Graph, compile_graph) if keeps else compile_graph for _ in range(3)]
    forward, backward, inference = compilers
    compiler = aot_autograd(
        fw_compiler=forward,
        bw_compiler=backward,
        inference_compiler=inference,
        decompositions=decompositions(),
        keep_inference_input_mutations=True,
        pre_grad_passes=patterns.apply,
    )
    # Eager mode runs the backward pass outside autocast; PyTorch would compile it as if it ran inside, in other dtypes.
    with torch._functorch.config.patch(backward_pass_autocast="off"), graph_cache.tagged() if keeps else _NOTHING:
        return compiler(module, inputs)

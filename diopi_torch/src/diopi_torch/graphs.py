"""`torch.compile(model, backend="diopi")`: graphs of ATen overloads that the library runs without Python.

PyTorch finds `backend` by the entry point `torch_dynamo_backends` of the package.
"""

from __future__ import annotations

import collections
import contextlib
import functools
import logging
import threading
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch.fx
from torch._functorch._aot_autograd.autograd_cache import BypassAOTAutogradCache
from torch._functorch.aot_autograd import SerializableAOTDispatchCompiler
from torch._inductor.output_code import OutputCode
from torch._subclasses.fake_tensor import unset_fake_temporarily
from torch.utils._python_dispatch import _disable_current_modes

from . import direct, dynamo_device, foreach, fusion, graph_cache, layouts, losses, patterns, replayed
from .fusion_report import show
from .graph_cache import Kept
from .graph_nodes import Unplanned, results_of
from .planner import Plan, plan
from .runners import Runner, program_runner
from .switches import are_on
from .symbolic import Untranslated
from .symbols import SIZES, Source, sources_of

log = logging.getLogger(__name__)
_NOTHING = contextlib.nullcontext()
dynamo_device.register()

PLANS = 32
"""Plans of a graph that are kept, and sizes that the library keeps for each; what was not used for longest goes
first."""


def decompositions() -> dict[Any, Callable[..., Any]]:
    """Overloads that are decomposed before planning: those that no function of the interface computes, and whose
    parts the interface has. A list by name: PyTorch's whole table also has entries that change results."""
    from torch._decomp import get_decompositions

    aten = torch.ops.aten
    named = [aten.rsub, aten.native_dropout_backward, aten._safe_softmax, aten.stack]
    named += [aten.mse_loss, aten.mse_loss_backward]
    composed = losses.decompositions() if fusion.is_enabled() else {}
    roots = {aten.pow.Tensor_Scalar: root}
    return {**roots, **get_decompositions(named), **foreach.decompositions(), **composed}


def root(base: torch.Tensor, exponent: Any) -> Any:
    """A power of a half as the root that PyTorch takes, whose special values are others; else it stays a power."""
    if type(exponent) is not float or abs(exponent) != 0.5 or not base.is_floating_point() or base.dtype == torch.half:
        return NotImplemented
    return base.sqrt() if exponent > 0 else base.rsqrt()


class Program:
    """A plan in the library; it goes with this object."""

    def __init__(self, planned: Plan) -> None:
        self.captures = False
        with unset_fake_temporarily():
            self.number = torch.ops.diopi.make_program(planned.text(), planned.constants, PLANS)
        self.outputs = planned.outputs
        self.is_plain = all(what == "tensor" for what, _, _ in planned.outputs)
        self._has_numbers = any(what == "number" for what, _, _ in planned.outputs)
        self._runner: Runner | None = None
        weakref.finalize(self, torch.ops.diopi.remove_program, self.number)

    def runner(self) -> Runner:
        """Runs it for inputs of sizes that do not change."""
        if self._runner is None:
            runner = program_runner(self.number)
            self._runner = replayed.Replayed(runner) if self.captures else runner
        return self._runner

    def statistics(self) -> dict[str, int]:
        """Bytes of the arena, steps, and those that go through the dispatcher."""
        return dict(torch.ops.diopi.program_statistics(self.number))

    def run_staged(self) -> list[Any]:
        """The outputs for the inputs that are staged."""
        return self.outputs_of(list(torch.ops.diopi.run_program.default(self.number)))

    def outputs_of(self, results: list[Any]) -> list[Any]:
        """The outputs of a run that has returned these tensors."""
        if self.is_plain:
            return results
        integers, reals = torch.ops.diopi.result_numbers.default() if self._has_numbers else ((), ())
        found = []
        for what, value, kind in self.outputs:
            if what == "tensor":
                found.append(results[value])
            elif what == "number":
                found.append(reals[value] if kind == "real" else bool(integers[value]) if kind == "boolean"
                             else integers[value])  # fmt: skip
            else:
                found.append(value)
        return found


class Graph(OutputCode):
    """A compiled graph. It is called with a list of its inputs, which it empties. PyTorch's cache can keep it
    (`graph_cache.py`)."""

    def __init__(self, module: torch.fx.GraphModule, captures: bool) -> None:
        super().__init__()
        self.captures = captures
        self._boxed_call = True  # of the object: PyTorch copies its attributes to what wraps it
        self.module: torch.fx.GraphModule | None = module
        self.kept: Kept | None = None
        """Instead of the module, in a process that found the graph in the cache."""
        self.programs: collections.OrderedDict[tuple[Any, ...], list[Program]] = collections.OrderedDict()
        """By whether a switch watches calls, and by inputs that are real numbers: for different conditions on sizes."""
        self.plans = 0
        self._lock = threading.Lock()
        self._sources: list[Source] | None = sources_of(module.graph, {})
        values = [node.meta.get("val") for node in module.graph.nodes if node.op == "placeholder"]
        self._tensors = [k for k, value in enumerate(values) if isinstance(value, torch.Tensor)]
        self._sizes = [k for k, value in enumerate(values) if isinstance(value, torch.SymInt)]
        self._reals = [
            (k, value.node.expr)
            for k, value in enumerate(values)
            if isinstance(value, (torch.SymFloat, torch.SymBool)) and value.node.expr.is_Symbol
        ]
        self.is_static = not self._sources and not self._reals
        self._all_tensors = len(self._tensors) == len(values)
        self.input_count = len(values)
        self.is_direct = False
        """True if PyTorch's wrappers of an inference have nothing to do (`direct.py`)."""
        self._only: Program | None = None
        self._runner: Runner | None = None
        """Of a static graph of tensors."""
        self._example: Sequence[Any] = ()

    def __call__(self, args: list[Any]) -> list[Any]:
        runner = self._runner
        if runner is not None and not are_on() and torch._C._len_torch_dispatch_stack() == 0:
            return runner(args)
        # PyTorch looks at a graph's first run for operators with results that share memory, which these may have.
        with _disable_current_modes() if torch._C._len_torch_dispatch_stack() > 0 else _NOTHING:
            return self._run(args)

    def _run(self, args: list[Any]) -> list[Any]:
        inputs = list(args) if self._all_tensors else [args[k] for k in self._tensors]
        if self.is_static:
            program = self._only if self._only is not None and not are_on() else self.program()
            args.clear()
            return program.outputs_of(program.runner()(inputs))
        torch.ops.diopi.stage.default(inputs, [args[k] for k in self._sizes])
        program = self._selected(args)
        args.clear()
        inputs.clear()
        return program.run_staged()

    def program(self, arguments: Sequence[Any] = ()) -> Program:
        """The latest program of a graph that is planned; of any other, one for the sizes of these arguments. Raises
        `Unplanned`."""
        is_watched = are_on()
        with self._lock:
            known = self._known(is_watched, arguments)
            self._example = self._example or arguments
            if not known:
                known.append(self._made(arguments, is_watched, is_open=True))
                self.plans += 1
            if self.is_static and not is_watched:
                self._select(known[0])
            return known[-1]

    def _select(self, only: Program) -> None:
        """Makes a program the one of a static graph."""
        self._only = only
        if self._all_tensors and only.is_plain:
            self._runner = only.runner()

    def _selected(self, args: list[Any]) -> Program:
        """The program for the sizes of what is staged, planned where there is none: for all sizes for which the planner
        decides alike, or, where that cannot be, for these."""
        is_watched = are_on()
        with self._lock:
            known = self._known(is_watched, args)
            for is_open in (None, True, False):
                if is_open is not None:
                    known.append(self._made(args, is_watched, is_open=is_open))
                    self.plans += 1
                    del known[:-PLANS]
                found = int(torch.ops.diopi.select_program.default([one.number for one in known]))
                if found >= 0:
                    return known[found]
        raise RuntimeError("a compiled graph is called with sizes that its plan is not for")

    def _known(self, is_watched: bool, args: Sequence[Any]) -> list[Program]:
        """Programs with different conditions. While a switch wants to see calls one by one, nothing is fused."""
        key = (is_watched, *(args[k] for k, _ in self._reals))
        if key not in self.programs:
            self.programs[key] = [] if self.kept is None else [self._program(self.kept.plan(not is_watched))]
            if len(self.programs) > PLANS:
                self.programs.popitem(last=False)
        self.programs.move_to_end(key)
        return self.programs[key]

    def _made(self, args: Sequence[Any], is_watched: bool, is_open: bool) -> Program:
        if self.module is None:
            assert self.kept is not None
            self.module = self.kept.module()
            self._sources = sources_of(self.module.graph, {})
        planned = self._planned(args, not is_watched, is_open)
        show(planned)
        return self._program(planned)

    def _program(self, planned: Plan) -> Program:
        made = Program(planned)
        made.captures = self.captures
        return made

    def _planned(self, args: Sequence[Any], fuses: bool, is_open: bool) -> Plan:
        assert self.module is not None and self._sources is not None
        values = {source.symbol: source.value(args) for source in self._sources}
        values |= {symbol: args[k] for k, symbol in self._reals}
        with unset_fake_temporarily():
            try:
                return plan(self.module, values, fuses=fuses, is_open=is_open)
            except Untranslated as reason:
                log.info("a graph of %d nodes has a plan for each tuple of sizes: %s", len(self.module.graph.nodes),
                         reason)  # fmt: skip
                return plan(self.module, values, fuses=fuses, is_open=False)

    # What PyTorch's cache asks for.

    def prepare_for_serialization(self) -> None:
        """Leaves what another process needs. Called with a copy. Raises `BypassAOTAutogradCache`."""
        if self._reals:
            raise BypassAOTAutogradCache("a real number is an input of the graph")
        assert self.module is not None
        fused, single = (self._planned(self._example, fuses, True) for fuses in (True, False))
        if any(note.is_failure for note in fused.notes):
            raise BypassAOTAutogradCache("the device has not compiled a kernel, and may in another process")
        try:
            self.kept = Kept.of(fused, single, None if self.is_static else self.module)
        except Exception as reason:  # of PyTorch's pickler, whatever it meets
            raise BypassAOTAutogradCache(f"the graph cannot be pickled: {reason}") from reason
        # Of a copy that is pickled and never called, so that what its methods need may be missing: hence the `ignore`.
        self.module = self._only = self._runner = self._lock = self._sources = None  # type: ignore[assignment]
        self._example = ()
        self.programs = collections.OrderedDict()

    def post_compile(self, example_inputs: Sequence[Any], constants: Any, graph_kwargs: Any) -> None:
        """Makes the program of a graph that was found."""
        self._lock = threading.Lock()
        with self._lock:
            known = self._known(False, ())
        if self.is_static:
            self._select(known[0])
        direct.note(self)


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


def compile_graph(module: torch.fx.GraphModule, inputs: Sequence[Any], captures: bool = False) -> Graph | Interpreted:
    """Callable that runs a graph of ATen overloads; planned at once if no size is open."""
    saved = _saved_results(module, inputs)
    chosen = layouts.chosen(module, inputs, saved)
    graph = Graph(chosen.module, captures)
    try:
        graph.program(_Hints.of(inputs))
    except Unplanned as reason:
        log.warning("a graph of %d nodes is interpreted: it has %s", len(module.graph.nodes), str(reason))
        return Interpreted(module, str(reason))
    if chosen.strides is not None and saved:
        torch._guards.TracingContext.get().output_strides.extend(chosen.strides)
    direct.note(graph)
    return graph


def compile_inference(
    module: torch.fx.GraphModule, inputs: Sequence[Any], captures: bool = False
) -> Graph | Interpreted:
    """The same for a graph that no backward graph belongs to."""
    graph = compile_graph(module, inputs, captures)
    if isinstance(graph, Graph):
        graph.is_direct = graph.is_static and direct.is_plain()
    return graph


@dataclass(frozen=True)
class _Hints:
    """The sizes of an input that the compiler has an example of."""

    shape: tuple[Any, ...]

    @classmethod
    def of(cls, inputs: Sequence[Any]) -> list[Any]:
        """Of all inputs; numbers are themselves."""
        return [cls(tuple(map(_hint, one.shape))) if isinstance(one, torch.Tensor) else _hint(one) for one in inputs]


def _saved_results(module: torch.fx.GraphModule, inputs: Sequence[Any]) -> range:
    """The results of a forward graph that are for its backward graph alone, which PyTorch tells the strides that they
    get. Of graphs with symbols there are none: it asks for numbers."""
    context = torch._guards.TracingContext.try_get()
    if context is None or context.output_strides is None or context.fw_metadata is None:
        return range(0)
    if context.fw_metadata.num_symints_saved_for_bw is None:  # an inference
        return range(0)
    sizes = (size for one in inputs for size in (one.shape if isinstance(one, torch.Tensor) else (one,)))
    if any(isinstance(size, SIZES) for size in sizes):
        return range(0)
    return range(*context.fw_metadata.tensors_saved_for_backwards_slice.indices(len(results_of(module.graph))))


def _hint(value: Any) -> Any:
    return value.node.hint if isinstance(value, SIZES) else value


def require_known(mode: str | None, options: Any) -> None:
    """Accepts the modes of PyTorch: those with CUDA graphs capture graphs of static sizes, the others are alike. Raises
    `ValueError` for another one, and for options: the backend has none."""
    modes = list(torch._inductor.list_mode_options())
    if mode is not None and mode not in modes:
        raise ValueError(f"the backend diopi has no mode {mode!r}: it has {', '.join(modes)}")
    if options:
        switches = "DIOPI_COMPILE_FUSION, _GRAPH, _CACHE, _PATTERNS and _LAYOUTS in the environment"
        raise ValueError(
            f"the backend diopi has no options, and got {', '.join(options)}: what it does is set by {switches}"
        )


def backend(
    module: torch.fx.GraphModule, inputs: Sequence[Any], *, mode: str | None = None, options: Any = None
) -> Callable[..., Any]:
    """The backend `diopi` of `torch.compile`. Raises `ValueError` for a mode that PyTorch does not have, and for
    options."""
    require_known(mode, options)
    import torch._functorch.config
    from torch._dynamo.backends.common import aot_autograd

    keeps = graph_cache.is_on() and graph_cache.may_keep(module, inputs)
    captures = replayed.is_requested(mode)
    functions = [functools.partial(one, captures=captures) for one in (compile_graph, compile_graph, compile_inference)]
    forward, backward, inference = (SerializableAOTDispatchCompiler(Graph, one) if keeps else one for one in functions)
    compiler = aot_autograd(
        fw_compiler=forward,
        bw_compiler=backward,
        inference_compiler=inference,
        decompositions=decompositions(),
        keep_inference_input_mutations=True,
        pre_grad_passes=patterns.apply,
    )
    # Eager mode runs the backward pass outside autocast; PyTorch would compile it as if it ran inside, in other dtypes.
    with (
        torch._functorch.config.patch(backward_pass_autocast="off"),
        graph_cache.tagged(captures) if keeps else _NOTHING,
        direct.collected() as graphs,
    ):
        return direct.call_of(module, inputs, graphs, compiler(module, inputs))

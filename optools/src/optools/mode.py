"""The one dispatch mode of a thread, and the tools that it hands each operator call to.

Tools are called from the one started last to the one started first, whatever the order in which they are stopped. The
mode is part of the thread's state, which autograd passes on to its own threads: calls of backward come here too.
"""

from __future__ import annotations

import collections
import contextlib
import functools
import os
import random
import sys
import threading
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode, _get_current_dispatch_mode

from optools.context import CONTEXT, PHASES, ApiNames, api_name, known_names
from optools.expression import Names, Steps
from optools.schema import Facts, facts_of

Proceed = Callable[["Call"], Any]


class Call:
    """One operator call, on its way through the tools."""

    __slots__ = ("args", "facts", "func", "kwargs")

    def __init__(self, func: Any, facts: Facts, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.func = func
        self.facts = facts
        self.args = args
        self.kwargs = kwargs


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """In it, operators are neither seen by any mode nor differentiated: what a tool itself computes."""
    with torch._C._DisableTorchDispatch(), torch._C.DisableTorchFunction(), torch.no_grad():
        yield


@contextlib.contextmanager
def heard() -> Iterator[None]:
    """Within `quiet`: operators are seen by the modes that were entered before this tool's, as the program's are."""
    keys = (torch._C.DispatchKey.Python, torch._C.DispatchKey.PythonTLSSnapshot)
    before = [torch._C._dispatch_tls_is_dispatch_key_excluded(key) for key in keys]
    for key in keys:
        torch._C._dispatch_tls_set_dispatch_key_excluded(key, False)
    try:
        yield
    finally:
        for key, excluded in zip(keys, before, strict=True):
            torch._C._dispatch_tls_set_dispatch_key_excluded(key, excluded)


class Selection:
    """Selection of calls for a tool. Everything that is not given means all."""

    def __init__(
        self,
        ops: str = "",
        *,
        exclude: str = "",
        modules: str = "",
        steps: str | int | None = None,
        phases: str = "",
        sample: float = 1.0,
        seed: int = 0,
    ) -> None:
        if not 0 < sample <= 1:
            raise ValueError(f"sample={sample} is no fraction of the calls: it is above 0 and at most 1")
        self.ops, self.exclude = Names(ops), Names(exclude)
        self.modules, self.phases = Names(modules), Names(phases)
        self.phases.require_known("phase", PHASES)
        self.steps = Steps.of(steps)
        self.sample = sample
        self._random = random.Random(seed)
        self.everything = sample == 1 and self.steps.all and not (self.ops or self.exclude or modules or phases)
        self.asked = False
        """True if there was a call to select or not."""
        self._operators: dict[tuple[Any, Any], bool] = {}

    def require_known(self) -> None:
        """Raises `ExpressionError` for names that neither the program called so far nor torch knows."""
        for names in (self.ops, self.exclude):
            if names.unmatched:
                names.require_known("operator or function", known_names())

    def takes(self, func: Any, facts: Facts) -> bool:
        """Returns whether the call that runs is selected; each is asked for once."""
        self.asked = True
        if self.sample < 1 and self._random.random() >= self.sample:
            return False
        if not self.steps.all and not self.steps.contain(CONTEXT.step):
            return False
        if (self.ops or self.exclude) and not self._operator(func, facts):
            return False
        if self.modules and not self.modules.match(CONTEXT.module()):
            return False
        return not self.phases or self.phases.match(CONTEXT.phase())

    def _operator(self, func: Any, facts: Facts) -> bool:
        api = CONTEXT.raw()[4]
        key = (func, api)
        found = self._operators.get(key)
        if found is None:
            name = api_name(api)
            names = {facts.name, facts.base, f"{facts.namespace}::{facts.base}", name, name.rpartition(".")[2]} - {""}
            taken = not self.ops or self.ops.any(names)
            found = self._operators[key] = taken and not (self.exclude and self.exclude.any(names))
        return found


class Tool:
    """Base of tools: handles the selected calls between `start` and `stop`; also a context manager.

    `innermost` tools change what a device computes: they come after all others, whenever they were started.
    """

    innermost = False

    def __init__(self, selection: Selection | None = None) -> None:
        self.selection = selection or Selection()
        self.skipped: collections.Counter[str] = collections.Counter()
        """Calls that the tool did not look at, by the reason."""
        self.calls_seen = 0
        """Calls that the tool was handed."""
        self._mode: Mode | None = None
        self._graphs = 0

    def call(self, call: Call, proceed: Proceed) -> Any:
        """Handles a call and returns its result; `proceed` runs it."""
        return proceed(call)

    def require_known(self) -> None:
        """Raises `ExpressionError` for names of operators that are unknown, after the program has run."""
        self.selection.require_known()

    def begin(self) -> None:
        """Called before the first call."""

    def end(self) -> None:
        """Called after the last call."""

    def start(self) -> Any:
        """Adds the tool to those of this thread; returns it."""
        if self._mode is not None:
            raise RuntimeError(f"{type(self).__name__} is already started")
        self._graphs = compiled_graphs()
        self.begin()
        self._mode = Mode.of_thread()
        self._mode.add(self)
        return self

    def stop(self) -> None:
        """Removes the tool; without effect where it is not started."""
        mode, self._mode = self._mode, None
        if mode is None:
            return
        mode.remove(self)
        if (graphs := compiled_graphs() - self._graphs) > 0:
            self.skipped["torch.compile: graphs, of which their kernels or none are seen, not operators"] += graphs
        self.end()

    def __enter__(self) -> Any:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


_local = threading.local()


def _forked() -> None:
    """A child that was forked, such as a worker that loads data, is no part of the program that is looked at."""
    mode = getattr(_local, "mode", None)
    if mode is not None:
        mode.tools.clear()


os.register_at_fork(after_in_child=_forked)


class Mode(TorchDispatchMode):
    """The mode of a thread. It is on torch's stack while there are tools."""

    supports_higher_order_operators = True

    def __init__(self) -> None:
        super().__init__()
        self.tools: list[Tool] = []
        self._run: list[Proceed] = [_call]
        self._api = ApiNames(CONTEXT)
        self._inside = False

    @classmethod
    def ignore_compile_internals(cls) -> bool:
        """torch.compile compiles as it does without this mode: a program is not changed by looking at it."""
        return True

    @staticmethod
    def of_thread() -> Mode:
        """The mode of the current thread."""
        mode: Mode | None = getattr(_local, "mode", None)
        if mode is None:
            mode = _local.mode = Mode()
        return mode

    @property
    def api(self) -> ApiNames:
        """The mode for functions of the API that goes with it."""
        return self._api

    def add(self, tool: Tool) -> None:
        """Adds a tool before the others, an innermost one after them."""
        CONTEXT.start()
        self.tools.insert(len(self.tools) if tool.innermost else 0, tool)
        self._compose()
        if not self._inside:
            self._api.__enter__()
            self.__enter__()
            self._inside = True

    def remove(self, tool: Tool) -> None:
        """Removes a tool; the mode leaves torch's stack with the last one, unless another mode is on top of it."""
        self.tools.remove(tool)
        self._compose()
        CONTEXT.stop()
        if not self.tools and _get_current_dispatch_mode() is self:
            self.__exit__(None, None, None)
            self._api.__exit__(None, None, None)
            self._inside = False

    def _compose(self) -> None:
        run: list[Proceed] = [_call]
        for tool in reversed(self.tools):
            run.insert(0, functools.partial(_through, tool, run[0]))
        self._run = run

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if types and (own := [kind for kind in types if unwraps(kind)]):
            # A tensor subclass with operators of its own unwraps itself first: its inner operators come here.
            self._skip(own)
            return NotImplemented
        if not self.tools or not isinstance(func, torch._ops.OpOverload):
            return func(*args, **kwargs)
        facts = facts_of(func)
        if facts.namespace == "profiler":
            return func(*args, **kwargs)
        CONTEXT.note()
        return self._run[0](Call(func, facts, args, kwargs))

    def _skip(self, types: Any) -> None:
        for tool in self.tools:
            for kind in types:
                tool.skipped[f"tensors of {kind.__module__}.{kind.__qualname__}"] += 1


@functools.cache
def unwraps(kind: Any) -> bool:
    """Returns whether a class of tensors has operators of its own."""
    own = getattr(kind, "__torch_dispatch__", None)
    plain = (torch.Tensor.__torch_dispatch__, torch._C._disabled_torch_dispatch_impl)
    return own is not None and getattr(own, "__func__", own) not in [getattr(one, "__func__", one) for one in plain]


def _call(call: Call) -> Any:
    return call.func(*call.args, **call.kwargs)


def _through(tool: Tool, proceed: Proceed, call: Call) -> Any:
    selection = tool.selection
    if selection.everything or selection.takes(call.func, call.facts):
        tool.calls_seen += 1
        return tool.call(call, proceed)
    return proceed(call)


def compiled_graphs() -> int:
    """Graphs that torch.compile has made in this process."""
    counters = getattr(sys.modules.get("torch._dynamo.utils"), "counters", None)
    return int(counters["stats"]["unique_graphs"]) if counters else 0

"""Context of an operator call: step, phase, module, autograd node, API function, line of the source.

Forward and backward are joined by autograd's sequence numbers: a node has the number that was current when the
forward operator was called. Hooks for all modules and optimizers are installed while a tool is active, and at no other
time.
"""

from __future__ import annotations

import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any, NamedTuple

import torch
from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook
from torch.overrides import TorchFunctionMode

PHASES = FORWARD, BACKWARD, RECOMPUTE, OPTIMIZER = "forward", "backward", "recompute", "optimizer"
_ORIGINS = 1 << 18
"""Forward calls that are remembered for backward."""
_OWN = (torch.__path__[0], __file__.rpartition("/")[0], "<frozen", "<string>", "<__array_function__")

_current_node = torch._C._current_autograd_node
_sequence_number = torch.autograd._get_sequence_nr


Raw = tuple[int, str, str, str, Any, str, int]
"""Step, phase, module, node, API function, file and line: a position before names are formatted."""


class Where(NamedTuple):
    """A position in the program. `api` and `source` are those of the forward call where the phase is backward."""

    step: int
    phase: str
    module: str
    node: str
    api: str
    source: str


class Origin(NamedTuple):
    """Record of a forward call: module, API function, file and line."""

    module: str
    api: Any
    file: str
    line: int


NOWHERE = Origin("", None, "", 0)


class _Thread(threading.local):
    """State of a thread: modules with the autograd node under which they were entered, API function, optimizer."""

    def __init__(self) -> None:
        self.modules: list[tuple[str, bool]] = []
        self.api: Any = None
        self.optimizers = 0


class Context:
    """The position of a program, for all tools of a process."""

    def __init__(self) -> None:
        self.step = 0
        self.thread = _Thread()
        self.origins: dict[int, Origin] = {}
        self.watchers: list[Callable[[str, Any], None]] = []
        """Called with "before" and "after" for each step of an optimizer, and with "step" at the end of a training
        step; and with the optimizer."""
        self._last = -1
        self._users = 0
        self._handles: list[Any] = []
        self._names: weakref.WeakKeyDictionary[Any, str] = weakref.WeakKeyDictionary()
        self._clock: weakref.ref[Any] | None = None
        self._own_files: dict[str, bool] = {}
        self._manual = False

    def start(self) -> None:
        """Installs the hooks for the first user."""
        self._users += 1
        if self._users > 1:
            return
        self.step, self._clock, self._manual = 0, None, False
        self.origins.clear()
        hooks = torch.nn.modules.module
        self._handles = [
            hooks.register_module_forward_pre_hook(self._enter),
            hooks.register_module_forward_hook(self._leave, always_call=True),
            register_optimizer_step_pre_hook(self._before_step),
            register_optimizer_step_post_hook(self._after_step),
        ]

    def stop(self) -> None:
        """Removes the hooks after the last user."""
        self._users -= 1
        if self._users:
            return
        for handle in self._handles:
            handle.remove()
        self._handles = []
        self.thread.modules.clear()

    def next_step(self) -> None:
        """Ends a step by hand; from then on optimizers do not."""
        self._manual = True
        self._advance(None)

    def name_of(self, module: Any) -> str:
        """The path of a module, from the class of the outermost one."""
        return self._names.get(module, type(module).__name__)

    def _enter(self, module: Any, _: Any) -> None:
        modules = self.thread.modules
        name = self._names.get(module)
        if name is None:
            name = self._named(module, modules[-1][0] if modules else "")
        modules.append((name, _current_node() is not None))

    def _leave(self, *_: Any) -> None:
        if self.thread.modules:
            self.thread.modules.pop()

    def _named(self, module: Any, parent: str) -> str:
        root = f"{parent}/{type(module).__name__}" if parent else type(module).__name__
        for path, child in module.named_modules():
            self._names.setdefault(child, f"{root}.{path}" if path else root)
        return self._names[module]

    def _before_step(self, optimizer: Any, *_: Any) -> None:
        for watcher in self.watchers:
            watcher("before", optimizer)
        self.thread.optimizers += 1

    def _after_step(self, optimizer: Any, *_: Any) -> None:
        self.thread.optimizers -= 1
        for watcher in self.watchers:
            watcher("after", optimizer)
        if self._clock is None or self._clock() is None:
            self._clock = weakref.ref(optimizer)
        if self._clock() is optimizer and not self._manual:
            self._advance(optimizer)

    def _advance(self, optimizer: Any) -> None:
        for watcher in self.watchers:
            watcher("step", optimizer)
        self.step += 1

    def note(self) -> None:
        """Remembers a forward call for its backward; cheap where nothing is differentiated."""
        if _current_node() is not None and not self.thread.modules:
            return
        number = _sequence_number() - 1
        if number == self._last or number < 0:
            return
        self._last = number
        if len(self.origins) >= _ORIGINS:
            for old in list(self.origins)[: _ORIGINS // 2]:
                del self.origins[old]
        modules = self.thread.modules
        file, line = self.frame()
        self.origins[number] = Origin(modules[-1][0] if modules else "", self.thread.api, file, line)

    def module(self) -> str:
        """The innermost module of the current call."""
        node = _current_node()
        modules = self.thread.modules
        if node is not None and not (modules and modules[-1][1]):
            return self.origins.get(node._sequence_nr(), NOWHERE).module
        return modules[-1][0] if modules else ""

    def phase(self) -> str:
        """The phase of the current call."""
        modules = self.thread.modules
        if _current_node() is not None:
            return RECOMPUTE if modules and modules[-1][1] else BACKWARD
        return OPTIMIZER if self.thread.optimizers else FORWARD

    def raw(self) -> Raw:
        """`where`, before anything is formatted: step, phase, module, node, API function, file, line."""
        node = _current_node()
        thread = self.thread
        modules = thread.modules
        if node is not None and not (modules and modules[-1][1]):
            origin = self.origins.get(node._sequence_nr(), NOWHERE)
            return self.step, BACKWARD, origin.module, node.name(), origin.api, origin.file, origin.line
        phase = RECOMPUTE if node is not None else OPTIMIZER if thread.optimizers else FORWARD
        file, line = self.frame()
        return self.step, phase, modules[-1][0] if modules else "", "", thread.api, file, line

    def where(self) -> Where:
        """The position of the current call."""
        return formatted(self.raw())

    def frame(self) -> tuple[str, int]:
        """File and line of the innermost frame that is neither torch's nor a tool's."""
        frame: FrameType | None = sys._getframe(2)
        own = self._own_files
        while frame is not None:
            file = frame.f_code.co_filename
            known = own.get(file)
            if known is None:
                known = own[file] = file.startswith(_OWN)
            if not known:
                return file, frame.f_lineno
            frame = frame.f_back
        return "", 0


def formatted(raw: Raw) -> Where:
    """Names for what `Context.raw` returns."""
    step, phase, module, node, api, file, line = raw
    return Where(step, phase, module, node, api_name(api), f"{file}:{line}" if file else "")


_API_NAMES: dict[Any, str] = {}


def api_name(function: Any) -> str:
    """`torch.nn.functional.linear`, `torch.Tensor.add`; empty for what has no public name."""
    if function is None:
        return ""
    found = _API_NAMES.get(function)
    if found is None:
        try:
            found = torch.overrides.resolve_name(function) or ""
        except Exception:
            found = ""
        _API_NAMES[function] = found = found or getattr(function, "__name__", "")
    return found


def known_names() -> Iterator[str]:
    """Names of all operators and overloads of torch, and of the functions of its API."""
    for schema in torch._C._jit_get_all_schemas():
        base = schema.name.removeprefix("aten::")
        yield from (schema.name, base)
        if schema.overload_name:
            yield f"{base}.{schema.overload_name}"
    for functions in torch.overrides.get_overridable_functions().values():
        for name in map(api_name, functions):
            yield from (name, name.rpartition(".")[2])


class ApiNames(TorchFunctionMode):
    """Notes the outermost API function that runs in this thread, and the tensors that backward starts from."""

    def __init__(self, context: Context) -> None:
        super().__init__()
        self.context = context
        self.roots: list[Callable[[Any], None]] = []
        """Called with a tensor before `Tensor.backward`."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        thread = self.context.thread
        saved, thread.api = thread.api, func
        if self.roots and func is torch.Tensor.backward:
            for root in self.roots:
                root(args[0])
        try:
            return func(*args, **(kwargs or {}))
        finally:
            thread.api = saved


CONTEXT = Context()

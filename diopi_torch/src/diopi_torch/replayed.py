"""Compiled graphs of static sizes as captured work: the modes of `torch.compile` that use CUDA graphs on CUDA."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from typing import Any

import torch

from .capture import Graph, graph, is_current_stream_capturing
from .runners import Runner

log = logging.getLogger(__name__)


def is_requested(mode: str | None) -> bool:
    """Returns whether the mode is one that captures on CUDA."""
    return mode is not None and bool(torch._inductor.list_mode_options(mode).get("triton.cudagraphs"))


class Replayed:
    """A runner whose second call is captured. Later calls copy those inputs that have moved since, replay, and return
    copies of the results."""

    def __init__(self, runner: Runner) -> None:
        self._runner = runner
        self._lock = threading.Lock()
        self._addresses: list[int] | None = None
        """Of the inputs of the call before, until an input has moved: 0 then."""
        self._written: list[int] = []
        self._stream: torch.Stream | None = None
        self._inputs: list[torch.Tensor] = []
        self._results: list[Callable[[list[torch.Tensor]], torch.Tensor]] = []
        """Each for the inputs of a call."""
        self._graph: Graph | None = None
        self._is_possible = True

    def __call__(self, inputs: list[Any]) -> list[Any]:
        if not self._is_possible or is_current_stream_capturing():
            return self._runner(inputs)
        with self._lock:
            return self._replay(inputs)

    def _replay(self, inputs: list[Any]) -> list[Any]:
        stream = torch.accelerator.current_stream(inputs[0].device if inputs else None)
        if self._addresses is None or stream != self._stream:
            return self._warm_up(inputs, stream)
        moved = [k for k, at in enumerate(self._addresses) if at not in (0, inputs[k].data_ptr())]
        if moved or self._graph is None:
            for k in moved:
                self._addresses[k] = 0
            if any(self._addresses[k] == 0 for k in self._written):
                return self._give_up(inputs, "it writes an input that moves")
            try:
                self._capture(inputs)  # which counts as a write
            except RuntimeError as reason:
                return self._give_up(inputs, str(reason).splitlines()[0])
        else:
            torch.autograd.graph.increment_version([inputs[k] for k in self._written])
        assert self._graph is not None
        for at, buffer, value in zip(self._addresses, self._inputs, inputs, strict=True):
            if at == 0:
                buffer.copy_(value)
        self._graph.replay()
        results = [result(inputs) for result in self._results]
        inputs.clear()
        return results

    def _warm_up(self, inputs: list[Any], stream: torch.Stream) -> list[Any]:
        """Runs once, so that what is initialized in a first run is not captured."""
        before = [(one, one.data_ptr(), one._version) for one in inputs if isinstance(one, torch.Tensor)]
        if len(before) != len(inputs):
            return self._give_up(inputs, "an input is missing")
        results = self._runner(inputs)
        self._written = [k for k, (one, _, version) in enumerate(before) if one._version != version]
        self._addresses = [address for _, address, _ in before]
        self._stream, self._graph = stream, None
        return results

    def _capture(self, inputs: Sequence[torch.Tensor]) -> None:
        assert self._addresses is not None
        self._graph = None
        self._inputs = [
            value if at else torch.empty_strided(value.shape, value.stride(), dtype=value.dtype, device=value.device)
            for at, value in zip(self._addresses, inputs, strict=True)
        ]
        captured = Graph()
        with graph(captured):
            results = self._runner(list(self._inputs))
        self._results = [_result(one, self._inputs) for one in results]
        for k, at in enumerate(self._addresses):
            if at != 0:
                self._inputs[k] = self._inputs[k].new_empty(0)  # it belongs to the callers
        self._graph = captured

    def _give_up(self, inputs: list[Any], reason: str) -> list[Any]:
        log.info("a compiled graph is not captured: %s", reason)
        self._is_possible = False
        self._graph, self._inputs, self._results = None, [], []
        return self._runner(inputs)


def _result(value: torch.Tensor, inputs: Sequence[torch.Tensor]) -> Callable[[list[torch.Tensor]], torch.Tensor]:
    """A copy of a result of the capture; the input itself, or a view of it, where it is one."""
    for k, one in enumerate(inputs):
        if value is one:
            return lambda given: given[k]
        if value.untyped_storage().data_ptr() == one.untyped_storage().data_ptr() != 0:
            sizes, strides, offset = value.shape, value.stride(), value.storage_offset() - one.storage_offset()
            return lambda given: given[k].detach().as_strided(sizes, strides, offset + given[k].storage_offset())
    return lambda _: value.clone()

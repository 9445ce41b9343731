"""Runs chosen operators on the CPU, while the program runs on a device."""

from __future__ import annotations

import collections
from typing import Any

import torch

from optools.capturing import device_of, written_arguments
from optools.mode import Call, Proceed, Selection, Tool, quiet
from optools.reference import fewer_warnings
from optools.tensors import Unsupported, freeze, mapped, tensors_of


class Fallback(Tool):
    """Runs the selected calls on copies of their operands on the CPU, and copies the results back.

    Views stay on the device, and so do random operators: their numbers are those of the device's generators.
    """

    def __init__(self, ops: str = "", **selection: Any) -> None:
        super().__init__(Selection(ops, **selection))
        self.counts: collections.Counter[str] = collections.Counter()
        """Calls that ran on the CPU, by overload."""

    def call(self, call: Call, proceed: Proceed) -> Any:
        facts = call.facts
        if not facts.computes or facts.collective or facts.random:
            if facts.random:
                self.skipped["random operators"] += 1
            return proceed(call)
        with quiet():
            try:
                args, kwargs = freeze(call.args, call.kwargs).thaw("cpu")
                with fewer_warnings():
                    out = call.func(*args, **kwargs)
            except (Unsupported, NotImplementedError) as reason:
                self.skipped[f"{facts.name}: {str(reason).splitlines()[0]}"] += 1
                out = NotImplemented
            else:
                out = self._back(call, args, kwargs, out)
        if out is NotImplemented:
            return proceed(call)
        self.counts[facts.name] += 1
        return out

    def _back(self, call: Call, args: Any, kwargs: Any, out: Any) -> Any:
        """The results on the device; written arguments are written there."""
        facts = call.facts
        on_cpu = written_arguments(Call(call.func, facts, tuple(args), kwargs))
        own = written_arguments(call)
        originals: dict[int, Any] = {}
        for name, value in own.items():
            for target, source in zip(tensors_of(value), tensors_of(on_cpu[name]), strict=True):
                if target.shape != source.shape:  # an `out=` that the call resized
                    target.resize_(source.shape)
                target.copy_(source)
                originals[id(source)] = target
        target = call.kwargs.get("device") or device_of(call)

        def leaf(value: Any) -> Any:
            if not isinstance(value, torch.Tensor):
                return value
            return originals[id(value)] if id(value) in originals else value.to(target)

        return mapped(out, leaf)

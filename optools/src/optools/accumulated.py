"""The whole program once more in float64: how far each result has moved from it.

Each storage of the device has a shadow in float64 on the CPU. A call is repeated on the shadows of its operands, so
that views and writes in place come out by themselves. What comes from outside starts from the device's own values.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.multiprocessing.reductions import StorageWeakRef

from optools.mode import Call
from optools.reference import Results, fewer_warnings, named_outputs, widened
from optools.tensors import Frozen, Tensor, mapped, plain, tensors_of

_SWEPT = 4096


class Shadows:
    """Shadows of storages, as long as these live."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[StorageWeakRef, Tensor]] = {}
        self._count = 0

    def forget(self, out: Any) -> None:
        """Drops the shadows of tensors without values."""
        for tensor in tensors_of(out):
            self._known.pop(tensor.untyped_storage()._cdata, None)

    def of(self, tensor: Tensor, start: Tensor | None = None) -> Tensor:
        """The shadow of a tensor as a view of its storage's; `start` has the values that it begins with."""
        storage = tensor.untyped_storage()
        key = storage._cdata
        found = self._known.get(key)
        elements = storage.nbytes() // tensor.element_size()
        if found is not None and (found[0].expired() or found[1].numel() != elements):
            found = None
        if found is None:
            flat = torch.zeros(elements, dtype=widened(tensor.dtype), device="cpu")
            found = self._known[key] = (StorageWeakRef(storage), flat)
            if start is None:
                start = torch.as_strided(tensor.detach(), (elements,), (1,), 0).to("cpu")
                flat.copy_(start)
            self._sweep()
        if found[1].dtype != widened(tensor.dtype):
            return tensor.detach().to("cpu", widened(tensor.dtype))
        return torch.as_strided(found[1], tensor.shape, tensor.stride(), tensor.storage_offset())

    def follow(self, call: Call, before: Frozen, out: Any, device: Results) -> float:
        """Repeats a call on the shadows; the largest error of its results, relative to their largest value."""
        outputs = {name: value for name, value in named_outputs(out).items() if isinstance(value, torch.Tensor)}
        fresh = [value for value in outputs.values() if plain(value)]
        exact = None
        if not call.facts.random:
            exact = self._run(call, before)
        elif call.facts.base == "native_dropout":
            exact = self._dropout(call, device)
        if exact is None:
            for tensor in [*fresh, *self._written(call)]:
                self._known.pop(tensor.untyped_storage()._cdata, None)
                self.of(tensor)
            return 0.0
        worst = 0.0
        for name, value in outputs.items():
            shadow = exact.get(name)
            if shadow is None or not plain(value) or shadow.shape != value.shape:
                continue
            own = {tensor.untyped_storage()._cdata for tensor in tensors_of([call.args, call.kwargs])}
            if value.untyped_storage()._cdata not in own:
                self._known.pop(value.untyped_storage()._cdata, None)
                self.of(value, shadow).copy_(shadow)
            worst = max(worst, self._error(value, self.of(value)))
        for value in self._written(call):
            worst = max(worst, self._error(value, self.of(value)))
        return worst

    def _dropout(self, call: Call, device: Results) -> dict[str, Tensor]:
        """Dropout with the mask that the device has sampled."""
        mask = device.outputs["1"]
        if not call.args[2] and call.args[2] is not None:
            return {"0": self.of(call.args[0]), "1": mask}
        fraction = call.args[1]
        scale = 1 / (1 - fraction) if fraction < 1 else 0.0
        return {"0": self.of(call.args[0]) * mask * scale, "1": mask}

    def _written(self, call: Call) -> list[Tensor]:
        from optools.capturing import written_arguments

        return [tensor for tensor in tensors_of(written_arguments(call)) if plain(tensor)]

    def _run(self, call: Call, before: Frozen) -> dict[str, Tensor] | None:
        """The call on shadows. Written operands are unknown to `before` only where nothing is known of them."""
        for tensor, view in zip(tensors_of([call.args, call.kwargs]), before.views().values(), strict=True):
            known = self._known.get(tensor.untyped_storage()._cdata)
            if known is None or known[0].expired():
                # A written operand holds the result already: its shadow begins with what it was before.
                self.of(tensor)
                content = before.contents[view.content]
                if content.dtype == view.dtype and tensor.numel():
                    low = tensor.storage_offset() - view.offset
                    flat = self._known[tensor.untyped_storage()._cdata][1]
                    if flat.dtype == widened(view.dtype):
                        flat[low : low + content.numel()].copy_(content)

        def leaf(value: Any) -> Any:
            if isinstance(value, torch.Tensor):
                return self.of(value)
            if isinstance(value, torch.device):
                return torch.device("cpu")
            return widened(value) if isinstance(value, torch.dtype) else value

        try:
            with fewer_warnings():
                result = call.func(*mapped(tuple(call.args), leaf), **mapped(dict(call.kwargs), leaf))
        except Exception:
            return None
        return {name: value for name, value in named_outputs(result).items() if isinstance(value, torch.Tensor)}

    @staticmethod
    def _error(value: Tensor, shadow: Tensor) -> float:
        if not value.dtype.is_floating_point or not value.numel():
            return 0.0
        own = value.detach().to("cpu").double()
        finite = own.isfinite() & shadow.isfinite()
        if not bool(finite.any()):
            return 0.0
        # A gradient that is zero in exact arithmetic has noise alone: 1 says that nothing of the result is left.
        largest = max(float(shadow[finite].abs().max()), float(own[finite].abs().max()))
        return float((own - shadow)[finite].abs().max()) / largest if largest else 0.0

    def _sweep(self) -> None:
        self._count += 1
        if self._count % _SWEPT == 0:
            self._known = {key: one for key, one in self._known.items() if not one[0].expired()}

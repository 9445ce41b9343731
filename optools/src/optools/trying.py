"""A wrong operator, to try the tools and to test a pipeline with."""

from __future__ import annotations

from typing import Any

import torch

from optools.context import CONTEXT
from optools.mode import Call, Proceed, Selection, Tool, quiet
from optools.tensors import tensors_of


class Wrong(Tool):
    """Multiplies the floating results of the selected operators by a factor, from a step on. Other tools take it for
    what the device computes."""

    innermost = True

    def __init__(self, ops: str, factor: float = 1.01, from_step: int = 0, **selection: Any) -> None:
        super().__init__(Selection(ops, **selection))
        self.factor = factor
        self.from_step = from_step

    def call(self, call: Call, proceed: Proceed) -> Any:
        out = proceed(call)
        if call.facts.computes and CONTEXT.step >= self.from_step:
            with quiet():
                for tensor in tensors_of(out):
                    if tensor.dtype.is_floating_point:
                        with torch.autograd._unsafe_preserve_version_counter(tensor):
                            tensor.mul_(self.factor)
        return out

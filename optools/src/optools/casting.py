"""Runs chosen operators in another dtype, while the program keeps its own."""

from __future__ import annotations

import collections
from collections.abc import Mapping
from typing import Any

import torch

from optools.capturing import written_arguments
from optools.expression import ExpressionError
from optools.mode import Call, Proceed, Selection, Tool, quiet
from optools.tensors import mapped, tensors_of

HALF_TO_FLOAT = {torch.float16: torch.float32, torch.bfloat16: torch.float32}


def dtypes_of(text: str) -> dict[Any, Any]:
    """Reads `float16->float32,bfloat16->float32` or, for all floating dtypes, `float64`. Raises `ExpressionError`."""
    found = {}
    for word in filter(None, (part.strip() for part in text.split(","))):
        source, arrow, target = (part.strip().removeprefix("torch.") for part in word.partition("->"))
        names = [source, target] if arrow else [source]
        dtypes = [getattr(torch, name, None) for name in names]
        if not all(isinstance(dtype, torch.dtype) and dtype.is_floating_point for dtype in dtypes):
            raise ExpressionError(f"'{word}' names no floating dtypes: write float16->float32")
        if arrow:
            found[dtypes[0]] = dtypes[1]
        else:
            every = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
            found.update({dtype: dtypes[0] for dtype in every if dtype != dtypes[0]})
    if not found:
        raise ExpressionError("no dtypes are named: write float16->float32")
    return found


class Cast(Tool):
    """Casts the floating operands of the selected calls, and the results back to what they would have been."""

    def __init__(self, ops: str = "", dtypes: Mapping[Any, Any] | str = HALF_TO_FLOAT, **selection: Any) -> None:
        super().__init__(Selection(ops, **selection))
        self.dtypes = dtypes_of(dtypes) if isinstance(dtypes, str) else dict(dtypes)
        self.counts: collections.Counter[str] = collections.Counter()
        """Calls that ran in another dtype, by overload."""

    def call(self, call: Call, proceed: Proceed) -> Any:
        tensors = tensors_of([call.args, call.kwargs])
        own = [tensor.dtype for tensor in tensors if tensor.dtype.is_floating_point]
        affected = {dtype for dtype in own if dtype in self.dtypes}
        facts = call.facts
        # Random numbers of another dtype are other numbers.
        if not affected or not facts.computes or facts.collective or facts.random or facts.base == "_to_copy":
            return proceed(call)
        originals: dict[int, Any] = {}

        def change(value: Any) -> Any:
            if isinstance(value, torch.Tensor) and value.dtype in self.dtypes:
                cast = value.to(self.dtypes[value.dtype])
                originals[id(cast)] = value
                keep.append(cast)
                return cast
            return value

        keep: list[Any] = []
        with quiet():
            args, kwargs = mapped(tuple(call.args), change), mapped(dict(call.kwargs), change)
        changed = Call(call.func, call.facts, args, kwargs)
        out = proceed(changed)
        self.counts[call.facts.name] += 1
        with quiet():
            for value in tensors_of(written_arguments(changed)):
                if id(value) in originals:
                    originals[id(value)].copy_(value)
            expected = iter(self._dtypes_of_results(call, out, affected))

            def back(value: Any) -> Any:
                if not isinstance(value, torch.Tensor):
                    return value
                dtype = next(expected)
                if id(value) in originals:
                    return originals[id(value)]
                return value if value.dtype == dtype else value.to(dtype)

            return mapped(out, back)

    def _dtypes_of_results(self, call: Call, out: Any, affected: set[Any]) -> list[Any]:
        """The dtypes that the results have without the cast: those of the call on tensors without memory, else what
        the operands promote to."""
        results = tensors_of(out)

        def meta(value: Any) -> Any:
            if isinstance(value, torch.Tensor):
                return torch.empty_strided(value.shape, value.stride(), dtype=value.dtype, device="meta")
            return torch.device("meta") if isinstance(value, torch.device) else value

        try:
            expected = call.func(*mapped(tuple(call.args), meta), **mapped(dict(call.kwargs), meta))
            dtypes = [tensor.dtype for tensor in tensors_of(expected)]
            if len(dtypes) == len(results):
                return dtypes
        except Exception:
            pass
        back = {self.dtypes[dtype]: dtype for dtype in affected}
        own = {tensor.dtype for tensor in tensors_of([call.args, call.kwargs])}
        return [back.get(tensor.dtype, tensor.dtype) if tensor.dtype not in own else tensor.dtype for tensor in results]

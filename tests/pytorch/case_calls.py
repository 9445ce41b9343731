"""Cases of the conformance suite as calls of `torch.ops.diopi`: tensors of torch on the device instead of those of the
host runtime. Expected values, bounds and the order that the spec leaves open are the suite's.

What an operator returns is copied into the memory that the case has for it, so that the suite validates it there.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from diopigen.conformance.cases.suite import cases_of
from diopigen.conformance.dtypes import STORAGE, Array
from diopigen.conformance.model import SUCCESS, Case, Number, operands_of
from diopigen.conformance.oracles import Call
from diopigen.conformance.run.blocks import CANARY, Block, Blocks
from diopigen.conformance.run.frames import Fetched, Frame
from diopigen.conformance.run.prepare import Call as PreparedCall
from diopigen.conformance.run.prepare import Prepared, Preparer
from diopigen.conformance.run.verdict import Accuracies, Validator
from diopigen.conformance.strides import Dims
from diopigen.emit.torch.custom import Argument, Custom
from diopigen.ir.model import Interface, Parameter

DTYPES = {name: getattr(torch, name) for name in STORAGE if hasattr(torch, name)}
NAMES = {dtype: name for name, dtype in DTYPES.items()}

LARGEST = 40_000
"""Elements of a case. Larger ones are for the suite, which calls the same functions."""


class TorchBlocks(Blocks):
    """Tensors of torch on a device, between guard zones as those of the suite."""

    def __init__(self, device: torch.device) -> None:
        self.where = device
        self.tensors: list[torch.Tensor] = []
        self.storages: list[torch.Tensor] = []
        self.sizes: list[int] = []
        self.sources: list[torch.Generator] = []

    def register(self, tensor: torch.Tensor) -> int:
        """A handle for a tensor."""
        self.tensors.append(tensor)
        return len(self.tensors) - 1

    def of(self, block: Block) -> torch.Tensor:
        """The tensor of a block."""
        return self.tensors[block.handle]

    def storage(self, content: Array, *, on_host: bool) -> int:
        assert not on_host, "a case with a tensor on the host"
        self.storages.append(torch.from_numpy(_padded(content)).to(self.where))
        self.sizes.append(content.size)
        return len(self.storages) - 1

    def rewrite(self, block: Block) -> None:
        raise AssertionError("a case with tensors that overlap in part")

    def view(self, base: Any, shape: Dims, strides: Dims, dtype: str, offset: int) -> int:
        return self.register(torch.as_strided(self.storages[base].view(DTYPES[dtype]), shape, strides, offset))

    def alone(self, shape: Dims, strides: Dims, dtype: str, *, on_host: bool) -> int:
        return self.register(torch.empty_strided(shape, strides, dtype=DTYPES[dtype], device=self.where))

    def csr(self, shape: Dims, parts: Sequence[Any]) -> int:
        raise AssertionError("a case with a sparse matrix")

    def generator(self, seed: int, offset: int = 0) -> int:
        source = torch.Generator(device=self.where)
        source.manual_seed(seed)
        self.sources.append(source)
        return len(self.sources) - 1

    def read(self) -> list[Array]:
        """The bytes of all storages now."""
        read = zip(self.storages, self.sizes, strict=True)
        return [np.asarray(storage.cpu().numpy()[:size]) for storage, size in read]


def _padded(storage: Array) -> Array:
    """With bytes behind it, so that it is a whole number of elements of any dtype."""
    return np.concatenate([storage, np.full(-storage.size % 16, CANARY, dtype=np.uint8)])


def stored_of(tensor: torch.Tensor) -> Array:
    """The elements of a tensor as the suite has them in memory."""
    dense = tensor.detach().cpu().contiguous()
    item = STORAGE[NAMES[tensor.dtype]]
    if dense.numel() == 0:
        return np.empty(tuple(tensor.shape), dtype=item)
    return np.asarray(dense.reshape(-1).view(torch.uint8).numpy().view(item).reshape(tuple(tensor.shape)))


@dataclass(slots=True)
class OperatorCall:
    """A case that is ready to be called as an operator."""

    custom: Custom
    case: Case
    ready: Prepared
    blocks: TorchBlocks
    arguments: list[Any]

    @property
    def operator(self) -> Any:
        return getattr(torch.ops.diopi, self.custom.name).default

    def __call__(self) -> list[torch.Tensor]:
        """The results, as a list."""
        return listed(self.operator(*self.arguments))

    def complaints(self, results: Sequence[torch.Tensor]) -> list[str]:
        """Errors that the suite reports for the results."""
        position = 0
        for result in dict.fromkeys(self.custom.results):
            param = result.param
            count = param.count if isinstance(param.count, int) else 1
            said = self._take(param, results[position : position + count], is_sum=result.zeros)
            if said:
                return [said]
            position += count
        call = Call(self.ready.function, self.ready.values, self.ready.dtypes, self.ready.shapes)
        self.ready.storages = self.blocks.read()
        verdict = Validator(Accuracies(())).verdict(self.case, self.ready, call)
        if verdict.outcome == "passed":
            return []
        lines = [f"{fault.parameter}: {fault.message} ({fault.expected}, {fault.actual})" for fault in verdict.faults]
        return lines or [verdict.outcome]

    def _take(self, param: Parameter, found: Sequence[torch.Tensor], *, is_sum: bool) -> str:
        """Puts results where the case has memory for them. What a gradient is added to starts from zeros here."""
        if param.type in ("new_tensor", "new_tensors"):
            first, count = self.ready.allocating.get(param.name, (0, 0))
            fetched = [Fetched(stored_of(one), NAMES[one.dtype], tuple(one.stride())) for one in found[:count]]
            self.ready.fetched[first : first + count] = fetched
            return ""
        (block,) = self.ready.blocks[param.name]
        assert block is not None, f"{param.name} is a result, which is never absent"
        (one,) = found
        if (tuple(one.shape), one.dtype) != (block.shape, DTYPES[block.dtype]):
            wanted, got = f"{block.dtype}{list(block.shape)}", f"{NAMES[one.dtype]}{list(one.shape)}"
            return f"{param.name} has the form {got}, the case has {wanted}"
        self.blocks.of(block).copy_(one)
        if is_sum:
            self.ready.values[param.name] = np.zeros_like(self.ready.values[param.name])
            block.elements(block.before)[...] = 0
        return ""


def listed(results: Any) -> list[torch.Tensor]:
    """Results of an operator, as a list."""
    if results is None:
        return []
    return [results] if isinstance(results, torch.Tensor) else list(results)


def prepared(interface: Interface, custom: Custom, case: Case, device: torch.device) -> OperatorCall:
    """The call of a case."""
    blocks = TorchBlocks(device)
    preparer = Preparer(interface)
    frame = Frame(preparer.dtypes)
    ready = PreparedCall(preparer, case, custom.function, frame, blocks).prepared()
    ready.fetched = [None] * sum(frame.handles)
    generators = iter(ready.generators)
    arguments = []
    for one in custom.arguments:
        if one.param.type == "generator":
            is_null = case.arguments.get(one.name, True) is None
            arguments.append(None if is_null else blocks.sources[next(generators)[0]])
        else:
            arguments.append(_argument(one, case, ready, blocks, preparer.enum_values))
    return OperatorCall(custom, case, ready, blocks, arguments)


def _argument(one: Argument, case: Case, ready: Prepared, blocks: TorchBlocks, enum_values: dict[str, int]) -> Any:
    value = case.arguments.get(one.name)
    if one.param.type in ("tensor", "tensors"):
        tensors = [None if block is None else blocks.of(block) for block in ready.blocks.get(one.name, [None])]
        return tensors if one.param.type == "tensors" else tensors[0]
    if isinstance(value, Number):
        return {"bool": bool, "int64": int}.get(value.dtype, float)(value.value)
    if one.param.type == "sizes" and value is not None:
        return list(value) if isinstance(value, tuple) else [value]
    if isinstance(value, str) and one.param.type != "string":
        return enum_values[value]
    return value


def _size(case: Case) -> int:
    return sum(math.prod(operand.shape) for operand in operands_of(case.arguments.values()))


def _is_expressible(custom: Custom, case: Case) -> bool:
    """Returns whether the operator can make the call: results have memory of their own, and are never absent; torch has
    no tensors that share memory only in part, and no bool with another byte."""
    if case.expect != SUCCESS or case.waiver is not None or case.axis == "distribution":
        return False
    operands = list(operands_of(case.arguments.values()))
    if any(one.on_host or one.shift or one.dtype not in DTYPES for one in operands) or _size(case) > LARGEST:
        return False
    owned = {result.param.name for result in custom.results}
    for name in owned:
        if name in case.arguments and case.arguments[name] is None:
            return False
    for name, value in case.arguments.items():
        if any(one.alias is not None and (name in owned or one.alias in owned) for one in operands_of([value])):
            return False
    return True


def expressible(interface: Interface, custom: Custom) -> Iterator[Case]:
    """The accepted cases of a function that its operator can call."""
    return (case for case in cases_of(interface, custom.function) if _is_expressible(custom, case))


def chosen(cases: Sequence[Case], dtypes: int = 3) -> list[Case]:
    """A few cases: one of each axis, and one in each of some dtypes; the largest of equals, which shows most."""
    by_axis: dict[str, Case] = {}
    by_dtype: dict[str, Case] = {}
    for case in cases:
        for found, key in ((by_axis, case.axis), (by_dtype, case.dtype)):
            if found is by_dtype and key not in found and len(found) == dtypes:
                continue
            if key not in found or _size(case) > _size(found[key]):
                found[key] = case
    return list({case.id: case for found in (by_axis, by_dtype) for case in found.values()}.values())

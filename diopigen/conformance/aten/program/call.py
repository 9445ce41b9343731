"""One call of an overload: arguments from a request, results back into its storages."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from diopigen.conformance.aten.arguments import Reader
from diopigen.conformance.aten.forms import UNLIKE
from diopigen.conformance.aten.pairing import Pairing, Position
from diopigen.conformance.aten.program.random_states import RandomStates
from diopigen.conformance.aten.program.tensors import Tensors, raw, store
from diopigen.conformance.run.frames import NO_SUCH_CALL, Answer, Form, RawTensor
from diopigen.conformance.run.prepare import ALLOCATED
from diopigen.conformance.run.serving import ArgumentFields, HostFailure, Request
from diopigen.ir.model import Function, Parameter

Invoke = Callable[[Any, Sequence[Any], Mapping[str, Any]], Any]
"""Calls an overload with positional and keyword arguments."""


class NoSuchCallError(HostFailure):
    """The overload has no position for something of the call."""

    def __init__(self, message: str) -> None:
        super().__init__(NO_SUCH_CALL, message)


@dataclass(frozen=True, slots=True)
class Statuses:
    """Statuses of the interface."""

    success: int
    error: int
    absent: int


@dataclass(frozen=True, slots=True)
class Overload:
    """An overload of the torch at hand, and where its arguments come from."""

    function: Function
    op: Any
    pairing: Pairing
    defaults: Mapping[str, Any]


_LISTED = frozenset({"Tensor", "int", "SymInt", "Scalar", "float"})


class AtenCall:
    """A call of an overload on a device. `outputs` are the parameters that are written."""

    def __init__(
        self,
        overload: Overload,
        request: Request,
        reader: Reader,
        dtypes: Mapping[int, Any],
        device: Any,
        states: RandomStates,
    ) -> None:
        self.overload, self.request, self.reader, self.device = overload, request, reader, device
        self.states = states
        self.outputs = overload.pairing.outputs
        self.fields = reader.arguments(overload.function, request)
        self.params = {param.name: param for param in overload.function.params}
        self.tensors = Tensors(device, dtypes, [content for _, content in request.storages])
        self.in_place: set[str] = set()
        """Outputs that an overload which works in place has as its operand."""
        self.results: dict[str, Any] = {}
        """Results that are written nowhere yet, by parameter."""
        self.leaves: dict[str, Any] = {}
        """Operands that gradients are computed of."""
        self.index: int | None = None
        """Index of the operand in the lists of two that a function over lists has; None for other calls."""
        try:
            for one in request.tensors:
                self.tensors.add(one)
        except KeyError as error:
            raise NoSuchCallError(f"torch has no dtype {reader.names.get(error.args[0], error.args[0])}") from None
        except (RuntimeError, ValueError, TypeError, OverflowError) as error:
            raise NoSuchCallError(f"torch has no such tensor: {first_line(error)}") from None

    # ---- what rules see ---------------------------------------------------------------------------------------------

    def output(self, index: int = 0) -> Any:
        """The tensor of an output of the call; None where the call has none for it."""
        requested = [param for param in self.outputs if param.type not in ALLOCATED]
        fields = self.fields[requested[index].name] if index < len(requested) else None
        if fields is None or fields.form not in (Form.TENSOR, Form.TENSORS):
            return None
        return self._first(fields)

    def first_input(self) -> Any:
        """The first tensor that is read."""
        for param in self.overload.function.params:
            fields = self.fields[param.name]
            if param.is_read and fields.form in (Form.TENSOR, Form.TENSORS):
                return self._first(fields)
        raise NoSuchCallError("the call reads no tensor")

    def is_requested(self, param: Parameter) -> bool:
        """Returns whether the call has a position for an output."""
        return self.fields[param.name].form != Form.NULL

    def _first(self, fields: ArgumentFields) -> Any:
        number = fields.value if fields.form == Form.TENSOR else next((n for n in fields.value if n >= 0), None)
        return None if number is None else self.tensors.tensors[number]

    # ---- the call ---------------------------------------------------------------------------------------------------

    def answer(self, invoke: Invoke, synchronize: Callable[[], None], statuses: Statuses) -> Answer:
        """Makes the call. Raises `NoSuchCallError`."""
        device_states = self.states.entered(self.request.seeds)
        status, text = statuses.success, ""
        # Not in what follows: an error there is PyTorch's refusal.
        arguments, keywords = self._arguments()
        start = time.perf_counter()
        try:
            with torch.no_grad():
                if self.overload.pairing.gradients:
                    found = self._gradients(arguments, keywords)
                else:
                    found = invoke(self.overload.op, arguments, keywords)
                synchronize()
        except NotImplementedError as error:
            status, text, found = statuses.absent, _described(error), ()
        except (MemoryError, NoSuchCallError):
            raise
        except Exception as error:
            is_absent = isinstance(error, RuntimeError) and "not implemented for" in str(error)
            status, text, found = statuses.absent if is_absent else statuses.error, _described(error), ()
        answer = Answer(status, 0, time.perf_counter() - start, text)
        if status == statuses.success:
            self._take(found)
            wrong = self._unlike()
            if wrong:
                answer.status, answer.text = statuses.error, wrong
        self._write(answer, is_done=answer.status == statuses.success)
        answer.generators = self.states.left(device_states, len(self.request.seeds))
        return answer

    def _arguments(self) -> tuple[list[Any], dict[str, Any]]:
        positional: list[Any] = []
        keywords: dict[str, Any] = {}
        for position in self.overload.pairing.positions:
            value = self._value(position)
            if position.argument.keyword_only:
                keywords[position.argument.name] = value
            else:
                positional.append(value)
        for param in self.overload.pairing.left(self.overload.function):
            self._require_usual(param)
        return positional, keywords

    def _require_usual(self, param: Parameter) -> None:
        """Checks that a parameter without an argument has the value that it has where it is left out."""
        value = self.reader.value(param, self.fields[param.name], self.tensors.tensors)
        usual = param.default.value if param.default is not None else None
        if value is not None and value != (list(usual) if isinstance(usual, tuple) else usual):
            raise NoSuchCallError(f"no argument has '{param.name}'")

    def _value(self, position: Position) -> Any:
        argument = position.argument
        if position.rule is not None:
            try:
                found = position.rule(self)
            except IndexError:
                raise NoSuchCallError(f"'{argument.name}' does not follow from the operands") from None
            if argument.type == "bool" and argument.is_list:
                found = found[: argument.length]  # one for each result, of which the function may have more
            is_tensors = argument.is_list and argument.type == "Tensor" and isinstance(found, list)
            return [torch.tensor(float(one), device=self.device) for one in found] if is_tensors else found
        if position.output is not None:
            found = self._tensor_of(self.outputs[position.output])
            if found is None and not argument.optional:
                raise NoSuchCallError(f"'{argument.name}' has no tensor to be written to")
            return self._pair(found) if argument.is_list and not isinstance(found, list) else found
        if position.param is None:
            return self.overload.defaults.get(argument.name)
        if argument.type == "Generator":
            return self.states.generator if self.request.seeds else None
        value = self.reader.value(position.param, self.fields[position.param.name], self.tensors.tensors)
        if value is None:
            return self._left_out(position)
        if argument.written and not position.param.is_written:
            value = self._copied(value) if argument.name == "self" else _cloned(value)
        if position.param.name in self.overload.pairing.gradients.values():
            value = self._leaf(position.param.name, value)
        if argument.is_list and argument.type in _LISTED and not isinstance(value, list):
            is_content = isinstance(value, torch.Tensor) and argument.type != "Tensor"
            return value.tolist() if is_content else self._pair(value)
        return value

    def _leaf(self, name: str, value: Any) -> Any:
        try:
            self.leaves[name] = value.detach().requires_grad_()
        except RuntimeError as error:
            raise NoSuchCallError(f"'{name}' has no gradient: {first_line(error)}") from None
        return self.leaves[name]

    def _pair(self, value: Any) -> list[Any]:
        """A list of one; for a function over lists one of two, so that it has to compute each of them."""
        if not self.overload.op._schema.name.partition("::")[2].startswith("_foreach"):
            return [value]
        if self.index is None:
            self.index = self.first_input().numel() % 2
        twin = value.clone() if isinstance(value, torch.Tensor) else value
        return [value, twin] if self.index == 0 else [twin, value]

    def _copied(self, value: Any) -> Any:
        """The output with the elements of an operand that an overload overwrites and the function does not."""
        output = next((p for p in self.outputs if self.is_requested(p) and p.type not in ALLOCATED), None)
        found = None if output is None else self._tensor_of(output)
        if output is None or not isinstance(found, torch.Tensor) or not isinstance(value, torch.Tensor):
            raise NoSuchCallError("the overload works in place, and the call has several operands or none")
        if (found.dtype, found.shape) != (value.dtype, value.shape):
            raise NoSuchCallError("the overload works in place, and the result has another dtype or shape")
        self.in_place.add(output.name)
        try:
            return found.copy_(value)
        except RuntimeError as error:
            raise NoSuchCallError(f"the overload works in place: {first_line(error)}") from None

    def _left_out(self, position: Position) -> Any:
        argument = position.argument
        if argument.optional or argument.optional_items:
            return None
        if argument.is_list and argument.type == "Tensor":
            return []
        if argument.name in self.overload.defaults:
            return self.overload.defaults[argument.name]
        raise NoSuchCallError(f"'{argument.name}' cannot be left out")

    def _tensor_of(self, param: Parameter) -> Any:
        fields = self.fields[param.name]
        if fields.form == Form.TENSOR:
            return self.tensors.tensors[fields.value]
        if fields.form == Form.TENSORS:
            return [None if one < 0 else self.tensors.tensors[one] for one in fields.value]
        return None

    def _gradients(self, arguments: Sequence[Any], keywords: Mapping[str, Any]) -> tuple[Any, ...]:
        """The results that are gradients, in the order of the outputs, by autograd."""
        grad_outputs = [self.number(name) for name in self.overload.pairing.grad_outputs]
        with torch.enable_grad():
            found = self.overload.op(*arguments, **keywords)
        several = found if isinstance(found, tuple) else (found,)
        pairs = [(one, grad) for one, grad in zip(several, grad_outputs, strict=False) if grad is not None]
        results, grads = [one for one, _ in pairs], [grad for _, grad in pairs]
        asked = [self.leaves.get(self.overload.pairing.gradients[param.name]) for param in self.outputs]
        leaves = [leaf for leaf in asked if leaf is not None]
        computed = iter(torch.autograd.grad(results, leaves, grads, allow_unused=True, materialize_grads=True))
        return tuple(None if leaf is None else next(computed) for leaf in asked)

    def number(self, name: str) -> Any:
        """The value of a parameter."""
        return self.reader.value(self.params[name], self.fields[name], self.tensors.tensors)

    # ---- results ----------------------------------------------------------------------------------------------------

    def _take(self, found: Any) -> None:
        """Pairs results with the outputs that they are not in yet."""
        several = list(found) if isinstance(found, tuple) else [found]
        returns = self.overload.op._schema.returns
        # native_batch_norm writes to arguments whose schema does not say so.
        positions = self.overload.pairing.positions
        in_place = {position.param.name for position in positions if position.param is not None}
        in_place |= {self.outputs[p.output].name for p in positions if p.argument.written and p.output is not None}
        waiting = [param for param in self.outputs if param.name not in in_place | self.in_place]
        fresh = [
            value
            for value, returned in zip(several, returns, strict=False)
            if returned.alias_info is None or not returned.alias_info.is_write
        ]
        fresh = several if self.overload.pairing.gradients else fresh
        left = [param.name for param in waiting[len(fresh) :] if self.is_requested(param)]
        if left:
            raise NoSuchCallError(f"no result is '{left[0]}'")
        for param, value in zip(waiting, fresh, strict=False):
            if self.is_requested(param):
                is_pair = self.index is not None and isinstance(value, list) and len(value) == 2
                self.results[param.name] = value[self.index] if is_pair else value
            elif not param.nullable:
                raise NoSuchCallError(f"'{param.name}' is a result, which cannot be left out")

    def _unlike(self) -> str:
        """Describes an error in dtype or shape of a result; a tensor that is written to may have been resized."""
        for param in self.outputs:
            for number in self._numbers(self.fields[param.name]):
                expected, actual = list(self.request.tensors[number].shape), list(self.tensors.tensors[number].shape)
                if _without_ones(expected) != _without_ones(actual):
                    return f"{UNLIKE} '{param.name}' has the shape {actual}, not {expected}"
        for name, value in self.results.items():
            position = None if self.params[name].type in ALLOCATED else self._tensor_of(self.params[name])
            if position is None:
                continue
            if value is None:
                return f"{UNLIKE} '{name}' is none at all"
            pairs = zip(position, value, strict=False) if isinstance(position, list) else [(position, _only(value))]
            for expected, actual in pairs:
                if expected is None or not isinstance(actual, torch.Tensor):
                    continue
                if expected.dtype != actual.dtype:
                    return f"{UNLIKE} '{name}' is {_word(actual.dtype)}, not {_word(expected.dtype)}"
                if _without_ones(expected.shape) != _without_ones(actual.shape):
                    return f"{UNLIKE} '{name}' has the shape {list(actual.shape)}, not {list(expected.shape)}"
        return ""

    def _numbers(self, fields: ArgumentFields) -> list[int]:
        """The numbers of the tensors of an argument."""
        if fields.form == Form.TENSORS:
            return [number for number in fields.value if number >= 0]
        return [fields.value] if fields.form == Form.TENSOR else []

    def _write(self, answer: Answer, *, is_done: bool) -> None:
        """Adds storages with the results in them, numbers and tensors of their own."""
        if self.device.type == "meta":
            answer.storages = [content for _, content in self.request.storages]
        else:
            answer.storages = [self.tensors.bytes_of(number) for number in range(len(self.request.storages))]
        for param in self.overload.function.params:
            fields, value = self.fields[param.name], self.results.get(param.name) if is_done else None
            if fields.form == Form.SLOT:
                answer.slots.append(self._slot(param, fields.value, value))
            elif fields.form == Form.HANDLES:
                answer.allocated += self._allocated(fields.value, value)
            elif value is not None and self.device.type != "meta":
                self._store(answer, fields, value)

    def _store(self, answer: Answer, fields: ArgumentFields, value: Any) -> None:
        numbers = [fields.value] if fields.form == Form.TENSOR else list(fields.value)
        values = value if fields.form == Form.TENSORS and isinstance(value, (list, tuple)) else [_only(value)]
        for number, one in zip(numbers, values, strict=False):
            tensor = self.request.tensors[number] if number >= 0 else None
            if tensor is None or one is None or one.numel() == 0:
                continue
            store(answer.storages[tensor.base], self.tensors.dtypes[tensor.dtype], tensor, one)

    def _slot(self, param: Parameter, content: bytes, value: Any) -> bytes:
        if value is None:
            return content
        number = value.item() if isinstance(value, torch.Tensor) else value
        return self.reader.content_of(param, number)[: len(content)]

    def _allocated(self, count: int, value: Any) -> list[RawTensor | None]:
        values = list(value) if isinstance(value, (list, tuple)) else [value]
        codes = {dtype: code for code, dtype in self.tensors.dtypes.items()}
        is_meta = self.device.type == "meta"
        found: list[RawTensor | None] = [None if one is None or is_meta else raw(one, codes) for one in values[:count]]
        return [*found, *[None] * (count - len(found))]


_LONG = 200
"""Characters of an error that are shown whole."""


def _cloned(value: Any) -> Any:
    return [one.clone() for one in value] if isinstance(value, list) else value.clone()


def _only(value: Any) -> Any:
    return value[0] if isinstance(value, (list, tuple)) and len(value) == 1 else value


def _without_ones(shape: Sequence[int]) -> list[int]:
    """The sizes that count elements: statistics of rows have a dimension for each of the input's in torch."""
    return [size for size in shape if size != 1]


def _word(dtype: Any) -> str:
    return str(dtype).removeprefix("torch.")


def first_line(error: BaseException) -> str:
    """The beginning of an error's text: its first line, with the next one after a colon, or the first sentence of a
    long one."""
    lines = str(error).strip().splitlines() or [""]
    line = " ".join(lines[: 1 + lines[0].endswith(":")])
    return line if len(line) <= _LONG else line.partition(". ")[0][:_LONG]


def _described(error: BaseException) -> str:
    return f"{type(error).__name__}: {first_line(error)}"

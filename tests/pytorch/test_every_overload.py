"""Every operator of ATen, called with small operands on droplet: it computes or is rejected, and no assertion inside
PyTorch fails that holds on the CPU. No result is compared: test_opinfo.py does that."""

from __future__ import annotations

import warnings
import zlib
from collections.abc import Callable
from typing import Any

import pytest
import torch
from sampling import first

PARTS = 200
MATRIX, TEXTS = (
    torch.tensor([[0.5, 2.0, 0.25], [1.0, 3.0, 1.5], [0.75, 0.125, 4.0]]),
    {"reduce": "sum", "equation": "ij"},
)
OPERANDS = {
    "matrix": MATRIX,
    "row": MATRIX[0],
    "number": MATRIX[0, 0],
    "integers": torch.tensor([[0, 1, 2], [1, 0, 2], [2, 1, 0]]),
    "bools": torch.tensor([True, False, True]),
    "complex": MATRIX.to(torch.complex64),
    "images": torch.arange(96.0).view(2, 3, 4, 4),
}
FATAL = {
    "_batch_norm_impl_index_backward",
    "_convert_indices_from_csr_to_coo",
    "_fft_r2c",
    "_nnpack_spatial_convolution",
    "_sobol_engine_initialize_state_",
    "_thnn_differentiable_lstm_cell_backward",
    "batch_norm_backward",
    "native_batch_norm_backward",
    "smooth_l1_loss_backward",
}
"""Operators that end the process with such operands on the CPU as well."""
ASSERTION = ("INTERNAL ASSERT", "DispatchStub", "missing kernel")


def overloads(part: int) -> list[Any]:
    """Overloads of one of `PARTS` shares of the operators, without those that only write to `out=`."""
    names = [name for name in torch._C._dispatch_get_all_op_names() if name.startswith("aten::")]
    names = [name for name in names if zlib.crc32(name.encode()) % PARTS == part and not name.endswith("out")]
    pairs = [name.removeprefix("aten::").partition(".") for name in names]
    pairs = [(name, overload or "default") for name, _, overload in pairs if name not in FATAL]
    packets = [(getattr(torch.ops.aten, name, None), overload) for name, overload in pairs]
    return [getattr(packet, overload) for packet, overload in packets if hasattr(packet, overload)]


def value(argument: Any, operand: torch.Tensor, device: Any) -> Any:
    """A small value of the argument's type. Raises `KeyError` for types that there are no values for."""
    kind = str(argument.type)
    if argument.name == "device":
        return torch.device(device)
    if argument.has_default_value():
        return argument.default_value
    if kind.startswith("Optional[Tensor"):
        return operand.to(device)
    if kind.startswith("Optional["):
        return None
    count = argument.N or 2
    values: dict[str, Callable[[], Any]] = {
        "Tensor": lambda: operand.to(device),
        "List[Tensor]": lambda: [operand.to(device), operand.to(device)],
        "List[Optional[Tensor]]": lambda: [operand.to(device)],
        "int": lambda: torch.float32 if argument.name == "dtype" else 1,
        "SymInt": lambda: 1,
        "number": lambda: 1,
        "float": lambda: 0.5,
        "complex": lambda: 1j,
        "bool": lambda: False,
        "str": lambda: TEXTS.get(argument.name, "none"),
        "List[int]": lambda: [1] * count,
        "List[SymInt]": lambda: [1] * count,
        "List[number]": lambda: [1] * count,
        "List[float]": lambda: [0.5] * count,
        "List[bool]": lambda: [True] * count,
    }
    return values[kind]()


def message(overload: Any, operand: torch.Tensor, device: Any) -> str | None:
    """Exception of the call on a device in one line, None if it computes. Raises `KeyError` as `value` does."""
    arguments = overload._schema.arguments
    plain = [value(argument, operand, device) for argument in arguments if not argument.kwarg_only]
    named = {argument.name: value(argument, operand, device) for argument in arguments if argument.kwarg_only}
    try:
        overload(*plain, **named)
    except Exception as error:  # whatever a kernel raises
        return str(error)
    return None


def fails_inside(text: str | None) -> bool:
    return text is not None and any(words in text for words in ASSERTION)


@pytest.mark.parametrize("part", first(range(PARTS)))
def test_no_assertion_inside_pytorch_fails(part: int, droplet: Any) -> None:
    calls, failures = 0, []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for overload in overloads(part):
            for name, operand in OPERANDS.items():
                try:
                    text = message(overload, operand, droplet)
                except KeyError:  # a type without a value: streams, quantizers, Python objects
                    break
                calls += 1
                if fails_inside(text) and not fails_inside(message(overload, operand, "cpu")):
                    failures.append(f"{overload} of {name}: {text}")
    assert calls > 0
    assert failures == []

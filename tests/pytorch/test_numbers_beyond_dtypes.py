"""Numbers that a dtype does not hold: operators reject them as the CPU does, and never wrap or saturate them."""

from __future__ import annotations

from typing import Any

import pytest
import torch

SINCE_2_15 = tuple(map(int, torch.__version__.split(".")[:2])) >= (2, 15)
"""The first release in which a bound beyond an integral dtype limits nothing."""
HAS_KERNEL = torch._C._dispatch_has_kernel_for_dispatch_key
NUMBERS: list[tuple[torch.dtype, Any]] = [
    (torch.int8, 1), (torch.int8, 300), (torch.int8, -300), (torch.int8, 1.5), (torch.int8, 300.5),
    (torch.uint8, 3), (torch.uint8, 300), (torch.int32, 2**40), (torch.int64, float("nan")), (torch.int64, 2),
    (torch.float16, 2), (torch.float16, 1e9), (torch.float16, -1e9), (torch.float16, float("inf")),
    (torch.bfloat16, 1e39), (torch.float32, 1e300), (torch.float32, 0.5), (torch.bool, 2), (torch.float32, 1 + 2j),
    (torch.float32, 2**63),
]  # fmt: skip


def overloads() -> dict[str, Any]:
    """Overloads of ATen with a kernel of the device that take a number."""
    found = {}
    for schema in torch._C._jit_get_all_schemas():
        name = f"{schema.name}.{schema.overload_name}".rstrip(".")
        if not schema.name.startswith("aten::") or not any("number" in str(a.type) for a in schema.arguments):
            continue
        try:
            if not HAS_KERNEL(name, "PrivateUse1"):
                continue
        except RuntimeError:  # a function of TorchScript
            continue
        found[name] = getattr(getattr(torch.ops.aten, schema.name[6:]), schema.overload_name or "default")
    return found


def arguments(operator: Any, dtype: torch.dtype, number: Any) -> tuple[list[Any], dict[str, Any]] | None:
    """Operands of 2 x 2 elements, and the number for each parameter that is one; None for parameters of other kinds."""
    base = operator._schema.name[6:]
    listed: list[Any] = []
    named: dict[str, Any] = {}
    for argument in operator._schema.arguments:
        kind = str(argument.type)
        value: Any
        if kind == "Tensor":
            value = torch.tensor([[1, 2], [2, 1]]).to(dtype)
            if argument.name == "index":
                value = torch.tensor([[0, 1], [1, 0]]) if base.startswith("scatter") else torch.tensor([0, 1])
            elif argument.name in ("mask", "condition"):
                value = torch.tensor([[True, False], [True, True]])
            elif base.startswith(("bmm", "baddbmm")) or argument.name in ("batch1", "batch2"):
                value = value.repeat(2, 1, 1)
            elif base == "isin" and argument.name == "out":
                value = value.bool()
            elif argument.name in ("vec", "vec2", "vec1", "sorted_sequence", "boundaries"):
                value = value[0]
            elif base.startswith(("addmv", "addr")):
                value = value[0] if argument.name == "self" and base.startswith("addmv") else value
        elif "number" in kind:
            value = [number] if kind.startswith("List") else number
        elif argument.has_default_value():
            value = argument.default_value
        elif kind in ("int", "SymInt"):
            value = 0
        elif kind in ("bool", "float", "str"):
            value = {"bool": False, "float": 1.0, "str": "add"}[kind]
        elif kind == "List[int]":
            value = [0]
        elif kind.startswith("Optional"):
            value = None
        elif kind == "List[Tensor]":
            value = [torch.tensor([1, 2]).to(dtype)]
        else:
            return None
        if argument.kwarg_only:
            named[argument.name] = value
        else:
            listed.append(value)
    return listed, named


def moved(value: Any, device: Any) -> Any:
    if isinstance(value, list):
        return [moved(one, device) for one in value]
    return value.to(device, copy=True) if isinstance(value, torch.Tensor) else value


def called(operator: Any, operands: tuple[list[Any], dict[str, Any]], device: Any) -> Any:
    """The results on the CPU, or the exception."""
    listed, named = ([moved(one, device) for one in operands[0]], {k: moved(v, device) for k, v in operands[1].items()})
    if "device" in named:
        named["device"] = torch.device(device)
    try:
        found = operator(*listed, **named)
    except Exception as error:
        return error
    return moved(list(found), "cpu") if isinstance(found, (tuple, list)) else moved([found], "cpu")


def widened(operands: tuple[list[Any], dict[str, Any]]) -> tuple[list[Any], dict[str, Any]]:
    """The operands in float32."""

    def wide(value: Any) -> Any:
        if isinstance(value, list):
            return [wide(one) for one in value]
        return value.float() if isinstance(value, torch.Tensor) and value.is_floating_point() else value

    return [wide(one) for one in operands[0]], {name: wide(one) for name, one in operands[1].items()}


DIFFERENT = {
    "aten::addmm": "factors of integers with a fraction are rejected, and not cut off",
    "aten::addcmul": "factors of integers with a fraction are rejected, and not cut off",
    "aten::norm": "orders of 1e39 and more",
    "aten::linalg_vector_norm": "orders of 1e39 and more",
    "aten::_add_relu": "dtypes and limits of quantized kernels, which only the CPU has",
}
"""Operators with known differences that are no numbers beyond a dtype."""

UNCALLED: dict[str, str] = {
    f"aten::fbgemm_linear_int8_weight{suffix}": "the device rejects all calls: it has no quantized tensors"
    for suffix in ("", "_fp32_activation")
}
"""Overloads whose arguments are made elsewhere, with the reason."""


def test_overloads_with_numbers_do_as_the_cpu(droplet: Any) -> None:
    """Rejects the numbers that the CPU rejects; half precision may compute in float32, as other devices do."""
    wrong, uncalled, rejections = [], [], 0
    for name, operator in overloads().items():
        if name.partition(".")[0].removesuffix("_") in DIFFERENT:
            continue
        succeeded = False
        for dtype, number in NUMBERS:
            operands = arguments(operator, dtype, number)
            if operands is None:
                break
            expected, own = called(operator, operands, "cpu"), called(operator, operands, droplet)
            succeeded = succeeded or not isinstance(expected, Exception)
            label = f"{name} {dtype} {number}"
            if "not implemented for" in str(expected):
                continue  # the CPU has no kernel for the dtype
            if isinstance(expected, Exception):
                rejections += "overflow" in str(expected)
                if isinstance(own, Exception):
                    continue
                if dtype in (torch.float16, torch.bfloat16):
                    expected = called(operator, widened(operands), "cpu")
                    expected = expected if isinstance(expected, Exception) else [t.to(dtype) for t in expected]
                if isinstance(expected, Exception):
                    wrong.append(f"{label}: {own}, the CPU: {type(expected).__name__} {expected}"[:300])
                    continue
            if isinstance(own, Exception):
                wrong.append(f"{label}: {type(own).__name__} {own}, the CPU: {expected}"[:300])
                continue
            for one, other in zip(own, expected, strict=True):
                if not isinstance(other, torch.Tensor):
                    continue
                try:
                    torch.testing.assert_close(one, other, equal_nan=True)
                except AssertionError:
                    wrong.append(f"{label}: {one.tolist()}, the CPU: {other.tolist()}"[:300])
        if not succeeded:
            uncalled.append(name)
    assert not wrong, "\n".join(wrong)
    assert not sorted(set(uncalled) - set(UNCALLED)), " ".join(uncalled)
    assert rejections > 100


@pytest.mark.parametrize("kind", ["eager", "compiled"])
def test_bounds_and_values_of_integers(kind: str, droplet: Any) -> None:
    def calls(device: Any) -> list[Any]:
        eight = torch.tensor([1, 100], dtype=torch.int8, device=device)
        index = torch.tensor([0], device=device)
        return [
            lambda: eight.clamp(max=200),
            lambda: eight.clamp(min=-200),
            lambda: torch.nn.functional.hardtanh(eight, -200, 200),
            lambda: torch.nn.functional.threshold(eight, 2, 300),
            lambda: eight.index_fill(0, index, 300),
            lambda: eight.scatter(0, index, 300),
            lambda: eight.masked_fill(eight > 5, 300),
        ]

    rejections = 0
    for own, expected in zip(calls(droplet), calls("cpu"), strict=True):
        function = own
        if kind == "compiled":
            from diopi_torch.graphs import backend as graphs

            torch._dynamo.reset()
            function = torch.compile(own, backend=graphs)
        try:
            result = expected()
        except RuntimeError as error:
            rejections += 1
            assert "without overflow" in str(error)
            with pytest.raises(RuntimeError, match="without overflow"):
                function()
        else:
            assert function().tolist() == result.tolist()
    assert rejections == (4 if SINCE_2_15 else 7)


@pytest.mark.skipif(not SINCE_2_15, reason="bounds beyond a dtype are errors before torch 2.15, as is tested above")
def test_bounds_beyond_a_dtype_that_no_element_is_within(droplet: Any) -> None:
    eight = torch.tensor([1, 100], dtype=torch.int8, device=droplet)
    for bounds in ((300, None), (None, -300), (300, -300)):
        with pytest.raises(RuntimeError, match=r"Clamp m.. value -?300 is outside the representable range of Char"):
            eight.clamp(*bounds)


def test_numbers_of_python_wrap_as_tensors_do(droplet: Any) -> None:
    """PyTorch makes tensors of them, which it converts without a check."""

    def results(device: Any) -> list[torch.Tensor]:
        eight = torch.tensor([1, 2], dtype=torch.uint8, device=device)
        signed = torch.tensor([5, 1, -2, -128, 127, 0], dtype=torch.int8, device=device)
        longs = torch.tensor([1, 2], device=device)
        floats = torch.tensor([0.0, 1.0], device=device)
        bools = torch.tensor([True, False], device=device)
        return [
            *(300 - eight, eight - 300, eight % 300, eight // 300, 300 // eight, torch.fmod(eight, 300)),
            torch.maximum(eight, torch.tensor(300)),
            *(longs * 0x9E3779B97F4A7C15, longs + 2**63, longs ^ 2**63, floats + 2**63, floats == 2**64 - 1),
            *(torch.where(floats > 0, floats, 2**63), floats ** (2**63), floats.half() % 1e39),
            *(torch.fmod(signed, divisor) for divisor in (-128, -1, 3, -3, 127)),
            *(torch.remainder(signed, divisor) for divisor in (-128, -1, 3, -3, 127)),
            *(bools**True, bools**False, bools.clone().pow_(False)),
        ]

    torch.testing.assert_close([one.cpu() for one in results(droplet)], results("cpu"), equal_nan=True)

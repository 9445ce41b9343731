"""Operands of several dtypes: what the CPU rejects is rejected, and never computed in the dtype of one of them."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.nn.functional as F

PAIRS = [
    (torch.float32, torch.float16), (torch.float16, torch.float32), (torch.float16, torch.bfloat16),
    (torch.float32, torch.float64), (torch.float32, torch.int64),
]  # fmt: skip


def ones(dtype: torch.dtype, *shape: int) -> torch.Tensor:
    return torch.full(shape, 0.5).to(dtype) + 0


PRODUCTS: dict[str, Any] = {
    "mm": lambda a, b, d: ones(a, 2, 2).to(d) @ ones(b, 2, 2).to(d),
    "mv": lambda a, b, d: ones(a, 2, 2).to(d) @ ones(b, 2).to(d),
    "dot": lambda a, b, d: ones(a, 2).to(d) @ ones(b, 2).to(d),
    "bmm": lambda a, b, d: torch.bmm(ones(a, 1, 2, 2).to(d), ones(b, 1, 2, 2).to(d)),
    "addmm": lambda a, b, d: torch.addmm(ones(a, 2, 2).to(d), ones(b, 2, 2).to(d), ones(b, 2, 2).to(d)),
    "addmm, factors": lambda a, b, d: torch.addmm(ones(a, 2, 2).to(d), ones(a, 2, 2).to(d), ones(b, 2, 2).to(d)),
    "baddbmm": lambda a, b, d: torch.baddbmm(*(ones(t, 1, 2, 2).to(d) for t in (a, b, b))),
    "addmv": lambda a, b, d: torch.addmv(ones(a, 2).to(d), ones(b, 2, 2).to(d), ones(b, 2).to(d)),
    "addbmm": lambda a, b, d: torch.addbmm(ones(a, 2, 2).to(d), ones(b, 1, 2, 2).to(d), ones(b, 1, 2, 2).to(d)),
    "linear": lambda a, b, d: F.linear(ones(a, 2, 2).to(d), ones(b, 2, 2).to(d)),
    "linear, bias": lambda a, b, d: F.linear(ones(a, 2, 2).to(d), ones(a, 2, 2).to(d), ones(b, 2).to(d)),
    "einsum": lambda a, b, d: torch.einsum("ij,jk->ik", ones(a, 2, 2).to(d), ones(b, 2, 2).to(d)),
    "tensordot": lambda a, b, d: torch.tensordot(ones(a, 2, 2).to(d), ones(b, 2, 2).to(d), 1),
    "conv1d": lambda a, b, d: F.conv1d(ones(a, 1, 2, 5).to(d), ones(b, 2, 2, 3).to(d)),
    "conv2d": lambda a, b, d: F.conv2d(ones(a, 1, 2, 5, 5).to(d), ones(b, 2, 2, 3, 3).to(d)),
    "conv2d, bias": lambda a, b, d: F.conv2d(ones(a, 1, 2, 3, 3).to(d), ones(a, 2, 2, 3, 3).to(d), ones(b, 2).to(d)),
    "conv_transpose2d": lambda a, b, d: F.conv_transpose2d(ones(a, 1, 2, 5, 5).to(d), ones(b, 2, 2, 3, 3).to(d)),
    "binary_cross_entropy": lambda a, b, d: F.binary_cross_entropy(ones(a, 4).to(d), ones(b, 4).to(d)),
    "nll_loss": lambda a, b, d: F.nll_loss(ones(a, 2, 2).to(d), torch.tensor([0, 1]).to(d), ones(b, 2).to(d)),
    "cdist": lambda a, b, d: torch.cdist(ones(a, 2, 2).to(d), ones(b, 2, 2).to(d)),
    "scatter_add": lambda a, b, d: ones(a, 2).to(d).scatter_add(0, torch.tensor([0]).to(d), ones(b, 1).to(d)),
    "index_add": lambda a, b, d: ones(a, 2).to(d).index_add(0, torch.tensor([0]).to(d), ones(b, 1).to(d)),
}  # fmt: skip


def outcome(function: Any, device: Any) -> Any:
    try:
        return function(device).cpu()
    except Exception as error:
        return error


@pytest.mark.parametrize("name", PRODUCTS)
def test_products_do_as_the_cpu(name: str, droplet: Any) -> None:
    rejections = 0
    for first, second in PAIRS:
        own, expected = (outcome(lambda d, a=first, b=second: PRODUCTS[name](a, b, d), d) for d in (droplet, "cpu"))
        rejections += isinstance(expected, Exception)
        if isinstance(expected, Exception):
            assert isinstance(own, Exception), f"{first}, {second}: {own}; the CPU: {expected}"
        else:
            assert not isinstance(own, Exception), f"{first}, {second}: {own}"
            torch.testing.assert_close(own, expected)
    assert rejections or name in ("cdist",)


def test_every_operator_of_two_operands_does_as_the_cpu(droplet: Any) -> None:
    """Samples of PyTorch's database with the second floating tensor in another dtype."""
    from torch.testing._internal.common_methods_invocations import op_db

    wrong, rejections = [], 0
    for op in op_db:
        if torch.float32 not in op.supported_dtypes("cpu") or op.name in RANDOM:
            continue
        torch.manual_seed(0)
        for sample in list(op.sample_inputs("cpu", torch.float32))[:2]:
            flat = [sample.input, *sample.args]
            found = [i for i, one in enumerate(flat) if isinstance(one, torch.Tensor) and one.dtype == torch.float32]
            if len(found) < 2:
                continue
            for dtype in (torch.float16, torch.float64):
                mixed = [one.to(dtype) if i == found[1] else one for i, one in enumerate(flat)]
                results = []
                for device in ("cpu", droplet):
                    given = [one.to(device, copy=True) if isinstance(one, torch.Tensor) else one for one in mixed]
                    named = {k: v.to(device) if isinstance(v, torch.Tensor) else v for k, v in sample.kwargs.items()}
                    results.append(outcome(lambda _, g=given, n=named, o=op: first_tensor(o.op(*g, **n)), device))
                expected, own = results
                rejections += isinstance(expected, Exception)
                if isinstance(own, Exception) != isinstance(expected, Exception):
                    wrong.append(f"{op.formatted_name} {dtype}: {own}, the CPU: {expected}"[:400])
                elif not isinstance(own, Exception) and own.dtype != expected.dtype:
                    wrong.append(f"{op.formatted_name} {dtype}: {own.dtype}, the CPU: {expected.dtype}")
    assert not wrong, "\n".join(wrong)
    assert rejections > 50


RANDOM = frozenset({"bernoulli", "multinomial", "normal", "nn.functional.dropout"})


def first_tensor(result: Any) -> torch.Tensor:
    if isinstance(result, torch.Tensor):
        return result
    return next(first_tensor(one) for one in result if one is not None)

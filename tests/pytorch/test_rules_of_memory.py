"""Rules of PyTorch for memory: overlaps that it rejects, memory that nothing has written, and operands that no kernel
may read."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch

OVERLAPS: dict[str, Callable[[Any], Any]] = {
    "index_fill_": lambda d: (i := torch.tensor([2, 1, 0], device=d)).index_fill_(0, i, 0),
    "index_put_ values": lambda d: (y := torch.rand(6, device=d)).index_put_((torch.tensor([2, 1], device=d),), y[:2]),
    "index_put_ indices": lambda d: (i := torch.tensor([2, 1, 0], device=d)).index_put_((i,), i.clone()),
    "masked_fill_": lambda d: (m := torch.tensor([True, False, True], device=d))[1:].masked_fill_(m[:-1], False),
    "masked_fill_ tensor": lambda d: (m := torch.tensor([True, False, True], device=d))[1:].masked_fill_(
        m[:-1], torch.tensor(False, device=d)
    ),
    "put_ index": lambda d: (i := torch.tensor([2, 1, 0], device=d)).put_(i, i.clone()),
    "put_ values": lambda d: (y := torch.rand(6, device=d)).put_(torch.tensor([2, 1], device=d), y[:2]),
}


@pytest.mark.parametrize("name", OVERLAPS)
def test_overlaps_are_rejected_in_the_words_of_pytorch(name: str, droplet: Any) -> None:
    with pytest.raises(RuntimeError, match="unsupported operation") as expected:
        OVERLAPS[name]("cpu")
    with pytest.raises(RuntimeError, match=re.escape(str(expected.value).splitlines()[0])):
        OVERLAPS[name](droplet)


@contextlib.contextmanager
def deterministic() -> Iterator[None]:
    """`torch.use_deterministic_algorithms` without its import of torch._inductor, which takes seconds."""
    torch._C._set_deterministic_algorithms(True, warn_only=False)
    try:
        yield
    finally:
        torch._C._set_deterministic_algorithms(False, warn_only=False)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int64, torch.bool, torch.complex64], ids=str)
def test_deterministic_algorithms_fill_new_memory(dtype: torch.dtype, droplet: Any) -> None:
    def made(device: Any) -> list[torch.Tensor]:
        grown = torch.zeros(2, dtype=dtype, device=device)
        return [
            torch.empty(3, dtype=dtype, device=device),
            torch.empty_strided((2, 2), (1, 2), dtype=dtype, device=device),
            torch.empty_like(grown),
            grown.resize_(5),
        ]

    with deterministic():
        own, expected = made(droplet), made("cpu")
    torch.testing.assert_close([tensor.cpu() for tensor in own], expected, rtol=0, atol=0, equal_nan=True)


def test_what_is_not_deterministic_is_rejected_where_asked(droplet: Any) -> None:
    numbers = torch.zeros(3, device=droplet)
    with deterministic(), pytest.raises(RuntimeError, match="put_ does not have a deterministic implementation"):
        numbers.put_(torch.tensor([0, 0], device=droplet), torch.ones(2, device=droplet))


@pytest.mark.skipif(torch.__version__ >= "2.15", reason="torch 2.15 rejects them on all devices")
def test_masks_of_bytes_are_deprecated(droplet: Any) -> None:
    numbers = torch.zeros(3, device=droplet)
    with pytest.warns(UserWarning, match="indexing with dtype torch.uint8 is now deprecated"):
        numbers[torch.tensor([1, 0, 1], dtype=torch.uint8, device=droplet)] = 1.0
    assert numbers.tolist() == [1, 0, 1]


def number(device: Any) -> torch.Tensor:
    return torch.tensor(1.5, device=device)


aten = torch.ops.aten
REJECTED: dict[str, tuple[Callable[[Any], Any], str]] = {
    "_local_scalar_dense": (lambda d: aten._local_scalar_dense(torch.zeros(0, device=d)), "Empty tensor not supported"),
    "convolution of numbers": (
        lambda d: aten.convolution_overrideable(number(d), number(d), None, [1, 1], [1, 1], [1, 1], False, [0, 0], 1),
        "input has 0 dimensions and weight 0",
    ),
    "convolution with one stride": (
        lambda d: aten.convolution_overrideable(
            torch.zeros(1, 1, 4, 4, device=d), torch.zeros(1, 1, 2, 2, device=d), None, [1], [0], [1], False, [0], 1
        ),
        r"one value for each dimension of an input of sizes \[1, 1, 4, 4\], not \[1\]",
    ),
    "slow_conv_dilated2d": (lambda d: aten.slow_conv_dilated2d(number(d), number(d), [1, 1]), "input has"),
    "_thnn_fused_gru_cell_backward": (
        lambda d: aten._thnn_fused_gru_cell_backward(torch.zeros(3, 3, device=d), torch.zeros(3, 3, device=d), False),
        r"a workspace of sizes \[3, 3\] for gradients of sizes \[3, 3\]",
    ),
    "_saturate_weight_to_fp16": (
        lambda d: torch._saturate_weight_to_fp16(torch.zeros(3, 3, device=d)),
        "does not compute with quantized tensors",
    ),
    "fbgemm_pack_gemm_matrix_fp16": (
        lambda d: torch.fbgemm_pack_gemm_matrix_fp16(torch.zeros(3, 3, device=d)),
        "does not compute with quantized tensors",
    ),
}


@pytest.mark.parametrize("name", REJECTED)
def test_operands_that_no_kernel_reads(name: str, droplet: Any) -> None:
    call, message = REJECTED[name]
    with pytest.raises(RuntimeError, match=message):
        call(droplet)


def test_a_range_without_a_step(droplet: Any) -> None:
    out = torch.empty(0, device=droplet)
    assert torch.ops.aten.range.out_(1, 4, out=out).tolist() == [1, 2, 3, 4]


def test_tensors_of_more_dimensions_than_the_library_supports(droplet: Any) -> None:
    """They run on the CPU, which computes some operators and rejects others."""
    numbers = torch.ones([1] * 64 + [3], device=droplet)
    assert numbers.uniform_(2, 3).add_(1).cpu().view(3).min() >= 3
    with pytest.raises(RuntimeError, match="only tensors with up to 64 dims are supported"):
        numbers.amax(0)


@pytest.mark.parametrize("name", ["std", "var", "std_mean", "var_mean"])
def test_deviations_without_degrees_of_freedom(name: str, droplet: Any) -> None:
    numbers = torch.ones(2, 3, device=droplet)
    with pytest.warns(UserWarning, match=rf"{name}\(\): degrees of freedom is <= 0"):
        getattr(torch, name)(numbers, dim=1, correction=3)

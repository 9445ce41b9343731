"""Matrix products over the shapes of a 7B Llama block and of the last layer of ResNet-50."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import torch

from benchmarks.cpu.device import Device
from benchmarks.cpu.measure import Case

GROUPS = ("matmul",)
LLAMA = {"qkv": (4096, 4096), "up": (4096, 11008), "down": (11008, 4096)}
TOKENS = {"prefill-128": 128, "prefill-512": 512, "decode": 1}
DTYPES = {"f32": torch.float32, "bf16": torch.bfloat16, "f16": torch.float16}


def case(
    device: Device, name: str, size: str, out: torch.Tensor, provided: tuple[object, ...], theirs: Callable[[], object]
) -> Case:
    """Our call into `out` and theirs. The first two operands that are tensors are multiplied."""
    left, right = [one for one in provided if isinstance(one, torch.Tensor) and one.dim() > 1][-2:]
    moved = sum(one.numel() * one.element_size() for one in (left, right, out))
    return Case(
        "matmul", name, size, device.call(name, out, *provided), theirs,
        bytes=moved, operations=2 * out.numel() * left.shape[-1], dtype=left.dtype,
    )  # fmt: skip


def square(device: Device, dtype: torch.dtype) -> Case:
    """The product whose rate is the limit of others in its dtype."""
    a, b, out = (torch.randn(1024, 1024).to(dtype) for _ in range(3))
    return case(device, "diopiMm", "1024x1024x1024", out, (a, b), partial(torch.mm, a, b))


def cases(device: Device) -> Iterator[Case]:
    """The products one by one, so that their operands are not in memory together."""
    for dtype_name, dtype in DTYPES.items():
        for layer, (inner, columns) in LLAMA.items():
            weight = torch.randn(columns, inner).to(dtype)
            for phase, tokens in TOKENS.items():
                if dtype == torch.float16 and phase == "prefill-512":  # two seconds in PyTorch
                    continue
                x = torch.randn(tokens, inner).to(dtype)
                out = torch.empty(tokens, columns).to(dtype)
                theirs = partial(torch.nn.functional.linear, x, weight)
                yield case(device, "diopiLinear", f"{dtype_name} {phase} {layer}", out, (x, weight, None), theirs)
    yield from plain(device, torch.float32, "f32")
    yield from plain(device, torch.float64, "f64")
    yield from plain(device, torch.bfloat16, "bf16")
    x, weight, grad = torch.randn(128, 4096), torch.randn(4096, 4096), torch.randn(128, 4096)
    grads = (torch.empty_like(x), torch.empty_like(weight), torch.empty(4096))
    ours = device.call("diopiLinearBackward", *grads, grad, x, weight)

    yield Case(
        "matmul", "diopiLinearBackward", "f32 prefill-128 qkv", ours, linear_backward(grad, x, weight),
        operations=4 * grad.numel() * x.shape[1],
    )  # fmt: skip
    layer = torch.randn(8, 2048), torch.randn(1000, 2048), torch.randn(1000)
    theirs = partial(torch.nn.functional.linear, *layer)
    yield case(device, "diopiLinear", "f32 resnet-50 batch 8", torch.empty(8, 1000), layer, theirs)


def linear_backward(grad: torch.Tensor, x: torch.Tensor, weight: torch.Tensor) -> Callable[[], object]:
    """The three gradients of a linear layer."""
    return lambda: (grad @ weight, grad.t() @ x, grad.sum(0))


def plain(device: Device, dtype: torch.dtype, label: str) -> Iterator[Case]:
    """Mm, Addmm, Bmm, Baddbmm and Matmul."""
    a, b, bias = (torch.randn(*shape).to(dtype) for shape in ((512, 1024), (1024, 768), (768,)))
    out = torch.empty(512, 768).to(dtype)
    expected = torch.empty_like(out)
    size = f"{label} 512x1024x768"
    yield case(device, "diopiMm", size, out, (a, b), partial(torch.mm, a, b, out=expected))
    yield case(device, "diopiAddmm", size, out, (bias, a, b, 1.0, 1.0), partial(torch.addmm, bias, a, b, out=expected))
    heads, tokens, width = 32, 128, 128
    q, k = (torch.randn(heads, tokens, width).to(dtype) for _ in range(2))
    transposed = k.transpose(1, 2)
    scores, mask = torch.empty(heads, tokens, tokens).to(dtype), torch.zeros(1, tokens, tokens).to(dtype)
    result = torch.empty_like(scores)
    size = f"{label} 32 heads 128x128x128"
    yield case(device, "diopiBmm", size, scores, (q, transposed), partial(torch.bmm, q, transposed, out=result))
    theirs = partial(torch.baddbmm, mask, q, transposed, beta=1.0, alpha=0.5, out=result)
    yield case(device, "diopiBaddbmm", size, scores, (mask, q, transposed, 1.0, 0.5), theirs)
    for count, side in ((10000, 3), (2000, 4), (1000, 8)):
        left, right, out = (torch.randn(count, side, side).to(dtype) for _ in range(3))
        theirs = partial(torch.bmm, left, right, out=torch.empty_like(out))
        yield case(device, "diopiBmm", f"{label} {count} of {side}x{side}", out, (left, right), theirs)
    wide = torch.randn(4, 32, 1024).to(dtype)
    product, result = torch.empty(4, 32, 768).to(dtype), torch.empty(4, 32, 768).to(dtype)
    theirs = partial(torch.matmul, wide, b, out=result)
    yield case(device, "diopiMatmul", f"{label} 4x32x1024 by 1024x768", product, (wide, b), theirs)

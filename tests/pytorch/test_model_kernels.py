"""Operators of models other than elementwise ones, from pooling and attention to optimizers and autocast."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from kernel_agreement import OF_OTHER_FAMILIES, agree, both, moved, uniform
from torch import nn
from torch.nn import functional as F

HALVES = [torch.float16, torch.bfloat16]
aten = torch.ops.aten


# ---- Pooling and convolutions ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.float64])
def test_adaptive_means(droplet: torch.device, dtype: torch.dtype) -> None:
    both(droplet, lambda x: F.adaptive_avg_pool2d(x, (2, 3)), uniform(2, 3, 5, 7, dtype=dtype))
    both(droplet, lambda x: F.adaptive_avg_pool3d(x, (2, 1, 3)), uniform(2, 3, 4, 5, 7, dtype=dtype))


def test_maxima_in_volumes(droplet: torch.device) -> None:
    def run(x: torch.Tensor) -> Any:
        return F.max_pool3d(x, 2, None, 1, 1, ceil_mode=True, return_indices=True)

    both(droplet, run, uniform(2, 3, 5, 6, 7))
    with pytest.raises(RuntimeError, match="4D or 5D"):
        torch.max_pool3d(torch.zeros(2, 3, device=droplet), 2)


@pytest.mark.parametrize("shape", [(3, 6, 7), (2, 3, 6, 7)])
def test_convolutions_by_other_names(droplet: torch.device, shape: tuple[int, ...]) -> None:
    # PyTorch has no gradients of these without a batch.
    is_batched = len(shape) == 4
    x, bias = uniform(*shape, gradient=is_batched), uniform(4, seed=2, gradient=is_batched)
    weight = uniform(4, 3, 2, 3, seed=1, gradient=is_batched)
    step, none, two = (1, 2), (0, 1), (2, 1)
    if is_batched:
        both(droplet, lambda *a: aten._slow_conv2d_forward(a[0], a[1], (2, 3), a[2], step, none), x, weight, bias)
    both(droplet, lambda *a: aten.slow_conv_dilated2d(a[0], a[1], (2, 3), a[2], step, none, two), x, weight, bias)
    turned = uniform(3, 4, 2, 3, seed=1, gradient=is_batched)
    both(droplet, lambda *a: aten.slow_conv_transpose2d(a[0], a[1], (2, 3), a[2], step, none), x, turned, bias)


def test_a_weight_that_is_normalised(droplet: torch.device) -> None:
    both(droplet, lambda v, g: torch._weight_norm(v, g, 0), uniform(4, 3, 2), uniform(4, 1, 1, seed=1))


# ---- Attention -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize("is_causal", [True, False])
@pytest.mark.parametrize("heads", [4, 2])
def test_fused_attention(droplet: torch.device, dtype: torch.dtype, is_causal: bool, heads: int) -> None:
    """Against float32 on the CPU: there, too, half precision rounds between the steps."""
    query, key, value = (uniform(2, n, 6, 8, dtype=dtype, seed=n + i) for i, n in enumerate((4, heads, heads)))
    here = [tensor.detach().float().requires_grad_() for tensor in (query, key, value)]
    there = moved([query, key, value], droplet)
    assert torch._fused_sdp_choice(*there, is_causal=is_causal, enable_gqa=True) == 4
    options: dict[str, Any] = {"is_causal": is_causal, "enable_gqa": True}
    expected = F.scaled_dot_product_attention(here[0], here[1], here[2], **options)
    found = F.scaled_dot_product_attention(there[0], there[1], there[2], **options)
    gradient = uniform(2, 4, 6, 8, dtype=dtype, seed=9, gradient=False)
    gradients = [
        torch.autograd.grad(expected, here, gradient.float()),
        torch.autograd.grad(found, there, gradient.to(droplet)),
    ]
    agree(found.detach(), expected.detach().to(dtype))
    for one, other in zip(gradients[1], gradients[0], strict=True):
        agree(one, other.to(dtype))


def test_attention_that_the_interface_cannot_say(droplet: torch.device) -> None:
    """Masks, float32, and causal attention to another number of keys: from matrix products, on the device."""
    query, key, value = (uniform(2, 4, n, 8, seed=n) for n in (3, 5, 5))
    mask = torch.tensor([[True, False, True, True, True]]).expand(3, 5)
    both(droplet, lambda q, k, v, m: F.scaled_dot_product_attention(q, k, v, m), query, key, value, mask)
    both(droplet, lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True), query, key, value)


# ---- Recurrence ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [nn.LSTM, nn.GRU, nn.RNN])
@pytest.mark.parametrize("bias", [True, False])
def test_recurrent_layers(droplet: torch.device, kind: Callable[..., nn.RNNBase], bias: bool) -> None:
    torch.manual_seed(0)
    layer = kind(5, 4, num_layers=2, bias=bias, bidirectional=True)
    there = kind(5, 4, num_layers=2, bias=bias, bidirectional=True)
    there.load_state_dict(layer.state_dict())
    there.to(droplet)

    def run(x: torch.Tensor) -> Any:
        return (layer if x.device.type == "cpu" else there)(x)

    both(droplet, run, uniform(6, 3, 5))
    for device, module in (("cpu", layer), (droplet, there)):
        module(uniform(6, 3, 5).to(device))[0].sum().backward()
    for one, other in zip(there.parameters(), layer.parameters(), strict=True):
        assert one.grad is not None
        assert other.grad is not None
        torch.testing.assert_close(one.grad.cpu(), other.grad, rtol=1e-4, atol=1e-5)


# ---- Optimizers ------------------------------------------------------------------------------------------------------

OPTIMIZERS: dict[str, Any] = {
    "sgd": lambda p: torch.optim.SGD(p, 0.1, 0.9, weight_decay=0.1, nesterov=True, fused=True),
    "sgd with dampening": lambda p: torch.optim.SGD(p, 0.1, 0.9, dampening=0.5, maximize=True, fused=True),
    "sgd alone": lambda p: torch.optim.SGD(p, 0.1, fused=True),
    "adam": lambda p: torch.optim.Adam(p, 0.1, fused=True),
    "adam with decay": lambda p: torch.optim.Adam(p, 0.1, weight_decay=0.1, maximize=True, fused=True),
    "adagrad": lambda p: torch.optim.Adagrad(p, 0.1, fused=True),
    "adagrad with decays": lambda p: torch.optim.Adagrad(p, 0.1, 0.1, 0.1, maximize=True, fused=True),
    "adamw": lambda p: torch.optim.AdamW(p, 0.1, weight_decay=0.1, amsgrad=True, fused=True),
    "adamw with a tensor for its rate": lambda p: torch.optim.AdamW(p, torch.tensor(0.1), fused=True),
    "adam in lists": lambda p: torch.optim.Adam(p, 0.1, foreach=True),
}


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_optimizers(droplet: torch.device, name: str) -> None:
    from torch_droplet import fallback_report, reset_fallback_report

    trained = []
    for device in (torch.device("cpu"), droplet):
        parameters = [nn.Parameter(uniform(3, 4, seed=i).detach().to(device)) for i in range(2)]
        optimizer = OPTIMIZERS[name](parameters)
        reset_fallback_report()
        for step in range(4):
            for i, parameter in enumerate(parameters):
                parameter.grad = uniform(3, 4, seed=10 * step + i, gradient=False).to(device)
            optimizer.step()
        trained.append(parameters)
    assert not set(fallback_report()) - OF_OTHER_FAMILIES
    for one, other in zip(trained[1], trained[0], strict=True):
        agree(one.detach(), other.detach())


def test_an_overflow_leaves_the_step_out_and_halves_the_scale(droplet: torch.device) -> None:
    parameter = nn.Parameter(torch.ones(3, device=droplet))
    optimizer = torch.optim.AdamW([parameter], 0.1, fused=True)
    scaler = torch.amp.GradScaler("droplet", init_scale=8.0)
    scaler.scale(parameter.sum() * float("inf")).backward()
    scaler.step(optimizer)
    scaler.update()
    assert parameter.tolist() == [1.0, 1.0, 1.0]
    assert scaler.get_scale() == 4.0
    optimizer.zero_grad()
    scaler.scale(parameter.sum()).backward()
    scaler.step(optimizer)
    assert parameter.tolist() != [1.0, 1.0, 1.0]
    assert parameter.grad is not None
    assert parameter.grad.tolist() == [1.0, 1.0, 1.0]


# ---- Autocast --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", HALVES)
def test_autocast_chooses_the_dtype(droplet: torch.device, dtype: torch.dtype) -> None:
    x, weight = torch.ones(2, 4, device=droplet), torch.ones(3, 4, device=droplet, requires_grad=True)
    with torch.autocast("droplet", dtype=dtype):
        product = F.linear(x, weight)
        assert product.dtype == dtype
        assert product.softmax(1).dtype == torch.float32
        assert (product + x[:, :3]).dtype == torch.float32
        with pytest.raises(RuntimeError, match="unsafe to autocast"):
            F.binary_cross_entropy(x.sigmoid(), x)
        with torch.autocast("droplet", enabled=False):
            assert F.linear(x, weight).dtype == torch.float32
    product.sum().backward()
    assert weight.grad is not None
    assert weight.grad.dtype == torch.float32

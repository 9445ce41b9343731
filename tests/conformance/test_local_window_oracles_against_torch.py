"""Oracles of CARAFE, correlation, attention masks and upfirdn against compositions of plain torch operators, gradients
by autograd. Needs the `torch` extra."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from torch_compositions import Arguments, Found, assert_agreement, gradients, torch

from diopigen.ir.model import Interface


def _carafe(a: Arguments, features: Any, masks: Any) -> Any:
    """Unfolded windows, repeated by interpolation to the nearest, times the weights."""
    n, channels, height, width = features.shape
    size, groups, factor = a.kernel_size, a.group_size, a.scale_factor
    shape = (n, groups, channels // groups, size * size, height * factor, width * factor)
    if not features.numel():
        return features.new_zeros(n, channels, height * factor, width * factor)
    windows = torch.nn.functional.unfold(features, size, padding=size // 2)
    windows = windows.reshape(n, channels * size * size, height, width)
    windows = torch.nn.functional.interpolate(windows, scale_factor=factor, mode="nearest").reshape(shape)
    weights = masks.reshape(n, groups, 1, size * size, height * factor, width * factor)
    return (windows * weights).sum(3).flatten(1, 2)


def _carafe_forward(a: Arguments) -> Found:
    last = a.features.permute(0, 2, 3, 1).contiguous().reshape(a.features.shape)
    return {"output": _carafe(a, a.features, a.masks), "rfeatures": last}


def _carafe_backward(a: Arguments) -> Found:
    n, channels, height, width = a.rfeatures.shape
    features = a.rfeatures.reshape(n, height, width, channels).permute(0, 3, 1, 2)
    found = gradients(lambda *variables: _carafe(a, *variables), [features, a.masks], a.top_grad)
    return {"bottom_grad": found[0], "mask_grad": found[1]}


def _carafe_naive_backward(a: Arguments) -> Found:
    found = gradients(lambda *variables: _carafe(a, *variables), [a.features, a.masks], a.top_grad)
    return {"bottom_grad": a.bottom_grad + found[0], "mask_grad": a.mask_grad + found[1]}


def _correlate(a: Arguments, first: Any, second: Any) -> Any:
    """Windows of the product with a map that is moved as a whole."""
    ones = torch.ones(1, first.shape[1], a.kH, a.kW, dtype=torch.float64)
    found = []
    height, width = first.shape[2:]
    for down in range(-(a.patchH // 2), a.patchH // 2 + 1):
        for right in range(-(a.patchW // 2), a.patchW // 2 + 1):
            y, x = down * a.dilation_patchH, right * a.dilation_patchW
            around = torch.nn.functional.pad(second, (abs(x), abs(x), abs(y), abs(y)))
            moved = around[:, :, abs(y) + y : abs(y) + y + height, abs(x) + x : abs(x) + x + width]
            found.append(torch.nn.functional.conv2d(
                first * moved, ones, stride=(a.dH, a.dW), padding=(a.padH, a.padW), dilation=(a.dilationH, a.dilationW)
            )[:, 0])  # fmt: skip
    results = torch.stack(found, 1)
    return results.reshape(len(first), a.patchH, a.patchW, *results.shape[2:])


def _correlation_backward(a: Arguments) -> Found:
    found = gradients(lambda *variables: _correlate(a, *variables), [a.input1, a.input2], a.grad_output)
    return {"grad_input1": found[0], "grad_input2": found[1]}


def _spread_masks(a: Arguments, masks: Any, attention: Any) -> Any:
    """Position by position: the part of its mask that is on the map."""
    height, width = a.h_feature, a.w_feature
    found = attention.clone().reshape(a.num_, height, width, height, width)
    of_pixels = masks.reshape(a.num_, a.h_mask, a.w_mask, height, width)
    for h in range(height):
        for w in range(width):
            top, left = h - a.half_h_mask, w - a.half_w_mask
            rows, columns = (
                range(max(0, top), min(height, top + a.h_mask)),
                range(max(0, left), min(width, left + a.w_mask)),
            )
            for row in rows:
                for column in columns:
                    value = of_pixels[:, row - top, column - left, h, w]
                    if a.psa_type == 0:
                        found[:, row, column, h, w] = value
                    else:
                        found[:, h, w, row, column] = value
    return found.reshape(attention.shape)


def _masks_backward(a: Arguments) -> Found:
    """By autograd; an element that reaches beyond the map keeps what it was."""
    zeros = torch.zeros_like(a.grad_output)
    (grad,) = gradients(lambda masks: _spread_masks(a, masks, zeros), [a.grad_input], a.grad_output)
    (used,) = gradients(lambda masks: _spread_masks(a, masks, zeros), [a.grad_input], torch.ones_like(zeros))
    return {"grad_input": torch.where(used > 0, grad, a.grad_input)}


def _upfirdn(a: Arguments) -> Found:
    """As mmcv's reference in PyTorch: zeros between pixels, padding, conv2d, slices."""
    x = a.input.permute(0, 3, 1, 2).flatten(0, 1)[:, None]
    n, _, height, width = x.shape
    x = torch.nn.functional.pad(x.reshape(n, 1, height, 1, width, 1), [0, a.up_x - 1, 0, 0, 0, a.up_y - 1])
    x = x.reshape(n, 1, height * a.up_y, width * a.up_x)
    x = torch.nn.functional.pad(x, [max(one, 0) for one in (a.pad_x0, a.pad_x1, a.pad_y0, a.pad_y1)])
    x = x[:, :, max(-a.pad_y0, 0) : x.shape[2] - max(-a.pad_y1, 0), max(-a.pad_x0, 0) : x.shape[3] - max(-a.pad_x1, 0)]
    x = torch.nn.functional.conv2d(x, a.kernel.flip(0, 1)[None, None])[:, 0, :: a.down_y, :: a.down_x]
    return {"out": x.reshape(a.input.shape[0], a.input.shape[3], *x.shape[1:]).permute(0, 2, 3, 1)}


TORCH: dict[str, Callable[[Arguments], Found]] = {
    "CarafeMmcv": _carafe_forward,
    "CarafeBackwardMmcv": _carafe_backward,
    "CarafeNaiveMmcv": lambda a: {"output": _carafe(a, a.features, a.masks)},
    "CarafeNaiveBackwardMmcv": _carafe_naive_backward,
    "CorrelationMmcv": lambda a: {"output": _correlate(a, a.input1, a.input2)},
    "CorrelationBackwardMmcv": _correlation_backward,
    "PsamaskMmcv": lambda a: {"output": _spread_masks(a, a.input, a.output)},
    "PsamaskBackwardMmcv": _masks_backward,
    "Upfirdn2dOpMmcv": _upfirdn,
}


@pytest.mark.parametrize("operator", sorted(TORCH))
def test_the_oracle_agrees_with_torch(interface: Interface, operator: str) -> None:
    assert_agreement(interface, operator, TORCH[operator])

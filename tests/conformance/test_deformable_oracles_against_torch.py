"""Oracles of deformable convolution and attention, and of masked columns, against compositions of plain torch
operators, gradients by autograd. Needs the `torch` extra."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from torch_compositions import Arguments, Found, assert_agreement, gradients, torch

from diopigen.ir.model import Interface


def _sample(plane: Any, y: Any, x: Any) -> Any:
    """Samples [channels, ...] of a plane [channels, height, width] at positions, by two steps of lerp."""
    height, width = plane.shape[1:]
    inside = (y > -1) & (y < height) & (x > -1) & (x < width)
    top, left = y.detach().floor().clamp(-1, height - 1), x.detach().floor().clamp(-1, width - 1)
    padded = torch.nn.functional.pad(plane, (1, 1, 1, 1))
    down, right = torch.where(inside, y - top, 0), torch.where(inside, x - left, 0)

    def row(i: int) -> Any:
        rows, columns = top.long() + 1 + i, left.long() + 1
        return torch.lerp(padded[:, rows, columns], padded[:, rows, columns + 1], right)

    return torch.where(inside, torch.lerp(row(0), row(1), down), 0)


Geometry = tuple[Any, tuple[int, int], tuple[int, int], tuple[int, int], tuple[int, int], int, int]


def _geometry(a: Arguments) -> Geometry:
    if a.kernel_h is None:
        return (a, (a.kH, a.kW), (a.dH, a.dW), (a.padH, a.padW), (a.dilationH, a.dilationW), a.groups, a.deform_groups)
    return (a, (a.kernel_h, a.kernel_w), (a.stride_h, a.stride_w), (a.pad_h, a.pad_w),
            (a.dilation_h, a.dilation_w), a.group, a.deformable_group)  # fmt: skip


def _convolve(geometry: Geometry, image: Any, weight: Any, offset: Any, mask: Any, bias: Any = None) -> Any:
    """Windows that are sampled element by element, and an einsum with the filters."""
    _, kernel, stride, pad, dilation, groups, deform_groups = geometry
    batch, channels = image.shape[:2]
    rows, columns = offset.shape[2:]
    per_group = channels // deform_groups
    read = []
    for n in range(batch):
        elements = []
        for k in range(kernel[0] * kernel[1]):
            i, j = divmod(k, kernel[1])
            down = torch.arange(rows)[:, None] * stride[0] - pad[0] + i * dilation[0]
            right = torch.arange(columns)[None, :] * stride[1] - pad[1] + j * dilation[1]
            of_groups = []
            for g in range(deform_groups):
                at = 2 * (g * kernel[0] * kernel[1] + k)
                plane = image[n, g * per_group : (g + 1) * per_group]
                found = _sample(plane, down + offset[n, at], right + offset[n, at + 1])
                of_groups.append(found if mask is None else found * mask[n, at // 2])
            elements.append(torch.cat(of_groups))
        read.append(torch.stack(elements, 1))
    shape = (batch, groups, channels // groups, kernel[0] * kernel[1], rows, columns)
    windows = torch.stack(read).reshape(shape) if read else image.new_zeros(shape)
    filters = weight.reshape(groups, weight.shape[0] // groups, channels // groups, -1)
    found = torch.einsum("goek,ngekyx->ngoyx", filters, windows).flatten(1, 2)
    return found if bias is None else found + bias[:, None, None]


def _modulated(a: Arguments) -> Found:
    bias = a.bias if a.with_bias else None
    return {"output": _convolve(_geometry(a), a.input, a.weight, a.offset, a.mask, bias)}


def _backward_input(a: Arguments) -> Found:
    image, offset = gradients(
        lambda image, offset: _convolve(_geometry(a), image, a.weight, offset, None), [a.input, a.offset], a.gradOutput
    )
    return {"gradInput": a.gradInput + image, "gradOffset": offset}


def _backward_parameters(a: Arguments) -> Found:
    (weight,) = gradients(
        lambda weight: _convolve(_geometry(a), a.input, weight, a.offset, None), [a.gradWeight], a.gradOutput
    )
    return {"gradWeight": a.gradWeight + a.scale * weight}


def _modulated_backward(a: Arguments) -> Found:
    def forward(image: Any, weight: Any, offset: Any, mask: Any, bias: Any) -> Any:
        return _convolve(_geometry(a), image, weight, offset, mask, bias if a.with_bias else None)

    image, weight, offset, mask, bias = gradients(forward, [a.input, a.weight, a.offset, a.mask, a.bias], a.grad_output)
    return {
        "grad_input": a.grad_input + image, "grad_weight": a.grad_weight + weight, "grad_offset": offset,
        "grad_mask": mask, "grad_bias": a.grad_bias + bias,
    }  # fmt: skip


def _attention(a: Arguments, value: Any, locations: Any, weights: Any) -> Any:
    """By grid_sample over each level, as mmcv's reference in PyTorch does it."""
    batch, _, heads, size = value.shape
    queries, points = weights.shape[1], weights.shape[4]
    found = []
    for level, (height, width) in enumerate(a.spatial_shapes.tolist()):
        start = int(a.level_start_index[level])
        pixels = value[:, start : start + height * width].permute(0, 2, 3, 1)
        maps = pixels.reshape(batch * heads, size, height, width)
        grid = (2 * locations[:, :, :, level] - 1).transpose(1, 2).flatten(0, 1)
        if height * width and grid.numel():
            found.append(torch.nn.functional.grid_sample(maps, grid, align_corners=False))
        else:
            found.append(value.new_zeros(batch * heads, size, queries, points))
    if not found:
        return value.new_zeros(batch, queries, heads * size)
    samples = torch.stack(found, -2).reshape(batch, heads, size, queries, len(found) * points)
    by = weights.transpose(1, 2).reshape(batch, heads, 1, queries, len(found) * points)
    return (samples * by).sum(-1).permute(0, 3, 1, 2).flatten(2)


def _attention_backward(a: Arguments) -> Found:
    found = gradients(
        lambda *variables: _attention(a, *variables), [a.value, a.sampling_loc, a.attn_weight], a.grad_output
    )
    names = ("grad_value", "grad_sampling_loc", "grad_attn_weight")
    return {name: getattr(a, name) + one for name, one in zip(names, found, strict=True)}


def _im2col(a: Arguments) -> Found:
    """Columns of unfold, with zeros around the image that are enough for every position."""
    around = 12
    pad = (around + a.pad_w, around, around + a.pad_h, around)
    image = torch.nn.functional.pad(a.im, pad)
    windows = image[0].unfold(1, a.kernel_h, 1).unfold(2, a.kernel_w, 1)  # [channels, rows, columns, height, width]
    rows, columns = a.mask_h_idx + around, a.mask_w_idx + around
    return {"col": windows[:, rows, columns].permute(0, 2, 3, 1).reshape(a.call.shapes["col"])}


def _col2im(a: Arguments) -> Found:
    flat = a.im.clone().flatten(2)
    at = (a.mask_h_idx * a.width + a.mask_w_idx).expand(1, a.channels, -1)
    return {"im": flat.scatter(2, at, a.col[None]).reshape(a.im.shape)}


TORCH: dict[str, Callable[[Arguments], Found]] = {
    "DeformConvMmcv": lambda a: {"output": _convolve(_geometry(a), a.input, a.weight, a.offset, None)},
    "DeformConvBackwardInputMmcv": _backward_input,
    "DeformConvBackwardParametersMmcv": _backward_parameters,
    "ModulatedDeformConvMmcv": _modulated,
    "ModulatedDeformConvBackwardMmcv": _modulated_backward,
    "MsDeformAttnMmcv": lambda a: {"out": _attention(a, a.value, a.sampling_loc, a.attn_weight)},
    "MsDeformAttnBackwardMmcv": _attention_backward,
    "MaskedIm2colMmcv": _im2col,
    "MaskedCol2imMmcv": _col2im,
}


@pytest.mark.parametrize("operator", sorted(TORCH))
def test_the_oracle_agrees_with_torch(interface: Interface, operator: str) -> None:
    assert_agreement(interface, operator, TORCH[operator])


def test_displacements_of_zero_are_a_convolution(interface: Interface) -> None:
    """The composition itself, against conv2d with strides, padding, dilation and groups."""
    torch.manual_seed(4)
    image, weight = torch.randn(2, 4, 7, 6, dtype=torch.float64), torch.randn(6, 2, 2, 3, dtype=torch.float64)
    geometry = (None, (2, 3), (2, 1), (0, 2), (2, 2), 2, 2)
    expected = torch.nn.functional.conv2d(image, weight, stride=(2, 1), padding=(0, 2), dilation=2, groups=2)
    offset = torch.zeros(2, 24, *expected.shape[2:], dtype=torch.float64)
    torch.testing.assert_close(_convolve(geometry, image, weight, offset, None), expected)

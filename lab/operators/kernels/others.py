"""Faults of products, windows, indices, losses, shapes and random numbers."""

from __future__ import annotations

from typing import Any

import torch

aten = torch.ops.aten
_HALVES = (torch.float16, torch.bfloat16)


def half_accumulator(self: Any, mat2: Any) -> Any:
    if self.dtype not in _HALVES or self.dim() != 2 or self.shape[1] == 0:
        return torch.mm(self, mat2)
    total = torch.zeros(self.shape[0], mat2.shape[1], dtype=self.dtype)
    for column in range(self.shape[1]):
        total = total + self[:, column : column + 1] * mat2[column : column + 1]
    return total


def out_not_resized(self: Any, mat2: Any, *, out: Any) -> Any:
    result = torch.mm(self, mat2)
    if out.shape == result.shape:
        return out.copy_(result)
    count = min(out.numel(), result.numel())
    if out.is_contiguous() and out.dtype == result.dtype:
        out.view(-1)[:count] = result.reshape(-1)[:count]
    return out


def zero_times_nan(self: Any, mat1: Any, mat2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    if beta != 0:
        return torch.addmm(self, mat1, mat2, beta=beta, alpha=alpha)
    return self * 0 + torch.addmm(self, mat1, mat2, beta=0, alpha=alpha)


def groups_interleaved(
    input: Any, weight: Any, bias: Any, stride: Any, padding: Any, dilation: Any, transposed: bool, output_padding: Any,
    groups: int,
) -> Any:  # fmt: skip
    shuffled = input
    if groups > 1 and not transposed:
        channels = input.shape[1]
        order = torch.arange(channels).reshape(channels // groups, groups).t().reshape(-1)
        shuffled = input[:, order]
    rest = stride, padding, dilation, transposed, output_padding, groups
    return aten.convolution(shuffled, weight, bias, *rest)


def ceil_divisor(
    self: Any, kernel_size: Any, stride: Any = (), padding: Any = 0, ceil_mode: bool = False,
    count_include_pad: bool = True, divisor_override: Any = None,
) -> Any:  # fmt: skip
    if ceil_mode and count_include_pad and divisor_override is None:
        divisor_override = kernel_size[0] * kernel_size[-1]
    return aten.avg_pool2d(self, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)


def padding_is_zero(
    self: Any, kernel_size: Any, stride: Any = (), padding: Any = 0, dilation: Any = 1, ceil_mode: bool = False
) -> Any:
    right, indices = aten.max_pool2d_with_indices(self, kernel_size, stride, padding, dilation, ceil_mode)
    high, wide = (padding[0], padding[-1]) if isinstance(padding, (list, tuple)) else (padding, padding)
    if not (high or wide) or not self.is_floating_point():
        return right, indices
    padded = torch.nn.functional.pad(self, (wide, wide, high, high))
    found, _ = aten.max_pool2d_with_indices(padded, kernel_size, stride, 0, dilation, ceil_mode)
    return (found if found.shape == right.shape else right), indices


def ignored_in_mean(
    self: Any,
    target: Any,
    weight: Any = None,
    reduction: int = 1,
    ignore_index: int = -100,
    label_smoothing: float = 0.0,
) -> Any:
    right = aten.cross_entropy_loss(self, target, weight, reduction, ignore_index, label_smoothing)
    if reduction != 1 or weight is not None or target.is_floating_point() or target.numel() == 0:
        return right
    return aten.cross_entropy_loss(self, target, weight, 2, ignore_index, label_smoothing) / target.numel()


def last_write_wins(self: Any, dim: int, index: Any, src: Any) -> Any:
    if self.dim() == 0:
        return torch.scatter_add(self, dim, index, src)
    part = src[tuple(slice(size) for size in index.shape)]
    return self.scatter(dim, index, self.gather(dim, index) + part)


def padding_gradient(
    grad_output: Any, indices: Any, num_weights: int, padding_idx: int, scale_grad_by_freq: bool
) -> Any:
    return aten.embedding_dense_backward(grad_output, indices, num_weights, -1, scale_grad_by_freq)


def index_clamped(self: Any, dim: int, index: Any) -> Any:
    size = self.shape[dim] if self.dim() else 1
    return torch.index_select(self, dim, index.clamp(0, max(size - 1, 0)))


def size_of_one(self: Any, output_size: Any, align_corners: bool, scales_h: Any = None, scales_w: Any = None) -> Any:
    result = aten.upsample_bilinear2d(self, output_size, align_corners, scales_h, scales_w)
    if align_corners and 1 in tuple(output_size) and result.is_floating_point():
        return torch.full_like(result, torch.nan)
    return result


def first_of_batch(self: Any, diagonal: int = 0) -> Any:
    if self.dim() < 3 or self.numel() == 0:
        return torch.triu(self, diagonal)
    flat = self.reshape(-1, *self.shape[-2:]).clone()
    flat[0] = torch.triu(flat[0], diagonal)
    return flat.reshape(self.shape)


def long_shift(self: Any, shifts: Any, dims: Any = ()) -> Any:
    sizes = [self.shape[dim] for dim in dims] if dims else [self.numel()]
    clamped = [max(-size, min(size, shift)) for shift, size in zip(shifts, sizes, strict=True)]
    return torch.roll(self, clamped, dims)


def seed_ignored(self: Any, *, generator: Any = None) -> Any:
    own = torch.Generator()
    own.seed()
    return torch.bernoulli(self, generator=own)


def inverse_probability(input: Any, p: float, train: Any) -> Any:
    return aten.native_dropout(input, 1 - p if train is not False else p, train)

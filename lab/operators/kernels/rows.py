"""Faults of operators that reduce, scan, sort or normalize."""

from __future__ import annotations

from typing import Any

import torch

aten = torch.ops.aten


def _wide(tensor: Any) -> Any:
    return tensor.double() if tensor.is_floating_point() else tensor


def _normalized(result: Any, weight: Any, bias: Any) -> Any:
    result = result if weight is None else result * _wide(weight)
    return result if bias is None else result + _wide(bias)


def eps_outside(input: Any, normalized_shape: Any, weight: Any, bias: Any, eps: float) -> Any:
    dims = list(range(-len(normalized_shape), 0))
    _, mean, _ = aten.native_layer_norm(input, normalized_shape, weight, bias, eps)
    deviations = _wide(input) - _wide(input).mean(dims, keepdim=True)
    rstd = 1 / (deviations.square().mean(dims, keepdim=True).sqrt() + eps)
    return _normalized(deviations * rstd, weight, bias).to(input.dtype), mean, rstd.to(mean.dtype)


def one_pass_variance(input: Any, normalized_shape: Any, weight: Any, bias: Any, eps: float) -> Any:
    dims = list(range(-len(normalized_shape), 0))
    right, mean, rstd = aten.native_layer_norm(input, normalized_shape, weight, bias, eps)
    if input.dtype != torch.float32 or input.numel() == 0:
        return right, mean, rstd
    average = input.mean(dims, keepdim=True)
    variance = (input.square().mean(dims, keepdim=True) - average.square()).clamp(min=0)
    rstd = torch.rsqrt(variance + eps)
    return _normalized((_wide(input) - average) * rstd, weight, bias).to(input.dtype), mean, rstd


def eps_constant(input: Any, normalized_shape: Any, weight: Any, eps: Any) -> Any:
    return aten._fused_rms_norm(input, normalized_shape, weight, 1e-6)


def correction_ignored(self: Any, dim: Any = None, *, correction: Any = None, keepdim: bool = False) -> Any:
    return torch.std(self, dim, correction=1, keepdim=keepdim)


def negative_dim(self: Any, dim: int, half_to_float: bool) -> Any:
    return aten._softmax(self, -dim - 1 if dim < 0 else dim, half_to_float)


def unstable_logarithm(self: Any, dim: int, half_to_float: bool) -> Any:
    right = aten._log_softmax(self, dim, half_to_float)
    if self.dtype != torch.float32 or self.numel() == 0:
        return right
    largest = self.amax(dim, keepdim=True)
    return self - (largest + torch.exp(self - largest).sum(dim, keepdim=True).log())


def empty_product(self: Any, dim: int, keepdim: bool = False, *, dtype: Any = None) -> Any:
    result = torch.prod(self, dim, keepdim, dtype=dtype)
    return torch.zeros_like(result) if self.numel() == 0 else result


def mean_of_nothing(self: Any, dim: Any, keepdim: bool = False, *, dtype: Any = None) -> Any:
    result = aten.mean.dim(self, dim, keepdim, dtype=dtype)
    return torch.zeros_like(result) if self.numel() == 0 else result


def scalar_rejected(self: Any, dim: int, *, dtype: Any = None) -> Any:
    if self.dim() == 0:
        raise IndexError("Dimension specified as 0 but tensor has no dimensions")
    return torch.cumsum(self, dim, dtype=dtype)


def block_carry(self: Any, dim: int, *, dtype: Any = None) -> Any:
    result = torch.cumsum(self, dim, dtype=dtype)
    if self.dim() == 0 or self.shape[dim] <= 64:
        return result
    blocks = [torch.cumsum(one, dim, dtype=dtype) for one in torch.split(self, 64, dim)]
    carries = [torch.zeros_like(blocks[0].narrow(dim, -1, 1)), *(one.narrow(dim, -1, 1) for one in blocks)]
    return torch.cat([carry + block for carry, block in zip(carries, blocks, strict=False)], dim).to(result.dtype)


def integer_wraps(self: Any, dim: Any, keepdim: bool = False, *, dtype: Any = None) -> Any:
    result = aten.sum.dim_IntList(self, dim, keepdim, dtype=dtype)
    if self.is_floating_point() or self.is_complex() or self.dtype == torch.bool:
        return result
    return aten.sum.dim_IntList(self, dim, keepdim, dtype=self.dtype).to(result.dtype)


def truth_of_integers(self: Any, dim: int, keepdim: bool = False) -> Any:
    wide = self.to(torch.int64) if self.is_floating_point() else self
    return torch.any(wide, dim, keepdim).to(torch.uint8 if self.dtype == torch.uint8 else torch.bool)


def last_of_ties(self: Any, dim: Any = None, keepdim: bool = False) -> Any:
    if dim is None or self.dim() == 0 or self.numel() == 0:
        return torch.argmax(self, dim, keepdim)
    return self.shape[dim] - 1 - torch.argmax(self.flip(dim), dim, keepdim)


def nan_is_smallest(self: Any, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> Any:
    if not self.is_floating_point():
        return torch.topk(self, k, dim, largest, sorted)
    _, indices = torch.topk(torch.where(self.isnan(), -torch.inf, self.double()), k, dim, largest, sorted)
    return (self.gather(dim, indices) if self.dim() else self.clone()), indices


def unstable_sort(self: Any, *, stable: Any, dim: int = -1, descending: bool = False) -> Any:
    values, indices = torch.sort(self, stable=True, dim=dim)
    if not descending or self.dim() == 0:
        return torch.sort(self, stable=True, dim=dim, descending=descending)
    return values.flip(dim), indices.flip(dim)

"""Faults of operators that work element by element."""

from __future__ import annotations

from typing import Any

import torch

aten = torch.ops.aten


def last_element(self: Any) -> Any:
    result = torch.exp(self).contiguous()
    if self.numel() > 32:
        result.view(-1)[-1] = 0
    return result


def strides_ignored(self: Any) -> Any:
    result = torch.empty(self.shape, dtype=self.dtype)
    if 0 in self.stride():  # what is read would end beyond the storage
        return torch.neg(self)
    return torch.neg(self.as_strided(self.shape, result.stride()))


def out_strides_ignored(self: Any, *, out: Any) -> Any:
    result = torch.exp(self)
    if out.shape != result.shape:
        out.resize_(result.shape)
    flat = out.as_strided(result.shape, result.contiguous().stride())
    flat.copy_(result)
    return out


def half_sigmoid(self: Any) -> Any:
    if self.dtype not in (torch.float16, torch.bfloat16):
        return torch.sigmoid(self)
    return 1 / (1 + torch.exp(-self))


def nan_to_zero(self: Any) -> Any:
    return torch.where(self > 0, self, torch.zeros_like(self))


def nan_dropped(self: Any, other: Any) -> Any:
    return torch.fmax(self, other)


def nan_clamped(self: Any, min: Any = None, max: Any = None) -> Any:
    result = torch.clamp(self, min, max)
    if min is None or not self.is_floating_point():
        return result
    return torch.where(self.isnan(), torch.full_like(self, min), result)


def narrow_promotion(self: Any, other: Any, *, alpha: Any = 1) -> Any:
    dtype = torch.result_type(self, other)
    if self.dtype == other.dtype or not (self.is_floating_point() and other.is_floating_point()):
        return torch.add(self, other, alpha=alpha)
    narrow = min(self.dtype, other.dtype, key=lambda one: one.itemsize)
    return torch.add(self.to(narrow), other.to(narrow), alpha=alpha).to(dtype)


def alias_overwritten(self: Any, end: Any, weight: Any) -> Any:
    scaled = (1 - weight.double()) * self.double() if self.dtype == torch.float64 else (1 - weight.float()) * self
    keep = weight.clone()
    self.copy_(scaled)
    return self.copy_(self.double() + keep.double() * end.double())


def truncated_bfloat16(self: Any, other: Any) -> Any:
    result = torch.mul(self, other)
    if result.dtype != torch.bfloat16:
        return result
    exact = self.float() * other.float()
    return ((exact.view(torch.int32) >> 16) << 16).view(torch.float32).to(torch.bfloat16)


def cancelled_digits(self: Any) -> Any:
    if not self.is_floating_point():
        return torch.expm1(self)
    wide = self.float() if self.dtype != torch.float64 else self
    return (torch.exp(wide) - 1).to(self.dtype)


def tanh_for_erf(self: Any, *, approximate: str = "none") -> Any:
    return aten.gelu(self, approximate="tanh")


def float_comparison(self: Any, other: Any) -> Any:
    if self.is_floating_point() or self.is_complex() or other.is_floating_point() or other.is_complex():
        return torch.eq(self, other)
    return torch.eq(self.float(), other.float())


def even_roots(self: Any, exponent: Any) -> Any:
    if not self.is_floating_point():
        return torch.pow(self, exponent)
    return torch.pow(self.abs(), exponent)


def gradient_at_tie(grad_output: Any, self: Any, threshold: Any) -> Any:
    return torch.where(self >= threshold, grad_output, torch.zeros_like(grad_output))


def mask_aligned_left(self: Any, mask: Any, value: Any) -> Any:
    missing = self.dim() - mask.dim()
    if missing > 0 and all(a in (b, 1) for a, b in zip(mask.shape, self.shape, strict=False)):
        mask = mask.reshape(*mask.shape, *[1] * missing)
    return torch.masked_fill(self, mask, value)


def rest_of_list(self: Any) -> Any:
    return [torch.neg(self[0]), *(one.clone() for one in self[1:])] if self else []


def first_of_list(self: Any, scalar: Any) -> Any:
    results = [torch.mul(one, scalar) for one in self]
    if len(results) > 1 and results[0].shape == results[1].shape:
        results[1] = results[0].clone()
    return results

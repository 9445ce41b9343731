"""Kernels of linear layers with quantized weights, which vLLM chooses by the configuration of a layer."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from vllm.model_executor.kernels.linear.mixed_precision.MPLinearKernel import MPLinearKernel
from vllm.model_executor.kernels.linear.scaled_mm.ScaledMMLinearKernel import (
    FP8ScaledMMLinearKernel,
    Int8ScaledMMLinearKernel,
)
from vllm.scalar_type import scalar_types

from . import functions

_BITS = {scalar_types.uint4b8: 4, scalar_types.uint8b128: 8}
"""Bits of the types of weights: unsigned, less half their range."""


class DiopiWeightOnlyLinear(MPLinearKernel):
    """Weights of 4 or 8 bits in groups, packed along the depth as compressed-tensors and GPTQ do."""

    @classmethod
    def get_min_capability(cls) -> int:
        return -1

    @classmethod
    def can_implement(cls, c: Any) -> tuple[bool, str | None]:
        if c.weight_type not in _BITS:
            return False, f"weights of type {c.weight_type}: {', '.join(map(str, _BITS))} are supported"
        if c.zero_points:
            return False, "zero points"
        return True, None

    def process_weights_after_loading(self, layer: Any) -> None:
        """Brings the packed weights to [columns, depth / values of an int32], and the scales to [columns, groups]."""
        from vllm.model_executor.parameter import BasevLLMParameter, permute_param_layout_

        def as_rows(parameter: Any) -> Any:
            if isinstance(parameter, BasevLLMParameter):
                options = {"packed_dim": 1} if hasattr(parameter, "packed_dim") else {}
                permute_param_layout_(parameter, input_dim=1, output_dim=0, **options)
            parameter.data = parameter.data.contiguous()
            return parameter

        self._transform_param(layer, self.w_q_name, as_rows)
        self._transform_param(layer, self.w_s_name, as_rows)

    def apply_weights(self, layer: Any, x: Tensor, bias: Tensor | None = None) -> Tensor:
        packed, scales, _ = self._get_weight_params(layer)
        return functions.packed_linear(x, packed, scales, bias, _BITS[self.config.weight_type])


class DiopiInt8Linear(Int8ScaledMMLinearKernel):
    """Weights and activations of int8, symmetric; a scale for each channel or tensor."""

    @classmethod
    def is_supported(cls, compute_capability: int | None = None) -> tuple[bool, str | None]:
        return True, None

    @classmethod
    def can_implement(cls, c: Any) -> tuple[bool, str | None]:
        return (True, None) if c.input_symmetric else (False, "activations with zero points")

    def process_weights_after_loading(self, layer: Any) -> None:
        """Gives fused layers a scale for each channel."""
        from vllm.model_executor.layers.quantization.utils import replace_parameter
        from vllm.model_executor.layers.quantization.utils.w8a8_utils import convert_to_channelwise

        _, scale_name, input_scale_name, _, _ = self.layer_param_names
        scale = getattr(layer, scale_name)
        if len(layer.logical_widths) > 1 and not self.config.is_channelwise:
            scale = convert_to_channelwise(scale, layer.logical_widths)
        rows = (
            scale.data.to(torch.float32).reshape(-1, 1) if scale.numel() > 1 else scale.data.to(torch.float32).view(1)
        )
        replace_parameter(layer, scale_name, torch.nn.Parameter(rows, requires_grad=False))
        if self.config.is_static_input_scheme:
            largest = getattr(layer, input_scale_name).max().view(1)
            replace_parameter(layer, input_scale_name, torch.nn.Parameter(largest, requires_grad=False))

    def apply_weights(self, layer: Any, x: Tensor, bias: Tensor | None = None) -> Tensor:
        weight, scale, input_scale, _, _ = self._get_layer_params(layer)
        return functions.int8_linear(x, weight, scale, input_scale, bias)


class DiopiFloat8Linear(FP8ScaledMMLinearKernel):
    """Weights and activations of float8; scales of the tensor, of channels and tokens, or of blocks."""

    @classmethod
    def is_supported(cls, compute_capability: int | None = None) -> tuple[bool, str | None]:
        return True, None

    @classmethod
    def can_implement(cls, c: Any) -> tuple[bool, str | None]:
        shape = c.weight_quant_key.scale.group_shape
        if c.activation_quant_key.scale.group_shape.is_per_group() and shape.row != shape.col:
            return False, f"blocks of {shape.row} channels and {shape.col} features: only square ones are supported"
        return True, None

    @property
    def block(self) -> int:
        """Features of a block; any number where scales are not of blocks."""
        shape = self.config.weight_quant_key.scale.group_shape
        return int(shape.col) if self._has_blocks else 128

    @property
    def _has_blocks(self) -> bool:
        return bool(self.config.activation_quant_key.scale.group_shape.is_per_group())

    def _get_layer_params(self, layer: Any) -> Any:
        return layer.weight, layer.diopi_weight_scale, getattr(layer, "input_scale", None), None

    def process_weights_after_loading(self, layer: Any) -> None:
        """Brings the weight to rows of output channels, and the scales to the shapes of the interface."""
        weight = layer.weight.data if self._has_blocks else layer.weight.data.t()
        layer.weight = torch.nn.Parameter(weight.contiguous().t(), requires_grad=False)
        scale = layer.weight_scale_inv if hasattr(layer, "weight_scale_inv") else layer.weight_scale
        scale = scale.data if self._has_blocks else scale.data.reshape(-1, 1) if scale.numel() > 1 else scale.view(1)
        layer.diopi_weight_scale = scale.contiguous() if scale.dtype == torch.float8_e8m0fnu else scale.float()

    def apply_scaled_mm(
        self,
        *,
        A: Tensor,
        B: Tensor,
        out_dtype: torch.dtype,
        As: Tensor,
        Bs: Tensor,
        bias: Tensor | None,
        output_shape: list[int],
    ) -> Tensor:
        return functions.float8_linear(A, B.t(), As, Bs, bias, out_dtype, self.block).view(output_shape)

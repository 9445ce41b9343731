"""Experts with weights of packed integers: those of compressed-tensors, GPTQ and AWQ."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import torch
from torch import Tensor
from vllm.model_executor.layers.fused_moe.fused_moe_method_base import FusedMoEMethodBase
from vllm.model_executor.layers.quantization.auto_awq import AutoAWQMoEMethod
from vllm.model_executor.layers.quantization.auto_gptq import AutoGPTQMoEMethod
from vllm.model_executor.layers.quantization.compressed_tensors.compressed_tensors_moe.compressed_tensors_moe_wna16 import (  # noqa: E501
    CompressedTensorsWNA16MoEMethod,
)
from vllm.model_executor.utils import replace_parameter

from . import functions

_AWQ_FIELDS = [0, 4, 1, 5, 2, 6, 3, 7]
"""The field of each of eight neighbouring columns in a word of AWQ."""


class _PackedExperts:
    """Weights, scales and zeros by the layouts of `functions.packed_experts`, in the parameters `names` of a layer."""

    is_monolithic = False
    names: tuple[str, str, str]
    num_bits: int

    def get_fused_moe_quant_config(self, layer: Any) -> None:
        """No kernel of vLLM's needs one."""

    def apply(
        self,
        layer: Any,
        x: Tensor,
        topk_weights: Tensor,
        topk_ids: Tensor,
        shared_experts: Any,
        shared_experts_input: Tensor | None,
    ) -> Tensor:
        if layer.apply_router_weight_on_input:
            raise NotImplementedError("experts that weight their inputs are not supported")
        first, second = (
            [getattr(layer, f"{matrix}_{name}", None) for name in (*self.names, "bias")] for matrix in ("w13", "w2")
        )
        return functions.packed_experts(
            x, first, second, topk_weights, topk_ids, layer.expert_map, layer.activation.value, self.num_bits
        )


class DiopiCompressedPackedExperts(_PackedExperts, CompressedTensorsWNA16MoEMethod):
    """Experts of checkpoints of compressed-tensors, which have the layouts of the interface."""

    names = ("weight_packed", "weight_scale", "weight_zero_point")

    def __init__(self, weight_quant: Any, input_quant: Any, moe: Any, layer_name: str | None = None) -> None:
        """Selects no kernel of vLLM's, as `CompressedTensorsWNA16MoEMethod` does."""
        FusedMoEMethodBase.__init__(self, moe)
        self.weight_quant, self.input_quant = weight_quant, input_quant
        self.symmetric, self.strategy = weight_quant.symmetric, weight_quant.strategy
        self.num_bits = weight_quant.num_bits
        self.packed_factor = Fraction(32, self.num_bits)
        self.group_size = -1 if weight_quant.group_size is None else weight_quant.group_size

    def process_weights_after_loading(self, layer: Any) -> None:
        if self.num_bits not in (4, 8):
            raise NotImplementedError(f"experts with weights of {self.num_bits} bits: 4 and 8 are supported")


class _Transposed(_PackedExperts):
    """Parameters of [experts, depth, columns], which are brought to the layouts of the interface once."""

    names = ("qweight", "scales", "qzeros")
    quant_config: Any

    def __init__(self, quant_config: Any, moe: Any) -> None:
        """Selects no kernel of vLLM's, as the methods of GPTQ and AWQ do."""
        FusedMoEMethodBase.__init__(self, moe)
        self.quant_config, self.input_dtype, self.num_bits = quant_config, None, quant_config.weight_bits

    def process_weights_after_loading(self, layer: Any) -> None:
        for matrix in ("w13", "w2"):
            for name, change in zip(self.names, (self.words, lambda scales: scales, self.zeros), strict=True):
                parameter = getattr(layer, f"{matrix}_{name}").data
                changed = change(parameter.cpu()).transpose(1, 2).contiguous()
                replace_parameter(layer, f"{matrix}_{name}", changed.to(parameter.device))

    def words(self, weights: Tensor) -> Tensor:
        """Weights that are packed along the depth, [experts, depth * bits / 32, columns]."""
        return weights

    def zeros(self, zeros: Tensor) -> Tensor:
        """Zeros as they are, in words of neighbouring columns, [experts, groups, columns * bits / 32]."""
        raise NotImplementedError


class DiopiGPTQExperts(_Transposed, AutoGPTQMoEMethod):
    """Experts of checkpoints of GPTQ."""

    def zeros(self, zeros: Tensor) -> Tensor:
        if self.quant_config.full_config.get("checkpoint_format") == "gptq_v2":
            return zeros
        # The first version of the format stores each zero less one.
        levels = _fields(zeros, self.num_bits) + 1
        if int(levels.max()) >> self.num_bits:
            raise NotImplementedError(f"experts of GPTQ with a zero of {1 << self.num_bits}: less are supported")
        return _words(levels, self.num_bits)


class DiopiAWQExperts(_Transposed, AutoAWQMoEMethod):
    """Experts of checkpoints of AWQ, which are packed along the columns."""

    def words(self, weights: Tensor) -> Tensor:
        return _words(self._levels(weights).transpose(1, 2), self.num_bits).transpose(1, 2)

    def zeros(self, zeros: Tensor) -> Tensor:
        return _words(self._levels(zeros), self.num_bits)

    def _levels(self, words: Tensor) -> Tensor:
        return _fields(words, self.num_bits).unflatten(-1, (-1, 8))[..., _AWQ_FIELDS].flatten(-2)


def _fields(words: Tensor, bits: int) -> Tensor:
    """The integers of words of the last dimension, int64, the first in the lowest bits."""
    fields = (words.long().unsqueeze(-1) >> torch.arange(0, 32, bits)) & ((1 << bits) - 1)
    return fields.flatten(-2)


def _words(fields: Tensor, bits: int) -> Tensor:
    words = (fields.unflatten(-1, (-1, 32 // bits)) << torch.arange(0, 32, bits)).sum(-1)
    return torch.where(words >= 1 << 31, words - (1 << 32), words).int()

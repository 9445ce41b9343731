"""Layers of vLLM whose functions DIOPI has, and operators that vLLM has only compiled for CUDA.

vLLM reaches a layer by its registered name, so that a subclass stands for the layer in every model.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from . import functions


def register() -> None:
    """Registers the layers, the kernels of linear layers and the operators, once in a process."""
    from vllm.model_executor.kernels.linear import register_linear_kernel
    from vllm.model_executor.layers import activation, layernorm
    from vllm.model_executor.layers.fused_moe.unquantized_fused_moe_method import UnquantizedFusedMoEMethod
    from vllm.model_executor.layers.rotary_embedding.base import RotaryEmbedding
    from vllm.platforms import PlatformEnum

    from . import quantized

    @layernorm.RMSNorm.register_oot
    class DiopiRMSNorm(layernorm.RMSNorm):
        def forward_oot(self, x: Tensor, residual: Tensor | None = None) -> Any:
            weight = self.weight.data if self.has_weight else None
            if self.variance_size_override is not None or (weight is not None and weight.dtype != x.dtype):
                return self.forward_native(x, residual)
            return functions.residual_rms_norm(x, residual, weight, self.variance_epsilon)

    @layernorm.GemmaRMSNorm.register_oot
    class DiopiGemmaRMSNorm(layernorm.GemmaRMSNorm):
        def forward_oot(self, x: Tensor, residual: Tensor | None = None) -> Any:
            return functions.residual_rms_norm(x, residual, self.weight.data, self.variance_epsilon, 1.0)

    @RotaryEmbedding.register_oot
    class DiopiRotaryEmbedding(RotaryEmbedding):
        def forward_oot(self, positions: Tensor, query: Tensor, key: Tensor | None = None) -> Any:
            table = self._match_cos_sin_cache_dtype(query)
            functions.rotary_embedding(query, key, positions, table, self.head_size, not self.is_neox_style)
            return query, key

    @activation.SiluAndMul.register_oot
    class DiopiSiluAndMul(activation.SiluAndMul):
        def forward_oot(self, x: Tensor) -> Tensor:
            return functions.silu_and_mul(x)

    @activation.GeluAndMul.register_oot
    class DiopiGeluAndMul(activation.GeluAndMul):
        def forward_oot(self, x: Tensor) -> Tensor:
            return functions.gelu_and_mul(x, self.approximate)

    @UnquantizedFusedMoEMethod.register_oot
    class DiopiFusedExperts(UnquantizedFusedMoEMethod):
        @property
        def is_monolithic(self) -> bool:
            return False

        def forward_oot(
            self,
            layer: Any,
            x: Tensor,
            topk_weights: Tensor,
            topk_ids: Tensor,
            shared_experts: Any,
            shared_experts_input: Tensor | None,
        ) -> Tensor:
            """Returns the weighted sums of the experts' results; vLLM computes shared experts outside."""
            if layer.apply_router_weight_on_input:
                raise NotImplementedError("experts that weight their inputs are not supported")
            return functions.fused_experts(
                x,
                layer.w13_weight,
                layer.w2_weight,
                topk_weights,
                topk_ids,
                layer.w13_bias if self.moe.has_bias else None,
                layer.w2_bias if self.moe.has_bias else None,
                layer.expert_map,
                layer.activation.value,
            )

    register_linear_kernel(quantized.DiopiWeightOnlyLinear, PlatformEnum.OOT, "mp")
    register_linear_kernel(quantized.DiopiInt8Linear, PlatformEnum.OOT, "int8")
    _define_router_operators()


_library: torch.library.Library | None = None


def _define_router_operators() -> None:
    """Defines the operators of routers that vLLM calls whatever the platform, and has only compiled for CUDA."""
    global _library
    if _library is not None:
        return
    _library = torch.library.Library("_moe_C", "FRAGMENT")
    common = "Tensor(a!) weights, Tensor(b!) ids, Tensor(c!) positions, Tensor gating, bool renormalize, Tensor? bias"
    _library.define(f"topk_softmax({common}, Tensor? is_padding) -> ()")
    _library.define(f"topk_sigmoid({common}, float scale, Tensor? is_padding) -> ()")
    _library.impl("topk_softmax", _topk_softmax, "PrivateUse1")
    _library.impl("topk_sigmoid", _topk_sigmoid, "PrivateUse1")


def _topk_softmax(
    weights: Tensor,
    ids: Tensor,
    positions: Tensor,
    gating: Tensor,
    renormalize: bool,
    bias: Tensor | None,
    is_padding: Tensor | None,
) -> None:
    functions.topk_experts(weights, ids, gating, "softmax", renormalize, bias, 1.0)


def _topk_sigmoid(
    weights: Tensor,
    ids: Tensor,
    positions: Tensor,
    gating: Tensor,
    renormalize: bool,
    bias: Tensor | None,
    scale: float,
    is_padding: Tensor | None,
) -> None:
    functions.topk_experts(weights, ids, gating, "sigmoid", renormalize, bias, scale)

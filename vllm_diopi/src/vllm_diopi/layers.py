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
    from vllm.distributed import tensor_model_parallel_all_reduce
    from vllm.model_executor.kernels import linear
    from vllm.model_executor.kernels.linear import register_linear_kernel
    from vllm.model_executor.layers import activation, layernorm
    from vllm.model_executor.layers.fused_moe.router import grouped_topk_router
    from vllm.model_executor.layers.fused_moe.unquantized_fused_moe_method import UnquantizedFusedMoEMethod
    from vllm.model_executor.layers.quantization.input_quant_fp8 import QuantFP8
    from vllm.model_executor.layers.rotary_embedding.base import RotaryEmbedding
    from vllm.model_executor.layers.vocab_parallel_embedding import UnquantizedEmbeddingMethod, VocabParallelEmbedding
    from vllm.platforms import PlatformEnum

    from . import checkpoints, experts, quantized

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
            return experts.apply(self, layer, x, topk_weights, topk_ids)

    @QuantFP8.register_oot
    class DiopiQuantFP8(QuantFP8):
        def forward_oot(
            self, x: Tensor, scale: Tensor | None = None, scale_ub: Tensor | None = None, use_triton: bool = False
        ) -> tuple[Tensor, Tensor]:
            """Returns float8 and its scales. A scale of the whole tensor that is not known is one for each token, as
            on CUDA: the tokens of a request do not depend on those of others."""
            if scale_ub is not None:
                raise NotImplementedError("scales of float8 with an upper bound are not supported")
            return functions.quantize_float8(x, scale, self.group_size if self.is_group_quant else 0)

    @VocabParallelEmbedding.register_oot
    class DiopiVocabParallelEmbedding(VocabParallelEmbedding):
        def forward(self, input_: Tensor) -> Tensor:
            indices = self.shard_indices
            is_whole = indices.added_vocab_start_index == indices.added_vocab_end_index
            is_reduced = getattr(self, "reduce_results", True)  # 0.31 reduces all
            if self.tp_size == 1 or not is_whole or self.parallel_group is not None or not is_reduced:
                return super().forward(input_)
            if not isinstance(self.quant_method, UnquantizedEmbeddingMethod):
                return super().forward(input_)
            rows = functions.sharded_embedding(self.weight.data, input_, indices.org_vocab_start_index)
            return tensor_model_parallel_all_reduce(rows)

    register_linear_kernel(quantized.DiopiWeightOnlyLinear, PlatformEnum.OOT, "mp")
    register_linear_kernel(quantized.DiopiInt8Linear, PlatformEnum.OOT, "int8")
    register_linear_kernel(quantized.DiopiFloat8Linear, PlatformEnum.OOT, "fp8")
    # Those of blocks have no function that registers them.
    linear._POSSIBLE_FP8_BLOCK_KERNELS[PlatformEnum.OOT] = [quantized.DiopiFloat8Linear]
    grouped_topk_router.grouped_topk = _grouped_topk  # the router calls it by this name, not a layer
    checkpoints.register()
    _define_operators()


_libraries: list[torch.library.Library] = []


def _define_operators() -> None:
    """Defines operators that vLLM calls whatever the platform, and has only compiled for CUDA: routers, and the float8
    of weights that are quantized again while they are loaded."""
    if _libraries:
        return
    router, common = torch.library.Library("_moe_C", "FRAGMENT"), torch.library.Library("_C", "FRAGMENT")
    _libraries.extend((router, common))
    arguments = (
        "Tensor(a!) weights, Tensor(b!) ids, Tensor(c!) positions, Tensor gating, bool renormalize, Tensor? bias"
    )
    router.define(f"topk_softmax({arguments}, Tensor? is_padding) -> ()")
    router.define(f"topk_sigmoid({arguments}, float scale, Tensor? is_padding) -> ()")
    router.impl("topk_softmax", topk_softmax, "PrivateUse1")
    router.impl("topk_sigmoid", _topk_sigmoid, "PrivateUse1")
    common.define("weak_ref_tensor(Tensor input) -> Tensor")
    common.impl("weak_ref_tensor", Tensor.detach, "PrivateUse1")
    common.define("static_scaled_fp8_quant(Tensor(a!) out, Tensor input, Tensor scale, int[]? group_shape=None) -> ()")
    common.impl("static_scaled_fp8_quant", _quantize_float8, "PrivateUse1")


def _quantize_float8(out: Tensor, input: Tensor, scale: Tensor, group_shape: list[int] | None = None) -> None:
    if scale.numel() != 1:
        raise NotImplementedError("float8 of known scales has one of the whole tensor")
    out.copy_(functions.quantize_float8(input, scale, 0, out.dtype)[0])


def _grouped_topk(
    hidden_states: Tensor,
    gating_output: Tensor,
    topk: int,
    renormalize: bool,
    num_expert_group: int = 1,
    topk_group: int = 1,
    scoring_func: str = "softmax",
    routed_scaling_factor: float = 1.0,
    e_score_correction_bias: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """Returns the weights and numbers of the experts of each token, [tokens, topk]."""
    weights = torch.empty((len(gating_output), topk), dtype=torch.float32, device=gating_output.device)
    ids = torch.empty_like(weights, dtype=torch.int32)
    bias = None if e_score_correction_bias is None else e_score_correction_bias.to(torch.float32)
    choice = scoring_func, renormalize, bias, routed_scaling_factor
    functions.topk_experts(weights, ids, gating_output, *choice, num_expert_group, topk_group)
    return weights, ids


def topk_softmax(
    weights: Tensor,
    ids: Tensor,
    positions: Tensor,
    gating: Tensor,
    renormalize: bool,
    bias: Tensor | None = None,
    is_padding: Tensor | None = None,
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

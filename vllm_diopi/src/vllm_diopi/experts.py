"""Experts whose weights are those of checkpoints in float8; activations stay as they are."""

from __future__ import annotations

from typing import Any

from torch import Tensor
from vllm.model_executor.layers.fused_moe.fused_moe_method_base import FusedMoEMethodBase
from vllm.model_executor.layers.quantization.fp8 import Fp8MoEMethod

from . import functions


def apply(method: Any, layer: Any, x: Tensor, weights: Tensor, ids: Tensor, *scales: Any) -> Tensor:
    """Returns the weighted sums of the results of each token's experts, [tokens, hidden_size]; vLLM computes shared
    experts outside. `scales` are those of the two weights, and the size of a block of them."""
    if layer.apply_router_weight_on_input:
        raise NotImplementedError("experts that weight their inputs are not supported")
    biases = (layer.w13_bias, layer.w2_bias) if method.moe.has_bias else (None, None)
    activation = layer.activation.value
    return functions.fused_experts(
        x, layer.w13_weight, layer.w2_weight, weights, ids, *biases, layer.expert_map, activation, *scales
    )


class DiopiFloat8Experts(Fp8MoEMethod):
    """Weights of float8 with scales of the gates, values and projections back of each expert, or of square blocks.

    Scales of activations that a checkpoint has are not used.
    """

    def __init__(self, quant_config: Any, layer: Any) -> None:
        """Selects no kernel of vLLM's, which Fp8MoEMethod does."""
        FusedMoEMethodBase.__init__(self, layer.moe_config)
        self.quant_config = quant_config
        self.weight_block_size = self.moe_block_shape = quant_config.weight_block_size
        self.block_quant = self.weight_block_size is not None
        self.weight_scale_name = "weight_scale_inv" if self.block_quant else "weight_scale"
        self.weight_scale_refine = None
        if self.block_quant and self.weight_block_size[0] != self.weight_block_size[1]:
            rows, columns = self.weight_block_size
            raise NotImplementedError(
                f"experts with blocks of {rows} by {columns} weights: only square ones are supported"
            )

    def process_weights_after_loading(self, layer: Any) -> None:
        """Brings scales of matrices to the shapes of the interface; those of blocks have them."""
        if self.block_quant:
            layer.diopi_scales = layer.w13_weight_scale_inv, layer.w2_weight_scale_inv, self.weight_block_size[0]
            return
        rows = layer.w13_weight.shape[1] // layer.w13_weight_scale.shape[1]
        first = layer.w13_weight_scale.data.repeat_interleave(rows, dim=1).unsqueeze(-1)
        layer.diopi_scales = first, layer.w2_weight_scale.data.view(-1, 1, 1), 128

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
        return apply(self, layer, x, topk_weights, topk_ids, *layer.diopi_scales)

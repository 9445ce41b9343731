"""Experts, with weights of the dtype of activations or of float8."""

from __future__ import annotations

from typing import Any

from torch import Tensor
from vllm.model_executor.layers.fused_moe.fused_moe_method_base import FusedMoEMethodBase
from vllm.model_executor.layers.quantization.compressed_tensors.compressed_tensors_moe.compressed_tensors_moe_w8a8_fp8 import (  # noqa: E501
    CompressedTensorsW8A8Fp8MoEMethod,
)
from vllm.model_executor.layers.quantization.fp8 import Fp8MoEMethod

from . import functions


def apply(method: Any, layer: Any, x: Tensor, weights: Tensor, ids: Tensor, *scales: Any) -> Tensor:
    """Returns the weighted sums of the results of each token's experts, [tokens, hidden_size]; vLLM computes shared
    experts outside. `scales` are those of the two weights, and the size of a block of them."""
    if layer.apply_router_weight_on_input:
        raise NotImplementedError("experts that weight their inputs are not supported")
    has_bias = method.moe.has_bias
    return functions.fused_experts(
        x,
        layer.w13_weight,
        layer.w2_weight,
        weights,
        ids,
        layer.w13_bias if has_bias else None,
        layer.w2_bias if has_bias else None,
        layer.expert_map,
        layer.activation.value,
        *scales,
    )


class _Float8Experts:
    """Weights of float8 with scales of matrices, rows or square blocks. Scales of activations that a checkpoint has are
    not used."""

    weight_block_size: list[int] | None
    is_monolithic = False

    def process_weights_after_loading(self, layer: Any) -> None:
        """Brings the scales to the shapes of the interface."""
        rows, columns = self.weight_block_size or (128, 128)
        if rows != columns:
            raise NotImplementedError(
                f"experts with blocks of {rows} by {columns} weights: only square ones are supported"
            )
        layer.diopi_scales = _scale(layer, "w13", 2), _scale(layer, "w2", 1), rows

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


def _scale(layer: Any, name: str, matrices: int) -> Tensor:
    """The scales of a weight that consists of matrices, [experts, rows, columns]: those of each matrix become scales of
    rows."""
    blocks = getattr(layer, f"{name}_weight_scale_inv", None)
    scale: Tensor = (getattr(layer, f"{name}_weight_scale") if blocks is None else blocks).data
    if scale.dim() == 3:
        return scale
    rows = getattr(layer, f"{name}_weight").shape[1] // matrices
    return scale.view(-1, matrices).repeat_interleave(rows, dim=1).unsqueeze(-1)


class DiopiFloat8Experts(_Float8Experts, Fp8MoEMethod):
    """Experts of checkpoints of fp8."""

    def __init__(self, quant_config: Any, layer: Any) -> None:
        """Selects no kernel of vLLM's, as `Fp8MoEMethod` does."""
        FusedMoEMethodBase.__init__(self, layer.moe_config)
        self.quant_config = quant_config
        self.weight_block_size = self.moe_block_shape = quant_config.weight_block_size
        self.block_quant = self.weight_block_size is not None
        self.weight_scale_name = "weight_scale_inv" if self.block_quant else "weight_scale"
        self.weight_scale_refine = None


class DiopiCompressedFloat8Experts(_Float8Experts, CompressedTensorsW8A8Fp8MoEMethod):
    """Experts of checkpoints of compressed-tensors."""

    def __init__(self, weight_quant: Any, input_quant: Any, moe: Any, layer_name: str | None = None) -> None:
        """Selects no kernel of vLLM's, as `CompressedTensorsW8A8Fp8MoEMethod` does."""
        FusedMoEMethodBase.__init__(self, moe)
        self.weight_quant, self.input_quant = weight_quant, input_quant
        self.weight_block_size = weight_quant.block_structure
        self.block_quant = self.weight_block_size is not None
        self.static_input_scales = not input_quant.dynamic

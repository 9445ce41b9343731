"""Checkpoints of GPTQ and AWQ, for whose layers vLLM selects kernels of CUDA before it asks the platform; those and
checkpoints of float8 with activations of float32, which vLLM refuses."""

from __future__ import annotations

from typing import Any, ClassVar

import torch
from torch import Tensor
from vllm.model_executor.layers.fused_moe import RoutedExperts, UnquantizedFusedMoEMethod
from vllm.model_executor.layers.quantization import fp8, register_quantization_config
from vllm.model_executor.layers.quantization.auto_awq import AutoAWQConfig, AutoAWQLinearMethod
from vllm.model_executor.layers.quantization.auto_gptq import AutoGPTQConfig, AutoGPTQLinearMethod, get_moe_quant_method
from vllm.model_executor.layers.quantization.compressed_tensors.compressed_tensors_moe import (
    compressed_tensors_moe_w8a8_fp8,
    compressed_tensors_moe_wna16,
)
from vllm.model_executor.layers.quantization.utils.gptq_utils import get_linear_quant_method
from vllm.model_executor.layers.quantization.utils.quant_utils import is_layer_skipped

from . import experts, functions, packed_experts

_TYPES = {bits: AutoGPTQConfig.TYPE_MAP[bits, True] for bits in (4, 8)}
_DTYPES = [torch.float32, torch.float16, torch.bfloat16]


class DiopiGPTQLinearMethod(AutoGPTQLinearMethod):
    """A linear layer of weights as GPTQ stores them."""

    def __init__(self, quant_config: Any) -> None:
        self.quant_config = quant_config
        self.quant_type = quant_config.quant_type
        self.input_dtype = None

    def process_weights_after_loading(self, layer: Any) -> None:
        for name in ("qweight", "qzeros", "scales"):
            setattr(layer, name, torch.nn.Parameter(getattr(layer, name).data.contiguous(), requires_grad=False))

    def apply(self, layer: Any, x: Tensor, bias: Tensor | None = None) -> Tensor:
        config = self.quant_config
        # The first version of the format stores each zero less one.
        offset = 0 if config.full_config.get("checkpoint_format") == "gptq_v2" else 1
        return functions.gptq_linear(x, layer.qweight, layer.scales, layer.qzeros, bias, config.weight_bits, offset)


class DiopiAWQLinearMethod(AutoAWQLinearMethod):
    """A linear layer of weights as AWQ stores them."""

    def apply(self, layer: Any, x: Tensor, bias: Tensor | None = None) -> Tensor:
        return functions.awq_linear(x, layer.qweight, layer.scales, layer.qzeros, bias)


def register() -> None:
    """Registers the configurations in the place of vLLM's, and experts, for which vLLM has no registry."""
    fp8.Fp8MoEMethod = experts.DiopiFloat8Experts
    compressed_tensors_moe_w8a8_fp8.CompressedTensorsW8A8Fp8MoEMethod = experts.DiopiCompressedFloat8Experts
    compressed_tensors_moe_wna16.CompressedTensorsWNA16MoEMethod = packed_experts.DiopiCompressedPackedExperts

    @register_quantization_config("fp8")
    class DiopiFloat8Config(fp8.Fp8Config):
        @classmethod
        def get_supported_act_dtypes(cls) -> list[torch.dtype]:
            return _DTYPES

    @register_quantization_config("auto_gptq")
    class DiopiGPTQConfig(AutoGPTQConfig):
        # Zeros are stored in any case.
        TYPE_MAP: ClassVar = {(bits, is_symmetric): _TYPES[bits] for bits in _TYPES for is_symmetric in (True, False)}

        @classmethod
        def get_supported_act_dtypes(cls) -> list[torch.dtype]:
            return _DTYPES

        def get_quant_method(self, layer: Any, prefix: str) -> Any:
            if isinstance(layer, RoutedExperts):
                return get_moe_quant_method(self, layer, prefix, packed_experts.DiopiGPTQExperts)
            return get_linear_quant_method(self, layer, prefix, DiopiGPTQLinearMethod)

    @register_quantization_config("auto_awq")
    class DiopiAWQConfig(AutoAWQConfig):
        @classmethod
        def get_supported_act_dtypes(cls) -> list[torch.dtype]:
            return _DTYPES

        def get_quant_method(self, layer: Any, prefix: str) -> Any:
            if not self.zero_point or self.weight_bits != 4:
                raise NotImplementedError(f"{prefix}: weights of AWQ have 4 bits and zero points here")
            if isinstance(layer, RoutedExperts):
                if is_layer_skipped(prefix, self.modules_to_not_convert, match_mode="substring"):
                    return UnquantizedFusedMoEMethod(layer.moe_config)
                return packed_experts.DiopiAWQExperts(self, layer.moe_config)
            method = super().get_quant_method(layer, prefix)
            return DiopiAWQLinearMethod(self) if isinstance(method, AutoAWQLinearMethod) else method

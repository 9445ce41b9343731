"""The attention backend: prefill, chunks of prompts and steps of decoding in one call over caches of blocks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor
from vllm.v1.attention.backend import (
    AttentionBackend,
    AttentionCGSupport,
    AttentionImpl,
    AttentionMetadataBuilder,
    AttentionType,
)

from . import functions

FLOAT8 = {"fp8": torch.float8_e4m3fn, "fp8_e4m3": torch.float8_e4m3fn, "fp8_e5m2": torch.float8_e5m2}
"""Caches of numbers of one byte, which vLLM allocates as uint8, by `kv_cache_dtype`."""


class DiopiAttentionBackend(AttentionBackend):
    """Attention of decoders. Caches are one tensor for a layer, keys and then values on the last dimension."""

    forward_includes_kv_cache_update: bool = False
    supported_dtypes: ClassVar[list[torch.dtype]] = [torch.float16, torch.bfloat16, torch.float32]
    supported_kv_cache_dtypes: ClassVar[list[Any]] = ["auto", "float16", "bfloat16", "float32", *FLOAT8]

    @staticmethod
    def get_name() -> str:
        """Name in vLLM's registry, which has this one for backends of plugins."""
        return "CUSTOM"

    @staticmethod
    def get_impl_cls() -> type[DiopiAttention]:
        return DiopiAttention

    @staticmethod
    def get_builder_cls() -> type[DiopiMetadataBuilder]:
        return DiopiMetadataBuilder

    @classmethod
    def supports_sink(cls) -> bool:
        return True

    @classmethod
    def supports_sliding_window(cls) -> bool:
        return True

    @classmethod
    def supports_non_causal(cls) -> bool:
        return True

    @classmethod
    def supports_attn_type(cls, attn_type: str) -> bool:
        return bool(attn_type == AttentionType.DECODER)


@dataclass
class DiopiMetadata:
    """The batch of a step: requests R, tokens T."""

    num_tokens: int
    query_start_loc: Tensor
    """First token of each request, int32 [R + 1]."""
    seq_lens: Tensor
    """Keys of each request, int32 [R]."""
    block_table: Tensor
    """int32 [R, blocks]."""
    is_causal: bool


class DiopiMetadataBuilder(AttentionMetadataBuilder[DiopiMetadata]):
    """Takes from vLLM's description of a batch what the kernels read."""

    _cudagraph_support: ClassVar[AttentionCGSupport] = AttentionCGSupport.ALWAYS

    def __init__(self, kv_cache_spec: Any, layer_names: list[str], vllm_config: Any, device: torch.device) -> None:
        super().__init__(kv_cache_spec, layer_names, vllm_config, device)

    def build(self, common_prefix_len: int, common_attn_metadata: Any, fast_build: bool = False) -> DiopiMetadata:
        common = common_attn_metadata
        if isinstance(common.causal, Tensor):
            raise NotImplementedError("attention that is causal for some requests of a batch only is not supported")
        return DiopiMetadata(
            num_tokens=common.num_actual_tokens,
            query_start_loc=common.query_start_loc,
            seq_lens=common.seq_lens,
            block_table=common.block_table_tensor,
            is_causal=common.causal,
        )


class DiopiAttention(AttentionImpl[DiopiMetadata]):
    """Attention of a layer."""

    def __init__(
        self,
        num_heads: int,
        head_size: int,
        scale: float,
        num_kv_heads: int | None = None,
        alibi_slopes: list[float] | None = None,
        sliding_window: int | None = None,
        kv_cache_dtype: str = "auto",
        logits_soft_cap: float | None = None,
        attn_type: str = AttentionType.DECODER,
        kv_sharing_target_layer_name: str | None = None,
        sinks: Tensor | None = None,
    ) -> None:
        if attn_type != AttentionType.DECODER:
            raise NotImplementedError(f"attention of type {attn_type} is not supported: the model must be a decoder")
        self.num_heads = num_heads
        self.num_kv_heads = num_kv_heads or num_heads
        self.head_size = head_size
        self.scale = float(scale)
        self.kv_cache_dtype = kv_cache_dtype
        self.float8 = FLOAT8.get(kv_cache_dtype)
        self.kv_sharing_target_layer_name = kv_sharing_target_layer_name
        self.alibi_slopes = None if alibi_slopes is None else torch.tensor(alibi_slopes, dtype=torch.float32)
        self.window_size_left = -1 if sliding_window is None else sliding_window - 1
        self.softcap = logits_soft_cap or 0.0
        self.sinks = sinks

    def do_kv_cache_update(
        self, layer: Any, key: Tensor, value: Tensor, kv_cache: Tensor, slot_mapping: Tensor
    ) -> None:
        """Writes the new keys and values, [tokens, kv_heads, head_size], to their slots."""
        keys, values = self._caches(kv_cache)
        tokens = slot_mapping.shape[0]
        key, value = key[:tokens], value[:tokens]
        if self.float8 is not None:
            key, _ = functions.quantize_float8(key, layer._k_scale, 0, self.float8)
            value, _ = functions.quantize_float8(value, layer._v_scale, 0, self.float8)
        functions.reshape_and_cache(key, value, keys, values, slot_mapping)

    def forward(
        self,
        layer: Any,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        kv_cache: Tensor,
        attn_metadata: DiopiMetadata | None,
        output: Tensor,
        output_scale: Tensor | None = None,
        output_block_scale: Tensor | None = None,
    ) -> Tensor:
        """Writes `output`, [tokens, heads, head_size]; without metadata, in the run that measures memory, zeros."""
        if output_scale is not None or output_block_scale is not None:
            raise NotImplementedError("attention with quantized results is not supported")
        if attn_metadata is None:
            return output.zero_()
        keys, values = self._caches(kv_cache)
        if self.alibi_slopes is not None:
            self.alibi_slopes = self.alibi_slopes.to(query.device)
        tokens = attn_metadata.num_tokens
        functions.paged_attention(
            query[:tokens],
            keys,
            values,
            attn_metadata.block_table,
            attn_metadata.query_start_loc,
            attn_metadata.seq_lens,
            output[:tokens],
            alibi_slopes=self.alibi_slopes,
            sinks=self.sinks,
            softmax_scale=self.scale,
            is_causal=attn_metadata.is_causal,
            window_size_left=self.window_size_left,
            softcap=self.softcap,
            key_scale=None if self.float8 is None else layer._k_scale.view(1),
            value_scale=None if self.float8 is None else layer._v_scale.view(1),
        )
        return output

    def _caches(self, kv_cache: Tensor) -> tuple[Tensor, Tensor]:
        """Keys and values of [blocks, kv_heads, block_size, 2 * head_size], each [blocks, block_size, kv_heads,
        head_size]."""
        stored = kv_cache if self.float8 is None else kv_cache.view(self.float8)
        keys, values = stored.transpose(1, 2).split(self.head_size, dim=-1)
        return keys, values

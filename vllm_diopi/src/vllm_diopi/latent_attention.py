"""Latent attention (DeepSeek): keys and values of all heads are one vector for each token, which caches hold.

Prompts and steps of decoding are computed in the absorbed form, attention of many query heads over one head of keys,
whose first elements are the values as well. vLLM multiplies queries and results with the projections of the heads.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from vllm.v1.attention.backend import MLAAttentionImpl

from . import functions
from .attention import FLOAT8, DiopiAttentionBackend, DiopiMetadata, DiopiMetadataBuilder


class DiopiLatentBackend(DiopiAttentionBackend):
    """Caches are one tensor for a layer, [blocks, block_size, latent_size + rotary_size]."""

    @staticmethod
    def get_impl_cls() -> type[Any]:
        return DiopiLatentAttention

    @staticmethod
    def get_builder_cls() -> type[Any]:
        return DiopiLatentMetadataBuilder

    @classmethod
    def is_mla(cls) -> bool:
        return True


@dataclass
class DiopiLatentMetadata(DiopiMetadata):
    """The batch of a step, of which all tokens count as tokens of decoding."""

    num_decodes: int = 0
    num_prefills: int = 0
    prefill: None = None

    @property
    def num_actual_tokens(self) -> int:
        return self.num_tokens

    @property
    def num_decode_tokens(self) -> int:
        return self.num_tokens


class DiopiLatentMetadataBuilder(DiopiMetadataBuilder):
    def build(self, common_prefix_len: int, common_attn_metadata: Any, fast_build: bool = False) -> DiopiLatentMetadata:
        batch = super().build(common_prefix_len, common_attn_metadata, fast_build)
        return DiopiLatentMetadata(**vars(batch), num_decodes=len(batch.seq_lens))


class DiopiLatentAttention(MLAAttentionImpl[DiopiLatentMetadata]):
    """Attention of a layer."""

    is_sparse = True
    """True for vLLM: only then it needs no backend for prompts. All keys are attended to."""
    supports_dense_mha_prefill = False

    def __init__(self, num_heads: int, head_size: int, scale: float, num_kv_heads: int, *others: Any, **more: Any):
        if more.get("indexer") is not None:
            raise NotImplementedError("attention to selected tokens (DeepSeek V3.2) is not supported")
        self.num_heads = num_heads
        self.head_size = head_size
        self.scale = float(scale)
        self.latent_size = more["kv_lora_rank"]
        self.float8 = FLOAT8.get(more.get("kv_cache_dtype", "auto"))
        sliding_window = more.get("sliding_window")
        self.window_size_left = -1 if sliding_window is None else sliding_window - 1

    def do_kv_cache_update(
        self, latent: Tensor, rotary: Tensor, kv_cache: Tensor, slots: Tensor, dtype: str, scale: Tensor, *_: bool
    ) -> None:
        """Writes the new vectors, [tokens, latent_size] and [tokens, 1, rotary_size], to their slots. From 0.33 on vLLM
        says whether the scale is 1."""
        tokens, cache = slots.shape[0], self._cache(kv_cache)
        first, second = cache.split([self.latent_size, self.head_size - self.latent_size], dim=-1)
        latent, rotary = latent[:tokens].unsqueeze(1), rotary[:tokens]
        if self.float8 is not None:
            latent, _ = functions.quantize_float8(latent, scale, 0, self.float8)
            rotary, _ = functions.quantize_float8(rotary, scale, 0, self.float8)
        functions.reshape_and_cache(latent, rotary, first, second, slots)

    def forward_mqa(
        self, q: Any, kv_cache: Tensor, attn_metadata: DiopiLatentMetadata, layer: Any
    ) -> tuple[Tensor, None]:
        """Returns [tokens, heads, latent_size]; queries are [tokens, heads, latent_size + rotary_size]."""
        query = torch.cat(q, dim=-1) if isinstance(q, tuple) else q
        output = query.new_empty((*query.shape[:2], self.latent_size))
        keys = self._cache(kv_cache)
        scale = None if self.float8 is None else layer._k_scale.view(1)
        functions.paged_attention(
            query,
            keys,
            keys[..., : self.latent_size],
            attn_metadata.block_table,
            attn_metadata.query_start_loc,
            attn_metadata.seq_lens,
            output,
            alibi_slopes=None,
            sinks=None,
            softmax_scale=self.scale,
            is_causal=attn_metadata.is_causal,
            window_size_left=self.window_size_left,
            softcap=0.0,
            key_scale=scale,
            value_scale=scale,
        )
        return output, None

    def _cache(self, kv_cache: Tensor) -> Tensor:
        """Vectors of [blocks, block_size, size] as keys of one head, [blocks, block_size, 1, size]."""
        return (kv_cache if self.float8 is None else kv_cache.view(self.float8)).unsqueeze(2)

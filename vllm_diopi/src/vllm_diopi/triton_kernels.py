"""Replacements of the kernels that vLLM has only in Triton, by the full name of the kernel."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from . import functions


def compute_slot_mapping(
    num_tokens: int,
    max_num_tokens: int,
    query_start_loc_ptr: torch.Tensor,
    positions_ptr: torch.Tensor,
    block_table_ptr: torch.Tensor,
    block_table_stride: int,
    slot_mapping_ptr: torch.Tensor,
    KV_CACHE_BLOCK_SIZE: int,
    TOTAL_CP_WORLD_SIZE: int,
    TOTAL_CP_RANK: int,
    CP_KV_CACHE_INTERLEAVE_SIZE: int,
    PAD_ID: int,
    BLOCK_SIZE: int,
) -> None:
    """Writes the slot of each token, and `PAD_ID` behind the last one; parameters are named as those of the kernel."""
    if TOTAL_CP_WORLD_SIZE != 1:
        raise NotImplementedError("context parallelism is not supported: set decode_context_parallel_size to 1")
    slots = functions.compute_slot_mapping(
        query_start_loc_ptr, positions_ptr[:num_tokens], block_table_ptr, KV_CACHE_BLOCK_SIZE
    )
    slot_mapping_ptr[:num_tokens].copy_(slots)
    slot_mapping_ptr[num_tokens:].fill_(PAD_ID)


OVERRIDES: dict[str, Callable[..., Any]] = {
    "vllm.v1.worker.block_table.ComputeSlotMappingKernel.kernel": compute_slot_mapping,
}

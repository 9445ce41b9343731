"""Sampling on the device: functions of the interface in the place of compositions that sort the vocabulary."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from . import functions


def connect() -> None:
    """Lets the samplers of this process mask, penalize and draw by functions of the interface."""
    from vllm.v1.sample import rejection_sampler, sampler
    from vllm.v1.sample.logits_processor.builtin import MinPLogitsProcessor
    from vllm.v1.sample.ops import topk_topp_sampler

    for module in (topk_topp_sampler, rejection_sampler):
        module.apply_top_k_top_p = apply_top_k_top_p
    topk_topp_sampler.TopKTopPSampler.forward_native = draw
    sampler.apply_all_penalties = apply_all_penalties
    MinPLogitsProcessor.apply = apply_min_p


def apply_top_k_top_p(logits: Tensor, k: Tensor | None, p: Tensor | None) -> Tensor:
    if k is not None or p is not None:
        functions.mask_logits(logits, k, p, None)
    return logits


def apply_min_p(processor: Any, logits: Tensor) -> Tensor:
    """Masks the logits by `processor.min_p`, float32 [requests, 1]."""
    if processor.min_p_count:
        functions.mask_logits(logits, None, None, processor.min_p.flatten())
    return logits


def apply_all_penalties(
    logits: Tensor,
    prompt_token_ids: Tensor,
    presence_penalties: Tensor,
    frequency_penalties: Tensor,
    repetition_penalties: Tensor,
    output_token_ids: list[list[int]],
) -> Tensor:
    from vllm.v1.sample.ops.penalties import _convert_to_tensors

    output = _convert_to_tensors(output_token_ids, logits.shape[1], logits.device)
    functions.penalize_logits(
        logits, prompt_token_ids, output, presence_penalties, frequency_penalties, repetition_penalties
    )
    return logits


def draw(
    sampler: Any, logits: Tensor, generators: dict[int, torch.Generator], k: Tensor | None, p: Tensor | None
) -> tuple[Tensor, Tensor | None]:
    """Returns a token of each request, int64 [requests], and what the mode of logarithms asks for. A request with a
    seed has a generator of its own."""
    logits = apply_top_k_top_p(logits, k, p)
    uniforms = torch.empty(logits.shape[0], dtype=torch.float32, device=logits.device)
    if len(generators) != logits.shape[0]:
        uniforms.uniform_()
    for request, generator in generators.items():
        uniforms[request : request + 1].uniform_(generator=generator)
    results = {"processed_logits": lambda: logits, "processed_logprobs": lambda: logits.log_softmax(-1, torch.float32)}
    processed = results.get(sampler.logprobs_mode, lambda: None)()
    return functions.sample_tokens(logits, uniforms), processed

"""Replacements of the kernels that vLLM has only in Triton, by the full name of the kernel."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from . import compatibility, functions


def compute_slot_mapping(*arguments: Any) -> None:
    """Writes the slot of each token, and the number for padding behind the last one."""
    named = compatibility.slot_mapping_arguments(arguments)
    if named["world_size"] != 1:
        raise NotImplementedError("context parallelism is not supported: set decode_context_parallel_size to 1")
    count, slots = named["num_tokens"], named["slots"]
    positions, starts, table = named["positions"], named["query_start_loc"], named["block_table"]
    slots[:count].copy_(functions.compute_slot_mapping(starts, positions[:count], table, named["block_size"]))
    slots[count:].fill_(named["padding"])


def rejection_greedy_sample(
    output: Tensor,
    ends: Tensor,
    draft: Tensor,
    target: Tensor,
    bonus: Tensor,
    is_greedy: Tensor | None,
    max_spec_len: int,
    uniform: Tensor | None,
    rates: Tensor | None,
    is_synthetic: bool,
) -> None:
    """Writes the target's best tokens up to the first that differs from the draft, and the bonus token if none does, to
    `output` [requests, max_spec_len + 1]; `ends` has the end of each request's drafts."""
    _require_real(is_synthetic)
    drafts = _Drafts(ends, max_spec_len)
    is_equal = drafts.rows(draft) == drafts.rows(target)
    drafts.write(output, drafts.rows(target), is_equal, bonus, is_greedy)


def rejection_random_sample(
    output: Tensor,
    ends: Tensor,
    draft: Tensor,
    draft_probs: Tensor | None,
    target_probs: Tensor,
    bonus: Tensor,
    recovered: Tensor,
    uniform: Tensor,
    is_greedy: Tensor,
    max_spec_len: int,
    vocab_size: int,
    rates: Tensor | None,
    has_no_draft_probs: bool,
    is_synthetic: bool,
) -> None:
    """Writes drafts up to the first that is rejected, the recovered token in its position, and the bonus token if none
    is. A draft is accepted with the ratio of its probabilities."""
    _require_real(is_synthetic)
    drafts = _Drafts(ends, max_spec_len)
    index = draft.clamp(min=0).to(torch.int64).unsqueeze(1)
    target = target_probs.gather(1, index).squeeze(1)
    proposed = torch.ones_like(target) if draft_probs is None else draft_probs.gather(1, index).squeeze(1)
    accepted = (draft >= 0) & (proposed > 0) & (target / proposed >= uniform)
    tokens = torch.where(accepted, draft, recovered.to(draft.dtype))
    drafts.write(output, drafts.rows(tokens), drafts.rows(accepted), bonus, ~is_greedy)


def expand(output: Tensor, input: Tensor, ends: Tensor, replace_from: int, replace_to: int, most: int) -> None:
    """Writes the value of each request to its tokens, with one value replaced."""
    values = torch.where(input == replace_from, replace_to, input)
    output.copy_(values[_requests(ends, output.numel())])


def sample_recovered_tokens(
    output: Tensor,
    ends: Tensor,
    draft: Tensor,
    draft_probs: Tensor | None,
    target_probs: Tensor,
    inverse: Tensor,
    vocab_size: int,
    block_size: int,
    has_no_draft_probs: bool,
    is_double: bool,
) -> None:
    """Writes a token for each draft, sampled from what the target's distribution has above the draft's: the largest
    product with the random numbers `inverse` [requests, vocab_size]."""
    if draft_probs is None:
        rest = target_probs.scatter(1, draft.clamp(min=0).to(torch.int64).unsqueeze(1), 0.0)
    else:
        rest = (target_probs - draft_probs).clamp(min=0)
    output.copy_((rest * inverse[_requests(ends, output.numel())]).argmax(dim=-1))


def _requests(ends: Tensor, count: int) -> Tensor:
    """The request of each of `count` drafts, where `ends` has the end of each request's."""
    return torch.searchsorted(ends, torch.arange(count, device=ends.device, dtype=ends.dtype), right=True)


def _require_real(is_synthetic: bool) -> None:
    if is_synthetic:
        raise NotImplementedError("rejection_sample_method='synthetic' is not supported")


class _Drafts:
    """Positions of the drafts of each request in the list of all, as a matrix [requests, max_spec_len + 1]."""

    def __init__(self, ends: Tensor, max_spec_len: int) -> None:
        starts = torch.nn.functional.pad(ends[:-1], (1, 0))
        self.counts = (ends - starts).unsqueeze(1)
        self.column = torch.arange(max_spec_len + 1, device=ends.device, dtype=ends.dtype).unsqueeze(0)
        self.index = (starts.unsqueeze(1) + self.column).to(torch.int64)

    def rows(self, values: Tensor) -> Tensor:
        """The values of all drafts, [drafts], as the matrix; entries behind the last draft of a request are any."""
        if values.numel() == 0:  # no request of the batch has drafts
            return values.new_zeros(self.index.shape)
        return values[self.index.clamp(max=values.numel() - 1)]

    def write(self, output: Tensor, tokens: Tensor, accepted: Tensor, bonus: Tensor, rows: Tensor | None) -> None:
        """Writes tokens up to the first that is not accepted, and the bonus token behind the last if all are."""
        is_draft = self.column < self.counts
        still = torch.cumprod((accepted | ~is_draft).to(torch.int32), dim=1)
        before = torch.nn.functional.pad(still[:, :-1], (1, 0), value=1) > 0
        values = torch.where(is_draft, tokens.to(output.dtype), bonus.view(-1, 1).to(output.dtype))
        mask = before & (self.column <= self.counts)
        if rows is not None:
            mask = mask & rows.unsqueeze(1)
        output.copy_(torch.where(mask, values, output))


OVERRIDES: dict[str, Callable[..., Any]] = {
    "vllm.v1.worker.block_table.ComputeSlotMappingKernel.kernel": compute_slot_mapping,
    "vllm.v1.sample.rejection_sampler.rejection_greedy_sample_kernel": rejection_greedy_sample,
    "vllm.v1.sample.rejection_sampler.rejection_random_sample_kernel": rejection_random_sample,
    "vllm.v1.sample.rejection_sampler.expand_kernel": expand,
    "vllm.v1.sample.rejection_sampler.sample_recovered_tokens_kernel": sample_recovered_tokens,
}

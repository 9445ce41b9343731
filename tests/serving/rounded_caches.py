"""Models of transformers that round keys and values as caches of float8 hold them."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from unittest import mock

import torch
from torch import Tensor


def rounded(values: Tensor, dtype: torch.dtype, scale: float) -> Tensor:
    """Numbers of a cache of float8 with a scale."""
    limit = torch.finfo(dtype).max
    return (values / scale).clamp(-limit, limit).to(dtype).float() * scale


@contextmanager
def float8_caches(model: Any, dtype: torch.dtype, scales: Sequence[tuple[float, float]]) -> Iterator[None]:
    """Rounds the keys and values of each layer, which has two scales; latent attention caches its vectors instead."""
    module = importlib.import_module(type(model).__module__)
    name = "apply_rotary_pos_emb_interleave" if hasattr(module, "apply_rotary_pos_emb_interleave") else ""
    if not name:
        eager = module.eager_attention_forward

        def attend(layer: Any, query: Tensor, key: Tensor, value: Tensor, *arguments: Any, **options: Any) -> Any:
            of_key, of_value = scales[layer.layer_idx]
            key, value = rounded(key, dtype, of_key), rounded(value, dtype, of_value)
            return eager(layer, query, key, value, *arguments, **options)

        with mock.patch.object(module, "eager_attention_forward", attend):
            yield
        return
    rotate = getattr(module, name)
    ((scale, _),) = set(scales)

    def rotated(query: Tensor, key: Tensor, *angles: Tensor) -> tuple[Tensor, Tensor]:
        query, key = rotate(query, key, *angles)
        return query, rounded(key, dtype, scale)

    norms = [layer.self_attn.kv_a_layernorm for layer in model.model.layers]
    hooks = [norm.register_forward_hook(lambda _, __, out: rounded(out, dtype, scale)) for norm in norms]
    with mock.patch.object(module, name, rotated):
        yield
    for hook in hooks:
        hook.remove()

"""The same decoder in plain PyTorch on the CPU: no caches, no flags, every token from the whole sequence before it."""

from __future__ import annotations

import torch
from model import EPS, HEADS, KV_HEADS, SIZE, THETA, VOCABULARY, Array, Request, Weights
from torch.nn import functional


def scores(weights: Weights, tokens: list[int]) -> torch.Tensor:
    """The scores of the next token, in float64."""
    x = _tensor(weights.table)[torch.tensor(tokens)]
    for layer in weights.layers:
        joined = functional.rms_norm(x, x.shape[-1:], _tensor(layer.norm), EPS) @ _tensor(layer.qkv)
        heads = (joined + _tensor(layer.qkv_bias)).reshape(len(tokens), -1, SIZE).transpose(0, 1)
        q, k, v = heads.split([HEADS, KV_HEADS, KV_HEADS])
        found = functional.scaled_dot_product_attention(
            _rotated(q)[None], _rotated(k)[None], v[None], is_causal=True, enable_gqa=True
        )[0]
        x = x + found.transpose(0, 1).reshape(x.shape) + _tensor(layer.bias)
        hidden = functional.rms_norm(x, x.shape[-1:], _tensor(layer.ffn_norm), EPS)
        x = x + (functional.silu(hidden @ _tensor(layer.gate)) * (hidden @ _tensor(layer.up))) @ _tensor(layer.down)
    last = functional.rms_norm(x, x.shape[-1:], _tensor(weights.norm), EPS)[-1]
    return (last @ _tensor(weights.head))[:VOCABULARY]


def generate(weights: Weights, request: Request) -> list[list[int]]:
    """The tokens of each sequence, each the likeliest one."""
    return [_generate(weights, request, b) for b in range(request.batch)]


def _generate(weights: Weights, request: Request, b: int) -> list[int]:
    tokens = list(request.prompts[b])
    # Words are compared with the positions of the batch, padding of the prompt included.
    by_position = tokens + [0] * (request.longest - len(tokens))
    for step in range(request.longest, request.longest + request.steps):
        found = scores(weights, tokens) / (request.temperatures[b] + 1e-6)
        seen = torch.tensor(sorted(set(tokens)))
        penalty = request.penalties[b]
        found[seen] = torch.where(found[seen] > 0, found[seen] / penalty, found[seen] * penalty)
        for word in request.bad_words:
            if tuple(by_position[len(by_position) - len(word) + 1 :]) == word[:-1]:
                found[word[-1]] = -torch.inf
        token = int(found.argmax())
        tokens.append(token)
        by_position.append(token)
        stopped = any(tuple(by_position[-len(word) :]) == word for word in request.stop_words[b])
        if token == request.end_ids[b] or stopped or step >= request.limits[b]:
            break
    return tokens


def _tensor(array: Array) -> torch.Tensor:
    return torch.from_numpy(array).double()


def _rotated(x: torch.Tensor) -> torch.Tensor:
    """Heads [heads, tokens, size] with neighbouring elements rotated by their position."""
    pairs = torch.view_as_complex(x.reshape(*x.shape[:-1], -1, 2).contiguous())
    angles = torch.arange(x.shape[1])[:, None] * THETA ** (-2 * torch.arange(SIZE // 2) / SIZE)
    turns = torch.polar(torch.ones_like(angles, dtype=torch.float64), angles.double())
    return torch.view_as_real(pairs * turns).reshape(x.shape)

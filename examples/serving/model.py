"""A small decoder with grouped heads, rotated positions and a gated feed-forward network: its sizes, its weights, and
what is asked of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

LAYERS, HEADS, KV_HEADS, SIZE, INTER = 2, 8, 2, 8, 96
HIDDEN = HEADS * SIZE
VOCABULARY, PADDED = 61, 64
EPS, THETA = 1e-5, 10000.0


@dataclass(frozen=True)
class Layer:
    """The parameters of one layer, float32. Matrices are [in, out]."""

    norm: Array
    qkv: Array
    qkv_bias: Array
    bias: Array
    ffn_norm: Array
    gate: Array
    down: Array
    up: Array


@dataclass(frozen=True)
class Weights:
    """The parameters of the model, float32: embeddings, layers, the last norm, and the product that gives scores."""

    table: Array
    layers: tuple[Layer, ...]
    norm: Array
    head: Array


def random_weights(seed: int) -> Weights:
    """Weights of a model that was not trained, but tells tokens and positions apart."""
    source = np.random.default_rng(seed)

    def matrix(rows: int, columns: int) -> Array:
        return np.asarray(2 * source.normal(size=(rows, columns)) / np.sqrt(rows), np.float32)

    def vector(count: int, mean: float) -> Array:
        return np.asarray(mean + 0.1 * source.normal(size=count), np.float32)

    wide = (HEADS + 2 * KV_HEADS) * SIZE
    layers = tuple(
        Layer(
            norm=vector(HIDDEN, 1), qkv=matrix(HIDDEN, wide), qkv_bias=vector(wide, 0), bias=vector(HIDDEN, 0),
            ffn_norm=vector(HIDDEN, 1), gate=matrix(HIDDEN, INTER), down=matrix(INTER, HIDDEN),
            up=matrix(HIDDEN, INTER),
        )
        for _ in range(LAYERS)
    )  # fmt: skip
    table = np.asarray(source.normal(size=(VOCABULARY, HIDDEN)), np.float32)
    return Weights(table, layers, vector(HIDDEN, 1), matrix(HIDDEN, PADDED))


@dataclass(frozen=True)
class Request:
    """A batch, one entry to a sequence; `bad_words` and `stop_words` are sequences of tokens. `top_ks` of 1 takes the
    likeliest token; 0 leaves the choice to `top_ps`."""

    prompts: tuple[tuple[int, ...], ...]
    top_ks: tuple[int, ...]
    top_ps: tuple[float, ...]
    temperatures: tuple[float, ...]
    penalties: tuple[float, ...]
    bad_words: tuple[tuple[int, ...], ...]
    stop_words: tuple[tuple[tuple[int, ...], ...], ...]
    end_ids: tuple[int, ...]
    limits: tuple[int, ...]
    seeds: tuple[int, ...]
    steps: int

    @property
    def batch(self) -> int:
        """The number of sequences."""
        return len(self.prompts)

    @property
    def longest(self) -> int:
        """The length of the longest prompt, which is the position of the first token that is generated."""
        return max(map(len, self.prompts))


GREEDY = Request(
    prompts=((3, 7, 11, 2, 9), (5,), (1, 4, 8, 8)),
    top_ks=(1, 1, 1), top_ps=(0.0, 0.0, 0.0), temperatures=(1.0, 0.7, 1.3), penalties=(1.2, 1.3, 1.5),
    bad_words=((6,), (8, 12)), stop_words=((), (), ()), end_ids=(6, 6, 6), limits=(99, 12, 99), seeds=(11, 12, 13),
    steps=16,
)  # fmt: skip
"""Each sequence takes its likeliest token; the second ends at its limit."""

SAMPLED = Request(
    prompts=((3, 7, 11, 2, 9), (5,), (1, 4, 8, 8)),
    top_ks=(5, 0, 20), top_ps=(0.0, 0.8, 0.9), temperatures=(1.0, 0.7, 1.3), penalties=(1.0, 1.1, 1.2),
    bad_words=((6,), (8, 12)), stop_words=((), (), ()), end_ids=(6, 6, 6), limits=(99, 99, 99), seeds=(11, 12, 13),
    steps=16,
)  # fmt: skip
"""Among the 5 likeliest; within 80 % of the probability; both."""

"""Attention of halves that widens one head at a time gives the bits of that which widens whole operands: operands that
are not contiguous are read whole."""

from __future__ import annotations

import numpy as np
import pytest
from cpu_library import CpuLibrary
from reference_values import Array, normal

HEADS, KEY_HEADS, SIZE = 8, 4, 16
QUERIES = np.array([0, 5, 5, 141], np.int32)
KEYS = np.array([0, 270, 271, 280], np.int32)
"""Three sequences; the second has no query, and some queries of the third see no key."""


def _strided(array: Array) -> Array:
    """The same values with a gap behind each."""
    room = np.zeros((*array.shape, 2), array.dtype)
    room[..., 0] = array
    return room[..., 0]


@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.parametrize("size", [SIZE, 1 << 18])
def test_bits_are_those_of_whole_operands(cpu: CpuLibrary, is_causal: bool, size: int) -> None:
    """Forward and backward; with the large size a thread's rows are of a call alone."""
    ends_q, ends_k = (QUERIES, KEYS) if size == SIZE else (QUERIES[:3] % 4, np.array([0, 4, 9], np.int32))
    q = normal(int(ends_q[-1]), HEADS, size, dtype=np.float16)
    k, v = (normal(int(ends_k[-1]), KEY_HEADS, size, dtype=np.float16, seed=seed) for seed in (1, 2))
    k[3, 1, 2] = np.inf
    grad_out = normal(*q.shape, dtype=np.float16, seed=3)
    longest = [int(np.diff(ends).max()) for ends in (ends_q, ends_k)]
    settings = (*longest, 0.0, SIZE**-0.5, is_causal, -1, -1)
    found = []
    for layout in (np.ascontiguousarray, _strided):
        out = layout(np.full_like(q, 7))
        lse = np.zeros((len(ends_q) - 1, HEADS, longest[0]), np.float32)
        operands = [layout(one) for one in (q, k, v)]
        cpu.call("diopiFlashAttentionVarLen", out, lse, None, *operands, ends_q, ends_k, None, *settings)
        gradients = [layout(np.full_like(one, 7)) for one in (q, k, v)]
        cpu.call(
            "diopiFlashAttentionVarLenBackward", *gradients, layout(grad_out), None, *operands, ends_q, ends_k, None,
            out, lse, *settings,
        )  # fmt: skip
        found.append([np.ascontiguousarray(one) for one in (out, lse, *gradients)])
    for by_heads, whole in zip(*found, strict=True):
        np.testing.assert_array_equal(by_heads, whole)
    assert all((one != 7).any() for one in found[0])

"""diopi_ffi: a step of a language model server with arrays of NumPy, over the CPU library. Needs apache-tvm-ffi."""

from __future__ import annotations

import numpy as np
import pytest
from artefacts import artefact

pytest.importorskip("tvm_ffi", reason="apache-tvm-ffi is not installed: pip install apache-tvm-ffi")

import diopi_ffi

pytestmark = pytest.mark.build


@pytest.fixture(scope="module")
def library() -> diopi_ffi.Library:
    artefact("libdiopi_tvm_ffi.so")  # else it would be compiled here
    return diopi_ffi.load(artefact("libdiopi_impl.so"), runtime=str(artefact("libdiopirt.so")))


def test_a_norm_changes_the_residual_stream(library: diopi_ffi.Library) -> None:
    x, residual = np.array([[1, -2], [3, 0.5]], dtype=np.float32), np.ones((2, 2), dtype=np.float32)
    weight = np.array([2, 1], dtype=np.float32)
    total = residual + x
    result = library.residual_rms_norm(input=x, residual=residual, weight=weight, eps=0.0)
    expected = total / np.sqrt((total.astype(np.float64) ** 2).mean(-1, keepdims=True)) * weight
    np.testing.assert_allclose(result, expected, rtol=1e-6)
    np.testing.assert_array_equal(residual, total)


def test_a_token_attends_to_what_was_cached(library: diopi_ffi.Library) -> None:
    generator = np.random.default_rng(0)
    query, key, value = (generator.standard_normal((1, 1, 4)).astype(np.float32) for _ in range(3))
    keys, values = (generator.standard_normal((3, 2, 1, 4)).astype(np.float32) for _ in range(2))
    starts, table = np.array([0, 1], dtype=np.int32), np.array([[2, 0]], dtype=np.int32)
    slots = library.compute_slot_mapping(starts, np.array([2]), table, 2)
    assert slots.tolist() == [0]
    library.reshape_and_cache(keys, values, key, value, slots)
    np.testing.assert_array_equal(keys[0, 0], key[0])
    out = np.zeros_like(query)
    lengths = np.array([3], dtype=np.int32)
    library.paged_attention_var_len(
        out=out,
        softmax_lse=None,
        query=query,
        key_cache=keys,
        value_cache=values,
        block_table=table,
        query_start_loc=starts,
        seq_lens=lengths,
        alibi_slopes=None,
        sinks=None,
        softmax_scale=0.5,
    )
    k, v = (np.concatenate([cache[2, :, 0], cache[0, :1, 0]]).astype(np.float64) for cache in (keys, values))
    weights = np.exp(0.5 * k @ query[0, 0])
    np.testing.assert_allclose(out[0, 0], weights @ v / weights.sum(), rtol=1e-5)

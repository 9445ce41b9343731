"""Calls in the form of the published implementation, its suite and its headers, with results that NumPy computes:
the functions of specs/meaning.yaml that were brought into agreement."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest
from cpu_library import BFLOAT16, ERROR_OCCURRED, CpuLibrary, NewTensor
from reference_values import Array, assert_close, normal, softmax, wide


def _paged(q: Array, slots: tuple[Array, Array], rows: list[int], hidden: Array, dim: int) -> Array:
    """Attention of q [heads * dim] to those slots of keys and values [slots, kv_heads * dim]."""
    heads = q.size // dim
    keys, values = (wide(slot)[rows].reshape(len(rows), -1, dim).repeat(2, axis=1) for slot in slots)
    scores = np.einsum("hd,shd->hs", wide(q).reshape(heads, dim), keys) / np.sqrt(dim)
    return np.asarray(np.einsum("hs,shd->hd", softmax(np.where(hidden, -np.inf, scores), 1), values)).ravel()


@pytest.mark.parametrize("dtype", [np.float16, BFLOAT16, np.float32])
def test_paged_attention_over_slots_in_a_row(cpu: CpuLibrary, dtype: Any) -> None:
    # 10 slots are two blocks of 4 and a part of a third one, which only as much of a sequence may need.
    q, keys, values = (normal(*shape, dtype=dtype, seed=i) for i, shape in enumerate([(2, 16), (10, 8), (10, 8)]))
    mask = np.array([[False, True, False, False, False, False], [True, False, False, False, False, False]])
    table, out = np.array([[1, 2], [0, 0]], np.int32), np.zeros_like(q)
    arguments = ([6, 3], 4, 2, 4, table, 4)
    cpu.call("diopiPagedAttention", out, q, keys, values, mask, *arguments)
    assert_close(out[0], _paged(q[0], (keys, values), [4, 5, 6, 7, 8, 9], mask[0], 4), 4)
    assert_close(out[1], _paged(q[1], (keys, values), [0, 1, 2], mask[1, :3], 4), 4)
    for end in ([7, 3], [6, 3]):
        table[0, 1] = 2 if end[0] == 7 else 3
        status, text = cpu.status("diopiPagedAttention", out, q, keys, values, None, end, *arguments[1:])
        assert status == ERROR_OCCURRED and "C4" in text


def test_labels_of_rotated_boxes_are_not_compared(cpu: CpuLibrary) -> None:
    boxes = np.array([[1, 1, 4, 2, 0, 0], [1, 1, 4, 2, 0, 1], [9, 9, 4, 2, 0, 0]], np.float32)
    retained, scores, order = NewTensor(), np.array([3, 2, 1], np.float32), np.arange(3)
    cpu.call("diopiNmsRotatedMmcv", retained, boxes, scores, order, boxes, np.array([0, 1, 0]), 0.5, True)
    np.testing.assert_array_equal(retained.array, [0, 2])


def test_optimizers_take_numbers_beyond_their_usual_ranges(cpu: CpuLibrary) -> None:
    grad, square = normal(2, 3, seed=1), np.abs(normal(2, 3, seed=2))
    param, buffer = normal(2, 3), normal(2, 3, seed=3)
    old, held = wide(param), buffer.copy()
    mean = 0.9 * wide(square) + 0.1 * wide(grad) ** 2
    cpu.call("diopiRmsprop", param, grad, square, None, buffer, 0.1, 0.9, 1e-6, 0, -2, False)
    assert_close(param, old - 0.1 * wide(grad) / (np.sqrt(mean) + 1e-6), 4)
    np.testing.assert_array_equal(buffer, held)
    param, square, delta = normal(2, 3), np.full((2, 3), 0.5, np.float32), np.full((2, 3), 0.25, np.float32)
    mean = 1.5 * 0.5 - 0.5 * wide(grad) ** 2
    with np.errstate(invalid="ignore"):
        expected = wide(param) - 0.1 * np.sqrt(0.25 + 1e-3) / np.sqrt(mean + 1e-3) * wide(grad)
    cpu.call("diopiAdadelta", param, grad, square, delta, 0.1, 1.5, 1e-3, 0)
    assert_close(param, expected, 8)


def test_optimizers_of_no_elements_have_no_state(cpu: CpuLibrary) -> None:
    none = [np.zeros(0, np.float32) for _ in range(5)]
    cpu.call("diopiRmsprop", *none, 0.1, 0.9, 1e-6, 0, 0.9, True)
    for name in ("diopiAdam", "diopiAdamW"):
        cpu.call(name, *none, 0.1, 0.9, 0.99, 1e-6, 0, 1, True)


def test_the_norm_of_order_0_counts_gradients(cpu: CpuLibrary) -> None:
    grads = [np.array(values, np.float32) for values in ([1, 0, -2], [0, 0], [4], [])]
    norm = ctypes.c_double()
    cpu.call("diopiClipGradNorm", norm, grads, 4, 0.5, 0, True)
    assert norm.value == 2
    assert_close(np.concatenate(grads), np.array([1, 0, -2, 0, 0, 4]) * 0.5 / (2 + 1e-6))


@pytest.mark.parametrize("shape", [(2,), (2, 1)])
def test_overlaps_of_pairs_may_be_a_column(cpu: CpuLibrary, shape: tuple[int, ...]) -> None:
    first = np.array([[0, 0, 2, 2], [0, 0, 1, 1]], np.float32)
    second = np.array([[1, 0, 3, 2], [5, 5, 6, 6]], np.float32)
    ious = np.ones(shape, np.float32)
    cpu.call("diopiBboxOverlapsMmcv", ious, first, second, 0, 0, True)
    assert_close(ious.ravel(), np.array([1 / 3, 0]))


def test_token_0_is_never_banned(cpu: CpuLibrary) -> None:
    logits, ids = np.ones((1, 4), np.float32), np.array([[2], [0]], np.int32)
    words = np.array([[0, 2, 0, 2, 3], [1, 3, 5, -1, -1]], np.int32)
    cpu.call("diopiBanBadWordsInp", logits, ids, words, 0, 5, True, 1, 4, 1)
    np.testing.assert_array_equal(logits, [[1, 1, 1, -np.inf]])


def test_a_bias_covers_the_padding_of_the_vocabulary(cpu: CpuLibrary) -> None:
    logits, bias = normal(2, 6), normal(6, seed=1)
    old = wide(logits)
    cpu.call("diopiBatchApplyTemperaturePenaltyInp", logits, bias, np.array([0.5, 2], np.float32), 2, 4, 6)
    assert_close(logits[:, :4], (old + wide(bias))[:, :4] / (np.array([[0.5], [2]]) + 1e-6), 2)
    assert (logits[:, 4:] == np.finfo(np.float32).min).all()


def test_the_step_of_a_decoder_counts_the_new_token(cpu: CpuLibrary) -> None:
    """One head of 2 elements: the new key is rotated by the position step - 1 - padding and cached there."""
    x, weight, bias = normal(1, 2), normal(2, 6, seed=1), normal(1, 6, seed=2)
    projected = wide(x) @ wide(weight) + wide(bias)
    keys, values = np.zeros((1, 1, 1, 4, 2), np.float32), np.zeros((1, 1, 1, 4, 2), np.float32)
    memory, size = np.zeros(4096, np.float32), ctypes.c_int64(16384)
    lengths, padding = np.array([2], np.int32), np.array([3], np.int32)
    out = x.copy()
    tail = (0, 1, 1, 2, 4, 2, 10000.0)
    cpu.call(
        "diopiFusedDecoderAttentionInp",
        out,
        weight,
        bias,
        memory,
        size,
        0,
        keys,
        values,
        None,
        padding,
        lengths,
        6,
        *tail,
    )
    angle = 2 * np.array([1.0])
    key = projected[0, 2:4]
    rotated = [key[0] * np.cos(angle) - key[1] * np.sin(angle), key[0] * np.sin(angle) + key[1] * np.cos(angle)]
    assert_close(keys[0, 0, 0, 2], np.ravel(rotated), 8)
    assert_close(values[0, 0, 0, 2], projected[0, 4:], 8)
    status, text = cpu.status(
        "diopiFusedDecoderAttentionInp",
        out,
        weight,
        bias,
        memory,
        size,
        0,
        keys,
        values,
        None,
        padding,
        lengths,
        5,
        *tail,
    )
    assert status == ERROR_OCCURRED and "step - 1 - total_padding_tokens" in text

"""The oracles of attention and its gradients against torch. Needs the `torch` extra."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from diopigen.conformance.oracles import Call, answer_of
from diopigen.ir.model import Interface

torch = pytest.importorskip("torch", reason="torch is an optional extra: pip install 'diopigen[torch]'")

SHAPES: dict[str, dict[str, Any]] = {
    "plain": {"keys": 5},
    "causal, fewer queries than keys": {"keys": 6, "is_causal": True},
    "window with bias": {"keys": 5, "window_size_left": 2, "window_size_right": 1, "has_slopes": True},
    "shared key heads": {"keys": 4, "kv_heads": 2, "is_causal": True},
}
BATCH, QUERIES, HEADS, SIZE, SCALE = 2, 4, 4, 8, 0.4


def _setting(
    keys: int,
    kv_heads: int = HEADS,
    is_causal: bool = False,
    window_size_left: int = -1,
    window_size_right: int = -1,
    has_slopes: bool = False,
) -> dict[str, Any]:
    source = np.random.default_rng(7)
    return {
        "q": source.normal(size=(BATCH, QUERIES, HEADS, SIZE)),
        "k": source.normal(size=(BATCH, keys, kv_heads, SIZE)),
        "v": source.normal(size=(BATCH, keys, kv_heads, SIZE)),
        "grad_output": source.normal(size=(BATCH, QUERIES, HEADS, SIZE)),
        "alibi_slopes": source.uniform(0, 1, size=HEADS) if has_slopes else None,
        "p_dropout": 0.0,
        "softmax_scale": SCALE,
        "is_causal": is_causal,
        "window_size_left": window_size_left,
        "window_size_right": window_size_right,
    }


def _bias(setting: dict[str, Any]) -> Any:
    """Bias of the scores, masked keys at minus infinity, written out query by query."""
    keys = setting["k"].shape[1]
    bias = np.zeros((HEADS, QUERIES, keys))
    for head, i, j in np.ndindex(*bias.shape):
        diagonal = i + keys - QUERIES
        left, right = setting["window_size_left"], setting["window_size_right"]
        hidden = (setting["is_causal"] and j > diagonal) or (left >= 0 and j < diagonal - left)
        hidden = hidden or (right >= 0 and j > diagonal + right)
        if setting["alibi_slopes"] is not None:
            bias[head, i, j] = -setting["alibi_slopes"][head] * abs(diagonal - j)
        if hidden:
            bias[head, i, j] = -math.inf
    return torch.tensor(bias)


def _torch_results(setting: dict[str, Any]) -> dict[str, Any]:
    leaves = {name: torch.tensor(setting[name], requires_grad=True) for name in ("q", "k", "v")}
    q, k, v = (leaves[name].transpose(1, 2) for name in ("q", "k", "v"))
    bias = _bias(setting)
    out = torch.nn.functional.scaled_dot_product_attention(
        q, k, v, attn_mask=bias, scale=SCALE, enable_gqa=True
    ).transpose(1, 2)
    gradients = torch.autograd.grad(out, list(leaves.values()), torch.tensor(setting["grad_output"]))
    shared = k.repeat_interleave(HEADS // k.shape[1], dim=1)
    scores = SCALE * q @ shared.transpose(2, 3) + bias
    found = {"attention_out": out, "softmax_lse": torch.logsumexp(scores, dim=-1)}
    found["softmax_max"] = scores.max(dim=-1).values
    found["softmax_sum"] = torch.exp(scores - found["softmax_max"][..., None]).sum(dim=-1)
    found.update({f"grad_{name}": one for name, one in zip("qkv", gradients, strict=True)})
    return {name: value.detach().numpy() for name, value in found.items()}


def _answer(interface: Interface, operator: str, values: dict[str, Any]) -> Any:
    function = interface.function(f"diopi{operator}")
    assert function is not None
    arrays = {name: value for name, value in values.items() if isinstance(value, np.ndarray)}
    shapes = {name: value.shape for name, value in arrays.items()}
    return answer_of(Call(function, values, dict.fromkeys(values, "float64"), shapes))


@pytest.mark.parametrize("name", SHAPES)
def test_forward(name: str, interface: Interface) -> None:
    setting = _setting(**SHAPES[name])
    expected = _torch_results(setting)
    values = {**setting, "softmax_lse": np.zeros((BATCH, HEADS, QUERIES)), "attention_out": np.zeros(0)}
    answer = _answer(interface, "FlashAttention", values)
    np.testing.assert_allclose(answer["attention_out"].values, expected["attention_out"], atol=1e-12)
    np.testing.assert_allclose(answer["softmax_lse"].values, expected["softmax_lse"], atol=1e-12)


@pytest.mark.parametrize("name", SHAPES)
def test_backward(name: str, interface: Interface) -> None:
    setting = _setting(**SHAPES[name])
    expected = _torch_results(setting)
    values = {**setting, "softmax_lse": expected["softmax_lse"], "attention_out": expected["attention_out"]}
    answer = _answer(interface, "FlashAttentionBackward", values)
    for one in ("grad_q", "grad_k", "grad_v"):
        np.testing.assert_allclose(answer[one].values, expected[one], atol=1e-12)


@pytest.mark.parametrize("name", SHAPES)
def test_customized_backward_with_heads_before_tokens(name: str, interface: Interface) -> None:
    setting = _setting(**SHAPES[name])
    expected = _torch_results(setting)
    swapped = {key: setting[key].transpose(0, 2, 1, 3) for key in ("q", "k", "v", "grad_output")}
    values = {
        **setting,
        **swapped,
        "attention_out": expected["attention_out"].transpose(0, 2, 1, 3),
        "attention_mask": None,
        "softmax_max": expected["softmax_max"][..., None],
        "softmax_sum": expected["softmax_sum"][..., None],
        "head_num": HEADS,
        "input_layout": "BNSD",
    }
    answer = _answer(interface, "CustomizedFlashAttentionBackward", values)
    for one in ("grad_q", "grad_k", "grad_v"):
        np.testing.assert_allclose(answer[one].values, expected[one].transpose(0, 2, 1, 3), atol=1e-12)


def test_masked_softmax(interface: Interface) -> None:
    source = np.random.default_rng(3)
    x, mask = source.normal(size=(2, 3, 4, 5)), source.integers(0, 2, size=(2, 1, 4, 5)).astype(bool)
    leaf = torch.tensor(x, requires_grad=True)
    out = torch.softmax((leaf * 0.7).masked_fill(torch.tensor(mask), -10000.0), dim=-1)
    gradient = source.normal(size=x.shape)
    (expected,) = torch.autograd.grad(out, [leaf], torch.tensor(gradient))
    common = {"mask": mask, "scale": 0.7, "fixed_triu_mask": False}
    found = _answer(interface, "ScaledMaskedSoftmax", {"input": x, **common})
    np.testing.assert_allclose(found["output"].values, out.detach().numpy(), atol=1e-12)
    values = {"grad_output": gradient, "output": out.detach().numpy(), **common}
    found = _answer(interface, "ScaledMaskedSoftmaxBackward", values)
    np.testing.assert_allclose(found["grad_input"].values, expected.numpy(), atol=1e-12)

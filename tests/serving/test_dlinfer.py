"""Operators of dlinfer's registry on droplet, each compared with PyTorch on the CPU in float64.

dlinfer has no wheel for this kind of machine, so that its registry is a double: `DLINFER=FOLDER` names the package
`dlinfer` of a checkout instead, as in `git clone` of DeepLink-org/dlinfer.
"""

from __future__ import annotations

import importlib
import os
import shutil
import sys
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor

ROOT = Path(__file__).resolve().parents[2]
DOUBLE = {
    "__init__.py": "import importlib\n"
    "from .vendor import vendor_name\n"
    "importlib.import_module(f'dlinfer.vendor.{vendor_name}')\n",
    "vendor/__init__.py": "import pathlib, yaml\n"
    "vendor_ops_registry = {}\n"
    "vendor_name = yaml.safe_load((pathlib.Path(__file__).parent / 'vendor.yaml').read_text())['vendor']\n",
    "utils/__init__.py": "",
    "utils/registry.py": "def register_ops(registry):\n"
    "    def add(function):\n"
    "        registry[function.__name__] = function\n"
    "        return function\n"
    "    return add\n",
}
"""Files of dlinfer that a vendor's module and the selection of a vendor need."""
Case = tuple[tuple[Any, ...], tuple[Any, ...]]
"""Arguments and expected results, on the CPU."""
BLOCK, HEADS, KV_HEADS, SIZE = 4, 4, 2, 8
TABLE = torch.tensor([[5, 0, 3], [2, 6, 1]], dtype=torch.int32)
"""Blocks of two requests."""
MASK = torch.ones(1)
"""Only whether there is one counts."""
METADATA = SimpleNamespace(ep_size=1, tp_size=1, router_n_groups=-1)


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Callable[..., Any]]]:
    """The registry after `import dlinfer`, with the files that the wheel dlinfer-diopi adds."""
    folder = tmp_path_factory.mktemp("packages")
    if (source := os.environ.get("DLINFER")) is not None:
        shutil.copytree(source, folder / "dlinfer")
    else:
        for name, text in DOUBLE.items():
            path = folder / "dlinfer" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
    for path in (ROOT / "generated/dlinfer/diopi.py", ROOT / "dlinfer_diopi/vendor.yaml"):
        shutil.copy(path, folder / "dlinfer/vendor")
    sys.path.insert(0, str(folder))
    importlib.import_module("dlinfer")
    yield importlib.import_module("dlinfer.vendor").vendor_ops_registry
    sys.path.remove(str(folder))


def normal(name: str, *shape: int) -> Tensor:
    """Values that the name determines."""
    return torch.randn(shape, generator=torch.Generator().manual_seed(zlib.crc32(name.encode())))


def normalized(x: Tensor, weight: Tensor) -> Tensor:
    x = x.double()
    return (x * (x.square().mean(-1, keepdim=True) + 1e-5).rsqrt() * weight.double()).float()


def attention(
    query: Tensor, key: Tensor, value: Tensor, *, scale: float, is_causal: bool, slopes: Any = None
) -> Tensor:
    """Of one request, whose queries are the last of its keys: [tokens, heads, size] over [keys, kv_heads, size]."""
    groups = query.shape[1] // key.shape[1]
    key, value = (x.double().repeat_interleave(groups, 1) for x in (key, value))
    scores = torch.einsum("qhd,khd->hqk", query.double(), key) * scale
    distance = torch.arange(len(key)) - torch.arange(len(key) - len(query), len(key))[:, None]
    if slopes is not None:
        scores -= torch.tensor(slopes)[:, None, None] * distance.abs()
    if is_causal:
        scores = scores.masked_fill(distance > 0, -torch.inf)
    return torch.einsum("hqk,khd->qhd", scores.softmax(-1), value).float()


def cached(caches: tuple[Tensor, Tensor], request: int, length: int) -> list[Tensor]:
    """Keys and values of a request."""
    return [cache[TABLE[request].long()].flatten(0, 1)[:length] for cache in caches]


def rms_norm() -> Case:
    x, weight = normal("x", 3, 16), normal("weight", 16)
    return (x, weight, 1e-5), (normalized(x, weight),)


def add_rms_norm() -> Case:
    x, residual, weight = normal("x", 3, 16), normal("residual", 3, 16), normal("weight", 16)
    return (x, residual, weight, 1e-5), (normalized(x + residual, weight), x + residual)


def apply_rotary_pos_emb() -> Case:
    """Six of eight elements of each head are rotated."""
    query, key = normal("query", 5, HEADS, SIZE), normal("key", 5, KV_HEADS, SIZE)
    angles = normal("angles", 1, 5, 3).repeat(1, 1, 2)

    def rotated(x: Tensor) -> Tensor:
        complex_ = torch.complex(x[..., :3], x[..., 3:6]) * torch.exp(1j * angles[0, :, None, :3])
        return torch.cat((complex_.real, complex_.imag, x[..., 6:]), -1)

    return (query, key, angles.cos(), angles.sin()), (rotated(query), rotated(key))


def silu_and_mul() -> Case:
    x = normal("x", 2, 3, 10)
    return (x, -1), (torch.nn.functional.silu(x[..., :5]) * x[..., 5:],)


def prefill_attention(mask: tuple[Tensor, ...] = (MASK,), slopes: Any = None, value_size: int = SIZE) -> Case:
    query, key = normal("query", 8, HEADS, SIZE), normal("key", 8, KV_HEADS, SIZE)
    value = normal("value", 8, KV_HEADS, value_size)
    starts, lengths = torch.tensor([0, 5]), torch.tensor([5, 3])
    parts = [(slice(0, 5)), slice(5, 8)]
    expected = [
        attention(query[one], key[one], value[one], scale=SIZE**-0.5, is_causal=len(mask) > 0, slopes=slopes)
        for one in parts
    ]
    out = torch.zeros(8, HEADS, value_size)
    return (query, key, value, starts, lengths, 5, HEADS, KV_HEADS, mask, None, slopes, out), (torch.cat(expected),)


def fill_kv_cache() -> Case:
    key, value = normal("key", 3, KV_HEADS, SIZE), normal("value", 3, KV_HEADS, 6)
    keys, values = normal("keys", 7, BLOCK, KV_HEADS, SIZE), normal("values", 7, BLOCK, KV_HEADS, 6)
    slots = torch.tensor([[9], [2], [27]])
    written = [cache.clone() for cache in (keys, values)]
    for slot, one_key, one_value in zip(slots.flatten().tolist(), key, value, strict=True):
        written[0][slot // BLOCK, slot % BLOCK], written[1][slot // BLOCK, slot % BLOCK] = one_key, one_value
    return (key, value, keys, values, slots, (), (), 0), (*written,)


def paged_decode_attention(value_size: int = SIZE, tokens: int = 1) -> Case:
    caches = normal("keys", 7, BLOCK, KV_HEADS, SIZE), normal("values", 7, BLOCK, KV_HEADS, value_size)
    query, lengths, slopes = (
        normal("query", 2 * tokens, HEADS, SIZE),
        torch.tensor([11, 4], dtype=torch.int32),
        [0.1, 0.2, 0.3, 0.4],
    )
    expected = [
        attention(one, *cached(caches, request, length), scale=0.3, is_causal=True, slopes=slopes)
        for request, (one, length) in enumerate(zip(query.split(tokens), lengths.tolist(), strict=True))
    ]
    shape = HEADS, KV_HEADS, 0.3, slopes, None, None, None, 0
    ones = torch.full((2,), tokens)
    return (query, *caches, TABLE, BLOCK, ones, lengths, 11, *shape), (torch.cat(expected),)


def paged_prefill_attention(has_end: bool = True) -> Case:
    """Three new tokens behind six keys, and four behind none."""
    caches = normal("keys", 7, BLOCK, KV_HEADS, SIZE), normal("values", 7, BLOCK, KV_HEADS, SIZE)
    query, lengths = normal("query", 7, HEADS, SIZE), torch.tensor([9, 4])
    starts, new = torch.tensor([0, 3, 7][: 3 if has_end else 2]), torch.tensor([3, 4])
    expected = [
        attention(query[part], *cached(caches, request, length), scale=SIZE**-0.5, is_causal=True)
        for request, (part, length) in enumerate(((slice(0, 3), 9), (slice(3, 7), 4)))
    ]
    ends = torch.tensor([0, 9, 13])
    sizes = 4, 9, HEADS, KV_HEADS, [torch.ones(1)], None, None, torch.zeros(7, HEADS, SIZE), None, None, 0
    arguments = query, query, query, *caches, TABLE, BLOCK, starts, new, lengths, ends, *sizes
    return arguments, (torch.cat(expected),)


def moe_gating_topk_softmax() -> Case:
    logits = normal("logits", 5, 8)
    weights, ids = logits.softmax(-1).topk(3)
    return (logits, 3, METADATA), (weights, ids)


def fused_moe(renormalize: bool = True) -> Case:
    x, gate_up, down = normal("x", 5, 8), normal("gate_up", 4, 12, 8), normal("down", 4, 8, 6)
    weights, ids = normal("logits", 5, 4).softmax(-1).topk(2)
    shares = weights / weights.sum(-1, keepdim=True) if renormalize else weights
    expected = torch.zeros(5, 8, dtype=torch.float64)
    for token in range(5):
        for share, expert in zip(shares[token], ids[token], strict=True):
            gate, up = (gate_up[expert].double() @ x[token].double()).chunk(2)
            expected[token] += share * (down[expert].double() @ (torch.nn.functional.silu(gate) * up))
    return (x, gate_up, down, weights, ids.int(), 2, renormalize, METADATA), (expected.float(),)


def linear() -> Case:
    x, weight, bias = normal("x", 2, 3, 8), normal("weight", 5, 8), normal("bias", 5)
    return (x, weight, bias, False, ""), ((x.double() @ weight.double().T + bias).float(),)


def levels(x: Tensor) -> tuple[Tensor, Tensor]:
    """int8 and the scale of each token, whose largest magnitude becomes 127."""
    scale = x.abs().amax(-1) / 127
    return torch.round(x / scale[..., None]).to(torch.int8), scale


def dynamic_quant() -> Case:
    x = normal("x", 4, 16)
    return (x, torch.int8, "PER_TOKEN"), levels(x)


def linear_w8a8() -> Case:
    (x, scale), (weight, weight_scale), bias = (
        levels(normal("x", 4, 16)),
        levels(normal("weight", 6, 16)),
        normal("bias", 6),
    )
    products = x.double() @ weight.double().T
    expected = products * scale[:, None].double() * weight_scale.double() + bias
    return (x[None], weight, scale[None], weight_scale, torch.float32, torch.int8, bias), (expected.float()[None],)


def rms_norm_w8a8() -> Case:
    (x, weight, epsilon), (expected,) = rms_norm()
    return (x, weight, epsilon, torch.int8), levels(expected)


def add_rms_norm_w8a8() -> Case:
    arguments, (expected, residual) = add_rms_norm()
    return (*arguments, torch.int8), (*levels(expected), residual)


def fill_contiguous_kvcache() -> Case:
    caches = normal("keys", 1, 4, 2, 8), normal("values", 1, 4, 2, 6)
    states = normal("key", 1, 1, 2, 8), normal("value", 1, 1, 2, 6)
    return (*caches, *states), tuple(torch.cat(pair, 1) for pair in zip(caches, states, strict=True))


def get_cache_len() -> Case:
    return (normal("keys", 1, 4, 2, 8),), (4,)


CASES: tuple[Callable[[], Case], ...] = (
    rms_norm, add_rms_norm, apply_rotary_pos_emb, silu_and_mul, prefill_attention, fill_kv_cache,
    paged_decode_attention, paged_prefill_attention, moe_gating_topk_softmax, fused_moe, linear, dynamic_quant,
    linear_w8a8, rms_norm_w8a8, add_rms_norm_w8a8, fill_contiguous_kvcache, get_cache_len,
)  # fmt: skip
FURTHER: dict[str, tuple[str, Callable[[], Case]]] = {
    "vision, without a mask": ("prefill_attention", lambda: prefill_attention(())),
    "prompts with linear bias": ("prefill_attention", lambda: prefill_attention(slopes=[0.1, 0.2, 0.3, 0.4])),
    "prompts with smaller values": ("prefill_attention", lambda: prefill_attention(value_size=6)),
    "decoding with smaller values": ("paged_decode_attention", lambda: paged_decode_attention(value_size=6)),
    "decoding with drafts": ("paged_decode_attention", lambda: paged_decode_attention(tokens=3)),
    "starts without an end": ("paged_prefill_attention", lambda: paged_prefill_attention(has_end=False)),
    "weights as they are": ("fused_moe", lambda: fused_moe(False)),
}


def on(device: str, value: Any) -> Any:
    if isinstance(value, tuple | list):
        return type(value)(on(device, one) for one in value)
    return value.to(device) if isinstance(value, Tensor) else value


def test_every_operator_has_a_case(registry: dict[str, Callable[..., Any]]) -> None:
    assert sorted(registry) == sorted(case.__name__ for case in CASES)


@pytest.mark.parametrize("case", [*((one.__name__, one) for one in CASES), *FURTHER.values()],
                         ids=[*(one.__name__ for one in CASES), *FURTHER])  # fmt: skip
def test_an_operator_has_the_results_of_the_cpu(
    case: tuple[str, Callable[[], Case]], registry: dict[str, Callable[..., Any]]
) -> None:
    name, create = case
    arguments, expected = create()
    results = registry[name](*on("droplet", arguments))
    results = results if isinstance(results, tuple) else (results,)
    for result in results:
        assert not isinstance(result, Tensor) or result.device.type == "droplet"
    torch.testing.assert_close(on("cpu", results), expected)


def test_results_go_where_the_caller_has_room(registry: dict[str, Callable[..., Any]]) -> None:
    arguments, _ = prefill_attention()
    moved = on("droplet", arguments)
    assert registry["prefill_attention"](*moved) is moved[-1]


@pytest.mark.parametrize(
    ("name", "create", "changed", "sentence"),
    [
        ("fill_kv_cache", fill_kv_cache, {7: 8}, "caches have the dtype of keys and values"),
        ("dynamic_quant", dynamic_quant, {2: "PER_TENSOR"}, "scales are those of tokens"),
        ("fused_moe", fused_moe, {7: SimpleNamespace(ep_size=2)}, "experts are all on one device"),
        ("silu_and_mul", silu_and_mul, {1: 0}, "the halves are those of the last dimension"),
    ],
)
def test_what_is_not_served_is_named(
    name: str,
    create: Callable[[], Case],
    changed: dict[int, Any],
    sentence: str,
    registry: dict[str, Callable[..., Any]],
) -> None:
    arguments = [changed.get(position, value) for position, value in enumerate(on("droplet", create()[0]))]
    with pytest.raises(NotImplementedError, match=f"{name} of dlinfer on DIOPI: {sentence}"):
        registry[name](*arguments)

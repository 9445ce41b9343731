"""`torch.ops.diopi` for servers of language models, on droplet natively, against plain PyTorch on the CPU."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest
import torch
from kernel_agreement import moved
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.nn import functional as F

HALF, SIZE, TOKENS = 4, 8, 5


def _random(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def _norm(residual: torch.Tensor | None, x: torch.Tensor, weight: torch.Tensor) -> list[torch.Tensor]:
    total = x if residual is None else x + residual
    return [F.rms_norm(total, total.shape[-1:], weight, 1e-6), *([] if residual is None else [total])]


def _rotated(x: torch.Tensor, positions: torch.Tensor, table: torch.Tensor) -> torch.Tensor:
    heads = x.unflatten(-1, (-1, SIZE))
    factors = torch.complex(table[:, :HALF], table[:, HALF:])[positions][:, None]
    rotated = torch.complex(heads[..., :HALF], heads[..., HALF:]) * factors
    return torch.cat([rotated.real, rotated.imag], -1).flatten(-2)


def _native(call: Callable[[], Any]) -> Any:
    """The result of a call that runs nothing on the CPU on behalf of the device."""
    from torch_droplet import fallback_report, reset_fallback_report

    reset_fallback_report()
    result = call()
    assert not set(fallback_report()), fallback_report()
    return result


@pytest.mark.parametrize("residual", [None, _random(TOKENS, 16, seed=3)], ids=["alone", "residual"])
def test_norm(droplet: torch.device, residual: torch.Tensor | None) -> None:
    arguments = [residual, _random(TOKENS, 16), _random(16, seed=1)]
    there = moved(arguments, droplet)
    result = _native(lambda: torch.ops.diopi.residual_rms_norm(*there))
    expected = _norm(*arguments)
    torch.testing.assert_close(result.cpu(), expected[0])
    if residual is not None:
        torch.testing.assert_close(there[0].cpu(), expected[1])


def test_norm_in_place(droplet: torch.device) -> None:
    arguments = [_random(TOKENS, 16, seed=3), _random(TOKENS, 16), _random(16, seed=1)]
    there = moved(arguments, droplet)
    assert _native(lambda: torch.ops.diopi.residual_rms_norm_inp(*there)) is None
    normalized, total = _norm(*arguments)
    torch.testing.assert_close(there[1].cpu(), normalized)
    torch.testing.assert_close(there[0].cpu(), total)


def test_rotary_embedding_of_slices(droplet: torch.device) -> None:
    """Queries and keys are slices of one projection, which lie between each other in memory."""
    qkv, table = _random(TOKENS, 8 * SIZE), _random(11, 2 * HALF, seed=1)
    positions = torch.tensor([3, 10, 0, 7, 7])
    there = qkv.to(droplet)
    query, key = there[:, : 4 * SIZE], there[:, 4 * SIZE : 6 * SIZE]
    where = positions.to(droplet), table.to(droplet)
    _native(lambda: torch.ops.diopi.rotary_embedding_by_position_inp(query, key, *where, SIZE, False))
    parts = [
        _rotated(qkv[:, : 4 * SIZE], positions, table),
        _rotated(qkv[:, 4 * SIZE : 6 * SIZE], positions, table),
        qkv[:, 6 * SIZE :],
    ]
    torch.testing.assert_close(there.cpu(), torch.cat(parts, 1))


@pytest.mark.parametrize(
    ("name", "options", "activation"),
    [
        ("silu_and_mul", {}, F.silu),
        ("gelu_and_mul", {}, F.gelu),
        ("gelu_and_mul", {"approximate": "tanh"}, lambda x: F.gelu(x, approximate="tanh")),
    ],
)
def test_gates(droplet: torch.device, name: str, options: dict[str, str], activation: Any) -> None:
    x = _random(TOKENS, 24)
    out = torch.empty(TOKENS, 12, device=droplet)
    _native(lambda: getattr(torch.ops.diopi, name)(out, x.to(droplet), **options))
    first, second = x.chunk(2, -1)
    torch.testing.assert_close(out.cpu(), activation(first) * second)


def test_a_step_of_decoding_over_a_cache_of_vllm(droplet: torch.device) -> None:
    """Slots, cache writes and attention of a prompt and a decoding request. The cache is one tensor, keys and then
    values on the last axis, as vLLM allocates it."""
    heads, kv_heads, block = 4, 2, 4
    cache = _random(6, block, kv_heads, 2 * SIZE, seed=1)
    query, key, value = (_random(TOKENS, n, SIZE, seed=s) for n, s in ((heads, 2), (kv_heads, 3), (kv_heads, 4)))
    starts = torch.tensor([0, 4, 5], dtype=torch.int32)
    lengths = torch.tensor([4, 7], dtype=torch.int32)
    table = torch.tensor([[3, 0], [5, 1]], dtype=torch.int32)
    positions = torch.tensor([0, 1, 2, 3, 6])

    device_cache = cache.to(droplet)
    keys, values = device_cache[..., :SIZE], device_cache[..., SIZE:]
    q, k, v, s, n, t, p = moved([query, key, value, starts, lengths, table, positions], droplet)
    out = torch.zeros(TOKENS, heads, SIZE, device=droplet)

    def step() -> None:
        slots = torch.ops.diopi.compute_slot_mapping(s, p, t, block)
        torch.ops.diopi.reshape_and_cache(keys, values, k, v, slots)
        torch.ops.diopi.paged_attention_var_len(out, None, q, keys, values, t, s, n, None, None, SIZE**-0.5)

    _native(step)
    for token, (request, position) in enumerate([(0, 0), (0, 1), (0, 2), (0, 3), (1, 6)]):
        slot = table[request, position // block], position % block
        cache[slot] = torch.cat([key[token], value[token]], -1)
    torch.testing.assert_close(device_cache.cpu(), cache)
    for request, rows in enumerate([slice(0, 4), slice(4, 5)]):
        length = int(lengths[request])
        k, v = cache[table[request].long()].flatten(0, 1)[:length].transpose(0, 1).chunk(2, -1)
        q = query[rows].transpose(0, 1)
        mask = torch.ones(q.shape[1], length, dtype=torch.bool).tril(length - q.shape[1])
        found = F.scaled_dot_product_attention(q[None], k[None], v[None], attn_mask=mask, enable_gqa=True)[0]
        torch.testing.assert_close(out[rows].cpu(), found.transpose(0, 1))


def test_states_are_merged(droplet: torch.device) -> None:
    scores, values = _random(2, TOKENS, 9), _random(2, 9, SIZE, seed=1)
    parts = [(scores[..., part], values[:, part]) for part in (slice(0, 4), slice(4, 9))]
    states = [((s.softmax(-1) @ v).transpose(0, 1).contiguous(), s.logsumexp(-1)) for s, v in parts]
    there = [tensor.to(droplet) for state in states for tensor in state]
    lse = torch.empty(2, TOKENS, device=droplet)
    out = _native(lambda: torch.ops.diopi.merge_attention_states(lse, *there))
    torch.testing.assert_close(out.cpu(), (scores.softmax(-1) @ values).transpose(0, 1))
    torch.testing.assert_close(lse.cpu(), scores.logsumexp(-1))


def test_blocks_are_copied(droplet: torch.device) -> None:
    cache, other = _random(5, 4, 2), _random(3, 4, 2, seed=1)
    there = cache.to(droplet)
    blocks = moved([torch.tensor([0, 1, 4]), torch.tensor([1, 2, 3])], droplet)
    _native(lambda: torch.ops.diopi.copy_blocks_inp(there, *blocks))
    assert torch.equal(there.cpu(), cache[[0, 0, 1, 4, 4]])
    target = other.to(droplet)
    where = moved([torch.tensor([4, 0]), torch.tensor([0, 2])], droplet)
    _native(lambda: torch.ops.diopi.swap_blocks(target, there, *where))
    assert torch.equal(target.cpu(), torch.stack([cache[4], other[1], cache[0]]))


def test_a_mixture_of_experts(droplet: torch.device) -> None:
    x, router = _random(TOKENS, 16), _random(TOKENS, 6, seed=1)
    first, second = _random(6, 24, 16, seed=2), _random(6, 16, 12, seed=3)
    ids = torch.empty(TOKENS, 2, dtype=torch.int32, device=droplet)

    def layer() -> torch.Tensor:
        there = moved([x, router, first, second], droplet)
        weights = torch.ops.diopi.topk_gating(ids, there[1], None, 2, "softmax", True)
        return torch.ops.diopi.fused_experts(there[0], there[2], there[3], weights, ids)

    found = _native(layer)
    weights, experts = router.softmax(-1).topk(2)
    weights = weights / weights.sum(-1, keepdim=True)
    expected = torch.zeros_like(x)
    for token in range(TOKENS):
        for weight, expert in zip(weights[token], experts[token], strict=True):
            gate, up = (x[token] @ first[expert].T).chunk(2)
            expected[token] += weight * ((F.silu(gate) * up) @ second[expert].T)
    assert torch.equal(ids.cpu().long(), experts)
    torch.testing.assert_close(found.cpu(), expected)
    rows = moved([torch.zeros(TOKENS, 24), x, first[:2], torch.tensor([2, 5])], droplet)
    _native(lambda: torch.ops.diopi.grouped_gemm(rows[0], rows[1], rows[2], None, rows[3]))
    torch.testing.assert_close(rows[0].cpu(), torch.cat([x[:2] @ first[0].T, x[2:] @ first[1].T]))


def test_the_next_tokens(droplet: torch.device) -> None:
    logits, held = _random(3, 40), torch.tensor([[1, 5, 40], [0, 40, 40], [7, 7, 2]])
    penalties = [torch.full((3,), value) for value in (0.5, 0.25, 1.5)]
    there = logits.to(droplet)
    state = moved([held, held, *penalties], droplet)
    limits = moved([torch.tensor([4, 0, 9]), torch.tensor([1.0, 0.6, 0.9])], droplet)
    uniforms = torch.tensor([0.1, 0.5, 0.9])

    def step() -> torch.Tensor:
        torch.ops.diopi.penalize_logits_inp(there, *state)
        torch.ops.diopi.mask_logits_inp(there, *limits)
        return torch.ops.diopi.sample_tokens(there, uniforms.to(droplet))

    tokens = _native(step)
    counts = F.one_hot(held, 41).sum(1)[:, :40]
    scaled = torch.where(counts > 0, torch.where(logits > 0, logits / 1.5, logits * 1.5), logits)
    scaled = scaled - 0.25 * counts - 0.5 * (counts > 0)
    ordered = scaled.sort(descending=True)
    above = ordered.values.softmax(-1).cumsum(-1) - ordered.values.softmax(-1)
    stays = torch.stack([torch.arange(40) < 4, above[1] < 0.6, torch.arange(40) < 9])
    ninth = ordered.values[2, :9].softmax(-1)
    stays[2, :9] &= ninth.cumsum(-1) - ninth < 0.9
    expected = torch.full_like(logits, -torch.inf).scatter(
        1, ordered.indices, ordered.values.masked_fill(~stays, -torch.inf)
    )
    torch.testing.assert_close(there.cpu(), expected)
    running = expected.softmax(-1).cumsum(-1)
    assert torch.equal(tokens.cpu(), torch.searchsorted(running, uniforms[:, None], right=True)[:, 0])


def test_quantized_linear_layers(droplet: torch.device) -> None:
    x, scale, bias = _random(TOKENS, 32), _random(8, 2, seed=1).abs(), _random(8, seed=2)
    levels = torch.randint(0, 16, (8, 32), generator=torch.Generator().manual_seed(3))
    words = sum(levels.unflatten(1, (4, 8))[..., i] << 4 * i for i in range(8))
    packed = torch.where(words >= 1 << 31, words - (1 << 32), words).int()
    arguments = moved([x, packed, scale, None, bias], droplet)
    out = torch.empty(TOKENS, 8, device=droplet)
    _native(lambda: torch.ops.diopi.packed_linear(out, *arguments))
    weight = (levels - 8) * scale.repeat_interleave(16, 1)
    torch.testing.assert_close(out.cpu(), F.linear(x, weight, bias), rtol=1e-5, atol=1e-5)

    weight_levels, weight_scale = torch.randint(-127, 128, (8, 32), dtype=torch.int8), torch.rand(8, 1)
    factors = torch.empty(TOKENS, 1, device=droplet)

    def layer() -> torch.Tensor:
        quantized = torch.ops.diopi.quantize_by_token(factors, x.to(droplet))
        there = moved([weight_levels, weight_scale], droplet)
        torch.ops.diopi.scaled_int8_linear(out, quantized, there[0], factors, there[1])
        return quantized

    quantized = _native(layer).cpu()
    torch.testing.assert_close(factors.cpu(), x.abs().amax(1, keepdim=True) / 127)
    assert int((quantized - (x / factors.cpu()).round()).abs().max()) == 0
    expected = (quantized.float() * factors.cpu()) @ (weight_levels.float() * weight_scale).T
    torch.testing.assert_close(out.cpu(), expected, rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("bits", [4, 8])
def test_layers_of_gptq(bits: int, droplet: torch.device) -> None:
    count = 32 // bits
    levels = torch.randint(0, 1 << bits, (32, 8), generator=torch.Generator().manual_seed(3))
    zeros = torch.randint(0, (1 << bits) - 1, (2, 8), generator=torch.Generator().manual_seed(4))
    x, scale, bias = _random(TOKENS, 32), _random(2, 8, seed=1).abs(), _random(8, seed=2)
    group = torch.arange(32) % 2
    operands = [x, _words(levels.T, bits, range(count)).T.contiguous(), scale, _words(zeros, bits, range(count))]
    arguments = moved([*operands, group.int(), bias], droplet)
    out = torch.empty(TOKENS, 8, device=droplet)
    _native(lambda: torch.ops.diopi.gptq_linear(out, *arguments, bits, 1))
    weight = (levels - zeros[group] - 1) * scale[group]
    torch.testing.assert_close(out.cpu(), F.linear(x, weight.T, bias), rtol=1e-5, atol=1e-4)


def test_layers_of_awq(droplet: torch.device) -> None:
    order = [0, 2, 4, 6, 1, 3, 5, 7]
    levels, zeros = (torch.randint(0, 16, (n, 16), generator=torch.Generator().manual_seed(n)) for n in (32, 2))
    x, scale = _random(TOKENS, 32), _random(2, 16, seed=1).abs()
    arguments = moved([x, _words(levels, 4, order), scale, _words(zeros, 4, order)], droplet)
    out = torch.empty(TOKENS, 16, device=droplet)
    _native(lambda: torch.ops.diopi.awq_linear(out, *arguments))
    weight = (levels - zeros.repeat_interleave(16, 0)) * scale.repeat_interleave(16, 0)
    torch.testing.assert_close(out.cpu(), x @ weight, rtol=1e-5, atol=1e-4)


def _words(levels: torch.Tensor, bits: int, order: Iterable[int]) -> torch.Tensor:
    """Words of unsigned integers of the last dimension, numbers `order` of them from the lowest bits on."""
    fields = levels.unflatten(-1, (-1, 32 // bits))[..., list(order)]
    words = (fields.long() << torch.arange(0, 32, bits)).sum(-1)
    return torch.where(words >= 1 << 31, words - (1 << 32), words).int()


@pytest.mark.parametrize("dtype", [torch.float8_e4m3fn, torch.float8_e5m2])
def test_layers_of_float8(dtype: torch.dtype, droplet: torch.device) -> None:
    x, weight = _random(TOKENS, 40), _random(24, 40, seed=1)
    largest = torch.finfo(dtype).max
    levels, scale = (torch.empty(TOKENS, size, device=droplet, dtype=kind) for size, kind in ((40, dtype), (3, None)))
    _native(lambda: torch.ops.diopi.quantize_float8_by_token(levels, scale, x.to(droplet), 16))
    groups = torch.stack([one.abs().amax(1) for one in x.split(16, 1)], 1) / largest
    torch.testing.assert_close(scale.cpu(), groups)
    spread = groups.repeat_interleave(16, 1)[:, :40]
    assert torch.equal(levels.cpu().float(), (x / spread).to(dtype).float())

    powers = torch.tensor([[0.5, 2, 1], [4, 0.25, 1]]).to(torch.float8_e8m0fnu)
    bias, out = _random(24, seed=2), torch.empty(TOKENS, 24, device=droplet)
    there = moved([weight.to(dtype), scale.cpu(), powers, bias], droplet)
    _native(lambda: torch.ops.diopi.scaled_float8_linear(out, levels, *there, 16))
    tiles = powers.float().repeat_interleave(16, 0).repeat_interleave(16, 1)[:24, :40]
    expected = F.linear((x / spread).to(dtype).float() * spread, weight.to(dtype).float() * tiles, bias)
    torch.testing.assert_close(out.cpu(), expected, rtol=1e-5, atol=1e-4)

    known = torch.tensor([0.01])
    _native(lambda: torch.ops.diopi.quantize_float8(levels, x.to(droplet), known.to(droplet)))
    assert torch.equal(levels.cpu().float(), (x / known).clamp(-largest, largest).to(dtype).float())


def test_rows_of_a_sharded_vocabulary(droplet: torch.device) -> None:
    table, tokens = _random(5, 3), torch.tensor([[9, 10], [14, 15]])
    out = torch.empty(2, 2, 3, device=droplet)
    there = moved([table, tokens], droplet)
    _native(lambda: torch.ops.diopi.sharded_embedding(out, *there, 10))
    assert torch.equal(out.cpu(), torch.stack([torch.zeros(3), table[0], table[4], torch.zeros(3)]).view(2, 2, 3))


@pytest.mark.parametrize("dtype", [torch.float8_e4m3fn, torch.float8_e5m2])
def test_a_cache_of_float8(droplet: torch.device, dtype: torch.dtype) -> None:
    """Keys and values are quantized with scales, written to a cache that vLLM allocates as bytes, and read."""
    cache = torch.zeros(3, 4, 2, 2 * SIZE, dtype=torch.uint8)
    query, key, value = (_random(TOKENS, 2, SIZE, seed=seed) for seed in (2, 3, 4))
    scales = [torch.tensor([0.25]), torch.tensor([0.5])]
    there = moved([query, key, value, *scales, torch.arange(TOKENS), torch.tensor([[0, 1]])], droplet)
    starts, lengths = moved([torch.tensor([0, TOKENS]), torch.tensor([TOKENS])], droplet)
    keys, values = cache.to(droplet).view(dtype).split(SIZE, -1)
    out = torch.empty(TOKENS, 2, SIZE, device=droplet)

    def step() -> None:
        new = [torch.empty(TOKENS, 2, SIZE, device=droplet, dtype=dtype) for _ in range(2)]
        torch.ops.diopi.quantize_float8(new[0], there[1], there[3])
        torch.ops.diopi.quantize_float8(new[1], there[2], there[4])
        torch.ops.diopi.reshape_and_cache(keys, values, *new, there[5])
        options = (None, None, SIZE**-0.5, True, -1, -1, 0.0, there[3], there[4])
        torch.ops.diopi.paged_attention_var_len(out, None, there[0], keys, values, there[6], starts, lengths, *options)

    _native(step)
    rounded = [(new / scale).to(dtype).float() * scale for new, scale in zip((key, value), scales, strict=True)]
    q, k, v = (one.transpose(0, 1)[None] for one in (query, *rounded))
    expected = F.scaled_dot_product_attention(q, k, v, is_causal=True)[0].transpose(0, 1)
    torch.testing.assert_close(out.cpu(), expected)


def test_experts_of_float8(droplet: torch.device) -> None:
    x, ids = _random(TOKENS, 16), torch.tensor([[0, 2], [1, 0], [2, 1], [0, 1], [1, 2]])
    first, second = ((_random(3, *size, seed=2) / 4).to(torch.float8_e4m3fn) for size in ((24, 16), (16, 12)))
    rows, blocks = _random(3, 24, 1, seed=3).abs(), _random(3, 2, 2, seed=4).abs()
    weights = _random(TOKENS, 2, seed=5).abs()
    there = moved([x, first, second, weights, ids], droplet)
    scales = moved([rows, blocks], droplet)
    found = _native(lambda: torch.ops.diopi.fused_experts(*there, None, None, None, "silu", scales[0], scales[1], 8))
    down = second.float() * blocks.repeat_interleave(8, 1).repeat_interleave(8, 2)[..., :12]
    expected = torch.zeros_like(x)
    for token in range(TOKENS):
        for weight, expert in zip(weights[token], ids[token], strict=True):
            gate, up = (x[token] @ (first[expert].float() * rows[expert]).T).chunk(2)
            expected[token] += weight * ((F.silu(gate) * up) @ down[expert].T)
    torch.testing.assert_close(found.cpu(), expected)


def test_fake_results_have_sizes_and_dtypes(torch_droplet: Any) -> None:
    with FakeTensorMode():
        x = torch.empty(3, 8, device="droplet", dtype=torch.half)
        result = torch.ops.diopi.residual_rms_norm(None, x)
        assert (result.shape, result.dtype, result.device.type) == ((3, 8), torch.half, "droplet")
        starts, table = (torch.empty(n, device="droplet", dtype=torch.int32) for n in (3, (2, 4)))
        positions = torch.empty(5, device="droplet", dtype=torch.long)
        slots = torch.ops.diopi.compute_slot_mapping(starts, positions, table, 4)
        assert (slots.shape, slots.dtype) == ((5,), torch.int64)


def test_what_the_compiler_asks_for(droplet: torch.device) -> None:
    """Compares calls with the aliases of the schemas, and with the sizes and dtypes of the fake kernels."""
    state = [_random(TOKENS, 16, seed=3).to(droplet), _random(TOKENS, 16).to(droplet)]
    index = moved([torch.tensor([0, 2]), torch.tensor([1, 3])], droplet)
    calls = {
        "residual_rms_norm": tuple(state),
        "residual_rms_norm_inp": tuple(state),
        "copy_blocks_inp": (state[0], *index),
    }
    for name, arguments in calls.items():
        overload = getattr(torch.ops.diopi, name).default
        torch.library.opcheck(overload, arguments, test_utils=("test_schema", "test_faketensor"))

"""Plain code that becomes functions of the interface in compiled graphs, and what stays as it is, with the reason."""

from __future__ import annotations

import collections
import importlib
import json
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

pytestmark = pytest.mark.usefixtures("fresh_compiler", "all_patterns")


def functions_called(graphs: ModuleType, run: Callable[[], Any], monkeypatch: pytest.MonkeyPatch) -> list[set[str]]:
    """The functions of the interface in each graph that is compiled meanwhile."""
    found: list[set[str]] = []
    make = graphs.Program

    def record(planned: Any) -> Any:
        steps = planned.document["steps"]
        assert not [step for step in steps if "reason" in step], json.dumps(steps)
        found.append({step["function"] for step in steps if "function" in step})
        return make(planned)

    with monkeypatch.context() as patch:
        patch.setattr(graphs, "Program", record)
        run()
    return found


def gradients(module: Any, call: Callable[[Any], Any], x: Any) -> list[Any]:
    """The result, and the gradients of the input and the parameters."""
    module.zero_grad()
    own = x.detach().clone().requires_grad_()
    result = call(own)
    result.float().square().mean().backward()
    return [one.detach().cpu() for one in (result, own.grad, *(p.grad for p in module.parameters()))]


def block(dtype: str, droplet: Any) -> tuple[Any, Any, list[Any]]:
    """A block of Llama, an input, and what float64 gives."""
    import torch
    from plain_llama import Block

    kind = getattr(torch, dtype)
    module = Block().to(kind)
    x = torch.randn(2, 6, 32).to(kind)
    exact = Block().double()
    exact.load_state_dict(module.state_dict())
    expected = gradients(exact, exact, x.double())
    return module.to(droplet), x.to(droplet), expected


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_a_block_of_llama_consists_of_functions(
    graphs: ModuleType, droplet: Any, dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forward and backward; the results are at least as near to float64 as those of eager mode."""
    import torch

    module, x, exact = block(dtype, droplet)
    eager = gradients(module, module, x)
    compiled = torch.compile(module, backend=graphs.backend)
    actual: list[Any] = []
    forward, backward = functions_called(graphs, lambda: actual.extend(gradients(module, compiled, x)), monkeypatch)
    # In float32 the softmax is in a fused kernel, with the scale and the mask.
    attention = {"diopiFlashAttention"} if dtype == "bfloat16" else set()
    assert forward >= {"diopiRMSNorm", "diopiRotaryEmbedding", *attention}
    assert backward >= {"diopiRMSNormBackward", "diopiRotaryEmbedding", *(f"{name}Backward" for name in attention)}
    assert not forward & {"diopiRsqrt", "diopiMean", "diopiNeg", "diopiCat"}
    eps = torch.finfo(getattr(torch, dtype)).eps
    for one, other, true in zip(actual, eager, exact, strict=True):
        assert one.dtype == other.dtype and one.shape == other.shape
        size = true.abs().max()
        error, usual = ((each.double() - true).abs().max() / size for each in (one, other))
        assert error <= max(2 * usual, 8 * eps), (error, usual)


def test_patterns_say_what_they_did(
    outcome: Callable[..., Any], droplet: Any, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("DIOPI_COMPILE_LOG", "pattern")
    module, x, _ = block("float32", droplet)
    _, notes = outcome(module, x)
    counted = collections.Counter((note.pattern, bool(note.why)) for note in notes)
    assert counted == {("rms_norm", False): 2, ("rotary_embedding", False): 2, ("attention", True): 1}
    (miss,) = [note for note in notes if note.why]
    assert miss.why == "queries are torch.float32: the function accepts float16 and bfloat16"
    shown = capfd.readouterr().err
    assert shown.count("diopi: pattern: rms_norm: ") == 2 and "becomes diopiRMSNorm" in shown
    assert "plain_llama.py" in shown and "not matched: queries are torch.float32" in shown


def test_patterns_can_be_turned_off(outcome: Callable[..., Any], droplet: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    module, x, _ = block("float32", droplet)
    monkeypatch.setenv("DIOPI_COMPILE_PATTERNS", "0")
    assert outcome(module, x)[1] == []
    torch._dynamo.reset()
    monkeypatch.setenv("DIOPI_COMPILE_PATTERNS", "rms_norm")
    assert {note.pattern for note in outcome(module, x)[1]} == {"rms_norm"}
    torch._dynamo.reset()
    monkeypatch.setenv("DIOPI_COMPILE_PATTERNS", "norm")
    with pytest.raises(Exception, match="DIOPI_COMPILE_PATTERNS has norm; there are rms_norm"):
        outcome(module, x)


def test_a_function_behind_the_vendors_is_not_worth_it(
    outcome: Callable[..., Any], droplet: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would compute through host memory: only patterns that are named use it."""
    table = importlib.import_module("diopi_torch.table")
    monkeypatch.delenv("DIOPI_COMPILE_PATTERNS")
    module, x, _ = block("float32", droplet)
    for note in outcome(module, x)[1]:
        lacking = [name for name in note.functions if not table.has_own_function(name)]
        assert note.why == (f"the chip's own library has no {lacking[0]}" if lacking else "") or "queries" in note.why


def norm(x: Any, weight: Any, eps: Any = 1e-6) -> Any:
    """As the reference code of Llama has it."""
    import torch

    wide = x.float()
    return (wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + eps)).type_as(x) * weight


def test_forms_of_a_norm(outcome: Callable[..., Any], droplet: Any) -> None:
    """Each of them is one call, and equal to what was written."""
    import torch

    def multiplied(x: Any, weight: Any) -> Any:
        return x * (x * x).mean((-1,), True).add(1e-5).rsqrt() * weight

    def late(x: Any, weight: Any) -> Any:
        wide = x.float()
        return (weight.float() * (wide * torch.rsqrt(1e-5 + torch.mean(wide**2, dim=-1, keepdim=True)))).to(x.dtype)

    def unweighted(x: Any, weight: Any) -> Any:
        return x * torch.rsqrt(torch.square(x).mean(-1, keepdim=True) + 1e-5)

    def two(x: Any, weight: Any) -> Any:
        return x * torch.rsqrt(x.pow(2).mean((-2, -1), keepdim=True) + 1e-5)

    for function, kind in (
        (norm, torch.bfloat16), (norm, torch.float32), (multiplied, torch.float32), (late, torch.float16),
        (unweighted, torch.float32), (unweighted, torch.float64), (two, torch.float32),
    ):  # fmt: skip
        torch._dynamo.reset()
        x, weight = (torch.randn(3, 4, 8)).to(kind).to(droplet), (torch.rand(8) + 0.5).to(kind).to(droplet)
        result, notes = outcome(function, x, weight)
        assert [note.why for note in notes] == [""], (function, kind)
        torch.testing.assert_close(result.cpu(), function(x, weight).cpu(), rtol=2 * torch.finfo(kind).eps, atol=1e-7)


def test_norms_that_stay(outcome: Callable[..., Any], droplet: Any) -> None:
    """Programs that the function would compute differently, or that need an intermediate value."""
    import torch

    def several(x: Any, weight: Any) -> Any:
        root = torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-5)
        return x * root * weight, root

    def in_between(x: Any, weight: Any) -> Any:
        mean = x.pow(2).mean(-1, keepdim=True) + 1e-5
        return x * torch.rsqrt(mean) * weight, mean + 1

    def written(x: Any, weight: Any) -> Any:
        x = x + 0
        root = torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-5)
        x[:1].add_(1)
        return x * root * weight

    def detached(x: Any, weight: Any) -> Any:
        with torch.no_grad():
            root = torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-5)
        return x * root * weight

    single, half = torch.float32, torch.bfloat16
    expected = [
        (several, single, "the inverse root is used several times, or after a write"),
        (in_between, single, "mean_1 is used elsewhere as well"),
        (written, single, "the inverse root is used several times, or after a write"),
        (detached, single, "the inverse root is used several times, or after a write"),
        (lambda x, weight: norm(x, weight, weight[:1]), single, "eps is no number"),
        (
            lambda x, weight: x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-5),
            half,
            "squares and their mean are computed in torch.bfloat16: the function computes in torch.float32",
        ),
        (
            lambda x, weight: weight.float() * (x.float() * torch.rsqrt(x.float().pow(2).mean(-1, True) + 1e-5)),
            half,
            "the result is used in torch.float32, and the input is torch.bfloat16",
        ),
    ]
    for function, kind, why in expected:
        torch._dynamo.reset()
        x, weight = torch.randn(3, 8).to(kind).to(droplet), torch.rand(8).to(kind).to(droplet)
        result, notes = outcome(function, x, weight)
        assert [note.why for note in notes] == [why]
        torch.testing.assert_close(result, function(x, weight))


def test_a_norm_in_a_graph_with_transforms(outcome: Callable[..., Any], droplet: Any) -> None:
    """Masks of transformers are made by vmap, autocast is left for angles, and caches are written to."""
    import torch

    def step(x: Any, weight: Any, cache: Any, position: Any) -> Any:
        rows = torch.arange(x.shape[0], device=x.device)
        mask = torch.vmap(lambda row: torch.vmap(lambda column: column <= row)(rows))(rows)
        with torch.autocast(x.device.type, enabled=False):
            scale = position.float() * 0.5
        cache.index_copy_(0, position, norm(x, weight))
        return norm(cache, weight) * scale[0], mask

    x, weight = torch.randn(3, 8).to(droplet), torch.rand(8).to(droplet)
    cache, position = torch.zeros(5, 8).to(droplet), torch.tensor([4, 0, 2]).to(droplet)
    expected_cache = cache.clone()
    expected, expected_mask = step(x, weight, expected_cache, position)
    (result, mask), notes = outcome(step, x, weight, cache, position)
    assert [(note.pattern, note.why) for note in notes] == [("rms_norm", "")] * 2
    torch.testing.assert_close((result, cache, mask), (expected, expected_cache, expected_mask))


def test_layouts_that_change_in_place(outcome: Callable[..., Any], droplet: Any) -> None:
    """Metadata of a tensor describes its last state: patterns do not change such graphs."""
    import torch

    def turned(x: Any, weight: Any) -> Any:
        x = x * 1
        result = norm(x, weight)
        x.t_()
        return result, x

    x, weight = torch.randn(8, 8).to(droplet), torch.rand(8).to(droplet)
    result, notes = outcome(turned, x, weight)
    assert notes == []
    torch.testing.assert_close(result, turned(x, weight))


def causal(scores: Any) -> Any:
    import torch

    length = scores.shape[-1]
    hidden = torch.ones(length, length, dtype=torch.bool, device=scores.device).triu(1)
    return scores.masked_fill(hidden, float("-inf"))


def test_forms_of_attention(outcome: Callable[..., Any], droplet: Any) -> None:
    import torch

    def plain(query: Any, key: Any, value: Any) -> Any:
        return torch.softmax(query @ key.mT / 4.0, -1) @ value

    def filled(query: Any, key: Any, value: Any) -> Any:
        return torch.softmax(causal((query * 0.25) @ key.transpose(-1, -2)).float(), -1).type_as(value) @ value

    def chosen(query: Any, key: Any, value: Any) -> Any:
        scores = torch.matmul(query, key.permute(0, 1, 3, 2)).mul(0.25)
        shown = torch.tril(torch.ones(5, 5, dtype=torch.bool, device=query.device))
        scores = torch.where(shown, scores, torch.finfo(scores.dtype).min)
        weights = torch.nn.functional.dropout(scores.softmax(-1), 0.5, training=False)
        return torch.matmul(weights, value)

    given = [torch.randn(2, 3, 5, 16).to(torch.bfloat16).to(droplet) for _ in range(3)]
    for function in (plain, filled, chosen):
        torch._dynamo.reset()
        result, notes = outcome(function, *given)
        assert [(note.pattern, note.why) for note in notes] == [("attention", "")], function
        expected = function(*(one.cpu().double() for one in given))
        torch.testing.assert_close(result.cpu().double(), expected, rtol=0, atol=2 * torch.finfo(torch.bfloat16).eps)
        assert result.stride() == function(*given).stride()


def test_attention_that_stays(outcome: Callable[..., Any], droplet: Any) -> None:
    import torch

    def masked(query: Any, key: Any, value: Any, mask: Any) -> Any:
        return torch.softmax(query @ key.mT + mask, -1) @ value

    def dropped(query: Any, key: Any, value: Any, mask: Any) -> Any:
        return torch.nn.functional.dropout(torch.softmax(query @ key.mT, -1), 0.5) @ value

    def returned(query: Any, key: Any, value: Any, mask: Any) -> Any:
        weights = torch.softmax(query @ key.mT, -1)
        return weights @ value, weights

    given = [torch.randn(2, 3, 5, 16).to(torch.float16).to(droplet) for _ in range(3)]
    mask = torch.zeros(5, 5, dtype=torch.float16).to(droplet)
    for function, why in (
        (masked, ["the mask is no constant that hides what is behind each query: the function has no other"]),
        (dropped, ["probabilities are dropped"]),
        (returned, []),
    ):
        torch._dynamo.reset()
        assert [note.why for note in outcome(function, *given, mask)[1] if note.pattern == "attention"] == why


def test_a_masked_softmax(outcome: Callable[..., Any], droplet: Any) -> None:
    """Its forms, with gradients; a number that the function does not have stays."""
    import torch

    def megatron(scores: Any, mask: Any) -> Any:
        scaled = scores * 0.5
        scaled.masked_fill_(mask, -10000.0)
        return torch.softmax(scaled, dim=-1)

    def filled(scores: Any, mask: Any) -> Any:
        return torch.softmax((scores.float() * 0.5).masked_fill(mask, -10000.0), dim=-1).to(scores.dtype)

    def chosen(scores: Any, mask: Any) -> Any:
        return torch.softmax(torch.where(~mask, scores / 2, -10000.0), dim=-1)

    def other(scores: Any, mask: Any) -> Any:
        return torch.softmax((scores * 0.5).masked_fill(mask, -1e9), dim=-1)

    mask = torch.rand(2, 1, 4, 5) > 0.6
    mask[0, 0, 0] = True
    mask = mask.to(droplet)
    for function, kind in (
        (megatron, torch.float32), (filled, torch.float32), (filled, torch.float16), (chosen, torch.float32),
        (other, torch.float32),
    ):  # fmt: skip
        torch._dynamo.reset()
        given = torch.randn(2, 3, 4, 5).to(kind).to(droplet)
        own, twin = given.clone().requires_grad_(), given.clone().requires_grad_()
        result, notes = outcome(function, own, mask)
        why = "hidden scores become -1e+09: those of the function become -10000" if function is other else ""
        assert [(note.pattern, note.why) for note in notes] == [("scaled_masked_softmax", why)]
        expected = function(twin, mask)
        weights = torch.randn_like(expected)
        (result * weights).sum().backward(), (expected * weights).sum().backward()
        for one, reference in ((result, expected), (own.grad, twin.grad)):
            torch.testing.assert_close(one, reference, rtol=4 * torch.finfo(kind).eps, atol=torch.finfo(kind).eps)


def test_a_pattern_of_the_vendor(
    patterns: ModuleType, outcome: Callable[..., Any], droplet: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As docs/compile.md shows it."""
    import re
    from pathlib import Path

    import torch

    text = (Path(__file__).resolve().parents[2] / "docs/compile.md").read_text()
    (code,) = re.findall(r"^```python\n(# pattern_.*?)^```", text, re.M | re.S)
    monkeypatch.setattr(patterns, "_PATTERNS", dict(patterns.registered()))
    exec(code, {})
    monkeypatch.setenv("DIOPI_COMPILE_PATTERNS", "silu")
    x = torch.randn(7).to(droplet)
    result, notes = outcome(lambda x: x * torch.sigmoid(x) * 2, x)
    assert [(note.pattern, note.why) for note in notes] == [("silu", "")]
    torch.testing.assert_close(result.cpu(), torch.nn.functional.silu(x.cpu()) * 2)

"""Calls that reach no kernel of the device, or an unsuitable one: the derivatives of derivatives, counts and
reductions by index, layers that PyTorch calls as one operator, kinds of tensors and compilers that there are not."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
import torch_build
from torch import nn

ACTIVATIONS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    name: getattr(F, name)
    for name in (
        *("elu", "gelu", "hardshrink", "hardsigmoid", "hardswish", "hardtanh", "leaky_relu", "logsigmoid", "mish"),
        *("relu", "relu6", "selu", "sigmoid", "silu", "softplus", "softshrink", "tanh", "tanhshrink"),
    )
}
NUMBERS = torch.tensor([-4.0, -1.5, -0.25, 0.5, 2.5, 7.0])


@pytest.mark.parametrize("name", ACTIVATIONS)
@pytest.mark.parametrize(
    "derivative", [torch.func.jacrev, torch.func.jacfwd, torch.func.hessian], ids=lambda function: function.__name__
)
def test_derivatives_of_activations(derivative: Any, name: str, droplet: Any, fallbacks: Any) -> None:
    """vmap gives the gradient one dimension more than the input has: kernels expand both to the result."""
    if derivative is torch.func.hessian and name == "hardsigmoid":
        pytest.skip("PyTorch has no second derivative of it")
    function = ACTIVATIONS[name] if derivative is not torch.func.hessian else lambda x: ACTIVATIONS[name](x).sum()
    own = derivative(function)(NUMBERS.to(droplet))
    torch.testing.assert_close(own.cpu(), derivative(function)(NUMBERS), rtol=1e-5, atol=1e-6)
    assert fallbacks() == {}


def counted(values: torch.Tensor, bins: int, low: float, high: float) -> list[int]:
    """The definition of histc, by Python's numbers: the last interval includes its end."""
    counts = [0] * bins
    for value in values.tolist():
        if low <= value <= high:
            counts[min(int((value - low) * bins / (high - low)), bins - 1)] += 1
    return counts


@pytest.mark.parametrize("dtype", [torch.int32, torch.int64, torch.uint8, torch.int16, torch.float32], ids=str)
def test_histc(dtype: torch.dtype, droplet: Any, fallbacks: Any) -> None:
    """The CPU has it for floats alone; Mixtral counts the tokens of its experts in int32 on devices."""
    values = torch.tensor([0, 1, 1, 3, 7, 7, 7, 2, 9], dtype=dtype)
    for bins, low, high in ((8, 0, 7), (4, 0, 7), (3, 1, 3), (9, 0, 9)):
        own = torch.histc(values.to(droplet), bins, low, high)
        assert own.dtype == dtype and own.tolist() == counted(values, bins, low, high)
    assert torch.histc(values.to(droplet), 3).tolist() == counted(values, 3, 0, 9)
    assert torch.histc(values[:1].to(droplet), 2).tolist() == counted(values[:1], 2, -1, 1)
    assert torch.histc(values[:0].to(droplet), 2).tolist() == [0, 0]
    assert fallbacks() == {}


def test_histc_of_floats_is_the_cpus(droplet: Any, fallbacks: Any) -> None:
    values = torch.randn(500, generator=torch.Generator().manual_seed(0))
    for options in ({}, {"bins": 7}, {"bins": 13, "min": -1, "max": 2}):
        assert torch.equal(torch.histc(values.to(droplet), **options).cpu(), torch.histc(values, **options))
    out = torch.empty(7, device=droplet)
    torch.histc(values.to(droplet), 7, out=out)
    assert torch.equal(out.cpu(), torch.histc(values, 7))
    assert fallbacks() == {}


@pytest.mark.parametrize(
    ("arguments", "error"),
    [((0, 0, 1), "bins must be > 0"), ((3, 2, 1), "max must be larger than min"), ((3, 0, float("inf")), "not finite")],
)
def test_histc_refuses(arguments: tuple[Any, ...], error: str, droplet: Any) -> None:
    with pytest.raises(RuntimeError, match=error):
        torch.histc(torch.ones(3, device=droplet), *arguments)


@pytest.mark.parametrize("includes", [True, False])
@pytest.mark.parametrize("reduce", ["sum", "prod", "mean", "amax", "amin"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.int64], ids=str)
def test_scatter_reduce(dtype: torch.dtype, reduce: str, includes: bool, droplet: Any, fallbacks: Any) -> None:
    generator = torch.Generator().manual_seed(0)
    for shape, dim in (((5,), 0), ((4, 6), 0), ((4, 6), 1), ((3, 4, 2), -2)):
        size = torch.Size(shape)[dim]
        given = torch.randint(-9, 9, shape, generator=generator).to(dtype)
        source = torch.randint(-9, 9, tuple(n + 1 for n in shape), generator=generator).to(dtype)
        for covered in (shape, tuple(max(n - 1, 1) for n in shape)):
            index = torch.randint(size, covered, generator=generator)
            expected = given.scatter_reduce(dim, index, source, reduce, include_self=includes)
            own = given.to(droplet).scatter_reduce(
                dim, index.to(droplet), source.to(droplet), reduce, include_self=includes
            )
            torch.testing.assert_close(own.cpu(), expected)
    assert fallbacks() == {}


@pytest.mark.parametrize("reduce", ["amax", "amin"])
def test_extremes_by_index_pass_nan_on(reduce: str, droplet: Any) -> None:
    source = torch.tensor([1.0, float("nan"), 3.0, -2.0, 5.0])
    index = torch.tensor([0, 0, 1, 1, 2])
    for includes in (True, False):
        results = [
            torch.zeros(4, device=device).scatter_reduce(
                0, index.to(device), source.to(device), reduce, include_self=includes
            )
            for device in ("cpu", droplet)
        ]
        torch.testing.assert_close(results[1].cpu(), results[0], equal_nan=True)


@pytest.mark.parametrize("reduce", ["amax", "amin"])
def test_extremes_by_index_refuse_indices_out_of_range(reduce: str, droplet: Any) -> None:
    arguments = 0, torch.tensor([3], device=droplet), torch.ones(1, device=droplet), reduce
    with pytest.raises(RuntimeError, match="out of bounds"):
        torch.zeros(3, device=droplet).scatter_reduce(*arguments)


@pytest.mark.parametrize("reduce", ["sum", "mean", "amax", "amin", "prod"])
def test_gradients_of_scatter_reduce(reduce: str, droplet: Any) -> None:
    generator = torch.Generator().manual_seed(0)
    source = torch.randn(6, 3, generator=generator)
    index = torch.randint(4, (6, 3), generator=generator)
    results = []
    for device in ("cpu", droplet):
        leaf = source.to(device).requires_grad_()
        out = torch.ones(4, 3, device=device).scatter_reduce(0, index.to(device), leaf, reduce, include_self=False)
        results.append(torch.autograd.grad(out.square().sum(), leaf)[0].cpu())
    torch.testing.assert_close(results[1], results[0])


MASKS = ("none", "padding on the right", "padding on the left", "causal", "both")


@torch.no_grad()
@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("options", [{}, {"norm_first": True}, {"activation": "gelu"}], ids=str)
def test_transformer_encoder_without_gradients(
    options: dict[str, Any], mask: str, droplet: Any, fallbacks: Any
) -> None:
    """PyTorch calls each layer as one operator then, and makes nested tensors of padding on the right."""
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(16, 4, 32, batch_first=True, **options)
    network = nn.TransformerEncoder(layer, 2, enable_nested_tensor=not options).eval()
    tokens = torch.randn(3, 5, 16)
    padding = torch.zeros(3, 5, dtype=torch.bool)
    padding[1, 3:] = mask in ("padding on the right", "both")
    padding[2, :2] = mask == "padding on the left"
    causal = torch.triu(torch.ones(5, 5, dtype=torch.bool), 1) if mask in ("causal", "both") else None

    def run(device: Any) -> torch.Tensor:
        given = {"src_key_padding_mask": padding.to(device)} if padding.any() else {}
        return network.to(device)(tokens.to(device), None if causal is None else causal.to(device), **given).cpu()

    expected, own = run("cpu"), run(droplet)
    torch.testing.assert_close(own[~padding], expected[~padding], rtol=1e-4, atol=1e-5)
    assert fallbacks() == {}


@torch.no_grad()
@pytest.mark.parametrize("averages", [True, False])
def test_attention_without_gradients(averages: bool, droplet: Any, fallbacks: Any) -> None:
    torch.manual_seed(0)
    layer = nn.MultiheadAttention(16, 4, batch_first=True).eval()
    tokens, others = torch.randn(2, 5, 16), torch.randn(2, 5, 16)
    for query, key, value in ((tokens, tokens, tokens), (tokens, others, others)):
        expected = layer.cpu()(query, key, value, average_attn_weights=averages)
        own = layer.to(droplet)(*(one.to(droplet) for one in (query, key, value)), average_attn_weights=averages)
        torch.testing.assert_close([one.cpu() for one in own], list(expected), rtol=1e-4, atol=1e-5)
    assert fallbacks() == {}


@torch.no_grad()
def test_nested_tensors_on_demand_are_refused(droplet: Any) -> None:
    layer = nn.TransformerEncoderLayer(16, 4, 32, batch_first=True)
    network = nn.TransformerEncoder(layer, 2, mask_check=False).eval().to(droplet)
    padding = torch.tensor([[False, False, True]], device=droplet)
    with pytest.raises(NotImplementedError, match=r"not compute with nested tensors: .* enable_nested_tensor=False"):
        network(torch.randn(1, 3, 16, device=droplet), src_key_padding_mask=padding)


REFUSED: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "an operator on coordinates": (
        "does not compute this with sparse",
        lambda device: _eye(device).to_sparse().cos(),
    ),
    "blocks": (
        "does not compute this with sparse",
        lambda device: _eye(device).to_sparse().to_sparse_bsr((1, 1)),
    ),
    "nested": (
        "does not compute with nested",
        lambda device: torch.nested.nested_tensor([torch.ones(2), torch.ones(3)], device=device),
    ),
    "as_nested": (
        "does not compute with nested",
        lambda device: torch.nested.as_nested_tensor([torch.ones(2, device=device)]),
    ),
    "nested to the device": (
        "does not compute with nested",
        lambda device: torch.nested.nested_tensor([torch.ones(2), torch.ones(3)]).to(device),
    ),
    "quantized": (
        "does not compute with quantized",
        lambda device: torch.quantize_per_tensor(torch.ones(3, device=device), 0.1, 0, torch.quint8),
    ),
    "quantized to the device": (
        "does not compute with quantized",
        lambda device: torch.quantize_per_tensor(torch.ones(3), 0.1, 0, torch.quint8).to(device),
    ),
}


def _eye(device: Any) -> torch.Tensor:
    return torch.eye(3, device=device)


@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.filterwarnings("ignore")  # of PyTorch, that such tensors are in beta
def test_kinds_of_tensors_that_the_device_lacks(name: str, droplet: Any) -> None:
    said, make = REFUSED[name]
    with pytest.raises(NotImplementedError, match=rf"^[\w.]+: droplet {said} tensors[^.\n]*: [^.\n]+$"):
        make(droplet)


def test_inductor_names_the_backends(droplet: Any) -> None:
    compiled = torch.compile(lambda x: x.sin() + 1)
    with pytest.raises(Exception, match=r'inductor .* generates no code for droplet: use .*"aot_eager"'):
        compiled(torch.ones(3, device=droplet))
    torch._dynamo.reset()
    own = torch.compile(lambda x: x.sin() + 1, backend="aot_eager")(torch.ones(3, device=droplet))
    torch.testing.assert_close(own.cpu(), torch.ones(3).sin() + 1)


PRINTED = """
import torch, torch_droplet
for tensor in (torch.linspace(-2, 3e5, 6), torch.arange(2000), torch.tensor([True]), torch.tensor(1 + 2j)):
    print(tensor.to("droplet"))
    print(torch.nn.Parameter(tensor.float()).to("droplet"))
"""


def test_a_printed_tensor_writes_no_notices(backend: Any) -> None:
    environment = {**os.environ, **backend.environment(), "PYTHONPATH": torch_build.PYTHONPATH}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", PRINTED], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0 and done.stderr == ""
    assert done.stdout.startswith("tensor([-2.0000e+00,  5.9998e+04,")
    assert done.stdout.count("device='droplet:0'") == 8 and "[   0,    1,    2,  ..., 1997, 1998, 1999]" in done.stdout


def test_fallbacks_say_why(torch_droplet: Any, droplet: Any, fallbacks: Any) -> None:
    torch.geqrf(torch.eye(2, device=droplet))
    torch.empty(2, dtype=torch.uint16, device=droplet).fill_(1).eq(1)
    with torch_droplet.force_fallback("sin.*"):
        torch.ones(2, device=droplet).sin()
    assert {name.partition(".")[0] for name in fallbacks()} == {"geqrf", "eq", "fill_", "sin"}
    reasons = torch_droplet.fallback_reasons()
    assert set(reasons) == set(fallbacks())
    assert reasons["geqrf"] == ["no function of the interface serves it (Float)"]
    assert any(text.startswith("the interface does not take UInt16") for texts in reasons.values() for text in texts)
    assert any(texts == ["DIOPI_FORCE_FALLBACK_OPS names it (Float)"] for texts in reasons.values())


def test_fallbacks_count_by_reason_and_are_written(
    torch_droplet: Any, droplet: Any, fallbacks: Any, tmp_path: Path
) -> None:
    for size in (2, 3, 2):
        torch.geqrf(torch.eye(size, device=droplet))
    torch.geqrf(torch.eye(2, dtype=torch.float64, device=droplet))
    why = "no function of the interface serves it"
    assert torch_droplet.fallback_report(reasons=True) == {"geqrf": {f"{why} (Float)": 3, f"{why} (Double)": 1}}
    assert fallbacks() == {"geqrf": 4}
    torch_droplet.write_fallback_report(tmp_path / "report.jsonl")
    lines = [json.loads(line) for line in (tmp_path / "report.jsonl").read_text().splitlines()]
    entry = {"overload": "geqrf", "function": "", "status": ""}
    expected = [
        {**entry, "reason": f"{why} ({dtype})", "calls": calls} for dtype, calls in (("Double", 1), ("Float", 3))
    ]
    assert sorted(lines, key=lambda line: line["reason"]) == expected


def test_sobol_sequences(droplet: Any) -> None:
    """Their operators in PyTorch read any memory as the host's: with a tensor of a device the process ended."""

    def drawn(device: Any) -> list[torch.Tensor]:
        state = torch.zeros((3, 30), dtype=torch.int64, device=device)
        torch._sobol_engine_initialize_state_(state, 3)
        torch._sobol_engine_scramble_(state, torch.ones((3, 30, 30), dtype=torch.int64, device=device).tril(), 3)
        first = torch.zeros(3, dtype=torch.int64, device=device)
        points, last = torch._sobol_engine_draw(first, 4, state, 3, 0, torch.float32)
        return [points.cpu(), torch._sobol_engine_ff_(last, 2, state, 3, 4).cpu()]

    torch.testing.assert_close(drawn(droplet), drawn("cpu"), rtol=0, atol=0)

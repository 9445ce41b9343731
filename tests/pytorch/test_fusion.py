"""Fused kernels of compiled graphs: what they compute, and which nodes they have."""

from __future__ import annotations

import importlib
import itertools
import logging
import math
import os
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from fusion_checks import check


@pytest.fixture(scope="module", autouse=True)
def saved(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder for kernels that is empty at first."""
    folder = tmp_path_factory.mktemp("kernels")
    before = os.environ.get("DIOPI_KERNEL_CACHE")
    os.environ["DIOPI_KERNEL_CACHE"] = str(folder)
    yield folder
    if before is None:
        del os.environ["DIOPI_KERNEL_CACHE"]
    else:
        os.environ["DIOPI_KERNEL_CACHE"] = before


pytestmark = pytest.mark.usefixtures("fresh_compiler")


def test_a_chain_is_one_kernel(graphs: ModuleType, droplet: Any) -> None:
    import torch

    def function(x: Any, bias: Any) -> Any:
        x = x + bias
        return 0.5 * x * (1 + torch.tanh(0.7978845608 * (x + 0.044715 * x * x * x)))

    x, bias = torch.randn(33, 65).to(droplet), torch.randn(65).to(droplet)
    (nodes,) = check(graphs, function, x, bias)
    assert len(nodes) == 10


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_each_value_is_rounded_to_its_dtype(graphs: ModuleType, droplet: Any, dtype: str) -> None:
    """Bit for bit what the operators give one by one, where they round correctly."""
    import torch

    def function(h: Any, f: Any) -> Any:
        a = h * 3 + 0.1
        b = a * a - h
        return a, b, b.float() * f, (f * 2).to(h.dtype) + b, b > a

    h, f = torch.randn(257).to(getattr(torch, dtype)).to(droplet), torch.randn(257).to(droplet)
    (nodes,) = check(graphs, function, h, f, exact=True)
    assert len(nodes) >= 8


def test_nan_and_infinity_stay_what_they_are(graphs: ModuleType, droplet: Any) -> None:
    import torch

    values = [math.nan, math.inf, -math.inf, 0.0, -0.0, 1.0, -1.0, 3.4e38]
    x = torch.tensor(values).to(droplet)
    y = torch.tensor(values[::-1]).to(droplet)

    def function(x: Any, y: Any) -> Any:
        low = torch.maximum(x, y) - torch.minimum(x, y)
        return low, torch.clamp(x * 1, min=-2.0), (x * y).abs(), torch.where(x > y, x, y) + 0.0, x / y * 1.0

    assert check(graphs, function, x, y, exact=True)


def test_layouts_of_operands(graphs: ModuleType, droplet: Any) -> None:
    """Permuted and strided operands, broadcast dimensions, numbers without dimensions."""
    import torch

    x = torch.randn(4, 6, 5).to(droplet)
    column, scalar = torch.randn(6, 1).to(droplet), torch.randn(()).to(droplet)

    def function(x: Any, column: Any, scalar: Any) -> Any:
        p = x.permute(2, 1, 0)
        q = p[:, :, 1:3]
        return (p * scalar + column) * 2, (q - column) * scalar, (x[:, ::2] + 1) * 3

    assert len(check(graphs, function, x, column, scalar)) == 3


def test_no_path_leaves_a_kernel_and_comes_back(graphs: ModuleType, droplet: Any) -> None:
    """A product between two operators of a chain keeps them apart."""
    import torch

    def function(x: Any) -> Any:
        a = x * 2 + 1
        return (a @ a) * a + 1, a - 3

    found = check(graphs, function, torch.randn(7, 7).to(droplet))
    assert all("mm" not in nodes for nodes in found)
    assert sum(len(nodes) for nodes in found) == 5


def test_numbers_of_functions_are_in_the_kernel(graphs: ModuleType, droplet: Any) -> None:
    import torch

    functional = torch.nn.functional

    def function(x: Any) -> Any:
        a = functional.leaky_relu(functional.hardtanh(x * 2, -1.5, 0.5), 0.2)
        b = functional.gelu(x, approximate="tanh") + functional.gelu(x)
        c = torch.clamp(x, max=0.3) + torch.div(x * 9, 2, rounding_mode="floor")
        return torch.add(a, b, alpha=3) + c, functional.silu(x) * torch.addcmul(x, x, x, value=0.5)

    assert check(graphs, function, torch.randn(100).to(droplet))


def test_what_is_not_fused_has_a_reason(
    graphs: ModuleType, droplet: Any, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    import torch

    monkeypatch.setenv("DIOPI_COMPILE_LOG", "fusion,source,plan")
    x = torch.arange(6).to(droplet)
    check(graphs, lambda x: (x // x.clamp(min=1), x.to(torch.complex64), x.float() * 2 + 1), x)
    text = capfd.readouterr().err
    assert "(aten._to_copy.default): it has a tensor of torch.complex64" in text
    assert "// diopiMulScalar" in text and 'extern "C"' in text and '"kernel": {"name": "fused_' in text


def test_a_report_is_what_the_command_line_explains(
    graphs: ModuleType, droplet: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """`DIOPI_COMPILE_REPORT`, read by `diopigen explain --fusion`."""
    import torch
    from click.testing import CliRunner

    from diopigen.cli import cli

    path = tmp_path / "graphs.json"
    monkeypatch.setenv("DIOPI_COMPILE_REPORT", str(path))
    x = torch.randn(5, 5).to(droplet)
    check(graphs, lambda x: (x @ x * 3 + 1).relu(), x)
    text = CliRunner().invoke(cli, ["explain", "--fusion", str(path), "--sources"]).output
    assert ": mul.Tensor, add.Tensor, relu\n" in text and "3 nodes fused" in text
    assert "in <lambda>: check(graphs, lambda x: (x @ x * 3 + 1).relu(), x)" in text
    assert "| // diopiMulScalar" in text and "1  mm: its function has no kernel expression" in text


def test_without_fusion_the_functions_run(graphs: ModuleType, droplet: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    monkeypatch.setenv("DIOPI_COMPILE_FUSION", "0")
    assert check(graphs, lambda x: x * 2 + 1, torch.randn(3).to(droplet)) == []


def test_a_device_that_does_not_compile_a_kernel_runs_the_functions(
    graphs: ModuleType, droplet: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A warning tells, once, how to let it compile kernels."""
    import torch

    monkeypatch.setenv("DIOPI_KERNEL_CXX", "no-such-compiler")
    monkeypatch.setattr(importlib.import_module("diopi_torch.fused_steps"), "_failures", itertools.count())
    functions = (lambda x: x * 2.25 + 1.125 - x, lambda x: x * 3.25 + 2.125 - x)
    assert [check(graphs, function, torch.randn(3).to(droplet)) for function in functions] == [[], []]
    (shown,) = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    assert "run one by one" in shown and "the compiler 'no-such-compiler' does not start" in shown
    assert "Install a C++17 compiler, such as g++ or clang++, or name one in DIOPI_KERNEL_CXX" in shown


def test_kernels_are_saved_by_the_digest_of_their_source(graphs: ModuleType, droplet: Any, saved: Path) -> None:
    import torch

    source = 'extern "C" __attribute__((visibility("default"))) void own(void* const*, const long*, long, long) {}'
    assert torch.ops.diopi.check_kernel(source, "own") == ""
    (text,) = [path for path in saved.glob("*.cpp") if path.read_text() == source]
    assert text.with_suffix(".so").exists()
    assert "defines no function other" in torch.ops.diopi.check_kernel(source + "\n", "other")


def test_sizes_share_a_kernel(graphs: ModuleType, droplet: Any, saved: Path) -> None:
    """Sizes and strides are numbers of the launch."""
    import torch

    call = torch.compile(lambda x: x * 5.5 - 1.5, backend=graphs.backend, dynamic=True)
    call(torch.randn(5).to(droplet))
    before = len(list(saved.glob("*.so")))
    for length in (6, 7, 40000):
        x = torch.randn(length).to(droplet)
        torch.testing.assert_close(call(x).cpu(), x.cpu() * 5.5 - 1.5)
    assert len(list(saved.glob("*.so"))) == before

"""Saved graphs whose sizes are open: one file serves several lengths, without Python."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from plain_llama import Block
from saved_files import document_of
from test_saved_graphs import diopi_run

pytestmark = pytest.mark.usefixtures("fresh_compiler")


def test_one_file_for_several_lengths(export: ModuleType, backend: Any, droplet: Any, tmp_path: Path) -> None:
    """Positions, masks and attention follow the length; `diopi-run` has no Python."""
    import torch

    model = Block(16, 2)
    inputs = {(n, length): torch.randn(n, length, 16) for n, length in ((2, 3), (2, 9), (5, 4), (3, 64), (2, 2))}
    expected = {sizes: model(x).detach() for sizes, x in inputs.items()}
    batch, length = torch.export.Dim("batch"), torch.export.Dim("length", min=2, max=64)
    path = tmp_path / "block.diopi"
    example = torch.randn(4, 7, 16).to(droplet)
    export.save(model.to(droplet), (example,), path, dynamic_shapes=({0: batch, 1: length},))
    loaded = export.load(path)
    for _ in range(2):
        for sizes, x in inputs.items():
            torch.testing.assert_close(loaded(x)[0].cpu(), expected[sizes], rtol=1e-4, atol=1e-5)
    described = diopi_run(backend, path)
    assert described.stdout.endswith(": Float [batch, length, 16], batch from 2, length from 2 to 64\n")
    for sizes in ((2, 9), (3, 64)):
        torch.save(inputs[sizes], tmp_path / "x.pt")
        done = diopi_run(backend, path, "--input", tmp_path / "x.pt", "--output", tmp_path / "y.pt")
        assert done.returncode == 0, done.stderr
        (result,) = torch.load(tmp_path / "y.pt")
        torch.testing.assert_close(result, expected[sizes], rtol=1e-4, atol=1e-5)
    torch.save(torch.randn(2, 65, 16), tmp_path / "x.pt")
    done = diopi_run(backend, path, "--input", tmp_path / "x.pt")
    assert done.returncode == 1
    assert "is Float [2, 65, 16]; the graph was saved for Float [batch, length, 16]" in done.stderr


def test_sizes_are_checked(export: ModuleType, droplet: Any, tmp_path: Path) -> None:
    """Ranges, the other sizes, and sizes that have one name."""
    import torch

    class Two(torch.nn.Module):  # type: ignore[misc]
        def forward(self, x: Any, y: Any) -> Any:
            return x @ y + y.shape[0]

    rows = {0: "rows"}
    path = tmp_path / "two.diopi"
    example = torch.randn(3, 4).to(droplet), torch.randn(4, 5).to(droplet)
    export.save(Two(), example, path, dynamic_shapes=(rows, None))
    loaded = export.load(path)
    x, y = torch.randn(7, 4), torch.randn(4, 5)
    torch.testing.assert_close(loaded(x, y)[0].cpu(), x @ y + 4)
    torch.testing.assert_close(loaded(x.t().contiguous().t(), y)[0].cpu(), x @ y + 4)
    with pytest.raises(
        RuntimeError, match=r"is Float \[1, 4\]; the graph was saved for Float \[rows, 4\], rows from 2"
    ):
        loaded(x[:1], y)
    with pytest.raises(RuntimeError, match=r"is Float \[7, 3\]; the graph was saved for Float \[rows, 4\]"):
        loaded(x[:, :3], y)
    with pytest.raises(RuntimeError, match=r"is Float \[7\]; the graph was saved for Float \[rows, 4\]"):
        loaded(x[:, 0], y)
    with pytest.raises(RuntimeError, match=r"is Long \[7, 4\]; the graph was saved for Float \[rows, 4\]"):
        loaded(x.long(), y)
    square = tmp_path / "square.diopi"
    inner = torch.export.Dim("inner")
    export.save(Two(), example, square, dynamic_shapes=({1: inner}, {0: inner}))
    loaded = export.load(square)
    x, y = torch.randn(3, 6), torch.randn(6, 5)
    torch.testing.assert_close(loaded(x, y)[0].cpu(), x @ y + 6)
    with pytest.raises(RuntimeError, match=r"is Float \[4, 5\]; the graph was saved for Float \[inner, 5\]"):
        loaded(x, y[:4])


def test_what_cannot_be_named(export: ModuleType, droplet: Any, tmp_path: Path) -> None:
    import torch

    x = torch.randn(3, 4).to(droplet)
    model = torch.nn.Linear(4, 2).to(droplet)

    def save(*shapes: Any, example: Any = x) -> None:
        export.save(model, (example,), tmp_path / "linear.diopi", dynamic_shapes=shapes)

    with pytest.raises(ValueError, match="input_0 has 2 dimensions, and dynamic_shapes"):
        save({2: "rows"})
    with pytest.raises(ValueError, match="input has 1 parts, and dynamic_shapes 2"):
        save(None, None)
    with pytest.raises(ValueError, match="an example has 3 elements where rows from 4 to 9"):
        save({0: torch.export.Dim("rows", min=4, max=9)})
    with pytest.raises(ValueError, match="both has 3 and 4 elements in the examples"):
        save({0: "both", 1: "both"})
    with pytest.raises(ValueError, match="3 is no dimension"):
        save({0: 3})


def test_a_dimension_that_the_model_fixes(export: ModuleType, droplet: Any, tmp_path: Path) -> None:
    """A size that the weights decide is that size; others are rejected."""
    import torch

    model = torch.nn.Linear(4, 2)
    x = torch.randn(6, 4)
    expected = model(x).detach()
    path = tmp_path / "linear.diopi"
    export.save(model.to(droplet), (x[:3].to(droplet),), path, dynamic_shapes=({0: "rows", 1: "width"},))
    loaded = export.load(path)
    torch.testing.assert_close(loaded(x)[0].cpu(), expected)
    with pytest.raises(RuntimeError, match=r"is Float \[6, 5\]; the graph was saved for Float \[rows, "):
        loaded(torch.randn(6, 5))


def test_what_the_model_decides_by_a_size(export: ModuleType, droplet: Any, tmp_path: Path) -> None:
    """A file has the branch of its example, and rejects sizes of the other."""
    import torch

    class Branch(torch.nn.Module):  # type: ignore[misc]
        def forward(self, x: Any) -> Any:
            return x.exp() if x.shape[0] % 3 == 0 else x.sin()

    path = tmp_path / "branch.diopi"
    export.save(Branch(), (torch.randn(6).to(droplet),), path, dynamic_shapes=({0: "rows"},))
    loaded = export.load(path)
    x = torch.randn(9)
    torch.testing.assert_close(loaded(x)[0].cpu(), x.exp())
    with pytest.raises(RuntimeError, match="the graph has no plan for the sizes rows = 8: the model decides otherwise"):
        loaded(torch.randn(8))


def test_a_file_has_the_plans_that_its_sizes_need(export: ModuleType, droplet: Any, tmp_path: Path) -> None:
    """Few long rows stay with the function: two plans, which share the weights."""
    import torch

    class Sums(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.weight = torch.nn.Parameter(torch.ones(3, 1))

        def forward(self, x: Any) -> Any:
            return (x * self.weight).sum(-1) * 0.5

    path = tmp_path / "sums.diopi"
    example = torch.randn(3, 7).to(droplet)
    export.save(Sums().to(droplet), (example,), path, dynamic_shapes=({1: torch.export.Dim("width", max=40000)},))
    content = document_of(path)
    assert len(content["plans"]) == 2 and len(content["constants"]) == 1
    loaded = export.load(path)
    for width in (2, 100, 30000, 40000):
        x = torch.ones(3, width)
        torch.testing.assert_close(loaded(x)[0].cpu(), x.sum(-1) * 0.5)


def test_what_torch_export_left_open(export: ModuleType, droplet: Any, tmp_path: Path) -> None:
    import torch

    x = torch.randn(3, 4).to(droplet)
    model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.GELU()).to(droplet)
    with torch.no_grad():
        program = torch.export.export(model, (x,), dynamic_shapes=({0: torch.export.Dim("rows", max=9)},))
    path = tmp_path / "program.diopi"
    export.save(program, (x,), path)
    loaded = export.load(path)
    other = torch.randn(8, 4)
    torch.testing.assert_close(loaded(other)[0].cpu(), model(other.to(droplet)).detach().cpu())
    with pytest.raises(RuntimeError, match=r"is Float \[10, 4\]; the graph was saved for .*, 4\], .* from 2 to 9"):
        loaded(torch.randn(10, 4))

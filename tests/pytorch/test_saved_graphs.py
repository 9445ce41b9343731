"""Models as files: saved by Python, run by `diopi-run` and by the class that it uses."""

from __future__ import annotations

import importlib
import os
import subprocess
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

pytestmark = pytest.mark.usefixtures("fresh_compiler")


def net() -> Any:
    """With parameters, buffers, constants and a fused chain."""
    import torch

    nn = torch.nn
    layers = [nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.GELU(), nn.Flatten(), nn.Linear(64, 5), nn.Softmax(-1)]
    return nn.Sequential(*layers).eval()


def diopi_run(backend: Any, *words: object) -> subprocess.CompletedProcess[str]:
    """The program next to the library."""
    command = [str(backend.torch.parent / "diopi-run"), *map(str, words)]
    environment = {**os.environ, **backend.environment()}
    return subprocess.run(command, env=environment, capture_output=True, text=True)


def test_a_model_runs_without_python(export: ModuleType, backend: Any, droplet: Any, tmp_path: Path) -> None:
    import torch

    model, x = net(), torch.randn(2, 3, 6, 6)
    expected = model(x).detach()
    path = tmp_path / "net.diopi"
    export.save(model.to(droplet), (x.to(droplet),), path)
    torch.save(x, tmp_path / "x.pt")
    done = diopi_run(backend, path, "--input", tmp_path / "x.pt", "--output", tmp_path / "y.pt", "--repeat", 2)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("microseconds: fastest ")
    (result,) = torch.load(tmp_path / "y.pt")
    torch.testing.assert_close(result, expected)
    described = diopi_run(backend, path)
    assert described.stdout.endswith(": Float [2, 3, 6, 6]\n"), described.stderr


def test_a_decoder_with_positions_and_a_cache(export: ModuleType, droplet: Any, tmp_path: Path) -> None:
    """Buffers that are not in the state, constants of the plan, several results."""
    import torch

    models = importlib.import_module("models.attention")
    model = models.LlamaDecoder().eval()
    tokens = torch.randint(64, (1, 5))
    expected = model(tokens).detach()
    export.save(model.to(droplet), (tokens.to(droplet),), tmp_path / "decoder.diopi")
    loaded = export.load(tmp_path / "decoder.diopi")
    for _ in range(2):
        (result,) = loaded(tokens.to(droplet))
        torch.testing.assert_close(result.cpu(), expected, rtol=1e-4, atol=1e-5)
    other = torch.randint(64, (1, 5))
    torch.testing.assert_close(loaded(other)[0].cpu(), model.cpu()(other).detach(), rtol=1e-4, atol=1e-5)


def test_what_torch_export_made_can_be_saved(export: ModuleType, droplet: Any, tmp_path: Path) -> None:
    import torch

    x, y = torch.randn(3, 4).to(droplet), torch.randn(3, 4).to(droplet)

    class Two(torch.nn.Module):  # type: ignore[misc]
        def forward(self, x: Any, y: Any) -> Any:
            return x @ y.t(), (x - y) * 2

    with torch.no_grad():
        program = torch.export.export(Two(), (x, y))
    export.save(program, (x, y), tmp_path / "two.diopi")
    product, difference = export.load(tmp_path / "two.diopi")(x, x + 1)
    torch.testing.assert_close(product.cpu(), x.cpu() @ (x.cpu() + 1).t())
    torch.testing.assert_close(difference.cpu(), torch.full((3, 4), -2.0))


def test_inputs_are_checked(export: ModuleType, backend: Any, droplet: Any, tmp_path: Path) -> None:
    import torch

    model = torch.nn.Linear(4, 2).to(droplet)
    export.save(model, (torch.randn(3, 4).to(droplet),), tmp_path / "linear.diopi")
    loaded = export.load(tmp_path / "linear.diopi")
    with pytest.raises(RuntimeError, match=r"is Float \[2, 4\]; the graph was saved for Float \[3, 4\]"):
        loaded(torch.randn(2, 4))
    with pytest.raises(RuntimeError, match=r"is Long \[3, 4\]; the graph was saved for Float"):
        loaded(torch.ones(3, 4, dtype=torch.int64))
    with pytest.raises(RuntimeError, match="the saved graph has 1 inputs, not 0"):
        loaded()
    (tmp_path / "other.diopi").write_text("nothing")
    with pytest.raises(RuntimeError, match="is no saved graph"):
        export.load(tmp_path / "other.diopi")
    missing = diopi_run(backend, tmp_path / "absent.diopi")
    assert missing.returncode == 1 and "no saved graph at" in missing.stderr
    assert diopi_run(backend, "--repeat").returncode == 2


def test_what_cannot_be_saved(export: ModuleType, droplet: Any, tmp_path: Path) -> None:
    import torch

    x = torch.randn(2, 3, 4, 4).to(droplet)
    training = torch.nn.BatchNorm2d(3).to(droplet)
    with pytest.raises(ValueError, match="writes to buffers or inputs"):
        export.save(training, (x,), tmp_path / "training.diopi")
    assert not (tmp_path / "training.diopi").exists() and int(training.num_batches_tracked) == 0


def test_norms_are_whole_and_positions_are_constants(export: ModuleType, droplet: Any, tmp_path: Path) -> None:
    """What follows from parameters and buffers alone is computed when the model is saved."""
    import json

    import torch

    models = importlib.import_module("models.attention")
    model = models.LlamaDecoder().to(droplet)
    export.save(model, (torch.zeros(1, 3, dtype=torch.int64).to(droplet),), tmp_path / "decoder.diopi")
    plan = json.loads(torch.load(tmp_path / "decoder.diopi")["plans"][0][0])
    called = [step.get("function", "") for step in plan["steps"]]
    assert called.count("diopiRMSNorm") == 5
    assert not {"diopiCos", "diopiSin", "diopiArange"} & {*called}
    assert not any("reason" in step for step in plan["steps"])


def test_plain_code_becomes_functions(
    export: ModuleType, droplet: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in graphs of torch.compile, with the lines of the model; without patterns the file has the plain operators."""
    import json

    import torch
    from plain_llama import Block

    model, x = Block(), torch.randn(2, 6, 32)
    expected = model(x).detach()
    found = []
    for setting in ("rms_norm,rotary_embedding", "0"):
        monkeypatch.setenv("DIOPI_COMPILE_PATTERNS", setting)
        path = tmp_path / f"{setting}.diopi"
        export.save(model.to(droplet), (x.to(droplet),), path)
        found.append(json.loads(torch.load(path)["plans"][0][0])["steps"])
        torch.testing.assert_close(export.load(path)(x)[0].cpu(), expected)
    called = [[step.get("function") for step in steps] for steps in found]
    assert called[0].count("diopiRMSNorm") == 2 and called[0].count("diopiRotaryEmbedding") == 2
    assert not {"diopiRMSNorm", "diopiRotaryEmbedding"} & {*called[1]}
    (first, *_) = [step for step in found[0] if step.get("function") == "diopiRMSNorm"]
    assert "plain_llama.py" in first["source"]

"""Models as files: saved by Python, run by `diopi-run` and by the class that it uses."""

from __future__ import annotations

import importlib
import os
import subprocess
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from saved_files import document_of

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
    torch.save({"format": 2}, tmp_path / "older.diopi")
    with pytest.raises(RuntimeError, match="is no saved graph, or one that an older version wrote"):
        export.load(tmp_path / "older.diopi")
    missing = diopi_run(backend, tmp_path / "absent.diopi")
    assert missing.returncode == 1 and "no saved graph at" in missing.stderr
    assert diopi_run(backend, "--repeat").returncode == 2


def test_a_byte_that_changes_is_an_error(export: ModuleType, backend: Any, droplet: Any, tmp_path: Path) -> None:
    """Anywhere in the file, in each of its bits; as is an end that is missing, or more than an end."""
    import random

    import torch

    path = tmp_path / "net.diopi"
    export.save(net().to(droplet), (torch.randn(2, 3, 6, 6).to(droplet),), path)
    content = path.read_bytes()
    draw, damaged = random.Random(0), tmp_path / "damaged.diopi"
    positions = {*range(32), *range(len(content) - 8, len(content)), *range(0, len(content), len(content) // 200)}
    for position in sorted(positions):
        changed = bytearray(content)
        changed[position] ^= 1 << draw.randrange(8)
        damaged.write_bytes(changed)
        with pytest.raises(RuntimeError, match="is damaged: its checksum" if position >= 8 else "is no saved graph"):
            export.load(damaged)
    for other in (content[:-1], content[: len(content) // 2], content + b"\0", content[:24], content[:3], b""):
        damaged.write_bytes(other)
        with pytest.raises(RuntimeError, match=r"is damaged|is no saved graph"):
            export.load(damaged)
    changed = bytearray(content)
    changed[len(content) // 2] ^= 1
    damaged.write_bytes(changed)
    done = diopi_run(backend, damaged)
    assert done.returncode == 1 and "is damaged: its checksum" in done.stderr


def test_a_file_is_not_unpickled(export: ModuleType, droplet: Any, tmp_path: Path) -> None:
    """Reading does not execute code, as unpickling would."""
    import pickle

    class Evil:
        def __reduce__(self) -> tuple[Any, tuple[str]]:
            return os.mkdir, (str(tmp_path / "ran"),)

    (tmp_path / "evil.diopi").write_bytes(pickle.dumps(Evil()))
    with pytest.raises(RuntimeError, match="is no saved graph"):
        export.load(tmp_path / "evil.diopi")
    assert not (tmp_path / "ran").exists()


def test_inputs_have_the_names_of_the_model(export: ModuleType, backend: Any, droplet: Any, tmp_path: Path) -> None:
    """The parameters of `forward`, and the keys of what is inside."""
    import torch

    class Several(torch.nn.Module):  # type: ignore[misc]
        def forward(self, image: Any, states: Any, *more: Any) -> Any:
            return image + states["old"] + states["new"][0] + more[0] + more[1]

    x = torch.ones(2).to(droplet)
    arguments = (x, {"old": x, "new": [x]}, x, x)
    names = ["image", "states['old']", "states['new'][0]", "more[0]", "more[1]"]
    export.save(Several(), arguments, tmp_path / "several.diopi")
    assert [one["name"] for one in document_of(tmp_path / "several.diopi")["inputs"]] == names
    with torch.no_grad():
        program = torch.export.export(Several(), arguments)
    export.save(program, arguments, tmp_path / "exported.diopi")
    assert document_of(tmp_path / "exported.diopi")["inputs"][0]["name"] == "image"
    shown = diopi_run(backend, tmp_path / "several.diopi").stdout
    assert shown.startswith("image: Float [2]\nstates['old']: Float [2]\n")


def test_what_cannot_be_saved(export: ModuleType, droplet: Any, tmp_path: Path) -> None:
    import torch

    x = torch.randn(2, 3, 4, 4).to(droplet)
    training = torch.nn.BatchNorm2d(3).to(droplet)
    with pytest.raises(ValueError, match="writes to buffers or inputs"):
        export.save(training, (x,), tmp_path / "training.diopi")
    assert not (tmp_path / "training.diopi").exists() and int(training.num_batches_tracked) == 0


def test_norms_are_whole_and_positions_are_constants(export: ModuleType, droplet: Any, tmp_path: Path) -> None:
    """Computes values that depend only on parameters and buffers when the model is saved."""
    import torch

    models = importlib.import_module("models.attention")
    model = models.LlamaDecoder().to(droplet)
    export.save(model, (torch.zeros(1, 3, dtype=torch.int64).to(droplet),), tmp_path / "decoder.diopi")
    plan = document_of(tmp_path / "decoder.diopi")["plans"][0]["plan"]
    called = [step.get("function", "") for step in plan["steps"]]
    assert called.count("diopiRMSNorm") == 5
    assert not {"diopiCos", "diopiSin", "diopiArange"} & {*called}
    assert not any("reason" in step for step in plan["steps"])


def test_plain_code_becomes_functions(
    export: ModuleType, droplet: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in graphs of torch.compile, with the lines of the model; without patterns the file has the plain operators."""
    import torch
    from plain_llama import Block

    model, x = Block(), torch.randn(2, 6, 32)
    expected = model(x).detach()
    found = []
    for setting in ("rms_norm,rotary_embedding", "0"):
        monkeypatch.setenv("DIOPI_COMPILE_PATTERNS", setting)
        path = tmp_path / f"{setting}.diopi"
        export.save(model.to(droplet), (x.to(droplet),), path)
        found.append(document_of(path)["plans"][0]["plan"]["steps"])
        torch.testing.assert_close(export.load(path)(x)[0].cpu(), expected)
    called = [[step.get("function") for step in steps] for steps in found]
    assert called[0].count("diopiRMSNorm") == 2 and called[0].count("diopiRotaryEmbedding") == 2
    assert not {"diopiRMSNorm", "diopiRotaryEmbedding"} & {*called[1]}
    (first, *_) = [step for step in found[0] if step.get("function") == "diopiRMSNorm"]
    assert "plain_llama.py" in first["source"]

"""Captures as conformance cases of diopigen."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from networks import MODELS
from optools.capturing import Capture
from optools.cases import table
from optools.store import read_calls

from diopigen import api
from diopigen.conformance.cases.models import check_models, model_cases
from diopigen.conformance.model import Case, Operand
from diopigen.diagnostics import Sink
from diopigen.ir.model import Interface
from diopigen.ir.models import load_models

ROOT = Path(__file__).resolve().parents[2]


def cases_of(text: str, interface: Interface, folder: Path) -> list[Case]:
    """The cases of a table, which must be free of findings."""
    path = folder / "models/captured.yaml"
    path.parent.mkdir(parents=True)
    path.write_text(text)
    sink = Sink()
    (model,) = load_models(folder, sink, "specs")
    check_models(interface, [model], sink)
    assert [found.message for found in sink.sorted()] == []
    return model_cases(interface, model)


def test_captures_become_cases(interface: Interface, tmp_path: Path, device: str) -> None:
    x, y = torch.tensor([[1.0, -2.5], [0.5, 3]]).to(device), torch.rand(200, 3).to(device)
    with Capture(tmp_path / "a"):
        torch.mm(x, x)
        torch.mm(x, x)
        y.sqrt()
        y[:, 1].clone()
        x.t()
        torch.randn(4, device=device)
    found = table(read_calls(tmp_path / "a"), "captured")
    assert found.calls == 5 and found.cases == 3 and sum(found.unmapped.values()) == 1
    cases = {case.function: case for case in cases_of(found.text, interface, tmp_path / "spec")}
    assert set(cases) == {"diopiMm", "diopiSqrt", "diopiCopyInp"}
    operand = cases["diopiMm"].arguments["input"]
    assert isinstance(operand, Operand) and operand.values == ((1.0, -2.5), (0.5, 3.0))
    assert (
        cases["diopiMm"].about == "captured: forward, 2 times" and cases["diopiMm"].id == "diopiMm/float32/captured-1"
    )
    positive = cases["diopiSqrt"].arguments["input"]
    assert isinstance(positive, Operand) and getattr(positive.values, "distribution", "") == "uniform"


@pytest.mark.parametrize("operands", [True, False])
def test_models_become_tables(operands: bool, interface: Interface, tmp_path: Path, device: str) -> None:
    with Capture(tmp_path / "a", operands=operands):
        for model in ("perceptron", "convolutional", "transformer"):
            MODELS[model](device, 1)
    found = table(read_calls(tmp_path / "a"), "captured")
    cases = cases_of(found.text, interface, tmp_path / "spec")
    assert len(cases) == found.cases > 60
    assert {"diopiConvolution2d", "diopiConvolution2dBackward", "diopiBatchNormBackward", "diopiSoftmaxBackward"} <= {
        case.function for case in cases
    }


@pytest.mark.slow
def test_cases_of_captures_run_over_a_library(
    tmp_path: Path, optools: Callable[..., Any], python: Callable[..., Any]
) -> None:
    from artefacts import artefact

    (tmp_path / "train.py").write_text(
        "import os\nfrom networks import MODELS\nMODELS['perceptron'](os.environ['OPTOOLS_TEST_DEVICE'], 1)\n"
    )
    optools("capture", "--folder", "kept", "train.py")
    shutil.copytree(ROOT / "specs", tmp_path / "specs")
    done = optools("to-cases", "kept", "--out", "specs/models/mine.yaml", PYTHONPATH=f"{ROOT / 'optools/src'}:{ROOT}")
    assert " cases of " in done.stdout
    library, runtime = artefact("libdiopi_impl.so"), artefact("libdiopirt.so")
    words = ["--spec", "specs", "--lib", library, "--runtime", runtime, "--model", "mine"]
    run = python("-m", "diopigen", "conformance", "run", *words, PYTHONPATH=str(ROOT))
    assert " passed" in run.stdout and " failed" not in run.stdout


def test_the_workspace_of_an_installed_diopigen_is_used() -> None:
    from diopigen.package import package_data

    assert api.load(
        api.Workspace(package_data("specs"), package_data("templates"), "specs"), Sink()
    ).interface.functions

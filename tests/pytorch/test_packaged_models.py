"""Models of public packages train on the device as on the CPU, in float32 and with bfloat16 autocast; what falls back
is named in packaged_fallbacks.yaml. `make test-models` installs the packages and prints the table of all runs."""

from __future__ import annotations

import functools
import importlib
import importlib.util
import os
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml
from install_models import APART
from model_runs import FACTOR, FLOOR
from packaged_model import PackageModel
from packaged_run import Trained, distances, largest, train
from what_ran import Functions, note

sys.path.append(str(APART))  # what depends on a torchvision for another torch
os.environ["HF_HUB_OFFLINE"] = "1"  # generate() would ask the hub for code of its own
CPU = torch.device("cpu")
PRECISIONS = {"float32": None, "bfloat16": torch.bfloat16}
GROUPS = {
    "language": ("transformers",),
    "vision": ("transformers", "peft"),
    "pictures": ("torchvision", "timm", "segmentation_models_pytorch"),
    "others": ("diffusers", "torch_geometric"),
}
NEAR = 1e-5
EXPLAINED = yaml.safe_load((Path(__file__).parent / "packaged_fallbacks.yaml").read_text())


def _collected() -> tuple[list[PackageModel], list[str]]:
    """The models of the packages that are installed, and the packages that are not."""
    models, missing = [], []
    for group, packages in GROUPS.items():
        lacking = [name for name in packages if importlib.util.find_spec(name) is None]
        missing += lacking
        if lacking != list(packages):
            every = importlib.import_module(f"packaged_{group}").MODELS
            models += [model for model in every if model.package not in lacking]
    return models, sorted(set(missing))


MODELS, MISSING = _collected()


@functools.cache
def on_cpu(model: PackageModel, precision: str) -> Trained:
    return train(model, CPU, autocast=PRECISIONS[precision])


@pytest.mark.parametrize("package", MISSING)
def test_packages_that_are_not_installed(package: str) -> None:
    pytest.skip(f"{package} is not installed (make test-models)")


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.id)
@pytest.mark.filterwarnings("ignore")  # of the packages
def test_training(model: PackageModel, precision: str, droplet: Any, torch_droplet: Any, fallbacks: Any) -> None:
    expected = on_cpu(model, precision)
    assert expected.gradients.any() and expected.outputs.any(), "a model of zeros shows nothing"
    below = Functions()
    own = train(model, droplet, autocast=PRECISIONS[precision])
    reasons = torch_droplet.fallback_reasons()
    found = distances(own, expected)
    row: dict[str, Any] = {
        "model": model.id,
        "precision": precision,
        "deviation": largest(found),
        "fallbacks": {name: [count, reasons.get(name, [])] for name, count in fallbacks().items()},
        "reference": below.since(),
        "time": own.seconds / expected.seconds,
    }
    if largest(found) > NEAR:
        truth = train(model, CPU, torch.float64)
        near, reached = distances(expected, truth), distances(own, truth)
        row |= {"cpu to float64": largest(near), "device to float64": largest(reached)}
        floor = FLOOR[PRECISIONS[precision] or torch.float32]
        allowed = {what: max(far, floor) for what, far in near.items()}
        if any(far > FACTOR * allowed[what] for what, far in reached.items()):
            # A stable computation gives the exact result of weights that are changed by its roundings (backward error
            # analysis): how far that moves the exact result is what any device may be off.
            unit = torch.finfo(PRECISIONS[precision] or torch.float32).eps / 2
            moved = distances(train(model, CPU, torch.float64, rounding=unit), truth)
            row["conditioning"] = largest(moved)
            allowed = {what: max(far, moved[what]) for what, far in allowed.items()}
        row["differs"] = {what: [far, allowed[what]] for what, far in reached.items() if far > FACTOR * allowed[what]}
    note("packages", row)
    assert row.get("differs", {}) == {}, "farther from float64 than the CPU is"
    assert torch.equal(own.generated, expected.generated)
    assert [name for name in fallbacks() if name not in EXPLAINED] == []

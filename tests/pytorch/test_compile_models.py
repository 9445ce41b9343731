"""Training of the example models, compiled by the backend `diopi`, with and without autocast, as in eager mode."""

from __future__ import annotations

import gc
import importlib
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import pytest

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def graphs(torch_droplet: ModuleType) -> ModuleType:
    """The module with the backend."""
    return importlib.import_module("torch_droplet.graphs")


@pytest.fixture(autouse=True)
def fresh(torch_droplet: ModuleType) -> Iterator[None]:
    import torch

    torch._dynamo.reset()
    yield
    torch._dynamo.reset()
    gc.collect()


def _decoder() -> tuple[Callable[[], Any], Any]:
    import torch

    models = importlib.import_module("models.attention")

    return models.LlamaDecoder, torch.randint(64, (2, 8))


def _lstm() -> tuple[Callable[[], Any], Any]:
    import torch

    models = importlib.import_module("models.simple")

    return models.LSTMClassifier, torch.randint(64, (2, 8))


def _unet() -> tuple[Callable[[], Any], Any]:
    import torch

    models = importlib.import_module("models.convolution")

    return models.UNet, torch.randn(1, 3, 16, 16)


def _resnet() -> tuple[Callable[[], Any], Any]:
    import torch

    models = importlib.import_module("models.convolution")

    return lambda: models.ResNet(models.BasicBlock, (1, 1, 1, 1), 8, 10), torch.randn(2, 3, 32, 32)


@pytest.mark.parametrize("amp", [False, True], ids=["float32", "bfloat16"])
@pytest.mark.parametrize("recipe", [_decoder, _lstm, _unet, _resnet], ids=lambda one: one.__name__.strip("_"))
def test_training_is_as_in_eager(graphs: ModuleType, droplet: Any, recipe: Callable[..., Any], amp: bool) -> None:
    import torch

    torch.manual_seed(0)
    make, example = recipe()
    model, twin = make(), make()
    twin.load_state_dict(model.state_dict())
    x = example.to(droplet)
    losses = []
    for module, is_compiled in ((model.to(droplet), True), (twin.to(droplet), False)):
        call = torch.compile(module, backend=graphs.backend) if is_compiled else module
        optimizer = torch.optim.SGD(module.parameters(), lr=0.05, momentum=0.9)
        own = []
        for _ in range(3):
            optimizer.zero_grad()
            with torch.autocast("droplet", dtype=torch.bfloat16, enabled=amp):
                scores = call(x)
            loss = scores.float().square().mean()
            loss.backward()
            optimizer.step()
            own.append(loss.item())
        losses.append(own)
    tolerance = 1e-2 if amp else 1e-5
    assert losses[0] == pytest.approx(losses[1], rel=tolerance)
    for one, other in zip(model.parameters(), twin.parameters(), strict=True):
        torch.testing.assert_close(one.cpu(), other.cpu(), rtol=tolerance, atol=tolerance)

"""Training of the example models, compiled by the backend `diopi`, with and without autocast, as in eager mode."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import pytest

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def traced_recurrent_networks(fresh_compiler: None) -> Iterator[None]:
    import torch

    with torch._dynamo.config.patch(allow_rnn=True):
        yield


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


def _bert() -> tuple[Callable[[], Any], Any]:
    import torch

    models = importlib.import_module("models.attention")

    return models.BertEncoder, torch.randint(64, (4, 16))


def _vit() -> tuple[Callable[[], Any], Any]:
    import torch

    models = importlib.import_module("models.attention")

    return lambda: models.VisionTransformer(32, 16, 64, 4, 2), torch.randn(2, 3, 32, 32)


def _resnet() -> tuple[Callable[[], Any], Any]:
    import torch

    models = importlib.import_module("models.convolution")

    return lambda: models.resnet18(16), torch.randn(2, 3, 32, 32)


DISPATCHED = {"_bert": {"arange"}, "_unet": {"_unsafe_index.Tensor", "_unsafe_index_put"}}
"""Calls without a matching function: an index list with gaps, and positions that the backward graph needs too."""


@pytest.mark.parametrize("amp", [False, True], ids=["float32", "bfloat16"])
@pytest.mark.parametrize(
    "recipe", [_decoder, _lstm, _unet, _resnet, _bert, _vit], ids=lambda one: one.__name__.strip("_")
)
def test_training_is_as_in_eager(
    graphs: ModuleType, torch_droplet: ModuleType, droplet: Any, recipe: Callable[..., Any], amp: bool
) -> None:
    """Every node that went through the dispatcher is named in `DISPATCHED`; recurrent nets are traced."""
    import torch

    torch_droplet.reset_fallback_report()
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
    # A traced LSTM consists of its cells, which autocast rounds elsewhere than eager mode's one operator: it is as near
    # to float64 as that one, 3.0e-3 and 2.6e-3.
    tolerance = 1e-2 if amp and recipe is _lstm else 1e-5
    assert losses[0] == pytest.approx(losses[1], rel=tolerance)
    for one, other in zip(model.parameters(), twin.parameters(), strict=True):
        torch.testing.assert_close(one.cpu(), other.cpu(), rtol=tolerance, atol=tolerance)
    assert set(torch_droplet.fallback_report(compiled=True)) == DISPATCHED.get(recipe.__name__, set())

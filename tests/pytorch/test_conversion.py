"""Modules that move between devices keep their parameters: who holds one before holds it afterwards."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch
from torch import nn


class Tied(nn.Module):
    """A decoder's head that shares its weight with the embedding."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(11, 6)
        self.body = nn.Linear(6, 6)
        self.head = nn.Linear(6, 11, bias=False)
        self.head.weight = self.embedding.weight
        self.register_buffer("scale", torch.tensor(2.0))

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        return self.head(torch.tanh(self.body(self.embedding(tokens)) * self.scale))


def step(model: nn.Module, optimizer: torch.optim.Optimizer, device: Any) -> float:
    tokens = torch.arange(8, device=device) % 11
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(tokens), (tokens + 1) % 11)
    loss.backward()
    optimizer.step()
    return float(loss.item())


def test_tied_weights_and_an_optimizer_from_before_train_as_on_the_cpu(droplet: Any) -> None:
    torch.manual_seed(0)
    expected = Tied()
    moved = copy.deepcopy(expected)
    optimizers = [torch.optim.AdamW(model.parameters(), lr=1e-2) for model in (expected, moved)]
    before = list(moved.parameters())
    moved.to(droplet)
    assert [id(p) for p in moved.parameters()] == [id(p) for p in before]
    assert moved.head.weight is moved.embedding.weight and moved.scale.device == droplet
    assert {p.device for p in moved.parameters()} == {droplet} and all(p.is_leaf for p in moved.parameters())
    for _ in range(4):
        assert step(moved, optimizers[1], droplet) == pytest.approx(step(expected, optimizers[0], "cpu"), rel=1e-5)
    moved.cpu()
    assert moved.head.weight is moved.embedding.weight
    torch.testing.assert_close(dict(moved.named_parameters()), dict(expected.named_parameters()), rtol=1e-5, atol=1e-6)


def test_gradients_and_hooks_move_too(droplet: Any) -> None:
    model = nn.Linear(3, 2)
    seen: list[str] = []
    model.weight.register_hook(lambda gradient: seen.append(f"gradient {gradient.device.type}"))
    model.weight.register_post_accumulate_grad_hook(lambda p: seen.append(f"accumulated {p.grad.device.type}"))
    model.register_state_dict_pre_hook(lambda *_: seen.append("state"))
    model(torch.ones(1, 3)).sum().backward()
    gradient = model.weight.grad
    model.droplet()
    assert model.weight.grad is gradient and gradient.device == droplet
    assert gradient.cpu().tolist() == [[1.0] * 3] * 2
    model(torch.ones(1, 3, device=droplet)).sum().backward()
    assert model.weight.grad.cpu().tolist() == [[2.0] * 3] * 2
    model.state_dict()
    assert seen == ["gradient cpu", "accumulated cpu", "gradient droplet", "accumulated droplet", "state"]


def test_dtype_and_device_in_one_step_and_a_graph_from_before(droplet: Any) -> None:
    model = nn.Linear(3, 2)
    weight = model.weight
    out = model(torch.ones(1, 3))  # keeps the accumulator of gradients alive
    model.to(droplet, torch.bfloat16)
    assert model.weight is weight and weight.dtype == torch.bfloat16 and weight.device == droplet
    model(torch.ones(1, 3, device=droplet, dtype=torch.bfloat16)).sum().backward()
    assert weight.grad.device == droplet and weight.grad.dtype == torch.bfloat16
    del out


def test_shared_modules_recurrent_weights_and_empty_forms(droplet: Any) -> None:
    shared = nn.Linear(4, 4)
    model = nn.Sequential(shared, nn.ReLU(), shared)
    first = shared.weight
    assert model.to(droplet)[2].weight is first and first.device == droplet
    recurrent = nn.LSTM(3, 4, batch_first=True).to(droplet)
    assert all(p.device == droplet for p in recurrent._flat_weights)
    assert [id(p) for p in recurrent._flat_weights] == [id(p) for p in recurrent.parameters()]
    with torch.device("meta"):
        shell = nn.Linear(2, 2)
    assert shell.to_empty(device=droplet).weight.device == droplet
    lazy = nn.LazyLinear(3).to(droplet)
    assert lazy(torch.ones(1, 2, device=droplet)).shape == (1, 3)


def test_other_conversions_stay_as_they_are(droplet: Any) -> None:
    model = nn.Linear(2, 2)
    weight = model.weight
    assert model.double().weight is weight and weight.dtype == torch.float64
    torch.__future__.set_overwrite_module_params_on_conversion(True)
    try:
        assert model.to(droplet).weight is not weight
    finally:
        torch.__future__.set_overwrite_module_params_on_conversion(False)


@pytest.mark.parametrize("reentrant", [False, True])
def test_checkpoints_of_activations_repeat_dropout(reentrant: bool, droplet: Any) -> None:
    torch.manual_seed(3)
    x = torch.rand(64, device=droplet, requires_grad=True)

    def drop(values: torch.Tensor) -> torch.Tensor:
        return nn.functional.dropout(values * values, 0.5)

    out = torch.utils.checkpoint.checkpoint(drop, x, use_reentrant=reentrant)
    out.sum().backward()
    mask = (out.detach() != 0).cpu()
    assert 0 < mask.sum() < 64
    torch.testing.assert_close(x.grad.cpu(), (4 * x.detach().cpu()) * mask)

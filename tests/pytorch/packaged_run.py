"""Trains a model of a package for some steps, and says how near two such runs are."""

from __future__ import annotations

import contextlib
import time
from dataclasses import dataclass
from typing import Any

import torch
from model_runs import joined
from packaged_model import PackageModel

STEPS = 4


@dataclass(frozen=True)
class Trained:
    """Results of a run, in float64 on the CPU: the outputs before training, the losses of all steps, the gradients of
    the first one, the parameters before and after, the tokens that were generated after training (empty where none
    were), and the seconds of the fastest step."""

    outputs: torch.Tensor
    losses: torch.Tensor
    gradients: torch.Tensor
    before: torch.Tensor
    after: torch.Tensor
    generated: torch.Tensor
    seconds: float


def _to(value: Any, device: torch.device, dtype: torch.dtype) -> Any:
    if not isinstance(value, torch.Tensor):
        return value
    return value.to(device, dtype) if value.is_floating_point() else value.to(device)


def train(
    model: PackageModel,
    device: torch.device,
    dtype: torch.dtype = torch.float32,
    autocast: torch.dtype | None = None,
    rounding: float = 0.0,
) -> Trained:
    """Four steps of AdamW, from the weights and on the batch that belong to the model. Each weight is changed by the
    relative error `rounding`, up or down."""
    torch.manual_seed(1)
    network = model.make().to(dtype)
    if dtype == torch.float64:
        model.in_float64(network)
    if rounding:
        source = torch.Generator().manual_seed(3)
        with torch.no_grad():
            for weight in network.parameters():
                signs = torch.randint(0, 2, weight.shape, generator=source) * 2 - 1
                weight.mul_(1 + rounding * signs)
    network.train().to(device)
    batch = {key: _to(value, device, dtype) for key, value in model.data(torch.Generator().manual_seed(2)).items()}
    parameters = [parameter for parameter in network.parameters() if parameter.requires_grad]
    optimizer = torch.optim.AdamW(parameters, lr=1e-3)
    before, losses, gradients, outputs = joined(parameters), [], torch.empty(0), torch.empty(0)
    seconds = 0.0
    for step in range(STEPS):
        start = time.perf_counter()
        optimizer.zero_grad()
        with torch.autocast(device.type, autocast) if autocast else contextlib.nullcontext():
            result = model.outputs(network(**batch))
            loss = (
                result if result.dim() == 0 else result.float().square().mean() if autocast else result.square().mean()
            )
        loss.backward()
        if step == 0:
            outputs = joined([result])
            gradients = joined(p.grad for p in parameters if p.grad is not None)
        optimizer.step()
        losses.append(loss.item())
        seconds = min(seconds or 1e9, time.perf_counter() - start)
    after = joined(parameters)
    generated = _generated(model, network, batch) if model.generate is not None and autocast is None else _nothing()
    return Trained(outputs, torch.tensor(losses, dtype=torch.float64), gradients, before, after, generated, seconds)


def _nothing() -> torch.Tensor:
    return torch.empty(0, dtype=torch.int64)


def _generated(model: PackageModel, network: Any, batch: dict[str, Any]) -> torch.Tensor:
    given = {key: value for key, value in batch.items() if key not in ("labels", "return_loss")}
    with torch.no_grad():
        return network.eval().generate(**given, **(model.generate or {})).cpu()


def _relative(own: torch.Tensor, other: torch.Tensor, size: torch.Tensor) -> float:
    if own.shape != other.shape:
        return float("inf")
    return float((own - other).norm() / size.norm().clamp_min(1e-12))


def distances(own: Trained, other: Trained) -> dict[str, float]:
    """Distance between two runs: by the norm of the difference, relative to the norm of the other; parameters
    relative to the way that they went."""
    return {
        "outputs": _relative(own.outputs, other.outputs, other.outputs),
        "losses": _relative(own.losses, other.losses, other.losses),
        "gradients": _relative(own.gradients, other.gradients, other.gradients),
        "parameters": _relative(own.after, other.after, other.after - other.before),
    }


def largest(found: dict[str, float]) -> float:
    """The largest distance but that of parameters: AdamW makes a step of a gradient that is nearly zero."""
    return max(value for name, value in found.items() if name != "parameters")

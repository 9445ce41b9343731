"""Models in training: which, on what data, with which optimizer; and how near two runs are.

Every run starts from the same weights and reads the same data. The reference is a run on the CPU in float64: a device
may be as far from it as the CPU's own runs in the same precision are, times `FACTOR`. In float32 there are two, with
oneDNN and without: gradients that are 0 but for rounding, such as those of a bias before a normalisation, become steps
of Adam, so that one run may be near by chance.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import models
import torch
import torch.nn.functional as F
from torch import nn

STEPS = 10
FACTOR = 4.0
"""Permitted distance from the float64 run in units of that of the CPU's run: sums have another order."""
FLOOR = {torch.float32: 2e-5, torch.float16: 4e-3, torch.bfloat16: 3e-2}
"""And where the CPU happens to be nearer than this, this much: some units of the precision, over ten steps."""

Batch = tuple[torch.Tensor, torch.Tensor]


@dataclass(frozen=True, eq=False)
class Model:
    """`data` draws inputs and targets, `optimizer` names a class of torch.optim."""

    name: str
    make: Callable[[], nn.Module]
    data: Callable[[torch.Generator], Batch]
    optimizer: str
    options: dict[str, float] = field(default_factory=dict)


def images(size: int, batch: int = 4) -> Callable[[torch.Generator], Batch]:
    """Pictures and classes."""

    def draw(generator: torch.Generator) -> Batch:
        pictures = torch.randn(batch, 3, size, size, generator=generator)
        return pictures, torch.randint(10, (batch,), generator=generator)

    return draw


def sentences(generator: torch.Generator) -> Batch:
    """Tokens, of which the second half of one is filling, and classes."""
    tokens = torch.randint(1, 64, (4, 16), generator=generator)
    tokens[0, 8:] = 0
    return tokens, torch.randint(10, (4,), generator=generator)


def texts(generator: torch.Generator) -> Batch:
    """Tokens, and for each place the next one."""
    tokens = torch.randint(64, (4, 17), generator=generator)
    return tokens[:, :-1], tokens[:, 1:]


def vectors(generator: torch.Generator) -> Batch:
    return torch.randn(16, 32, generator=generator), torch.randint(10, (16,), generator=generator)


def masks(generator: torch.Generator) -> Batch:
    """Pictures, and a class for each point."""
    return torch.randn(2, 3, 16, 16, generator=generator), torch.randint(4, (2, 16, 16), generator=generator)


MOMENTUM = {"lr": 1e-3, "momentum": 0.9, "weight_decay": 1e-4}


def chosen(whole: bool) -> tuple[Model, ...]:
    """All models; the convolutional ones at their full width only where `whole`."""
    width, scale = (64, 1.0) if whole else (16, 0.5)
    return (
        Model("mlp", models.MultiLayerPerceptron, vectors, "SGD", MOMENTUM),
        Model("resnet18", lambda: models.resnet18(width), images(32, 8), "SGD", MOMENTUM),
        Model("resnet50", lambda: models.resnet50(width), images(32, 8), "SGD", MOMENTUM),
        Model("mobilenetv2", lambda: models.MobileNetV2(scale), images(64, 8), "SGD", MOMENTUM),
        Model("vit_b16", vit_b16 if whole else vit_narrow, images(32), "AdamW", {"lr": 1e-4}),
        Model("unet", models.UNet, masks, "Adam", {"lr": 1e-3}),
        Model("bert", models.BertEncoder, sentences, "AdamW", {"lr": 1e-3, "weight_decay": 0.01}),
        Model("llama", models.LlamaDecoder, texts, "AdamW", {"lr": 1e-3, "weight_decay": 0.1}),
        Model("lstm", models.LSTMClassifier, sentences, "Adam", {"lr": 1e-3}),
    )


def vit_b16() -> nn.Module:
    """Two of its twelve blocks."""
    return models.VisionTransformer(depth=2)


def vit_narrow() -> nn.Module:
    return models.VisionTransformer(depth=2, width=192, heads=3)


@dataclass(frozen=True)
class Run:
    """Losses by step; parameters before and after and running statistics after, each as one vector. All in float64 on
    the CPU."""

    losses: torch.Tensor
    before: torch.Tensor
    after: torch.Tensor
    statistics: torch.Tensor


def train(
    model: Model,
    device: torch.device,
    dtype: torch.dtype = torch.float32,
    autocast: torch.dtype | None = None,
    steps: int = STEPS,
) -> Run:
    """Trains from the weights and on the data that belong to the model; with `autocast`, mixed precision, its scaler
    included where the dtype is float16."""
    torch.manual_seed(1)
    network = model.make().to(dtype).to(device)
    inputs, targets = model.data(torch.Generator().manual_seed(2))
    inputs = (inputs.to(dtype) if inputs.is_floating_point() else inputs).to(device)
    targets = targets.to(device)
    optimizer = getattr(torch.optim, model.optimizer)(network.parameters(), **model.options)
    scaler = torch.amp.GradScaler(device.type, enabled=autocast == torch.float16, init_scale=1024.0)
    before, losses = joined(network.parameters()), []
    for _ in range(steps):
        optimizer.zero_grad()
        with torch.autocast(device.type, autocast) if autocast else contextlib.nullcontext():
            scores = network(inputs)
            if scores.dim() == 3:
                scores = scores.transpose(1, 2)
            loss = F.cross_entropy(scores, targets)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        losses.append(loss.item())
    after, statistics = joined(network.parameters()), joined(network.buffers())
    return Run(torch.tensor(losses, dtype=torch.float64), before, after, statistics)


def joined(tensors: Iterable[torch.Tensor]) -> torch.Tensor:
    parts = [tensor.detach().cpu().double().flatten() for tensor in tensors]
    return torch.cat(parts) if parts else torch.zeros(0, dtype=torch.float64)


def distances(run: Run, truth: Run) -> dict[str, float]:
    """Distances of a run from the exact one: losses relative to the largest, parameters relative to the way that they
    went, running statistics relative to themselves."""
    found = {
        "losses": (run.losses - truth.losses).abs().max() / truth.losses.abs().max(),
        "parameters": (run.after - truth.after).norm() / (truth.after - truth.before).norm(),
    }
    if len(truth.statistics) > 0:
        found["statistics"] = (run.statistics - truth.statistics).norm() / truth.statistics.norm()
    return {name: value.item() for name, value in found.items()}

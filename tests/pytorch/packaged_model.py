"""Description of a model of a package for the runs of test_packaged_models.py."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

Batch = Mapping[str, Any]
"""Arguments by name: tensors, which move to the device, and anything else."""


@dataclass(frozen=True, eq=False)
class PackageModel:
    """`make` creates the model, whose weights the global seed decides; `data` samples what it is called with.
    `outputs` returns the tensor that `loss` is a function of; `generate` are options of a call of `model.generate` on
    the batch without its labels; `in_float64` changes a model whose reference PyTorch cannot compute otherwise."""

    package: str
    name: str
    make: Callable[[], nn.Module]
    data: Callable[[torch.Generator], Batch]
    outputs: Callable[[Any], torch.Tensor] = lambda result: result
    generate: Mapping[str, Any] | None = None
    in_float64: Callable[[Any], None] = lambda network: None

    @property
    def id(self) -> str:
        return f"{self.package}-{self.name}"


def tokens(size: int = 64, length: int = 12, batch: int = 2, **others: Any) -> Callable[[torch.Generator], Batch]:
    """Texts, which are their own labels."""

    def sample(generator: torch.Generator) -> Batch:
        ids = torch.randint(2, size, (batch, length), generator=generator)
        return {"input_ids": ids, "labels": ids, **others}

    return sample


def classified(
    size: int = 64, length: int = 12, batch: int = 2, classes: int = 2
) -> Callable[[torch.Generator], Batch]:
    """Texts, one of them padded on the right, and a class of each."""

    def sample(generator: torch.Generator) -> Batch:
        ids = torch.randint(2, size, (batch, length), generator=generator)
        mask = torch.ones(batch, length, dtype=torch.int64)
        mask[0, length // 2 :] = 0
        labels = torch.randint(classes, (batch,), generator=generator)
        return {"input_ids": ids, "attention_mask": mask, "labels": labels}

    return sample


def images(
    size: int = 32, batch: int = 2, name: str = "x", channels: int = 3, labels: int = 0
) -> Callable[[torch.Generator], Batch]:
    """Pictures, and a class of each where there are `labels` classes."""

    def sample(generator: torch.Generator) -> Batch:
        made: dict[str, Any] = {name: torch.randn(batch, channels, size, size, generator=generator)}
        if labels:
            made["labels"] = torch.randint(labels, (batch,), generator=generator)
        return made

    return sample


def loss_of(result: Any) -> torch.Tensor:
    """The loss that a model of transformers computes by itself."""
    return result.loss

"""Tensors of two devices in one call: an error that says so, except where PyTorch lets a caller mix them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional

REJECTED: dict[str, Callable[[Any, Any], Any]] = {
    "searchsorted": lambda one, other: torch.searchsorted(torch.arange(4.0, device=one), torch.ones(2, device=other)),
    "bucketize": lambda one, other: torch.bucketize(torch.ones(2, device=one), torch.arange(4.0, device=other)),
    "grid_sample": lambda one, other: functional.grid_sample(
        torch.ones(1, 1, 3, 3, device=one), torch.zeros(1, 2, 2, 2, device=other), align_corners=False
    ),
    "linear": lambda one, other: functional.linear(torch.ones(2, 3, device=one), torch.ones(4, 3, device=other)),
    "linear with a bias": lambda one, other: functional.linear(
        torch.ones(2, 3, device=one), torch.ones(4, 3, device=one), torch.ones(4, device=other)
    ),
    "linalg.solve": lambda one, other: torch.linalg.solve(torch.eye(3, device=one), torch.ones(3, 1, device=other)),
    "matmul": lambda one, other: torch.ones(2, 3, device=one) @ torch.ones(3, 2, device=other),
    "cat": lambda one, other: torch.cat([torch.ones(2, device=one), torch.ones(2, device=other)]),
    "gather": lambda one, other: torch.gather(
        torch.ones(3, device=one), 0, torch.zeros(1, dtype=torch.int64, device=other)
    ),
    "scatter_reduce": lambda one, other: torch.ones(3, device=one).scatter_reduce(
        0, torch.zeros(1, dtype=torch.int64, device=other), torch.ones(1, device=one), "prod"
    ),
    "layer_norm": lambda one, other: functional.layer_norm(
        torch.ones(2, 3, device=one), (3,), torch.ones(3, device=other), torch.ones(3, device=other)
    ),
    "conv2d": lambda one, other: functional.conv2d(
        torch.ones(1, 1, 3, 3, device=one), torch.ones(1, 1, 2, 2, device=other)
    ),
    "embedding": lambda one, other: functional.embedding(
        torch.zeros(2, dtype=torch.int64, device=other), torch.ones(3, 2, device=one)
    ),
    "out=": lambda one, other: torch.add(torch.ones(3, device=one), 1, out=torch.ones(3, device=other)),
    "cdist": lambda one, other: torch.cdist(torch.ones(2, 3, device=one), torch.ones(2, 3, device=other)),
}


@pytest.mark.parametrize("pair", [("droplet:0", "cpu"), ("cpu", "droplet:0"), ("droplet:0", "droplet:1")])
@pytest.mark.parametrize("call", REJECTED)
def test_two_devices_are_an_error(call: str, pair: tuple[str, str], droplet: Any) -> None:
    with pytest.raises(RuntimeError, match=r"(?i)same device|to have device|INTERNAL ASSERT") as raised:
        REJECTED[call](*pair)
    assert "INTERNAL ASSERT" not in str(raised.value), str(raised.value)


def test_what_the_host_reads_may_be_its_own(droplet: Any) -> None:
    table = torch.arange(12.0, device=droplet).reshape(4, 3)
    places = torch.tensor([2, 0])
    assert table[places].cpu().tolist() == [[6.0, 7.0, 8.0], [0.0, 1.0, 2.0]]
    table[places] = torch.tensor(5.0)
    assert table[:, 0].cpu().tolist() == [5.0, 3.0, 5.0, 9.0]
    packed = nn.utils.rnn.pack_padded_sequence(torch.ones(3, 2, 1, device=droplet), torch.tensor([3, 1]))
    assert packed.data.device == droplet and packed.batch_sizes.device.type == "cpu"
    scores = torch.randn(6, 2, 5, device=droplet).log_softmax(-1)
    lengths = torch.tensor([6, 6]), torch.tensor([2, 1])
    loss = functional.ctc_loss(scores, torch.ones(2, 2, dtype=torch.int64, device=droplet), *lengths)
    assert loss.device == droplet
    assert (torch.ones(2, device=droplet) * torch.tensor(3.0)).cpu().tolist() == [3.0, 3.0]

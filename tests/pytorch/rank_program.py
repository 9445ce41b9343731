"""A rank of a training on droplet: runs the scenarios that it is asked for, and prints the losses of all as JSON.

Usage: rank_program.py SCENARIO,... [RANK NRANKS STORE], the last three where torchrun does not start it. Each scenario
of this file trains a small model on fractions of a batch, and the same model in this process on the whole batch; both
lists of losses are printed. rank_calls.py has those that call collectives.
"""

from __future__ import annotations

import copy
import json
import os
import sys
import tempfile
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
import torch.distributed.checkpoint
import torch.nn.functional as F
import torch_droplet  # noqa: F401  (registers the device)
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.distributed.tensor import DTensor
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
from torch.nn.parallel import DistributedDataParallel

sys.path.insert(0, str(Path(__file__).parents[2] / "examples"))

from models import LlamaDecoder, resnet18
from rank_calls import CALLS, DEVICE

STEPS = 3
Step = Callable[[], torch.Tensor]


def mean(loss: torch.Tensor) -> float:
    """The mean of the losses of all ranks."""
    total = loss.detach().clone()
    dist.all_reduce(total, op=dist.ReduceOp.AVG)
    return float(total)


def train(model: nn.Module, loss: Step, *, shared: bool) -> list[float]:
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    losses = []
    for _ in range(STEPS):
        optimizer.zero_grad()
        value = loss()
        value.backward()
        optimizer.step()
        losses.append(mean(value) if shared else float(value.detach()))
    return losses


def fraction(tensor: torch.Tensor, rank: int, count: int) -> torch.Tensor:
    return tensor.chunk(count)[rank].to(DEVICE)


def tokens() -> torch.Tensor:
    return torch.randint(0, 64, (8, 12), generator=torch.Generator().manual_seed(5))


def decoder() -> LlamaDecoder:
    torch.manual_seed(3)
    return LlamaDecoder(width=32, depth=1).to(DEVICE)


def next_token(model: nn.Module, text: torch.Tensor) -> torch.Tensor:
    scores = model(text[:, :-1])
    return F.cross_entropy(scores.reshape(-1, scores.shape[-1]), text[:, 1:].reshape(-1))


def compared(model: nn.Module, distributed: nn.Module) -> dict[str, list[float]]:
    """Training of a decoder on fractions of the batch and on all of it."""
    text = tokens()
    own = fraction(text, dist.get_rank(), dist.get_world_size())
    everything = text.to(DEVICE)
    return {
        "whole": train(model, lambda: next_token(model, everything), shared=False),
        "ranks": train(distributed, lambda: next_token(distributed, own), shared=True),
    }


def ddp() -> dict[str, list[float]]:
    model = decoder()
    return compared(model, DistributedDataParallel(copy.deepcopy(model)))


def amp() -> dict[str, list[float]]:
    """Mixed precision: autocast to float16, a scaled loss, gradients reduced in float32."""
    model = decoder()
    distributed = DistributedDataParallel(copy.deepcopy(model))
    text = tokens()
    own = fraction(text, dist.get_rank(), dist.get_world_size())
    everything = text.to(DEVICE)

    def trained(network: nn.Module, batch: torch.Tensor, *, shared: bool) -> list[float]:
        optimizer = torch.optim.SGD(network.parameters(), lr=0.05)
        scaler = torch.amp.GradScaler(DEVICE, init_scale=1024.0)
        losses = []
        for _ in range(STEPS):
            optimizer.zero_grad()
            with torch.autocast(DEVICE, torch.float16):
                loss = next_token(network, batch)
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
            losses.append(mean(loss) if shared else float(loss.detach()))
        assert scaler.get_scale() == 1024.0, "a step was left out"
        return losses

    return {"whole": trained(model, everything, shared=False), "ranks": trained(distributed, own, shared=True)}


def fsdp() -> dict[str, list[float]]:
    model = decoder()
    sharded = copy.deepcopy(model)
    for block in sharded.blocks:
        fully_shard(block, mesh=init_device_mesh(DEVICE, (dist.get_world_size(),)))
    fully_shard(sharded, mesh=init_device_mesh(DEVICE, (dist.get_world_size(),)))
    return compared(model, sharded)


def _parallel(mesh: Any) -> tuple[nn.Module, nn.Module]:
    torch.manual_seed(4)
    # The first layer is split by columns, the second by rows.
    layers = {"up": nn.Linear(16, 32), "activation": nn.ReLU(), "down": nn.Linear(32, 16)}
    model = nn.Sequential(OrderedDict(layers)).to(DEVICE)
    plan = {"up": ColwiseParallel(), "down": RowwiseParallel()}
    return model, parallelize_module(copy.deepcopy(model), mesh, plan)


def tensor_parallel() -> dict[str, list[float]]:
    mesh = init_device_mesh(DEVICE, (dist.get_world_size(),))
    model, split = _parallel(mesh)
    x = torch.randn(8, 16, generator=torch.Generator().manual_seed(6)).to(DEVICE)
    return {
        "whole": train(model, lambda: model(x).square().mean(), shared=False),
        "ranks": train(split, lambda: split(x).square().mean(), shared=True),
    }


def two_dimensions() -> dict[str, list[float]]:
    """Sharded over two ranks, tensor parallel over the others."""
    mesh = init_device_mesh(DEVICE, (2, dist.get_world_size() // 2), mesh_dim_names=("data", "model"))
    model, split = _parallel(mesh["model"])
    fully_shard(split, mesh=mesh["data"])
    x = torch.randn(8, 16, generator=torch.Generator().manual_seed(6))
    own, everything = fraction(x, mesh["data"].get_local_rank(), 2), x.to(DEVICE)
    return {
        "whole": train(model, lambda: model(everything).square().mean(), shared=False),
        "ranks": train(split, lambda: split(own).square().mean(), shared=True),
    }


def batch_norm() -> dict[str, list[float]]:
    """A ResNet with statistics of the whole batch."""
    torch.manual_seed(7)
    model = resnet18(width=8).to(DEVICE)
    synchronised = DistributedDataParallel(nn.SyncBatchNorm.convert_sync_batchnorm(copy.deepcopy(model)))
    source = torch.Generator().manual_seed(8)
    x, y = torch.randn(8, 3, 16, 16, generator=source), torch.randint(0, 10, (8,), generator=source)
    rank, size = dist.get_rank(), dist.get_world_size()
    own, labels = fraction(x, rank, size), fraction(y, rank, size)
    whole, all_labels = x.to(DEVICE), y.to(DEVICE)
    return {
        "whole": train(model, lambda: F.cross_entropy(model(whole), all_labels), shared=False),
        "ranks": train(synchronised, lambda: F.cross_entropy(synchronised(own), labels), shared=True),
    }


def accumulation() -> dict[str, list[float]]:
    """Gradients of two halves are added before they are reduced."""
    model = decoder()
    distributed = DistributedDataParallel(copy.deepcopy(model))
    text = tokens()
    halves = fraction(text, dist.get_rank(), dist.get_world_size()).chunk(2)
    everything = text.to(DEVICE)

    def both() -> torch.Tensor:
        with distributed.no_sync():
            first = next_token(distributed, halves[0]) / 2
            first.backward()
        return next_token(distributed, halves[1]) / 2 + first.detach()

    return {
        "whole": train(model, lambda: next_token(model, everything), shared=False),
        "ranks": train(distributed, both, shared=True),
    }


def uneven() -> dict[str, list[float]]:
    """Rank r has r + 2 batches: join() takes part for those that have fewer. Gradients are averaged over all ranks."""
    rank, size = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(9)
    model = nn.Linear(4, 4).to(DEVICE)
    distributed = DistributedDataParallel(copy.deepcopy(model))
    batches = torch.randn(size, size + 1, 2, 4, generator=torch.Generator().manual_seed(12)).to(DEVICE)
    optimizer = torch.optim.SGD(distributed.parameters(), lr=0.1)
    with distributed.join():
        for step in range(rank + 2):
            optimizer.zero_grad()
            distributed(batches[rank, step]).square().mean().backward()
            optimizer.step()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(size + 1):
        optimizer.zero_grad()
        active = [other for other in range(size) if step < other + 2]
        losses = [model(batches[other, step]).square().mean() / size for other in active]
        torch.stack(losses).sum().backward()
        optimizer.step()
    return {"whole": numbers(model), "ranks": numbers(distributed)}


def numbers(model: nn.Module) -> list[float]:
    """All parameters."""
    return [float(number) for parameter in model.parameters() for number in parameter.detach().cpu().flatten()]


def mixed() -> dict[str, list[float]]:
    """Parameters in bfloat16, gradients reduced in float32: near the training in float32."""
    model = decoder()
    sharded = copy.deepcopy(model)
    policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    fully_shard(sharded, mesh=init_device_mesh(DEVICE, (dist.get_world_size(),)), mp_policy=policy)
    return compared(model, sharded)


def pipeline() -> dict[str, list[float]]:
    """A stage on each rank, activations and gradients as messages."""
    rank, size = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(10)
    stages = [nn.Linear(8, 8).to(DEVICE) for _ in range(size)]
    x = torch.randn(4, 8, generator=torch.Generator().manual_seed(11)).to(DEVICE)
    reference = nn.Sequential(*copy.deepcopy(stages))
    whole = reference(x).square().mean()
    whole.backward()
    source = x
    if rank > 0:
        source = torch.empty_like(x)
        dist.recv(source, rank - 1)
        source.requires_grad_()
    result = stages[rank](source)
    loss = torch.zeros((), device=DEVICE)
    if rank < size - 1:
        dist.send(result.detach(), rank + 1)
        gradient = torch.empty_like(result)
        dist.recv(gradient, rank + 1)
        result.backward(gradient)
    else:
        loss = result.square().mean()
        loss.backward()
    if rank > 0:
        assert source.grad is not None
        dist.send(source.grad, rank - 1)
    dist.broadcast(loss, size - 1)
    expected, found = reference[rank].weight.grad, stages[rank].weight.grad
    assert expected is not None and found is not None
    return {
        "whole": [float(whole.detach()), float(expected.sum())],
        "ranks": [float(loss.detach()), float(found.sum())],
    }


def checkpoint() -> dict[str, list[float]]:
    """A sharded model is saved and loaded into another one."""
    mesh = init_device_mesh(DEVICE, (dist.get_world_size(),))
    models = [decoder() for _ in range(2)]
    for model in models:
        fully_shard(model, mesh=mesh)
    with torch.no_grad():
        for parameter in models[0].parameters():
            parameter.add_(1)
    folders: list[Any] = [tempfile.mkdtemp() if dist.get_rank() == 0 else None]
    dist.broadcast_object_list(folders, device=torch.device("cpu"))
    torch.distributed.checkpoint.save({"model": models[0].state_dict()}, checkpoint_id=folders[0])
    state = {"model": models[1].state_dict()}
    torch.distributed.checkpoint.load(state, checkpoint_id=folders[0])
    models[1].load_state_dict(state["model"])

    def sums(model: nn.Module) -> list[float]:
        return [float(p.full_tensor().sum()) if isinstance(p, DTensor) else 0.0 for p in model.parameters()]

    return {"whole": sums(models[0]), "ranks": sums(models[1])}


TRAINING = (ddp, amp, fsdp, tensor_parallel, two_dimensions, batch_norm, accumulation, uneven, mixed, pipeline)
SCENARIOS = {one.__name__: one for one in (*TRAINING, checkpoint, *CALLS)}


def main(names: str, rank: int, size: int, store: str) -> None:
    torch.set_num_threads(1)
    # Those that split a group need to know the device of each rank.
    device = torch.device(DEVICE, 0) if "split" in names.split(",") else None
    init = f"file://{store}" if store else "env://"
    dist.init_process_group(f"cpu:gloo,{DEVICE}:dicl", init_method=init, rank=rank, world_size=size, device_id=device)
    for name in names.split(","):
        os.write(1, f"{json.dumps({name: SCENARIOS[name]()})}\n".encode())  # at once: ranks share the output
    dist.destroy_process_group()


if __name__ == "__main__":
    if len(sys.argv) == 2:  # of torchrun
        torch.accelerator.set_device_index(int(os.environ["LOCAL_RANK"]))
        main(sys.argv[1], -1, -1, "")
    else:
        main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4])

"""Scenarios of rank_program.py that call collectives: what training does not call, groups, and what goes wrong.

Each returns what a rank found as `ranks`, and what it should have found as `whole`.
"""

from __future__ import annotations

import itertools
import os
import signal
import time
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
import torch_droplet  # noqa: F401  # the device

from diopi_torch import distributed

DEVICE = "droplet"


def calls() -> dict[str, list[float]]:
    """Collectives that training does not call: lists, gather, scatter, uneven all-to-all, groups, futures,
    coalescing."""
    rank, size = dist.get_rank(), dist.get_world_size()
    found: list[float] = []
    mine = torch.full((2,), float(rank), device=DEVICE)
    gathered = [torch.empty(2, device=DEVICE) for _ in range(size)] if rank == 0 else None
    dist.gather(mine, gathered)
    found += [float(sum(part.sum() for part in gathered)) if gathered is not None else float(size * (size - 1))]
    part = torch.empty(2, device=DEVICE)
    dist.scatter(part, [torch.full((2,), float(i), device=DEVICE) for i in range(size)] if rank == 0 else None)
    found += [float(part[0]) - rank]
    counts = [i + 1 for i in range(size)]
    target = torch.empty(size * (rank + 1), device=DEVICE)
    dist.all_to_all_single(target, torch.ones(sum(counts), device=DEVICE), [rank + 1] * size, counts)
    found += [float(target.sum()) - size * (rank + 1)]
    low = dist.new_group([0])
    if rank == 0:
        dist.all_reduce(mine, group=low)
    work = dist.all_reduce(torch.ones(3, device=DEVICE), async_op=True)
    assert work is not None
    found += [float(work.get_future().wait()[0].sum()) - 3 * size]
    messages = torch.empty(2, device=DEVICE)
    for each in dist.batch_isend_irecv(
        [dist.P2POp(dist.isend, part, (rank + 1) % size), dist.P2POp(dist.irecv, messages, (rank - 1) % size)]
    ):
        each.wait()
    found += [float(messages[0]) - (rank - 1) % size]
    objects: list[Any] = [None] * size
    dist.all_gather_object(objects, {"rank": rank})
    found += [float(sum(each["rank"] for each in objects))]
    dist.barrier()
    assert "ALLREDUCE" in distributed.dump_collectives()
    return {"whole": [float(size * (size - 1)), 0, 0, 0, 0, size * (size - 1) / 2], "ranks": found}


def coalesced() -> dict[str, list[float]]:
    """Several calls as one, by the functions for lists and call by call."""
    rank, size = dist.get_rank(), dist.get_world_size()
    sums = [torch.full((n,), float(rank), device=DEVICE) for n in (1, 3, 1000)]
    with dist._coalescing_manager(async_ops=True) as all_reduces:
        for tensor in sums:
            dist.all_reduce(tensor)
    all_reduces.wait()
    gathered = [torch.empty(size * n, device=DEVICE) for n in (2, 5)]
    with dist._coalescing_manager():
        for tensor in gathered:
            dist.all_gather_single(tensor, torch.full((len(tensor) // size,), float(rank), device=DEVICE))
    scattered = [torch.empty(n, device=DEVICE) for n in (2, 5)]
    with dist._coalescing_manager():
        for tensor in scattered:
            dist.reduce_scatter_single(tensor, torch.ones(size * len(tensor), device=DEVICE))
    mixed = torch.ones(4, device=DEVICE)
    shared = torch.full((2,), float(rank), device=DEVICE)
    with dist._coalescing_manager(device=torch.device(DEVICE), async_ops=True) as others:
        dist.reduce(mixed, 0)
        dist.broadcast(shared, size - 1)
    others.wait()
    total = size * (size - 1) / 2
    found = [float(tensor.sum() / len(tensor)) for tensor in (*sums, *scattered, shared)]
    found += [float(tensor.sum() * size / len(tensor)) for tensor in gathered]
    found += [float(mixed.sum()) if rank == 0 else 4.0 * size]
    return {"whole": [total] * 3 + [size] * 2 + [size - 1] + [total] * 2 + [4 * size], "ranks": found}


def gaps() -> dict[str, list[float]]:
    """Operands with gaps between their elements, and what is in the gaps."""
    rank, size = dist.get_rank(), dist.get_world_size()

    def column(value: float, rows: int = 2) -> torch.Tensor:
        return torch.full((rows, 3), value, device=DEVICE)[:, 1]

    found: list[torch.Tensor] = []
    for is_async in (False, True):
        summed, shared, spread, swapped = column(rank), column(rank), column(-1, 2 * size), column(-1, 2 * size)
        lists = [column(-1) for _ in range(size)]
        works = [
            dist.all_reduce(summed, async_op=is_async),
            dist.broadcast(shared, size - 1, async_op=is_async),
            dist.all_gather_single(spread, column(1), async_op=is_async),
            dist.all_to_all_single(swapped, column(rank, 2 * size), async_op=is_async),
            dist.all_gather(lists, column(2), async_op=is_async),
        ]
        for work in (work for work in works if work is not None):
            work.wait()
        found += [summed, shared, spread, swapped, *lists]
    received = column(-1)
    sends = [
        dist.P2POp(dist.isend, column(rank), (rank + 1) % size),
        dist.P2POp(dist.irecv, received, (rank - 1) % size),
    ]
    for work in dist.batch_isend_irecv(sends):
        work.wait()
    found += [received]
    neighbour, total = (rank - 1) % size, size * (size - 1)
    once = [total, 2 * (size - 1), 2 * size, total, *[4] * size]
    before = [rank, rank, -1, -1, *[-1] * size]
    whole = [*once * 2, 2 * neighbour, *before * 2, -1]
    memory = [float(one.as_strided((1,), (1,), 0)[0]) for one in found]
    return {"whole": [float(one) for one in whole], "ranks": [*(float(one.sum()) for one in found), *memory]}


def futures() -> dict[str, list[float]]:
    """Callbacks of a call run after it, on a stream that waits for it."""
    rank, size = dist.get_rank(), dist.get_world_size()
    tensor = torch.full((2000,), float(rank), device=DEVICE)
    work = dist.all_reduce(tensor, async_op=True)
    assert work is not None
    doubled = work.get_future().then(lambda done: done.value()[0] * 2)
    tripled = doubled.then(lambda done: done.value() * 1.5)
    total = size * (size - 1) / 2
    found = [float(doubled.wait()[0]), float(tripled.wait()[-1]), float(tensor[7])]
    # A call that the caller waits for has one as well.
    group = dist.distributed_c10d._get_default_group()
    options = dist.AllreduceOptions()
    options.asyncOp = False
    once = group.allreduce([tensor], options)
    found += [float(once.get_future().wait()[0][0]), float(once.is_success())]
    return {"whole": [2 * total, 3 * total, total, size * total, 1], "ranks": found}


def released() -> dict[str, list[float]]:
    """Operands that are dropped while a call is in flight: nothing waits, and nothing takes their memory too early."""
    rank, size = dist.get_rank(), dist.get_world_size()
    host = dist.new_group(backend="gloo")
    dist.all_reduce(torch.ones(1, device=DEVICE))  # makes the communicator
    tensor = torch.ones(1000, device=DEVICE)
    if rank == 0:
        work = dist.all_reduce(tensor, async_op=True)
        address = tensor.data_ptr()
        del tensor, work
        other = torch.zeros(1000, device=DEVICE)
        assert other.data_ptr() != address
        dist.barrier(group=host)  # others take part from here on
        return {"whole": [0.0], "ranks": [float(other.sum())]}
    dist.barrier(group=host)
    dist.all_reduce(tensor)
    return {"whole": [1000.0 * size], "ranks": [float(tensor.sum())]}


def split() -> dict[str, list[float]]:
    """Groups made of a group: by splitting it, and by leaving ranks out."""
    rank, size = dist.get_rank(), dist.get_world_size()
    half = size // 2
    part = dist.split_group(split_ranks=[list(range(half)), list(range(half, size))])
    tensor = torch.full((3,), float(rank), device=DEVICE)
    dist.all_reduce(tensor, group=part)
    members = range(half) if rank < half else range(half, size)
    found = [float(tensor[0]), float(dist.get_world_size(part))]
    expected = [float(sum(members)), float(len(members))]
    everyone = dist.new_group()
    if rank < size - 1:
        fewer = dist.shrink_group([size - 1], group=everyone)
        ones = torch.ones(2, device=DEVICE)
        dist.all_reduce(ones, group=fewer)
        found += [float(ones[0])]
        expected += [size - 1.0]
    return {"whole": expected, "ranks": found}


def merged() -> dict[str, list[float]]:
    """Groups of one rank each become one group again."""
    size = dist.get_world_size()
    single = dist.split_group(split_ranks=[[rank] for rank in range(size)])
    assert single is not None
    store = dist.PrefixStore("merged", dist.distributed_c10d._get_default_store())
    group = single.merge_remote_group(store, size, timedelta(seconds=60), "merged")
    tensor = torch.full((3,), float(dist.get_rank()), device=DEVICE)
    group.allreduce([tensor]).wait()
    found = [float(tensor[0]), float(group.size())]
    return {"whole": [size * (size - 1) / 2, float(size)], "ranks": found}


def aborted() -> dict[str, list[float]]:
    """A rank that waits for the others aborts the group: its call fails, and other groups go on."""
    rank, size = dist.get_rank(), dist.get_world_size()
    host = dist.new_group(backend="gloo")
    group = dist.new_group()
    tensor = torch.ones(4, device=DEVICE)
    dist.all_reduce(tensor, group=group)
    torch.accelerator.synchronize()
    dist.barrier(group=host)  # the others have the result before the group ends
    found: list[float] = []
    if rank == 0:
        work = dist.all_reduce(tensor, group=group, async_op=True)
        assert work is not None and not work.is_completed()
        group._get_backend(torch.device(DEVICE)).abort()
        for use in (work.wait, lambda: dist.all_reduce(tensor, group=group)):
            try:
                use()
            except dist.DistBackendError as error:
                assert "was aborted" in str(error), error
                found.append(1.0)
        assert not work.is_success()
    dist.barrier(group=host)
    ones = torch.ones(1, device=DEVICE)
    dist.all_reduce(ones)
    return {"whole": [1.0, 1.0, size] if rank == 0 else [size], "ranks": [*found, float(ones)]}


def killed() -> dict[str, list[float]]:
    """The last rank ends; all others raise an error that names it."""
    tensor = torch.ones(4, device=DEVICE)
    dist.all_reduce(tensor)
    tensor.sum().item()  # complete: all ranks have left init_process_group
    if dist.get_rank() == dist.get_world_size() - 1:
        os.kill(os.getpid(), signal.SIGKILL)
    try:
        dist.all_reduce(tensor)
        print(tensor.sum().item())
    except Exception as error:
        print("RAISED", error, flush=True)
        os._exit(7)
    return {"whole": [], "ranks": []}


def hung() -> dict[str, list[float]]:
    """The last rank never calls: the watchdog of the others ends the group, and tells the last collectives."""
    rank, size = dist.get_rank(), dist.get_world_size()
    group, host = dist.new_group(timeout=timedelta(seconds=1)), dist.new_group(backend="gloo")
    tensor = torch.ones(4, device=DEVICE)
    dist.broadcast(tensor, 0, group=group)
    dist.all_reduce(tensor)
    if rank == size - 1:
        try:
            dist.barrier(group=host)  # the others end
        except RuntimeError:
            os._exit(0)
    try:
        dist.all_reduce(tensor, group=group)
        print(tensor.sum().item())
    except Exception as error:
        print("RAISED", error, flush=True)
    dump = Path(f"{os.environ['DIOPI_COLLECTIVES_DUMP']}.{rank}")
    while not (dump.is_file() and "#2 " in dump.read_text()):  # the watchdog notices within a moment
        time.sleep(0.02)
    try:
        dist.all_reduce(tensor, group=group)
    except dist.DistBackendError as error:
        print("AFTERWARDS", error, flush=True)
    os._exit(7)


def rings() -> dict[str, list[float]]:
    """A message from each rank to the next one: in new groups and in those that have communicated, each call by itself
    and all as a batch, sends first and receives first, as long as one round of the fabric and as many."""
    rank, size = dist.get_rank(), dist.get_world_size()
    found = []
    kinds = itertools.product((False, True), (False, True), (False, True), (4, 300_000))
    for is_warm, is_batch, sends_first, length in kinds:
        group = dist.new_group()
        if is_warm:
            dist.all_reduce(torch.ones(1, device=DEVICE), group=group)
        message = torch.full((length,), float(rank), device=DEVICE)
        received = torch.full((length,), -1.0, device=DEVICE)
        pair = [
            dist.P2POp(dist.isend, message, (rank + 1) % size, group),
            dist.P2POp(dist.irecv, received, (rank - 1) % size, group),
        ]
        ordered = pair if sends_first else pair[::-1]
        if is_batch:
            works = dist.batch_isend_irecv(ordered)
        else:
            works = [each.op(each.tensor, each.peer, group) for each in ordered]
        for work in works:
            work.wait()
        found += [float(received.min()), float(received.max())]
    return {"whole": [float((rank - 1) % size)] * len(found), "ranks": found}


def blocking_rings() -> dict[str, list[float]]:
    """Every rank sends, waits, and then receives: messages that the fabric takes need no receiver that is there."""
    rank, size = dist.get_rank(), dist.get_world_size()
    group = dist.new_group()
    received = torch.empty(4, device=DEVICE)
    for step in range(1, size):
        dist.send(torch.full((4,), float(rank), device=DEVICE), (rank + step) % size, group)
    found = []
    for step in range(1, size):
        dist.recv(received, (rank - step) % size, group)
        found.append(float(received[3]))
    return {"whole": [float((rank - step) % size) for step in range(1, size)], "ranks": found}


def _made(prefix: str, timeout: timedelta) -> Any:
    """A group as init_process_group makes it, without what that waits for."""
    store = dist.PrefixStore(prefix, dist.distributed_c10d._get_default_store())
    creator = dist.Backend._plugins["DICL"].creator_fn
    return creator(store, dist.get_rank(), dist.get_world_size(), timeout)


def again() -> dict[str, list[float]]:
    """Groups that one after the other have the same store, and keys of the same names in it."""
    rank, size = dist.get_rank(), dist.get_world_size()
    found = []
    for number in range(3):
        group = _made("again", timedelta(seconds=60))
        tensor = torch.full((3,), float(rank + number), device=DEVICE)
        group.allreduce([tensor]).wait()
        found.append(float(tensor[1]))
        group.shutdown()
    return {"whole": [size * (size - 1) / 2 + number * size for number in range(3)], "ranks": found}


def absent() -> dict[str, list[float]]:
    """The last rank never comes: the first call of the others fails at the group's timeout, and every later one at
    once."""
    rank, size = dist.get_rank(), dist.get_world_size()
    host = dist.new_group(backend="gloo")
    found = []
    for first in ("allreduce", "send", "recv") if rank < size - 1 else ():
        group = _made(first, timedelta(seconds=1))
        tensor = torch.ones(1000, device=DEVICE)
        calls: dict[str, Callable[[], Any]] = {
            "allreduce": partial(group.allreduce, [tensor]),
            "broadcast": partial(group.broadcast, [tensor]),
            "barrier": group.barrier,
            "send": partial(group.send, [tensor], size - 1, 0),
            "recv": partial(group.recv, [tensor], size - 1, 0),
        }
        try:
            calls[first]().wait()
            tensor[0].item()
        except RuntimeError as error:
            # The first rank that gives up ends the communicator of the others.
            reasons = ("within its timeout of 1000 ms", "destroyed the communicator")
            assert any(reason in str(error) for reason in reasons), error
            found.append(1.0)
        for call in calls.values():
            try:
                call()
            except dist.DistBackendError as error:
                assert "the process group has failed" in str(error), error
                found.append(1.0)
    dist.barrier(group=host)
    return {"whole": [] if rank == size - 1 else [1.0] * 18, "ranks": found}


CALLS = (
    calls,
    coalesced,
    gaps,
    futures,
    released,
    split,
    merged,
    aborted,
    killed,
    hung,
    rings,
    blocking_rings,
    again,
    absent,
)

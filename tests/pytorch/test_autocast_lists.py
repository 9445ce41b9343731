"""Operators by the dtype in which autocast computes them: those of PyTorch's list for CUDA, and no others.

The list is read off the dispatcher, and off calls: tensors that have a device and a dtype, but no elements
(FakeTensor), tell the dtype of a result on CUDA too, without a device of CUDA.
"""

from __future__ import annotations

from typing import Any

import pytest
import torch
from run_kind import WHOLE
from sample_runs import tensors
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.testing._internal.common_methods_invocations import op_db
from torch.utils import _pytree as pytree

SHARE = 1 if WHOLE else 12


def registered(key: str) -> set[str]:
    """Overloads of ATen with a kernel for autocast."""
    names = torch._C._dispatch_get_registrations_for_dispatch_key(key)
    return {name for name in names if name.startswith("aten::")}


def test_the_list_is_that_of_cuda(droplet: Any) -> None:
    """But for operators of cuDNN, which have CUDA in their name. The CPU has another list."""
    cuda = registered("AutocastCUDA")
    assert registered("AutocastPrivateUse1") == {name for name in cuda if "cudnn" not in name}
    assert len(cuda) > 100 and cuda != registered("AutocastCPU")


def result_dtypes(op: Any, sample: Any, device: str) -> Any:
    """Those under autocast, or the type of the exception."""

    def move(leaf: Any) -> Any:
        if not isinstance(leaf, torch.Tensor):
            return leaf
        return torch.empty_strided(leaf.shape, leaf.stride(), dtype=leaf.dtype, device=device)

    before = torch.get_autocast_dtype(device)
    with FakeTensorMode(allow_non_fake_inputs=True):
        first, rest, named = pytree.tree_map(move, (sample.input, sample.args, sample.kwargs))
        torch.set_autocast_enabled(device, True)  # the context manager refuses a device that is not there
        torch.set_autocast_dtype(device, torch.bfloat16)
        try:
            return [leaf.dtype for leaf in tensors(op(first, *rest, **named))]
        except Exception as error:
            return type(error)
        finally:
            torch.set_autocast_enabled(device, False)
            torch.set_autocast_dtype(device, before)


def entries() -> list[Any]:
    """Entries of PyTorch's database that the list has; composed ones make tensors that are not fake."""
    listed = {name.removeprefix("aten::").partition(".")[0] for name in registered("AutocastCUDA")}
    named = [op for op in op_db if {op.aten_name, op.name.rpartition(".")[2]} & listed]
    plain = [op for op in named if not op.name.startswith(("masked.", "sparse."))]
    return [op for op in plain if op.supports_dtype(torch.float32, "cpu")][::SHARE]


@pytest.mark.filterwarnings("ignore")
def test_results_have_the_dtypes_of_cuda(droplet: Any) -> None:
    others, selected = {}, entries()
    assert len(selected) > 80 // SHARE
    for op in selected:
        for sample in list(op.sample_inputs("cpu", torch.float32))[:1]:
            own, cuda = (result_dtypes(op, sample, device) for device in (droplet.type, "cuda"))
            if own != cuda:
                others[op.name] = (own, cuda)
    assert others == {}

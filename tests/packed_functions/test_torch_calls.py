"""diopi_ffi with tensors of PyTorch: the same memory, and results of the same kind."""

from __future__ import annotations

import pytest
from artefacts import artefact

pytest.importorskip("tvm_ffi", reason="apache-tvm-ffi is not installed: pip install apache-tvm-ffi")
pytest.importorskip("torch", reason="torch is not installed")

import torch

import diopi_ffi

pytestmark = pytest.mark.slow


def test_tensors_of_torch_are_not_copied() -> None:
    artefact("libdiopi_tvm_ffi.so")  # else it would be compiled here
    library = diopi_ffi.load(artefact("libdiopi_impl.so"), runtime=str(artefact("libdiopirt.so")))
    x = torch.arange(6.0).reshape(2, 3).t()
    result = library.softmax(x, dim=-1)
    assert isinstance(result, torch.Tensor)
    torch.testing.assert_close(result, torch.softmax(x, -1))
    half = torch.ones(3, dtype=torch.bfloat16)
    assert library.add(half, half).tolist() == [2, 2, 2]
    out = torch.zeros(4)
    library.relu(torch.tensor([-1.0, 2.0]), out=out[::2])
    assert out.tolist() == [0, 0, 2, 0]
    assert library.nonzero(x).tolist() == torch.nonzero(x).tolist()

"""Tensors that are conjugated or negated lazily, or zero without memory: operators for which PyTorch leaves them to the
kernel (a fallthrough for the dispatch key) must not read the memory as it is."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest
import torch

KEYS = ("Conjugate", "Negative", "ZeroTensor")
HAS_KERNEL = torch._C._dispatch_has_kernel_for_dispatch_key

LAYOUTS = {
    "aten::as_strided", "aten::empty.memory_format", "aten::empty_strided", "aten::resize_", "aten::set_",
    "aten::set_.source_Storage", "aten::set_.source_Storage_storage_offset", "aten::set_.source_Tensor", "aten::unfold",
    "aten::view", "aten::view_as_real", "aten::view_as_complex", "aten::_reshape_alias", "aten::_efficientzerotensor",
    "aten::is_set_to", "aten::_copy_from", "aten::_copy_from_and_resize",
}  # fmt: skip
"""Those that read no element: views, and tensors without elements. `_copy_from` makes the bits real itself."""

Tensors = list[torch.Tensor]
aten = torch.ops.aten


def vectors(dtype: torch.dtype) -> Tensors:
    return [torch.randn(6, dtype=dtype), torch.randn(6, dtype=dtype)]


def matrices(dtype: torch.dtype) -> Tensors:
    return [torch.randn(3, 3, dtype=dtype) for _ in range(3)]


def batches(dtype: torch.dtype) -> Tensors:
    return [torch.randn(2, 3, 3, dtype=dtype) for _ in range(3)]


def out(operator: Any, count: int) -> Callable[..., Any]:
    """The form that writes to its last operand."""
    return lambda *operands: operator(*operands[:count], out=operands[count])


CALLS: dict[str, tuple[Callable[[torch.dtype], Tensors], Callable[..., Any]]] = {
    "aten::mm": (lambda d: matrices(d)[:2], aten.mm),
    "aten::mm.out": (matrices, out(aten.mm, 2)),
    "aten::bmm": (lambda d: batches(d)[:2], aten.bmm),
    "aten::bmm.out": (batches, out(aten.bmm, 2)),
    "aten::addmm": (matrices, aten.addmm),
    "aten::addmm_": (matrices, aten.addmm_),
    "aten::addmm.out": (lambda d: [*matrices(d), *matrices(d)[:1]], out(aten.addmm, 3)),
    "aten::baddbmm": (batches, aten.baddbmm),
    "aten::baddbmm_": (batches, aten.baddbmm_),
    "aten::baddbmm.out": (lambda d: [*batches(d), *batches(d)[:1]], out(aten.baddbmm, 3)),
    "aten::dot": (vectors, aten.dot),
    "aten::vdot": (vectors, aten.vdot),
    "aten::linalg_solve_triangular": (
        lambda d: [torch.eye(3, dtype=d) * 3 + torch.randn(3, 3, dtype=d).triu(1), matrices(d)[0]],
        lambda a, b: aten.linalg_solve_triangular(a, b, upper=True),
    ),
    "aten::linalg_solve_triangular.out": (
        lambda d: [torch.eye(3, dtype=d) * 3 + torch.randn(3, 3, dtype=d).triu(1), *matrices(d)[:2]],
        lambda a, b, c: aten.linalg_solve_triangular(a, b, upper=True, out=c),
    ),
    "aten::neg_": (lambda d: matrices(d)[:1], aten.neg_),
    "aten::repeat_interleave.Tensor": (
        lambda d: [torch.tensor([1, 2])],
        lambda repeats: aten.repeat_interleave.Tensor(repeats),
    ),
    "aten::conj_physical.out": (lambda d: matrices(d)[:2], out(aten.conj_physical, 1)),
    "aten::conj_physical_": (lambda d: matrices(d)[:1], aten.conj_physical_),
}


def fallthroughs() -> dict[str, list[str]]:
    """Operators with a kernel of the device and the keys that fall through, from the dispatcher's tables."""
    found: dict[str, list[str]] = {}
    for schema in torch._C._jit_get_all_schemas():
        name = f"{schema.name}.{schema.overload_name}".rstrip(".")
        if not schema.name.startswith("aten::"):
            continue
        try:
            if not HAS_KERNEL(name, "PrivateUse1"):
                continue
        except RuntimeError:  # a function of TorchScript, which no dispatcher knows
            continue
        rows = dict(line.split(": ", 1) for line in torch._C._dispatch_dump_table(name).splitlines() if ": " in line)
        if keys := [key for key in KEYS if "fallthrough" in rows.get(key, "")]:
            found[name] = keys
    return found


def test_every_operator_with_a_fallthrough_is_called_here(droplet: Any) -> None:
    left = set(fallthroughs()) - LAYOUTS
    assert {"aten::mm", "aten::bmm", "aten::addmm", "aten::baddbmm"} <= left  # the tables are read
    assert left - set(CALLS) == set()


def lazy(kind: str, tensor: torch.Tensor) -> torch.Tensor:
    """The tensor behind a lazy bit, with memory of its own."""
    if kind == "ZeroTensor":
        return torch._efficientzerotensor(tensor.shape, dtype=tensor.dtype, device=tensor.device)
    return tensor.clone().conj() if kind == "Conjugate" else torch._neg_view(tensor.clone())


@pytest.mark.parametrize("kind", KEYS)
@pytest.mark.parametrize("name", CALLS)
def test_lazy_operands_and_targets(name: str, kind: str, droplet: Any) -> None:
    """Each selection of operands and written tensors lazy; results and targets are the CPU's."""
    make, call = CALLS[name]
    dtype = torch.complex64 if kind == "Conjugate" else torch.float32
    torch.manual_seed(3)
    plain = make(dtype)
    packet, _, overload = name.removeprefix("aten::").partition(".")
    schema = getattr(getattr(aten, packet), overload or "default")._schema
    tensors = [a for a in schema.arguments if str(a.type) == "Tensor"]
    written = [a.alias_info is not None and a.alias_info.is_write for a in tensors]
    for flags in itertools.product((False, True), repeat=len(plain)):
        if kind == "ZeroTensor" and any(flag and write for flag, write in zip(flags, written, strict=True)):
            continue  # PyTorch rejects writes to them
        if kind == "ZeroTensor" and flags[0] and "solve" in name:
            continue  # a singular matrix
        if any(flag and not t.is_floating_point() and not t.is_complex() for flag, t in zip(flags, plain, strict=True)):
            continue  # indices

        def run(device: Any, flags: tuple[bool, ...] = flags) -> list[torch.Tensor]:
            given = [t.to(device, copy=True) for t in plain]
            given = [lazy(kind, t) if flag else t for t, flag in zip(given, flags, strict=True)]
            result = call(*given)
            return [t.resolve_conj().resolve_neg().cpu() for t in (result, *given)]

        # What a result is written to has no values: the CPU's solve_triangular forgets the sign of such a target.
        plain_flags = (*flags[:-1], False) if name.endswith(".out") else flags
        for own, expected in zip(run(droplet), run("cpu", plain_flags), strict=True):
            torch.testing.assert_close(own, expected, msg=lambda text, f=flags: f"{name} {f}: {text}")


COMPOSED: dict[str, Callable[[torch.Tensor, torch.Tensor], Any]] = {
    "matmul": lambda a, b: a.conj() @ b,
    "mH": lambda a, b: a.mH @ b.mH,
    "linear": lambda a, b: torch.nn.functional.linear(a.conj(), b, b[0].conj()),
    "einsum": lambda a, b: torch.einsum("ij,kj->ik", a, b.conj()),
    "tensordot": lambda a, b: torch.tensordot(a.conj(), b.conj(), 1),
    "cov": lambda a, b: torch.cov(a),
    "corrcoef": lambda a, b: torch.corrcoef(a.conj()),
    "matrix_power": lambda a, b: torch.linalg.matrix_power(a.conj(), 3),
    "multi_dot": lambda a, b: torch.linalg.multi_dot([a.conj(), b, a.mH]),
    "chain of inverses": lambda a, b: torch.linalg.inv(a.conj()) @ torch.linalg.solve(b.mH, a),
    "imaginary part": lambda a, b: a.conj().imag @ b.real,
    "sum of negatives": lambda a, b: torch.addmm(a.conj().imag, b.real, a.conj().imag),
}


@pytest.mark.parametrize("dtype", [torch.complex64, torch.complex128], ids=str)
@pytest.mark.parametrize("name", COMPOSED)
def test_products_and_their_gradients(name: str, dtype: torch.dtype, droplet: Any) -> None:
    torch.manual_seed(1)
    operands = [torch.randn(4, 4, dtype=dtype) + 3 * torch.eye(4) for _ in range(2)]

    def run(device: Any) -> list[Any]:
        a, b = (x.to(device, dtype, copy=True).requires_grad_() for x in operands)
        result = COMPOSED[name](a, b)
        loss = (result * torch.arange(16, device=device).view(4, 4)).abs().sum()
        return [
            t.cpu() for t in (result.detach(), *torch.autograd.grad(loss, (a, b), allow_unused=True)) if t is not None
        ]

    torch.testing.assert_close(run(droplet), run("cpu"), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", ["matmul", "mH", "matrix_power", "imaginary part", "sum of negatives", "einsum"])
def test_compiled_graphs_resolve_lazy_tensors(name: str, droplet: Any) -> None:
    from diopi_torch.graphs import backend as graphs

    torch.manual_seed(1)
    torch._dynamo.reset()
    a, b = torch.randn(4, 4, dtype=torch.complex64), torch.randn(4, 4, dtype=torch.complex64)
    compiled = torch.compile(COMPOSED[name], backend=graphs)
    for change in (torch.clone, torch.conj):  # an input of the graph may be lazy as well
        own = compiled(change(a.to(droplet)), change(b.to(droplet)))
        torch.testing.assert_close(own.cpu(), COMPOSED[name](change(a), change(b)), rtol=1e-4, atol=1e-4)

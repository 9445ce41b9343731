"""Handwritten kernels that read and write by positions, that reduce, reorder and resample, agree with the CPU."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from cpu_agreement import assert_agrees, assert_refused, numbers

functional = torch.nn.functional


PLACES = torch.tensor([2, 0, 2, 1])
DTYPES = (torch.float32, torch.float16, torch.int64)


def _sets(x: Any, places: Any) -> Any:
    x = x.clone()
    x[places[:2]] = 5
    x[:, 1] += 1
    x[x > 2] = 0
    return x


INDEXING = {
    "index_select": lambda x, p: x.index_select(1, p),
    "index": lambda x, p: [x[p], x[:, p], x[p, p], x[p, :, p], x[x > 0], x[p[:2, None], p]],
    "setting": _sets,
    "index_put": lambda x, p: x.clone().index_put_((p,), x[:1].expand(4, -1, -1), accumulate=True),
    "index_fill": lambda x, p: [x.index_fill(1, p, 3), x.index_fill(2, p, x.max())],
    "index_add": lambda x, p: x.index_add(0, p, x[:1].expand(4, -1, -1), alpha=2),
    "index_copy": lambda x, p: x.index_copy(1, p[1:], x[:, :3]),
    "gather": lambda x, p: x.gather(1, p.expand(3, 5, 4)),
    "scatter_add": lambda x, p: x.scatter_add(1, p.expand(3, 5, 4), x),
    "scatter_reduce": lambda x, p: x.scatter_reduce(1, p.expand(3, 5, 4), x, "sum"),
    "take": lambda x, p: x.take(p - 2),
    "put": lambda x, p: x.clone().put_(p, p.to(x.dtype), accumulate=True),
    "nonzero": lambda x, p: (x > 1).nonzero(),
    "nonzero_static": lambda x, p: torch.nonzero_static(x > 1, size=7, fill_value=-3),
    "masked_select": lambda x, p: x.masked_select(x > 0),
    "masked_scatter": lambda x, p: x.masked_scatter(x > 0, -x.abs()),
    "flip": lambda x, p: x.flip(0, 2),
    "roll": lambda x, p: [x.roll(2, 1), x.roll((1, -2), (0, 2)), x.roll(3)],
    "unique": lambda x, p: list(
        torch.unique(x.round() if x.is_floating_point() else x, return_inverse=True, return_counts=True)
    ),
    "unique slices": lambda x, p: list(torch.unique(x[p].sign(), dim=0, return_inverse=True, return_counts=True)),
    "repeat_interleave": lambda x, p: [torch.repeat_interleave(p), x.repeat_interleave(p[:3], 0)],
    "isin": lambda x, p: [torch.isin(x, p.to(x.dtype)), torch.isin(x, 2, invert=True)],
    "searchsorted": lambda x, p: [torch.searchsorted(x.sort(-1).values, x), torch.bucketize(x, x[0, 0].sort().values)],
    "bincount": lambda x, p: torch.bincount(p, minlength=5),
    "max and min": lambda x, p: [x.max(), x.min(), x.amin((0, 2)), x.amin(1, keepdim=True), *torch.aminmax(x, dim=1)],
    "prod": lambda x, p: x[0, 0].clamp(-2, 2).prod(),
    "count_nonzero": lambda x, p: [x.count_nonzero(), x.count_nonzero((0, 1))],
    "equal": lambda x, p: [torch.equal(x, x.clone()), torch.equal(x, x + 1), torch.equal(x, x[0])],
    "trace": lambda x, p: x[0].trace(),
    "median": lambda x, p: [x.median(), x.median(1).values, x.kthvalue(2, 2).values],
}
SPREADS = {
    "std": lambda x: [x.std(), x.std(1), x.std((0, 2), correction=0, keepdim=True)],
    "var": lambda x: [x.var(), x.var(1), x.var((0, 2), correction=2)],
    "std_mean": lambda x: list(torch.std_mean(x, 1)),
    "var_mean": lambda x: list(torch.var_mean(x, (1, 2), keepdim=True)),
    "nansum": lambda x: [torch.where(x > 0, x, torch.nan).nansum(1), x.nansum()],
    "unfold": lambda x: x.unfold(2, 2, 1),
    "im2col": lambda x: functional.unfold(x.unsqueeze(0), 2, padding=1, stride=2),
    "col2im": lambda x: functional.fold(x[:, :4, :].contiguous().view(1, 12, 4), (3, 3), 2),
    "dot": lambda x: [x.flatten().dot(x.flatten()), torch.vdot(x[0, 0], x[1, 1])],
    "addmv": lambda x: torch.addmv(x[0, :, 0], x[1], x[2, 0], beta=0.5, alpha=2),
    "addbmm": lambda x: torch.addbmm(x[0, :, :1], x, x.mT, beta=0.5, alpha=2),
    "cdist": lambda x: torch.cdist(x, x.flip(1), 2.0),
    "cross": lambda x: torch.linalg.cross(x, x.flip(1), dim=0),
}
RESAMPLING = {
    "nearest": lambda x: functional.interpolate(x, scale_factor=2),
    "nearest, smaller": lambda x: functional.interpolate(x, size=(3, 2)),
    "bilinear": lambda x: functional.interpolate(x, size=(7, 9), mode="bilinear"),
    "bilinear, corners": lambda x: functional.interpolate(x, size=(7, 9), mode="bilinear", align_corners=True),
    "bicubic": lambda x: functional.interpolate(x, scale_factor=2, mode="bicubic"),
    "linear": lambda x: functional.interpolate(x[0], scale_factor=2, mode="linear"),
    "trilinear": lambda x: functional.interpolate(x.unsqueeze(0), scale_factor=2, mode="trilinear"),
    "reflect": lambda x: functional.pad(x, (1, 2, 2, 0), "reflect"),
    "replicate": lambda x: functional.pad(x, (1, 2, 4, 0), "replicate"),
    "reflect a row": lambda x: functional.pad(x[0], (1, 2), "reflect"),
    "replicate a volume": lambda x: functional.pad(x.unsqueeze(0), (1, 2, 2, 0, 3, 1), "replicate"),
}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", INDEXING)
def test_indexing(droplet: Any, name: str, dtype: Any) -> None:
    assert_agrees(droplet, INDEXING[name], numbers(3, 5, 4, low=-4.0, high=4.0).to(dtype), PLACES)


@pytest.mark.parametrize("name", SPREADS)
def test_sums_and_products(droplet: Any, name: str) -> None:
    assert_agrees(droplet, SPREADS[name], numbers(3, 5, 4))


@pytest.mark.parametrize("name", RESAMPLING)
def test_resampling_and_its_gradient(droplet: Any, name: str) -> None:
    def both(x: Any) -> Any:
        x = x.detach().requires_grad_()
        y = RESAMPLING[name](x)
        return [y.detach(), *torch.autograd.grad(y.square().sum(), x)]

    assert_agrees(droplet, both, numbers(2, 3, 4, 5))


def test_embedding_and_its_gradient(droplet: Any) -> None:
    def both(table: Any, rows: Any) -> Any:
        table = table.detach().requires_grad_()
        y = functional.embedding(rows, table, padding_idx=1, scale_grad_by_freq=True)
        return [y.detach(), *torch.autograd.grad(y.square().sum(), table)]

    assert_agrees(droplet, both, numbers(4, 3), PLACES)
    assert_agrees(
        droplet, lambda table, rows: functional.embedding(rows, table.clone(), max_norm=1.0), numbers(4, 3), PLACES
    )


def test_sequences_and_patterns(droplet: Any) -> None:
    makers: list[Callable[[Any], Any]] = [
        lambda device: torch.arange(3, 20, 4, device=device),
        lambda device: torch.arange(0.5, -2, -0.25, device=device),
        lambda device: torch.linspace(-1, 4, 13, device=device),
        lambda device: torch.logspace(0, 2, 5, device=device),
        lambda device: torch.eye(4, 6, device=device),
        lambda device: torch.tril_indices(4, 5, -1, device=device),
        lambda device: torch.triu_indices(4, 5, 1, device=device),
    ]
    for make in makers:
        torch.testing.assert_close(make(droplet).cpu(), make("cpu"))


def test_triangular_systems(droplet: Any) -> None:
    matrix = numbers(2, 4, 4) + 4 * torch.eye(4)
    definite = matrix @ matrix.mT

    def solve(a: Any, b: Any) -> Any:
        return [
            torch.linalg.solve_triangular(a.triu(), b, upper=True),
            torch.linalg.solve_triangular(a.tril(), b.mT, upper=False, left=False),
        ]

    def factor(a: Any, b: Any) -> Any:
        lower = torch.linalg.cholesky(a)
        return [lower, torch.cholesky_solve(b, lower), torch.cholesky_inverse(lower)]

    assert_agrees(droplet, solve, matrix, numbers(2, 4, 3))
    assert_agrees(droplet, factor, definite, numbers(2, 4, 3))


def test_a_scale_apart_from_the_sizes_is_left_to_the_cpu(droplet: Any) -> None:
    import torch_droplet

    image = numbers(1, 1, 5, 5)
    torch_droplet.reset_fallback_report()
    actual = functional.interpolate(image.to(droplet), scale_factor=1.7, mode="bilinear")
    assert torch_droplet.fallback_report() == {"upsample_bilinear2d": 1}
    torch.testing.assert_close(actual.cpu(), functional.interpolate(image, scale_factor=1.7, mode="bilinear"))


def test_what_pytorch_refuses(droplet: Any) -> None:
    assert_refused(droplet, lambda x, p: x[p + 9], numbers(3, 4), PLACES)
    assert_refused(droplet, lambda x, p: x.index_select(0, p.float()), numbers(3, 4), PLACES)
    assert_refused(droplet, lambda x, p: x.flip(0, 0), numbers(3, 4), PLACES)
    assert_refused(droplet, lambda x, p: x.take(p.int()), numbers(3, 4), PLACES)
    assert_refused(droplet, lambda x, p: torch.empty(0, device=x.device).max(), numbers(3, 4), PLACES)


def test_a_position_outside_changes_nothing(droplet: Any) -> None:
    x, p = numbers(3, 4).to(droplet), torch.tensor([0, 2, 9], device=droplet)
    before = x.clone()
    for accumulate in (False, True):
        with pytest.raises(IndexError, match="index 9 is out of bounds"):
            x.index_put_((p,), before, accumulate=accumulate)
        assert torch.equal(x, before)
    assert torch.equal(x[p[:2]], before[[0, 2]])


def test_elements_by_position_are_written_once(droplet: Any) -> None:
    module = torch.get_device_module("droplet")
    x, p = numbers(3, 4).to(droplet), PLACES.to(droplet)
    out = torch.empty(8, device=droplet)[::2].reshape(4, 1).expand(4, 4).clone()
    takes: list[Callable[[], Any]] = [lambda: x[p], lambda: torch.ops.aten.index.Tensor_out(x, [p], out=out)]
    for take in takes:
        before = module.memory_stats()["allocation.all.allocated"]
        found = take()
        assert module.memory_stats()["allocation.all.allocated"] - before == (found is not out)
        assert torch.equal(found.cpu(), x.cpu()[PLACES])
    strided = torch.zeros(4, 8, device=droplet)[:, ::2]
    torch.ops.aten.index.Tensor_out(x, [p], out=strided)
    assert torch.equal(strided.cpu(), x.cpu()[PLACES])
    wide = torch.zeros(4, 4, dtype=torch.float64, device=droplet)
    with pytest.raises(RuntimeError, match=r"dtype|type"):
        torch.ops.aten.index.Tensor_out(x, [p], out=wide)


@pytest.mark.parametrize("name", ["index_add_", "index_copy_"])
def test_a_matrix_without_elements_looks_at_no_position(droplet: Any, name: str) -> None:
    """As on the CPU: of index_copy_ where its dimension has some."""
    for shape, position in [((3, 0), 7), *([((0, 5), 0)] if name == "index_add_" else [])]:
        for device in ("cpu", droplet):
            empty = torch.empty(shape, device=device)
            row = torch.ones(1, shape[1], device=device)
            getattr(empty, name)(0, torch.tensor([position], device=device), row)
            assert empty.shape == shape


@pytest.mark.parametrize("name", ["index_add_", "index_copy_"])
def test_a_source_that_shares_memory_unseen(droplet: Any, name: str) -> None:
    """Views whose elements interleave, which PyTorch does not examine."""

    def changed(device: Any) -> Any:
        whole = torch.arange(24.0, device=device)
        target, source = whole.as_strided((3, 4), (8, 2)), whole.as_strided((1, 4), (8, 2), 1)
        getattr(target, name)(0, torch.tensor([1], device=device), source)
        return whole.cpu()

    assert torch.equal(changed(droplet), changed("cpu"))

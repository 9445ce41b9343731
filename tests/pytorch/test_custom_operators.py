"""`torch.ops.diopi`: operators that ATen lacks, against compositions of plain PyTorch in float64 on the CPU."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from kernel_agreement import moved
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.nn import functional as F

Case = tuple[str, tuple[Any, ...], Callable[..., Any]]


def _random(*shape: int, seed: int = 0, gradient: bool = True) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(shape, generator=generator, dtype=torch.float64).requires_grad_(gradient)


def _bilinear(maps: torch.Tensor, y: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """Samples of maps [C, H, W] at any positions; those outside are 0."""
    height, width = maps.shape[1:]
    grid = torch.stack([2 * x / (width - 1) - 1, 2 * y / (height - 1) - 1], -1)
    flat = grid.reshape(1, 1, -1, 2)
    return F.grid_sample(maps[None], flat, align_corners=True).reshape(maps.shape[0], *y.shape)


def _roi_align(
    maps: torch.Tensor, rois: torch.Tensor, scale: float, height: int, width: int, samples: int, aligned: bool
) -> torch.Tensor:
    results = []
    for roi in rois:
        corners = roi[1:] * scale - (0.5 if aligned else 0.0)
        extent = corners[2:] - corners[:2]
        size = extent if aligned else extent.clamp(min=1.0)
        along = [
            corners[1 - axis]
            + (torch.arange(count * samples, dtype=roi.dtype) + 0.5) * size[1 - axis] / (count * samples)
            for axis, count in enumerate((height, width))
        ]
        # Samples less than a pixel outside are those at the edge.
        inside = [one.clamp(0, most - 1) for one, most in zip(along, maps.shape[2:], strict=True)]
        y, x = torch.meshgrid(*inside, indexing="ij")
        sampled = _bilinear(maps[int(roi[0])], y, x)
        results.append(sampled.reshape(-1, height, samples, width, samples).mean((2, 4)))
    return torch.stack(results)


def _deformed(
    maps: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None, offset: torch.Tensor, mask: torch.Tensor
) -> torch.Tensor:
    """A convolution of stride 1 without padding, whose samples are shifted."""
    count, _, height, width = maps.shape
    outer, _, rows, columns = weight.shape
    out_height, out_width = height - rows + 1, width - columns + 1
    results = []
    for n in range(count):
        sampled = []
        for k in range(rows * columns):
            y = torch.arange(out_height)[:, None] + k // columns + offset[n, 2 * k]
            x = torch.arange(out_width)[None] + k % columns + offset[n, 2 * k + 1]
            sampled.append(_bilinear(maps[n], y, x) * mask[n, k])
        results.append(torch.einsum("kchw,ock->ohw", torch.stack(sampled), weight.reshape(outer, -1, rows * columns)))
    result = torch.stack(results)
    return result if bias is None else result + bias[:, None, None]


def _attention(
    value: torch.Tensor, shapes: torch.Tensor, starts: torch.Tensor, places: torch.Tensor, weights: torch.Tensor
) -> torch.Tensor:
    batch, _, heads, depth = value.shape
    queries = places.shape[1]
    result = value.new_zeros(batch, queries, heads, depth)
    for level, (height, width) in enumerate(shapes.tolist()):
        start = int(starts[level])
        maps = value[:, start : start + height * width].permute(0, 2, 3, 1).reshape(-1, depth, height, width)
        grid = 2 * places[:, :, :, level].permute(0, 2, 1, 3, 4).reshape(batch * heads, queries, -1, 2) - 1
        sampled = F.grid_sample(maps, grid, align_corners=False).reshape(batch, heads, depth, queries, -1)
        result = result + torch.einsum("bhdqp,bqhp->bqhd", sampled, weights[:, :, :, level])
    return result.reshape(batch, queries, heads * depth)


def _chamfer(one: torch.Tensor, other: torch.Tensor) -> Any:
    distances = (one[:, :, None] - other[:, None]).square().sum(-1)
    forth, back = distances.min(2), distances.min(1)
    return forth.values, back.values, forth.indices.int(), back.indices.int()


def _grouped(points: torch.Tensor, index: torch.Tensor, *_: int) -> torch.Tensor:
    return torch.stack([cloud[:, rows.long()] for cloud, rows in zip(points, index, strict=True)])


def _interpolated(points: torch.Tensor, index: torch.Tensor, weight: torch.Tensor, *_: int) -> torch.Tensor:
    return (_grouped(points, index) * weight[:, None]).sum(-1)


def _carafe(maps: torch.Tensor, masks: torch.Tensor, kernel: int, groups: int, scale: int) -> torch.Tensor:
    count, channels, height, width = maps.shape
    windows = F.unfold(maps, kernel, padding=kernel // 2).reshape(count, -1, height, width)
    windows = F.interpolate(windows, scale_factor=scale, mode="nearest")
    windows = windows.reshape(count, groups, channels // groups, kernel * kernel, height * scale, width * scale)
    weights = masks.reshape(count, groups, 1, kernel * kernel, height * scale, width * scale)
    return (windows * weights).sum(3).reshape(count, channels, height * scale, width * scale)


def _upfirdn(maps: torch.Tensor, kernel: torch.Tensor, *scales: int) -> torch.Tensor:
    up_x, up_y, down_x, down_y, left, right, top, bottom = scales
    count, height, width, last = maps.shape
    spread = maps.new_zeros(count, height * up_y, width * up_x, last)
    spread[:, ::up_y, ::up_x] = maps
    padded = F.pad(spread.permute(0, 3, 1, 2).reshape(-1, 1, height * up_y, width * up_x), (left, right, top, bottom))
    filtered = F.conv2d(padded, kernel.flip(0, 1)[None, None])[:, :, ::down_y, ::down_x]
    return filtered.reshape(count, last, *filtered.shape[2:]).permute(0, 2, 3, 1)


def _overlaps(one: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    first, last = (
        torch.maximum(one[:, None, :2], other[None, :, :2]),
        torch.minimum(one[:, None, 2:], other[None, :, 2:]),
    )
    shared = (last - first).clamp(min=0).prod(-1)
    areas = [(boxes[:, 2:] - boxes[:, :2]).prod(-1) for boxes in (one, other)]
    return shared / (areas[0][:, None] + areas[1][None] - shared)


def _boxes(count: int, seed: int) -> torch.Tensor:
    corners = _random(count, 2, seed=seed, gradient=False).abs() * 4
    return torch.cat([corners, corners + 1 + _random(count, 2, seed=seed + 1, gradient=False).abs() * 4], 1)


ROIS = torch.tensor([[0, 1.25, 1.5, 5.0, 6.25], [1, 0.75, 2.25, 6.5, 5.5]], dtype=torch.float64)
INDEX = torch.tensor([[[0, 2, 1], [4, 3, 0]], [[1, 1, 3], [2, 0, 4]]], dtype=torch.int32)
LEVELS = torch.tensor([[3, 4], [2, 2]])

CASES: list[Case] = [
    ("roi_align", (_random(2, 3, 9, 8), ROIS, 1.0, 2, 3, 2, True), _roi_align),
    ("roi_align", (_random(2, 3, 9, 8), ROIS, 0.75, 3, 2, 1, False), _roi_align),
    ("chamfer_distance_mmcv", (_random(2, 5, 2), _random(2, 4, 2, seed=1)), _chamfer),
    ("group_points_mmcv", (_random(2, 3, 5), INDEX, 2, 3, 5, 2, 3), _grouped),
    ("gather_points_mmcv", (_random(2, 3, 5), INDEX[:, 0].contiguous(), 2, 3, 5, 3), _grouped),
    ("three_interpolate_mmcv", (_random(2, 3, 5), INDEX, _random(2, 2, 3, gradient=False), 2, 3, 5, 2), _interpolated),
    ("carafe_naive_mmcv", (_random(1, 4, 3, 5), _random(1, 18, 6, 10, seed=1), 3, 2, 2), _carafe),
    (
        "upfirdn2d_op_mmcv",
        (_random(2, 5, 4, 3, gradient=False), _random(3, 2, gradient=False), 2, 1, 1, 2, 1, 2, 0, 1),
        _upfirdn,
    ),
    ("bbox_overlaps_mmcv", (_boxes(4, 1), _boxes(3, 5)), _overlaps),
    (
        "ms_deform_attn_mmcv",
        (
            _random(2, 16, 2, 3),
            LEVELS,
            torch.tensor([0, 12]),
            (_random(2, 5, 2, 2, 3, 2, seed=1, gradient=False).sigmoid() * 0.8 + 0.1).requires_grad_(),
            _random(2, 5, 2, 2, 3, seed=2),
        ),
        _attention,
    ),
    (
        "modulated_deform_conv_mmcv",
        (
            _random(2, 3, 6, 7),
            _random(4, 3, 3, 2, seed=1),
            _random(4, seed=2),
            _random(2, 12, 4, 6, seed=3),
            _random(2, 6, 4, 6, seed=4),
            *(3, 2, 1, 1, 0, 0, 1, 1, 1, 1, True),
        ),
        lambda maps, weight, bias, offset, mask, *_: _deformed(maps, weight, bias, offset, mask),
    ),
    (
        "deform_conv_mmcv",
        (
            _random(2, 3, 6, 7),
            _random(4, 3, 3, 2, seed=1),
            _random(2, 12, 4, 6, seed=3),
            *(2, 3, 1, 1, 0, 0, 1, 1, 1, 1, 2),
        ),
        lambda maps, weight, offset, *_: _deformed(maps, weight, None, offset, maps.new_ones(2, 6, 4, 6)),
    ),
]
IDENTIFIERS = [f"{name}-{number}" for number, (name, _, _) in enumerate(CASES)]


def _list(value: Any) -> list[torch.Tensor]:
    return [value] if isinstance(value, torch.Tensor) else list(value)


@pytest.mark.parametrize(("name", "arguments", "reference"), CASES, ids=IDENTIFIERS)
def test_values_and_gradients(
    droplet: torch.device, name: str, arguments: tuple[Any, ...], reference: Callable[..., Any]
) -> None:
    there = moved(list(arguments), droplet)
    found, expected = _list(getattr(torch.ops.diopi, name)(*there)), _list(reference(*arguments))
    assert [one.device.type for one in found] == ["droplet"] * len(expected)
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one.cpu(), other, rtol=1e-9, atol=1e-9)
    here = [one for one in arguments if isinstance(one, torch.Tensor) and one.requires_grad]
    if here:
        weights = [_random(*one.shape, seed=9, gradient=False) for one in expected if one.requires_grad]
        outputs = [(one, other) for one, other in zip(found, expected, strict=True) if other.requires_grad]
        targets = [one for one in there if isinstance(one, torch.Tensor) and one.requires_grad]
        gradients = torch.autograd.grad([one for one, _ in outputs], targets, [one.to(droplet) for one in weights])
        correct = torch.autograd.grad([other for _, other in outputs], here, weights)
        for one, other in zip(gradients, correct, strict=True):
            torch.testing.assert_close(one.cpu(), other, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", ["roi_align", "ms_deform_attn_mmcv", "chamfer_distance_mmcv", "deform_conv_mmcv"])
def test_gradients_by_differences(droplet: torch.device, name: str) -> None:
    arguments = next(values for other, values, _ in CASES if other == name)
    there = moved(list(arguments), droplet)
    targets = [one for one in there if isinstance(one, torch.Tensor) and one.requires_grad]

    def run(*changed: torch.Tensor) -> list[torch.Tensor]:
        left = iter(changed)
        values = [next(left) if isinstance(one, torch.Tensor) and one.requires_grad else one for one in there]
        results = _list(getattr(torch.ops.diopi, name)(*values))
        return [one for one in results if one.is_floating_point()]

    assert torch.autograd.gradcheck(run, targets, fast_mode=True)


@pytest.mark.parametrize(("name", "arguments", "_"), CASES, ids=IDENTIFIERS)
def test_what_the_compiler_asks_for(droplet: torch.device, name: str, arguments: tuple[Any, ...], _: Any) -> None:
    """Compares a call with the aliases of the schema, and with the sizes and dtypes of the fake kernel."""
    torch.library.opcheck(
        getattr(torch.ops.diopi, name).default,
        tuple(moved(list(arguments), droplet)),
        test_utils=("test_schema", "test_faketensor"),
    )


def test_fake_results_have_sizes_and_dtypes(torch_droplet: Any) -> None:
    with FakeTensorMode():
        maps, rois = torch.empty(2, 8, 9, 7, device="droplet", dtype=torch.half), torch.empty(3, 5, device="droplet")
        result, argmax = torch.ops.diopi.roi_pool_mmcv(maps, rois, 2, 4)
        assert (result.shape, result.dtype, result.device.type) == ((3, 8, 2, 4), torch.half, "droplet")
        assert (argmax.shape, argmax.dtype) == ((3, 8, 2, 4), torch.int32)
        with pytest.raises(RuntimeError, match="rois must have 2 dimensions, but has 1"):
            torch.ops.diopi.roi_pool_mmcv(maps, rois[0], 2, 4)


def test_only_what_is_needed_is_computed(droplet: torch.device, torch_droplet: Any) -> None:
    """Of two backward functions the one whose gradient is not requested does not run."""
    _, arguments, _ = CASES[-1]
    maps, weight, offset = (one.detach().to(droplet) for one in arguments[:3])
    weight.requires_grad_()
    torch.ops.diopi.deform_conv_mmcv(maps, weight, offset, *arguments[3:]).sum().backward()
    assert weight.grad is not None
    assert maps.grad is None


def test_a_second_backward_needs_the_graph(droplet: torch.device) -> None:
    arguments = moved(list(CASES[0][1]), droplet)
    result = torch.ops.diopi.roi_align(*arguments).sum()
    result.backward(retain_graph=True)
    result.backward()
    with pytest.raises(RuntimeError, match="retain_graph=True"):
        result.backward()


def test_autocast_gives_operands_one_dtype(droplet: torch.device) -> None:
    maps, rois = _random(2, 3, 9, 8, gradient=False).to(droplet, torch.bfloat16), ROIS.to(droplet, torch.float32)
    with pytest.raises(RuntimeError, match="diopiRoiAlign"):
        torch.ops.diopi.roi_align(maps, rois, 1.0, 2, 2)
    with torch.autocast("droplet"):
        result = torch.ops.diopi.roi_align(maps, rois, 1.0, 2, 2)
    assert result.dtype == torch.float32
    assert torch.equal(result, torch.ops.diopi.roi_align(maps.float(), rois, 1.0, 2, 2))


def test_state_is_written_in_place(droplet: torch.device) -> None:
    torch.ops.diopi.plus_scalar_inp(counts := torch.tensor([1, 2], device=droplet), 3, 2)
    assert counts.tolist() == [4, 5]
    assert "Tensor(a!)" in str(torch.ops.diopi.plus_scalar_inp.default._schema)
    ids = torch.tensor([[0, 1], [2, 1]], device=droplet)
    looked_up = torch.ops.diopi.input_ids_embedding_lookup_pos_encoding(
        ids.flatten(), torch.arange(12.0, device=droplet).reshape(3, 4), 4, 4
    )
    assert looked_up[:, 0].tolist() == [0.0, 4.0, 8.0, 4.0]


def test_errors_name_operator_and_function(droplet: torch.device) -> None:
    maps = _random(2, 3, 9, 8, gradient=False)
    with pytest.raises(NotImplementedError, match="diopi::roi_align"):
        torch.ops.diopi.roi_align(maps, ROIS, 1.0, 2, 2)
    with pytest.raises(RuntimeError, match="diopi::roi_align: diopiRoiAlign"):
        torch.ops.diopi.roi_align(maps.to(droplet), ROIS.to(droplet), 1.0, 0, 2)
    with pytest.raises(RuntimeError, match="same device"):
        torch.ops.diopi.roi_align(maps.to(droplet), ROIS, 1.0, 2, 2)
    with pytest.raises(RuntimeError, match="stride"):
        arguments = [*moved(list(CASES[-1][1]), droplet)]
        torch.ops.diopi.deform_conv_mmcv(*arguments[:5], 0, 0)

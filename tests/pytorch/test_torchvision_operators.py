"""The names of torchvision on the device. Its schemas come from a stand-in library: the wheel may not be installable
next to this torch. Expected values come from compositions of plain PyTorch."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from kernel_agreement import moved
from test_custom_operators import ROIS, _boxes, _deformed, _overlaps, _random, _roi_align
from torchvision_schemas import SCHEMAS


@pytest.fixture(scope="module")
def vision(torch_droplet: Any) -> Iterator[Any]:
    """`torch.ops.torchvision`, with the schemas that its library would define."""
    library = torch.library.Library("torchvision", "FRAGMENT")
    for name, schema in SCHEMAS.items():
        if not hasattr(torch.ops.torchvision, name):
            library.define(name + schema)
    yield torch.ops.torchvision
    library._destroy()


def _kept(boxes: torch.Tensor, scores: torch.Tensor, threshold: float) -> list[int]:
    overlaps = _overlaps(boxes, boxes)
    kept: list[int] = []
    for row in scores.argsort(descending=True, stable=True).tolist():
        if all(overlaps[row, other] <= threshold for other in kept):
            kept.append(row)
    return kept


def test_nms(vision: Any, droplet: torch.device) -> None:
    boxes, scores = _boxes(40, 3).float(), _random(40, seed=7, gradient=False).float()
    for threshold in (0.1, 0.3, 0.7):
        found = vision.nms(boxes.to(droplet), scores.to(droplet), threshold)
        assert found.tolist() == _kept(boxes, scores, threshold)


@pytest.mark.parametrize("aligned", [True, False])
def test_roi_align_and_its_gradient(vision: Any, droplet: torch.device, aligned: bool) -> None:
    maps = _random(2, 3, 9, 8)
    expected = _roi_align(maps, ROIS, 0.75, 2, 3, 2, aligned)
    rois = ROIS.to(droplet)
    found = vision.roi_align(maps.detach().to(droplet), rois, 0.75, 2, 3, 2, aligned)
    torch.testing.assert_close(found.cpu(), expected)
    grad_output = _random(*expected.shape, seed=5, gradient=False)
    (correct,) = torch.autograd.grad(expected, maps, grad_output)
    gradient = vision._roi_align_backward(grad_output.to(droplet), rois, 0.75, 2, 3, 2, 3, 9, 8, 2, aligned)
    torch.testing.assert_close(gradient.cpu(), correct)


def _pooled(maps: torch.Tensor, rois: torch.Tensor, scale: float, rows: int, columns: int) -> torch.Tensor:
    """As Fast R-CNN defines it: whole pixels, at least one in each direction; 0 where a bin is outside."""
    results = []
    for image, *corners in rois.tolist():
        left, top, right, bottom = (math.floor(abs(v * scale) + 0.5) * (1 if v >= 0 else -1) for v in corners)
        height, width = max(bottom - top + 1, 1), max(right - left + 1, 1)
        for row in range(rows):
            for column in range(columns):
                y = (top + row * height // rows, top - (-(row + 1) * height // rows))
                x = (left + column * width // columns, left - (-(column + 1) * width // columns))
                part = maps[int(image), :, max(y[0], 0) : max(y[1], 0), max(x[0], 0) : max(x[1], 0)]
                results.append(part.amax((1, 2)) if part.numel() else maps.new_zeros(maps.shape[1]))
    return torch.stack(results).reshape(len(rois), rows, columns, -1).permute(0, 3, 1, 2)


def test_roi_pool_and_its_gradient(vision: Any, droplet: torch.device) -> None:
    """Corners at halves of a pixel, a region that is turned around, and one that is mostly outside."""
    maps = _random(2, 3, 9, 8)
    regions = [[0, 1, 2, 9, 13], [1, 3, 1, 11, 17], [1, 9, 9, 5, 3], [0, -7, -3, 5, 6], [0, 12, 14, 40, 44]]
    rois = torch.tensor(regions, dtype=torch.float64)
    expected = _pooled(maps, rois, 0.5, 3, 2)
    found, argmax = vision.roi_pool(maps.detach().to(droplet), rois.to(droplet), 0.5, 3, 2)
    torch.testing.assert_close(found.cpu(), expected)
    assert argmax.dtype == torch.int32
    grad_output = _random(*expected.shape, seed=5, gradient=False)
    (correct,) = torch.autograd.grad(expected, maps, grad_output)
    gradient = vision._roi_pool_backward(grad_output.to(droplet), rois.to(droplet), argmax, 0.5, 3, 2, 2, 3, 9, 8)
    torch.testing.assert_close(gradient.cpu(), correct)


def _own_bins(pooled: torch.Tensor) -> torch.Tensor:
    """Of the channels of each class in each bin, that of the bin."""
    regions, channels, rows, columns = pooled.shape
    own = [pooled[:, bin_ :: rows * columns, bin_ // columns, bin_ % columns] for bin_ in range(rows * columns)]
    return torch.stack(own, 2).reshape(regions, channels // (rows * columns), rows, columns)


@pytest.mark.parametrize("ratio", [2, -1])
def test_ps_roi_align_and_its_gradient(vision: Any, droplet: torch.device, ratio: int) -> None:
    """A bin of these regions has two pixels in each direction, rounded up."""
    maps = _random(2, 12, 9, 8)
    regions = torch.tensor([[0, 1, 1, 9, 7], [1, 2.5, 0, 9, 6.5]], dtype=torch.float64)
    expected = _own_bins(_roi_align(maps, regions, 0.5, 2, 3, 2, True))
    found, channels = vision.ps_roi_align(maps.detach().to(droplet), regions.to(droplet), 0.5, 2, 3, ratio)
    torch.testing.assert_close(found.cpu(), expected)
    assert channels.dtype == torch.int32 and channels[1].flatten().tolist() == list(range(12))
    grad_output = _random(*expected.shape, seed=5, gradient=False)
    (correct,) = torch.autograd.grad(expected, maps, grad_output)
    options = (channels, 0.5, 2, 3, ratio, 2, 12, 9, 8)
    gradient = vision._ps_roi_align_backward(grad_output.to(droplet), regions.to(droplet), *options)
    torch.testing.assert_close(gradient.cpu(), correct)


def _averaged(maps: torch.Tensor, rois: torch.Tensor, scale: float, rows: int, columns: int, cut: int) -> torch.Tensor:
    """Averages over whole pixels, without the last `cut` rows and columns of the maps; 0 where none is left."""
    results = []
    classes = maps.shape[1] // (rows * columns)
    for image, *corners in rois.tolist():
        left, top, right, bottom = (math.floor(abs(v * scale) + 0.5) * (1 if v >= 0 else -1) for v in corners)
        height, width = max(bottom - top, 1), max(right - left, 1)
        for number in range(rows * columns):
            row, column = divmod(number, columns)
            y = (top + row * height // rows, top - (-(row + 1) * height // rows))
            x = (left + column * width // columns, left - (-(column + 1) * width // columns))
            (y0, y1), (x0, x1) = ((max(a, 0), max(min(b, most - cut), 0)) for (a, b), most in ((y, 9), (x, 8)))
            part = maps[int(image), number :: rows * columns, y0:y1, x0:x1]
            results.append(part.mean((1, 2)) if part.numel() else maps.new_zeros(classes))
    return torch.stack(results).reshape(len(rois), rows, columns, classes).permute(0, 3, 1, 2)


def test_ps_roi_pool_and_its_gradient(vision: Any, droplet: torch.device) -> None:
    """The results leave the last row and column of the maps out, the gradient does not, as in torchvision's kernels."""
    maps = _random(2, 12, 9, 8)
    regions = [[0, 1, 2, 9, 13], [1, 3, 1, 11, 17], [1, 9, 9, 5, 3], [0, -7, -3, 5, 6], [0, 12, 14, 40, 44]]
    rois = torch.tensor(regions, dtype=torch.float64)
    found, channels = vision.ps_roi_pool(maps.detach().to(droplet), rois.to(droplet), 0.5, 2, 3)
    torch.testing.assert_close(found.cpu(), _averaged(maps, rois, 0.5, 2, 3, cut=1).detach())
    assert channels.dtype == torch.int32 and channels[1].flatten().tolist() == list(range(12))
    grad_output = _random(*found.shape, seed=5, gradient=False)
    (correct,) = torch.autograd.grad(_averaged(maps, rois, 0.5, 2, 3, cut=0), maps, grad_output)
    gradient = vision._ps_roi_pool_backward(grad_output.to(droplet), rois.to(droplet), channels, 0.5, 2, 3, 2, 12, 9, 8)
    torch.testing.assert_close(gradient.cpu(), correct)


@pytest.mark.parametrize("use_mask", [True, False])
def test_deform_conv_and_its_gradients(vision: Any, droplet: torch.device, use_mask: bool) -> None:
    tensors = [
        _random(2, 3, 6, 7),
        _random(4, 3, 3, 2, seed=1),
        _random(2, 12, 4, 6, seed=3),
        _random(2, 6, 4, 6, seed=4),
        _random(4, seed=2),
    ]
    maps, weight, offset, mask, bias = tensors
    used = mask if use_mask else torch.ones_like(mask)
    expected = _deformed(maps, weight, bias, offset, used)
    grad_output = _random(*expected.shape, seed=5, gradient=False)
    # Without a mask torchvision passes one without elements.
    there = [one.detach() for one in moved(tensors, droplet)]
    if not use_mask:
        there[3] = torch.zeros(2, 0, device=droplet, dtype=torch.float64)
    numbers = (1, 1, 0, 0, 1, 1, 1, 1, use_mask)
    torch.testing.assert_close(vision.deform_conv2d(*there, *numbers).cpu(), expected)
    found = vision._deform_conv2d_backward(grad_output.to(droplet), *there, *numbers)
    leaves = [one for one in tensors if use_mask or one is not mask]
    correct = iter(torch.autograd.grad(expected, leaves, grad_output))
    for position, gradient in enumerate(found):
        if position == 3 and not use_mask:
            assert gradient.shape == (2, 0)
        else:
            torch.testing.assert_close(gradient.cpu(), next(correct))


def test_autocast_computes_in_float32(vision: Any, droplet: torch.device) -> None:
    maps, rois = _random(2, 3, 9, 8, gradient=False).to(droplet, torch.bfloat16), ROIS.to(droplet, torch.float32)
    with torch.autocast("droplet"):
        result = vision.roi_align(maps, rois, 1.0, 2, 2, 2, True)
    expected = vision.roi_align(maps.float(), rois, 1.0, 2, 2, 2, True).to(torch.bfloat16)
    assert result.dtype == torch.bfloat16
    assert torch.equal(result, expected)


def test_nothing_runs_on_the_cpu(vision: Any, droplet: torch.device, fallbacks: Any) -> None:
    boxes = _boxes(6, 3).to(droplet)
    vision.nms(boxes, boxes[:, 0].clone(), 0.5)
    maps, rois = _random(1, 4, 5, 5, gradient=False).to(droplet), ROIS.to(droplet)[:1]
    vision.roi_pool(maps, rois, 1.0, 2, 2)
    for own, channels in (vision.ps_roi_align(maps, rois, 1.0, 2, 2, -1), vision.ps_roi_pool(maps, rois, 1.0, 2, 2)):
        assert own.shape == channels.shape
    assert fallbacks() == {}

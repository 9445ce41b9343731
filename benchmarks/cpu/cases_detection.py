"""Detection, a family after the other: each function compared with a composition of torch operators."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import torch
from torch import Tensor
from torch.nn import functional

from benchmarks.cpu.device import Device
from benchmarks.cpu.measure import Case

GROUPS = ("detection",)


def cases(device: Device) -> Iterator[Case]:
    """Boxes, regions, windows, points, sparse convolution, losses, filters."""
    yield from boxes(device)
    yield from regions(device)
    yield from windows(device)
    yield from points(device)
    yield from others(device)


def some_boxes(count: int) -> Tensor:
    """Boxes within 1344x800."""
    corner, size = torch.rand(count, 2) * torch.tensor([1200.0, 700.0]), 16 + 120 * torch.rand(count, 2)
    return torch.cat([corner, corner + size], 1)


def overlaps(a: Tensor, b: Tensor) -> Tensor:
    """Intersection over union of all pairs."""
    low, high = torch.maximum(a[:, None, :2], b[None, :, :2]), torch.minimum(a[:, None, 2:], b[None, :, 2:])
    common = (high - low).clamp(min=0).prod(2)
    area_a, area_b = (a[:, 2:] - a[:, :2]).prod(1), (b[:, 2:] - b[:, :2]).prod(1)
    return common / (area_a[:, None] + area_b - common)


def suppressed(dets: Tensor, scores: Tensor, threshold: float) -> Tensor:
    """Rows that stay, one after the other."""
    order = scores.argsort(descending=True)
    near = overlaps(dets[order], dets[order]) > threshold
    retained = torch.ones(len(order), dtype=torch.bool)
    for row in range(len(order)):
        if retained[row]:
            retained[row + 1 :] &= ~near[row, row + 1 :]
    return order[retained]


def boxes(device: Device) -> Iterator[Case]:
    """Overlaps of all pairs, and non-maximum suppression."""
    anchors, objects = some_boxes(20000), some_boxes(20)
    out = torch.empty(20, 20000)
    ours = device.call("diopiBboxOverlapsMmcv", out, objects, anchors, 0, 0, False)
    yield Case("detection", "BboxOverlaps", "20x20000", ours, partial(overlaps, objects, anchors))
    dets, scores = some_boxes(1000), torch.rand(1000)
    ours = device.allocating("diopiNmsMmcv", dets, scores, 0.7, 0)
    yield Case("detection", "Nms", "1000", ours, partial(suppressed, dets, scores, 0.7))


def pooled(x: Tensor, rois: Tensor, size: int, ratio: int) -> Tensor:
    """RoIAlign by grid_sample and a mean."""
    height, width = x.shape[2:]
    steps = (torch.arange(size * ratio) + 0.5) / (size * ratio)
    across = rois[:, 1, None] + (rois[:, 3] - rois[:, 1])[:, None] * steps - 0.5
    down = rois[:, 2, None] + (rois[:, 4] - rois[:, 2])[:, None] * steps - 0.5
    grid = torch.stack(
        [
            ((2 * across + 1) / width - 1)[:, None, :].expand(-1, size * ratio, -1),
            ((2 * down + 1) / height - 1)[:, :, None].expand(-1, -1, size * ratio),
        ],
        3,
    )
    found = [functional.grid_sample(x, one[None], padding_mode="border", align_corners=False) for one in grid]
    return functional.avg_pool2d(torch.cat(found), ratio)


def regions(device: Device) -> Iterator[Case]:
    """RoIAlign, and deformable convolution by its columns."""
    x = torch.randn(1, 256, 50, 84)
    rois = torch.cat([torch.zeros(100, 1), some_boxes(100) / 16], 1)
    out, none = torch.empty(100, 256, 7, 7), torch.empty(0)
    ours = device.call("diopiRoiAlignMmcv", out, none, none, x, rois, 7, 7, 2, 1, 1.0, True)
    yield Case("detection", "RoiAlign", "100 of 256x50x84", ours, partial(pooled, x, rois, 7, 2))
    x, offset = torch.randn(1, 64, 50, 84), torch.randn(1, 18, 50, 84)
    weight, mask, out = torch.randn(64, 64, 3, 3), torch.rand(1, 9, 50, 84), torch.empty(1, 64, 50, 84)
    sizes = (3, 3, 1, 1, 1, 1, 1, 1, 1, 1, False)
    ours = device.call("diopiModulatedDeformConvMmcv", out, none, none, x, weight, none, offset, mask, *sizes)
    yield Case(
        "detection",
        "ModulatedDeformConv",
        "64x50x84",
        ours,
        partial(deformed, x, weight, offset, mask),
    )


def deformed(x: Tensor, weight: Tensor, offset: Tensor, mask: Tensor) -> Tensor:
    """A modulated deformable convolution of 3x3: nine samples of the map, weighted, and one product."""
    height, width = x.shape[2:]
    down, across = torch.meshgrid(torch.arange(height), torch.arange(width), indexing="ij")
    columns = []
    for k in range(9):
        y, u = down + k // 3 - 1 + offset[0, 2 * k], across + k % 3 - 1 + offset[0, 2 * k + 1]
        grid = torch.stack([(2 * u + 1) / width - 1, (2 * y + 1) / height - 1], 2)[None]
        columns.append(functional.grid_sample(x, grid, align_corners=False) * mask[:, k : k + 1])
    joined = torch.stack(columns, 2).view(x.shape[1] * 9, height * width)
    return (weight.view(weight.shape[0], -1) @ joined).view(1, -1, height, width)


def windows(device: Device) -> Iterator[Case]:
    """CARAFE, deformable attention, and the filters of StyleGAN2."""
    x, masks = torch.randn(1, 64, 50, 84), torch.rand(1, 25, 100, 168)
    out = torch.empty(1, 64, 100, 168)
    ours = device.call(
        "diopiCarafeMmcv", torch.empty_like(x), torch.empty_like(out), torch.empty_like(masks), out, x, masks, 5, 1, 2
    )

    def unfolded() -> Tensor:
        near = functional.unfold(x, 5, padding=2).view(1, 64 * 25, 50, 84)
        near = functional.interpolate(near, scale_factor=2.0, mode="nearest").view(1, 64, 25, 100, 168)
        return (near * masks[:, None]).sum(2)

    yield Case("detection", "Carafe", "64x50x84", ours, unfolded)
    value, positions = torch.randn(1, 2500, 8, 32), torch.rand(1, 900, 8, 1, 4, 2)
    weights = torch.rand(1, 900, 8, 1, 4)
    maps, starts = torch.tensor([[50, 50]]), torch.tensor([0])
    ours = device.allocating("diopiMsDeformAttnMmcv", value, maps, starts, positions, weights, 64)

    def sampled() -> Tensor:
        heads = value.permute(0, 2, 3, 1).reshape(8, 32, 50, 50)
        grid = (2 * positions - 1)[0, :, :, 0].transpose(0, 1)
        found = functional.grid_sample(heads, grid, align_corners=False)
        return (found * weights[0, :, :, 0].transpose(0, 1)[:, None]).sum(3).view(1, 256, 900).transpose(1, 2)

    yield Case("detection", "MsDeformAttn", "900 of 50x50", ours, sampled)
    image, kernel = torch.randn(64, 128, 128, 1), torch.rand(4, 4)
    ours = device.allocating("diopiUpfirdn2dOpMmcv", image, kernel, 1, 1, 1, 1, 2, 1, 2, 1)
    flat, flipped = image.view(64, 1, 128, 128), kernel.flip(0, 1)[None, None]

    def filtered() -> Tensor:
        return functional.conv2d(functional.pad(flat, (2, 1, 2, 1)), flipped)

    yield Case("detection", "Upfirdn2d", "64x128x128", ours, filtered)


def points(device: Device) -> Iterator[Case]:
    """Neighbours, sampling, grouping and interpolation of points."""
    cloud, centres = torch.rand(1, 4096, 3), torch.rand(1, 1024, 3)
    idx, distances = torch.empty(1, 1024, 32, dtype=torch.int32), torch.empty(1, 1024, 32)
    ours = device.call("diopiKnnMmcv", idx, distances, cloud, centres, 1, 4096, 1024, 32)

    def nearest() -> object:
        return torch.topk(((centres[:, :, None] - cloud[:, None]) ** 2).sum(3), 32, largest=False)

    yield Case("detection", "Knn", "32 of 4096", ours, nearest)
    near, selected = torch.full((1, 4096), 1e10), torch.empty(1, 512, dtype=torch.int32)
    ours = device.call("diopiFurthestPointSamplingMmcv", near, selected, cloud, 1, 4096, 512)

    def furthest() -> Tensor:
        least, last, found = torch.full((4096,), 1e10), 0, [0]
        for _ in range(511):
            least = torch.minimum(least, ((cloud[0] - cloud[0, last]) ** 2).sum(1))
            last = int(least.argmax())
            found.append(last)
        return torch.tensor(found)

    yield Case("detection", "FurthestPointSampling", "512 of 4096", ours, furthest)
    features = torch.randn(1, 64, 4096)
    groups = torch.randint(0, 4096, (1, 1024, 32), dtype=torch.int32)
    out = torch.empty(1, 64, 1024, 32)
    ours = device.call("diopiGroupPointsMmcv", out, features, groups, 1, 64, 4096, 1024, 32)
    flat = groups.view(1, 1, -1).expand(1, 64, -1).long()
    yield Case("detection", "GroupPoints", "64x1024x32", ours, partial(torch.gather, features, 2, flat))


def others(device: Device) -> Iterator[Case]:
    """A sparse convolution, the focal loss, bias and leaky ReLU."""
    x, filters = torch.randn(5000, 32), torch.randn(3, 3, 3, 32, 32)
    pairs = torch.randint(0, 5000, (27, 2, 5000), dtype=torch.int32)
    counts = torch.full((27,), 2000, dtype=torch.int32)
    ours = device.allocating("diopiIndiceConvMmcv", x, filters, pairs, counts, 5000, 0, 1)

    def scattered() -> Tensor:
        found = torch.zeros(5000, 32)
        for k in range(27):
            rows = x.index_select(0, pairs[k, 0, :2000]) @ filters.view(27, 32, 32)[k]
            found.index_add_(0, pairs[k, 1, :2000], rows)
        return found

    yield Case("detection", "IndiceConv", "5000x32, 27 x 2000", ours, scattered)
    scores, target = torch.randn(20000, 15), torch.randint(0, 16, (20000,))
    out, none = torch.empty_like(scores), torch.empty(0)
    ours = device.call("diopiSigmoidFocalLossMmcv", out, scores, target, none, 2.0, 0.25)

    def focal() -> Tensor:
        hot = functional.one_hot(target, 16)[:, :15].to(scores.dtype)
        p = scores.sigmoid()
        weight = (0.25 * hot + 0.75 * (1 - hot)) * (p * (1 - hot) + (1 - p) * hot) ** 2
        return functional.binary_cross_entropy_with_logits(scores, hot, reduction="none") * weight

    yield Case("detection", "SigmoidFocalLoss", "20000x15", ours, focal)
    image, bias = torch.randn(1, 128, 128, 128), torch.randn(128)
    ours = device.allocating("diopiFusedBiasLeakyreluMmcv", image, bias, none, 3, 0, 0.2, 2**0.5)

    def leaky() -> Tensor:
        return functional.leaky_relu(image + bias.view(1, -1, 1, 1), 0.2) * 2**0.5

    yield Case("detection", "FusedBiasLeakyrelu", "128x128x128", ours, leaky)

"""Detectors in two dimensions: Faster R-CNN, RetinaNet for rotated boxes, CARAFE, as MMDetection and MMRotate configure
them. Whole networks run as they detect; training runs from the feature maps on, over what is theirs alone."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from tracing.convolutional import ResNet50
from tracing.noted import FEW, PAIRS, differentiable, filled, note, of_many, zeros
from tracing.recorder import Recorder


class Pyramid(nn.Module):
    """Lin et al., Feature Pyramid Networks, 2017: ResNet-50 and a pyramid of 256 channels. The coarsest levels are a
    pooled one, as Faster R-CNN has it, or two of convolutions, as RetinaNet has them."""

    def __init__(self, first: int, pooled: bool) -> None:
        super().__init__()
        self.body, self.first, self.pooled = ResNet50(), first, pooled
        widths = (256, 512, 1024, 2048)[first:]
        self.narrow = nn.ModuleList(nn.Conv2d(width, 256, 1) for width in widths)
        self.smooth = nn.ModuleList(nn.Conv2d(256, 256, 3, 1, 1) for _ in widths)
        extra = [] if pooled else [nn.Conv2d(2048, 256, 3, 2, 1), nn.Conv2d(256, 256, 3, 2, 1)]
        self.extra = nn.ModuleList(extra)

    def forward(self, x: Tensor) -> list[Tensor]:
        x = self.body.stem(x)
        found = []
        for start, end in ((0, 3), (3, 7), (7, 13), (13, 16)):
            x = self.body.blocks[start:end](x)
            found.append(x)
        levels = [narrow(level) for narrow, level in zip(self.narrow, found[self.first :], strict=True)]
        for k in range(len(levels) - 1, 0, -1):
            levels[k - 1] = levels[k - 1] + functional.interpolate(levels[k], size=levels[k - 1].shape[2:])
        levels = [smooth(level) for smooth, level in zip(self.smooth, levels, strict=True)]
        if self.pooled:
            return [*levels, functional.max_pool2d(levels[-1], 1, 2)]
        for extra in self.extra:
            x = extra(x)
            levels.append(x)
        return levels


def decoded(anchors: Tensor, deltas: Tensor) -> Tensor:
    """Boxes from what a head predicts for its anchors, cut off at the border of the image."""
    middle, size = (anchors[:, :2] + anchors[:, 2:]) * 0.5, anchors[:, 2:] - anchors[:, :2]
    middle = middle + deltas[:, :2] * size
    size = size * deltas[:, 2:].clamp(-4.135, 4.135).exp() * 0.5
    return torch.cat([middle - size, middle + size], 1).clamp(0, 1344)


def roi_align(x: Tensor, regions: int, stride: int) -> Tensor:
    """RoIAlign of 7 by 7 over one level, with as many samples as a bin is wide."""
    height, width = x.shape[2:]
    shape, few, why = (regions, x.shape[1], 7, 7), min(FEW, regions), of_many(regions, height, width)
    part = filled((1, 32, 25, 42), "normal")
    extent = f"regions(1, {42 * stride}, {25 * stride})"
    shared = {
        "rois": filled((few, 5), extent),
        "aligned_height": 7,
        "aligned_width": 7,
        "spatial_scale": 1 / stride,
    }

    def forward(x: Tensor) -> Tensor:
        note("RoiAlignMmcv", why=why, input=part, **shared)
        return torch.empty(shape)

    def backward(grad: Tensor, x: Tensor) -> tuple[Tensor]:
        none, some = filled((0,), "zeros"), filled((few, 32, 7, 7), "normal")
        sums = {"grad_input": zeros(part), "grad_output": some, "argmax_y": none, "argmax_x": none}
        note("RoiAlignBackwardMmcv", why=why, **sums, **shared)
        return (torch.empty_like(x),)

    return differentiable(forward, backward, x)


def nms(boxes: int, threshold: float, width: int = 1344, height: int = 800) -> None:
    """Non-maximum suppression of boxes, 1000 at most, whose scores fall from row to row."""
    some = min(boxes, 1000)
    positions, scores = filled((some, 4), f"boxes({width}, {height})"), filled((some,), "descending")
    why = f"{boxes} boxes in the model; the oracle takes one after the other" if boxes > some else ""
    note("NmsMmcv", why=why, dets=positions, scores=scores, iou_threshold=threshold)


class RegionHead(nn.Module):
    """Two wide layers over the features of a region, then classes and a box for each class."""

    def __init__(self) -> None:
        super().__init__()
        self.one, self.two = nn.Linear(256 * 49, 1024), nn.Linear(1024, 1024)
        self.classes, self.boxes = nn.Linear(1024, 81), nn.Linear(1024, 320)

    def forward(self, levels: list[Tensor], shares: tuple[int, ...]) -> tuple[Tensor, Tensor]:
        """`shares` says how many regions are on each level."""
        pooled = [roi_align(level, share, 4 << k) for k, (level, share) in enumerate(zip(levels, shares, strict=False))]
        x = functional.relu(self.one(torch.cat(pooled).flatten(1)))
        x = functional.relu(self.two(x))
        return self.classes(x), self.boxes(x)


def faster_rcnn(recorder: Recorder) -> None:
    """1 image of 800x1333, which is padded to a multiple of 32."""
    body, head = Pyramid(0, True), RegionHead()
    objects, boxes, shared = nn.Conv2d(256, 3, 1), nn.Conv2d(256, 12, 1), nn.Conv2d(256, 256, 3, 1, 1)
    body.eval()
    with torch.no_grad(), recorder.during("detection"):
        levels = body(torch.empty(1, 3, 800, 1344))
        proposals = 0
        for level in levels:
            x = functional.relu(shared(level))
            scores = objects(x).permute(0, 2, 3, 1).reshape(-1).sigmoid()
            deltas = boxes(x).permute(0, 2, 3, 1).reshape(-1, 4)
            count = min(1000, scores.shape[0])
            _, order = torch.topk(scores, count)
            decoded(torch.empty(count, 4), deltas.index_select(0, order))
            proposals += count
        nms(proposals, 0.7)
        classes, found = head(levels, (700, 200, 70, 30))
        classes = classes.softmax(1)
        decoded(torch.empty(80000, 4), found.view(-1, 4))
        # boxes of one class are moved apart from those of the others, so that one call serves all classes
        nms(2000, 0.5, 1344 * 10, 800)
    features = [level.clone().requires_grad_() for level in levels[:4]]
    with recorder.during("forward"):
        anchors = sum(3 * level.shape[2] * level.shape[3] for level in levels)
        scores, deltas = torch.empty(anchors, requires_grad=True), torch.empty(anchors, 4, requires_grad=True)
        note(
            "BboxOverlapsMmcv",
            bboxes1=filled((20, 4), "boxes(1344, 800)"),
            bboxes2=filled((anchors, 4), "boxes(1344, 800)"),
        )
        loss = functional.binary_cross_entropy_with_logits(scores, torch.empty(anchors))
        loss = loss + functional.l1_loss(deltas, torch.empty(anchors, 4))
        nms(4819, 0.7)
        note(
            "BboxOverlapsMmcv",
            bboxes1=filled((20, 4), "boxes(1344, 800)"),
            bboxes2=filled((1000, 4), "boxes(1344, 800)"),
        )
        classes, found = head(features, (320, 120, 48, 24))
        loss = loss + functional.cross_entropy(classes, torch.zeros(512, dtype=torch.int64))
        selected = found.view(-1, 4).index_select(0, torch.zeros(128, dtype=torch.int64))
        loss = loss + functional.l1_loss(selected, torch.empty(128, 4))
    with recorder.during("backward"):
        loss.backward()


class RetinaHead(nn.Module):
    """Lin et al., Focal Loss, 2017: four convolutions for classes and four for boxes, 9 anchors, 15 classes."""

    def __init__(self, numbers: int) -> None:
        super().__init__()

        def tower() -> nn.Sequential:
            return nn.Sequential(*(layer for _ in range(4) for layer in (nn.Conv2d(256, 256, 3, 1, 1), nn.ReLU())))

        self.class_tower, self.box_tower = tower(), tower()
        self.classes, self.boxes = nn.Conv2d(256, 9 * 15, 3, 1, 1), nn.Conv2d(256, 9 * numbers, 3, 1, 1)
        self.numbers = numbers

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        classes, boxes = self.classes(self.class_tower(x)), self.boxes(self.box_tower(x))
        return classes.permute(0, 2, 3, 1).reshape(-1, 15), boxes.permute(0, 2, 3, 1).reshape(-1, self.numbers)


def focal_loss(x: Tensor) -> Tensor:
    """The sigmoid focal loss of each class; a target of as many as there are classes is the background."""
    target = filled(x.shape[:1], f"integers(0, {x.shape[1] + 1})", "int64")
    weight = filled((0,), "zeros")

    def forward(x: Tensor) -> Tensor:
        note("SigmoidFocalLossMmcv", input=x, target=target, weight=weight)
        return torch.empty_like(x)

    def backward(grad: Tensor, x: Tensor) -> tuple[Tensor]:
        note("SigmoidFocalLossBackwardMmcv", input=x, target=target, weight=weight)
        return (torch.empty_like(x) * grad,)

    return differentiable(forward, backward, x)


def rotated_nms(boxes: int, threshold: float) -> None:
    """Non-maximum suppression of rotated boxes, few of many, whose scores fall from row to row."""
    positions = filled((100, 5), "boxes(1024, 1024)")
    note(
        "NmsRotatedMmcv",
        why=f"{boxes} boxes in the model; {PAIRS}",
        dets=positions,
        scores=filled((100,), "descending"),
        order=filled((100,), "ascending", "int64"),
        dets_sorted=positions,
        labels=filled((0,), "zeros", "int64"),
        iou_threshold=threshold,
    )


def retinanet_rotated(recorder: Recorder) -> None:
    """1 image of 1024x1024."""
    body, head = Pyramid(1, False), RetinaHead(5)
    body.eval()
    with torch.no_grad(), recorder.during("detection"):
        for level in body(torch.empty(1, 3, 1024, 1024)):
            classes, boxes = head(level)
            highest, _ = classes.sigmoid().max(1)
            count = min(2000, highest.shape[0])
            _, order = torch.topk(highest, count)
            anchors, deltas = torch.empty(count, 5), boxes.index_select(0, order)
            size = anchors[:, 2:4]
            torch.cat(
                [anchors[:, :2] + deltas[:, :2] * size, size * deltas[:, 2:4].exp(), anchors[:, 4:] + deltas[:, 4:]], 1
            )
        rotated_nms(2000, 0.1)
    with recorder.during("forward"):
        extent = "boxes(1024, 1024)"
        reason = f"196416 anchors in the model; {PAIRS}"
        objects, anchors = filled((40, 5), extent), filled((64, 5), extent)
        note("BoxIouRotatedMmcv", why=reason, bboxes1=objects, bboxes2=anchors)
        classes = torch.empty(196416, 15, requires_grad=True)
        boxes = torch.empty(196416, 5, requires_grad=True)
        loss = focal_loss(classes).sum() + functional.l1_loss(boxes, torch.empty(196416, 5))
    with recorder.during("backward"):
        loss.backward()


class Carafe(nn.Module):
    """Wang et al., CARAFE, 2019: an upsampling by 2 whose kernels of 5x5 follow from the features."""

    def __init__(self) -> None:
        super().__init__()
        self.narrow, self.encode = nn.Conv2d(256, 64, 1), nn.Conv2d(64, 100, 3, 1, 1)

    def forward(self, x: Tensor, naive: bool = False) -> Tensor:
        masks = functional.pixel_shuffle(self.encode(self.narrow(x)), 2)
        return reassembled(x, masks.softmax(1), naive)


def reassembled(x: Tensor, masks: Tensor, naive: bool) -> Tensor:
    """The weighted sums of windows. `naive` is the form that reads the features as they are."""
    name = "CarafeNaive" if naive else "Carafe"
    sizes = {"kernel_size": 5, "group_size": 1, "scale_factor": 2}
    wide = (*x.shape[:2], 2 * x.shape[2], 2 * x.shape[3])
    # the window of every element: channels are alike, and 256 of them fill the memory
    some = 16 if x.shape[2] > 25 else x.shape[1]
    why = (
        ""
        if some == x.shape[1]
        else "256 channels in the model; they are alike, and in float64 their windows fill the memory"
    )
    features, output = filled((1, some, *x.shape[2:]), "normal"), filled((1, some, *wide[2:]), "zeros")
    received = filled((1, some, *wide[2:]), "normal")

    def forward(x: Tensor, masks: Tensor) -> Tensor:
        scratch = {} if naive else {"routput": output, "rmasks": zeros(masks)}
        note(f"{name}Mmcv", why=why, features=features, masks=masks, **scratch, **sizes)
        return torch.empty(wide)

    def backward(grad: Tensor, x: Tensor, masks: Tensor) -> tuple[Tensor, Tensor]:
        if naive:
            own = {"bottom_grad": zeros(features), "mask_grad": zeros(masks), "features": features}
        else:
            own = {"rtop_grad": output, "rbottom_grad_hs": output, "rbottom_grad": zeros(features)}
            own |= {"rmask_grad": zeros(masks), "rfeatures": features}
        note(f"{name}BackwardMmcv", why=why, top_grad=received, masks=masks, **own, **sizes)
        return torch.empty_like(x), torch.empty_like(masks)

    return differentiable(forward, backward, x, masks)


def carafe(recorder: Recorder) -> None:
    """The pyramid of Faster R-CNN with CARAFE, over the features of 1 image of 800x1333; then the naive form of its
    coarsest upsampling."""
    narrow = nn.ModuleList(nn.Conv2d(width, 256, 1) for width in (256, 512, 1024, 2048))
    smooth = nn.ModuleList(nn.Conv2d(256, 256, 3, 1, 1) for _ in range(4))
    up = nn.ModuleList(Carafe() for _ in range(3))
    features = [torch.empty(1, 256 << k, 200 >> k, 336 >> k, requires_grad=True) for k in range(4)]
    with recorder.during("forward"):
        levels = [layer(x) for layer, x in zip(narrow, features, strict=True)]
        for k in (3, 2, 1):
            levels[k - 1] = levels[k - 1] + up[k - 1](levels[k])
        total = sum(layer(x).sum() for layer, x in zip(smooth, levels, strict=True))
    with recorder.during("backward"):
        assert isinstance(total, Tensor)
        total.backward()
    coarse = torch.empty(1, 256, 25, 42, requires_grad=True)
    with recorder.during("naive"):
        up[2](coarse, naive=True).sum().backward()

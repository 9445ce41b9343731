"""The detection models of torchvision, with its own operators, train and evaluate on the device as on the CPU.

Weights are random, so that scores would be nearly equal, and rounding would decide which boxes stay. The layers of
scores get larger weights here, and each residual branch a small factor: then the CPU keeps the same boxes in float32
and in float64, and the device has to as well.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import pytest
import torch
import torchvision_wheel
from install_models import APART
from model_runs import FACTOR, FLOOR, joined

CPU = torch.device("cpu")
SMALL = {"min_size": 64, "max_size": 96}
# torchvision draws the proposals that a loss is computed of; with these sizes it takes all.
ALL = {"rpn_batch_size_per_image": 10**6, "box_batch_size_per_image": 10**6}
FEW = {
    f"rpn_{when}_nms_top_n_{mode}": count for when, count in (("pre", 100), ("post", 20)) for mode in ("train", "test")
}
REGIONS = {**SMALL, **ALL, **FEW, "box_score_thresh": 0.3}
MODELS: Mapping[str, tuple[float, Mapping[str, Any]]] = {
    "fasterrcnn_resnet50_fpn": (8, REGIONS),
    "maskrcnn_resnet50_fpn": (8, REGIONS),
    "keypointrcnn_resnet50_fpn": (8, {**REGIONS, "num_keypoints": 5}),
    "retinanet_resnet50_fpn": (8, {**SMALL, "score_thresh": 0.5, "topk_candidates": 50}),
    "fcos_resnet50_fpn": (8, {**SMALL, "score_thresh": 0.3, "topk_candidates": 50}),
    "ssd300_vgg16": (0.5, {"score_thresh": 0.4, "topk_candidates": 50}),
}
"""Scale of the weights that scores come from, and options, by name."""
SCORES = ("cls_logits", "cls_score", "classification_head.module_list", "ctrness")


@pytest.fixture(scope="module")
def vision(torch_droplet: Any) -> Any:
    """torchvision, with its operators."""
    if torchvision_wheel.load(APART) and str(APART) not in sys.path:
        sys.path.append(str(APART))
    vision = pytest.importorskip("torchvision", reason="torchvision is not installed (make test-models)")
    assert vision.extension._has_ops()
    return vision


@dataclass(frozen=True)
class Results:
    """Detections before training, losses of each step, gradients of the first one in float64."""

    detections: list[dict[str, torch.Tensor]]
    losses: torch.Tensor
    gradients: torch.Tensor


def made(vision: Any, name: str) -> Any:
    torch.manual_seed(1)
    scale, options = MODELS[name]
    classes = 2 if "keypoint" in name else 4
    model = getattr(vision.models.detection, name)(weights=None, weights_backbone=None, num_classes=classes, **options)
    with torch.no_grad():
        for path, module in model.named_modules():
            if path.endswith("bn3"):
                module.weight.fill_(0.2)
        for path, weight in model.named_parameters():
            if any(part in path for part in SCORES):
                weight.normal_(0, scale / weight[0].numel() ** 0.5) if weight.dim() > 1 else weight.zero_()
    return model


def pictures(count: int, keypoints: bool) -> tuple[list[torch.Tensor], list[dict[str, torch.Tensor]]]:
    """Pictures of three objects each, in float64."""
    source = torch.Generator().manual_seed(2)

    def uniform(*shape: int) -> torch.Tensor:
        return torch.rand(shape, generator=source, dtype=torch.float64)

    images, targets = [], []
    for _ in range(count):
        corners, sizes = uniform(3, 2) * 30, 15 + uniform(3, 2) * 15
        boxes = torch.cat([corners, corners + sizes], 1)
        masks = torch.zeros(3, 64, 80, dtype=torch.uint8)
        for mask, (left, top, right, bottom) in zip(masks, boxes.round().long().tolist(), strict=True):
            mask[top:bottom, left:right] = 1
        labels = torch.ones(3, dtype=torch.int64) if keypoints else torch.tensor([1, 2, 3])
        target = {"boxes": boxes, "labels": labels, "masks": masks}
        if keypoints:
            points = corners[:, None] + sizes[:, None] * uniform(3, 5, 2)
            # torchvision accepts them in float32 alone.
            target["keypoints"] = torch.cat([points, torch.ones(3, 5, 1, dtype=torch.float64)], 2).float()
        images.append(uniform(3, 64, 80))
        targets.append(target)
    return images, targets


def run(vision: Any, name: str, device: torch.device, dtype: torch.dtype) -> Results:
    """Evaluates, and then trains for two steps."""
    model = made(vision, name).to(device, dtype)

    def there(value: torch.Tensor) -> torch.Tensor:
        return value.to(device, dtype if value.dtype == torch.float64 else value.dtype)

    images, targets = pictures(1 if name.startswith("ssd") else 2, "keypoint" in name)
    images = [there(image) for image in images]
    targets = [{key: there(value) for key, value in target.items()} for target in targets]
    with torch.no_grad():
        detections = model.eval()(images)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9)
    model.train()
    losses: list[torch.Tensor] = []
    gradients = torch.empty(0)
    for _ in range(2):
        optimizer.zero_grad()
        found = model(images, targets)
        sum(found.values()).backward()
        if not losses:
            gradients = joined(weight.grad for weight in model.parameters() if weight.grad is not None)
        optimizer.step()
        losses.append(torch.stack([found[key].detach().cpu().double() for key in sorted(found)]))
    # `sorted` keeps boxes of equal scores in their order.
    return Results([{k: v.detach().cpu() for k, v in one.items()} for one in detections], torch.cat(losses), gradients)


@functools.cache
def on_cpu(name: str, dtype: torch.dtype) -> Results:
    import torchvision

    return run(torchvision, name, CPU, dtype)


def same_detections(found: Results, expected: Results) -> None:
    """Raises where boxes, labels, scores, masks or keypoints differ by more than roundings of float32."""
    for own, other in zip(found.detections, expected.detections, strict=True):
        assert own.keys() == other.keys() and len(other["scores"]) > 0
        # Scores that are equal in float32 come in any order; those of float64 say in which.
        assert torch.equal(own["labels"], other["labels"])
        for key in own.keys() - {"labels"}:
            size = 100.0 if key in ("boxes", "keypoints") else 1.0
            torch.testing.assert_close(own[key].double(), other[key].double(), rtol=1e-3, atol=1e-4 * size, msg=key)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.filterwarnings("ignore")  # of torchvision
def test_a_detector(name: str, vision: Any, droplet: torch.device, fallbacks: Any) -> None:
    expected, truth = on_cpu(name, torch.float32), on_cpu(name, torch.float64)
    same_detections(expected, truth)
    own = run(vision, name, droplet, torch.float32)
    assert fallbacks() == {}
    same_detections(own, truth)
    for kind in ("losses", "gradients"):
        exact = getattr(truth, kind)
        far, near = (float((getattr(one, kind) - exact).norm() / exact.norm()) for one in (own, expected))
        assert far <= FACTOR * max(near, FLOOR[torch.float32]), kind


REGION_OPERATORS: Mapping[str, Callable[[Any, torch.Tensor, torch.Tensor], torch.Tensor]] = {
    "roi_align": lambda ops, maps, regions: ops.roi_align(maps, regions, (2, 3), 0.7, -1, True),
    "roi_pool": lambda ops, maps, regions: ops.roi_pool(maps, regions, (2, 3), 0.7),
    "ps_roi_align": lambda ops, maps, regions: ops.ps_roi_align(maps, regions, (2, 3), 0.7, 2),
    "ps_roi_align_adaptive": lambda ops, maps, regions: ops.ps_roi_align(maps, regions, (2, 3), 0.7),
    "ps_roi_pool": lambda ops, maps, regions: ops.ps_roi_pool(maps, regions, (2, 3), 0.7),
}


@pytest.mark.parametrize("operator", REGION_OPERATORS)
def test_an_operator_of_regions(operator: str, vision: Any, droplet: torch.device, fallbacks: Any) -> None:
    """Also of regions that are small, or outside of the maps."""
    maps = torch.randn(2, 18, 9, 11, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    corners = [[0, 1, 2, 10, 9], [1, 3, 0, 14, 14], [0, -4, -3, 5, 6.3], [1, 5.2, 5.1, 5.3, 5.2], [0, 20, 20, 30, 30]]
    results = []
    for device in (CPU, droplet):
        own = maps.to(device).detach().requires_grad_()
        pooled = REGION_OPERATORS[operator](vision.ops, own, torch.tensor(corners, dtype=torch.float64, device=device))
        grad_output = torch.linspace(-1, 1, pooled.numel(), dtype=torch.float64).reshape(pooled.shape)
        (gradient,) = torch.autograd.grad(pooled, own, grad_output.to(device))
        results.append((pooled.detach().cpu(), gradient.cpu()))
    torch.testing.assert_close(results[1], results[0])
    assert fallbacks() == {}


@pytest.mark.parametrize("masked", [True, False])
def test_deformable_convolution(masked: bool, vision: Any, droplet: torch.device, fallbacks: Any) -> None:
    source = torch.Generator().manual_seed(0)
    shapes = [(2, 4, 6, 7), (2, 36, 6, 7), (6, 2, 3, 3), (6,), (2, 18, 6, 7)]
    drawn = [torch.rand(shape, generator=source, dtype=torch.float64) for shape in shapes]
    results = []
    for device in (CPU, droplet):
        maps, offset, weight, bias, mask = (one.to(device).detach().requires_grad_() for one in drawn)
        found = vision.ops.deform_conv2d(maps, offset, weight, bias, padding=1, mask=mask if masked else None)
        leaves = [maps, offset, weight, bias, *([mask] if masked else [])]
        gradients = torch.autograd.grad(found.square().sum(), leaves)
        results.append([one.detach().cpu() for one in (found, *gradients)])
    torch.testing.assert_close(results[1], results[0])
    assert fallbacks() == {}

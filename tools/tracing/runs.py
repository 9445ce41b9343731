"""Runs of each network: its inputs, its loss, its optimizer, in phases."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor, nn
from torch.nn import functional

from tracing import vllm_models
from tracing.clouds import pointpillars, second
from tracing.convolutional import MobileNetV2, ResNet50, UNet, Yolo
from tracing.detectors import carafe, faster_rcnn, retinanet_rotated
from tracing.generators import bevformer, stylegan2
from tracing.heads import region_heads, rotated_heads
from tracing.point_heads import point_heads
from tracing.recorder import Recorder
from tracing.serving import served_7b
from tracing.transformers import BertBase, Llama7B, SwinT, VitB16


@dataclass(frozen=True)
class Run:
    """A model of a table: its name, what it is, and what is run."""

    name: str
    doc: str
    trace: Callable[[Recorder], None]


def _train(
    recorder: Recorder, model: nn.Module, loss: Callable[[], Tensor], optimizer: torch.optim.Optimizer | None
) -> None:
    """Two training steps; the second one is recorded, when the optimizer's state is there."""
    for step in range(2):
        model.zero_grad()
        with recorder.during("forward" if step else None):
            found = loss()
        with recorder.during("backward" if step else None):
            found.backward()
        if optimizer is not None:
            with recorder.during("optimizer" if step else None):
                optimizer.step()


def _sgd(model: nn.Module) -> torch.optim.Optimizer:
    return torch.optim.SGD(model.parameters(), 0.1, momentum=0.9, weight_decay=1e-4, foreach=False)


def _adamw(model: nn.Module) -> torch.optim.Optimizer:
    return torch.optim.AdamW(model.parameters(), 1e-3, weight_decay=0.05, foreach=False)


def _classifier(
    network: Callable[[], nn.Module], optimizer: Callable[[nn.Module], torch.optim.Optimizer], batch: int
) -> Callable[[Recorder], None]:
    def trace(recorder: Recorder) -> None:
        model = network()
        images = torch.randn(batch, 3, 224, 224)
        classes = torch.zeros(batch, dtype=torch.int64)
        _train(recorder, model, lambda: functional.cross_entropy(model(images), classes), optimizer(model))

    return trace


def _unet(recorder: Recorder) -> None:
    model = UNet()
    images, classes = torch.randn(1, 3, 256, 256), torch.zeros(1, 256, 256, dtype=torch.int64)
    _train(recorder, model, lambda: functional.cross_entropy(model(images), classes), _sgd(model))


def _yolo(recorder: Recorder) -> None:
    model = Yolo()
    images = torch.randn(1, 3, 640, 640)

    def loss() -> Tensor:
        total = torch.zeros(())
        for level in model(images):
            position, rest = level.split((4, 81), 4)
            expected, classes = torch.empty_like(position), torch.empty_like(rest)
            total = total + functional.smooth_l1_loss(position.sigmoid() * 2, expected)
            total = total + functional.binary_cross_entropy_with_logits(rest, classes)
        return total

    _train(recorder, model, loss, _sgd(model))
    model.eval()
    with torch.no_grad(), recorder.during("detection"):
        boxes = model.boxes(model(images))[0]
        confidence, label = (boxes[:, 5:] * boxes[:, 4:5]).max(1)
        best, order = torch.topk(confidence, 300)
        middle, half = boxes[:, :2], boxes[:, 2:4] / 2
        corners = torch.cat((middle - half, middle + half), 1).index_select(0, order)
        recorder.call("Nms", "torchvision::nms", {"boxes": corners, "confidence": best, "iou_threshold": 0.45})
        label.gather(0, order)


def _bert(recorder: Recorder) -> None:
    model = BertBase()
    words = torch.zeros(1, 128, dtype=torch.int64)
    mask = torch.ones(1, 128, dtype=torch.int64)

    def loss() -> Tensor:
        found = model(words, words, words, mask)
        return functional.cross_entropy(found.view(-1, found.shape[-1]), words.view(-1))

    _train(recorder, model, loss, _adamw(model))


def _llama(recorder: Recorder) -> None:
    model = Llama7B().to(torch.bfloat16)
    words = torch.zeros(1, 128, dtype=torch.int64)

    def turns(count: int) -> tuple[Tensor, Tensor]:
        cosine, sine = (torch.empty(1, 1, count, 128, dtype=torch.bfloat16) for _ in range(2))
        return cosine, sine

    mask = torch.empty(1, 1, 128, 128, dtype=torch.bfloat16)
    with torch.no_grad():
        with recorder.during("prefill"):
            model(words, *turns(128), mask)
        with recorder.during("decode"):
            model(words[:, :1], *turns(1), None, 128)

    def loss() -> Tensor:
        found = model(words, *turns(128), mask)
        return functional.cross_entropy(found.view(-1, found.shape[-1]).float(), words.view(-1))

    _train(recorder, model, loss, _adamw(model))


_STEP = "a training step with cross-entropy"
RUNS = (
    Run("resnet50", f"ResNet-50, 2 images of 224x224: {_STEP} and SGD.", _classifier(ResNet50, _sgd, 2)),
    Run("mobilenetv2", f"MobileNetV2, 2 images of 224x224: {_STEP} and SGD.", _classifier(MobileNetV2, _sgd, 2)),
    Run("vit_b16", f"ViT-B/16, 1 image of 224x224: {_STEP} and AdamW.", _classifier(VitB16, _adamw, 1)),
    Run("swin_t", f"Swin-T, 1 image of 224x224: {_STEP} and AdamW.", _classifier(SwinT, _adamw, 1)),
    Run(
        "yolo",
        "A detector of the YOLO kind (small), 1 image of 640x640: a training step with SGD, and detection with "
        "non-maximum suppression.",
        _yolo,
    ),
    Run("unet", f"U-Net, 1 image of 256x256, two classes: {_STEP} and SGD.", _unet),
    Run(
        "llama7b",
        "LLaMA 7B in bfloat16: prefill of 128 tokens, decoding of one more, a training step with AdamW.",
        _llama,
    ),
    Run("bert_base", f"BERT-base, 1 sequence of 128 tokens: {_STEP} over words, and AdamW.", _bert),
    Run(
        "faster_rcnn",
        "Faster R-CNN with ResNet-50 and a pyramid (mmdetection, faster-rcnn_r50_fpn), 1 image of 800x1333: detection, "
        "and a training step from the feature maps on.",
        faster_rcnn,
    ),
    Run(
        "retinanet_rotated",
        "RetinaNet for rotated boxes (mmrotate, rotated_retinanet_obb_r50_fpn), 1 image of 1024x1024: detection, and "
        "the losses of a training step.",
        retinanet_rotated,
    ),
    Run(
        "carafe",
        "The pyramid of Faster R-CNN with CARAFE (mmdetection, faster_rcnn_r50_fpn_carafe), over the features of 1 "
        "image of 800x1333: forward and backward.",
        carafe,
    ),
    Run(
        "pointpillars",
        "PointPillars (mmdetection3d, hv_pointpillars_secfpn_kitti), 1 cloud of 20,000 points: a training step without "
        "its optimizer, and detection.",
        pointpillars,
    ),
    Run(
        "second",
        "SECOND (mmdetection3d, hv_second_secfpn_kitti), 1 cloud of 20,000 points with 5,000 active voxels: a "
        "training step without its optimizer, and detection.",
        second,
    ),
    Run(
        "bevformer",
        "BEVFormer (its bevformer_tiny), 6 cameras of 480x800: detection, and a training step of the transformer.",
        bevformer,
    ),
    Run(
        "stylegan2",
        "StyleGAN2 with a channel multiplier of 2, 1 image of 256x256: a step of the generator through the "
        "discriminator.",
        stylegan2,
    ),
    Run(
        "served_7b",
        "A 7B decoder of the LLaMA kind in float16 as lmdeploy serves it: prompts of 32 tokens in 4 sequences, one "
        "more token by sampling and by a beam search of 4.",
        served_7b,
    ),
    Run(
        "rotated_heads",
        "Heads for rotated boxes, each a phase: Oriented R-CNN, ReDet, S2A-Net, R3Det, Oriented RepPoints, "
        "quadrilaterals, Rotated FCOS (mmrotate), 1 image of 1024x1024.",
        rotated_heads,
    ),
    Run(
        "region_heads",
        "What networks over images differ in, each a phase: deformable convolutions and pooling, Fast R-CNN, "
        "BorderDet, guided anchoring (mmdetection), PrDiMP, PSANet (mmsegmentation), FlowNetC, TIN (mmaction2).",
        region_heads,
    ),
    Run(
        "point_heads",
        "What networks over points differ in, each a phase: VoteNet, 3DSSD, PAConv, PV-RCNN, PointRCNN, Part-A2, "
        "MVX-Net (mmdetection3d).",
        point_heads,
    ),
    *(Run(one.name, vllm_models.doc(one), partial(vllm_models.trace, one)) for one in vllm_models.DECODERS),
)

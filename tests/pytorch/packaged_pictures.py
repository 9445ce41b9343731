"""Models of torchvision, timm and segmentation_models_pytorch."""

from __future__ import annotations

from typing import Any

import torch
import torchvision_wheel
from install_models import APART
from packaged_model import PackageModel, images

torchvision_wheel.load(APART)


def _torchvision(name: str, size: int = 64, **options: Any) -> PackageModel:
    def make() -> Any:
        import torchvision

        return torchvision.models.get_model(name, weights=None, num_classes=4, **options)

    return PackageModel("torchvision", name, make, images(size, batch=4))


def _timm(name: str, size: int = 32, **options: Any) -> PackageModel:
    def make() -> Any:
        import timm

        network = timm.create_model(name, pretrained=False, num_classes=4, **options)
        head = network.get_classifier().weight
        if not head.any():  # as some models start: all gradients would be 0
            torch.nn.init.trunc_normal_(head, std=0.02)
        return network

    return PackageModel("timm", name, make, images(size, batch=4))


def _segmentation(name: str, **options: Any) -> PackageModel:
    def make() -> Any:
        import segmentation_models_pytorch

        return segmentation_models_pytorch.create_model(name, "resnet18", None, classes=3, **options)

    return PackageModel("segmentation_models_pytorch", name, make, images(64))


_SMALL = {"img_size": 32, "patch_size": 8, "embed_dim": 32, "depth": 2, "num_heads": 4}
MODELS = (
    _torchvision("resnet18"),
    _torchvision("mobilenet_v3_small", dropout=0.0),
    _torchvision("efficientnet_b0", dropout=0.0, stochastic_depth_prob=0.0),
    _torchvision("densenet121"),
    _torchvision("shufflenet_v2_x0_5", 128),
    _torchvision("squeezenet1_1", dropout=0.0),
    _torchvision("regnet_y_400mf"),
    _torchvision("mnasnet0_5", dropout=0.0),
    _segmentation("fpn", decoder_dropout=0.0),
    _timm("vit_tiny_patch16_224", **_SMALL),
    _timm("resnet10t"),
    _timm("convnext_atto"),
    _timm("mixer_s16_224", img_size=32),
    _timm(
        "swin_tiny_patch4_window7_224", img_size=32, window_size=4, embed_dim=16, depths=(1, 1), num_heads=(2, 4),
        drop_path_rate=0.0,
    ),
    _timm("efficientvit_b0", 64),
    _timm("mobilenetv4_conv_small_035", 64),
)  # fmt: skip

"""Programs that the compiler's passes replace, in stages, with in-place writes between these.

A form is a list of stages over named tensors; a write changes one of them, or a view of it, in place.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

F = torch.nn.functional

Tensors = dict[str, Any]
Stage = Callable[[Tensors], Any]


def stage(name: str, compute: Stage) -> Stage:
    """Computes one tensor from others."""

    def run(tensors: Tensors) -> None:
        tensors[name] = compute(tensors)

    return run


@dataclass(frozen=True)
class Form:
    """Plain code for one pass. `pattern` is the name of the pattern that matches it where no write is in between."""

    pattern: str | None
    dtype: str
    stages: tuple[Stage, ...]


def _turned(x: Any) -> Any:
    left, right = x[..., : x.shape[-1] // 2], x[..., x.shape[-1] // 2 :]
    return torch.cat((-right, left), dim=-1)


def _angles(x: Any) -> Any:
    positions = torch.arange(x.shape[-2], device=x.device, dtype=x.dtype)
    half = torch.outer(positions, torch.arange(x.shape[-1] // 2, device=x.device, dtype=x.dtype) * 0.25)
    return torch.cat((half, half), -1)


def _hidden(scores: Any) -> Any:
    return torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device).triu(1)


_NORM = (
    stage("wide", lambda t: t["x"].float()),
    stage("squares", lambda t: t["wide"].pow(2)),
    stage("mean", lambda t: t["squares"].mean(-1, keepdim=True)),
    stage("root", lambda t: torch.rsqrt(t["mean"] + 1e-5)),
    stage("scaled", lambda t: t["wide"] * t["root"]),
    stage("result", lambda t: t["scaled"].to(t["x"].dtype) * t["w"]),
)
_ROTATION = (
    stage("angles", lambda t: _angles(t["x"])),
    stage("cos", lambda t: t["angles"].cos()),
    stage("sin", lambda t: t["angles"].sin()),
    stage("turned", lambda t: _turned(t["x"])),
    stage("first", lambda t: t["x"] * t["cos"]),
    stage("second", lambda t: t["turned"] * t["sin"]),
    stage("result", lambda t: t["first"] + t["second"]),
)
_HALVES = (
    stage("angles", lambda t: _angles(t["x"])[..., : t["x"].shape[-1] // 2]),
    stage("cos", lambda t: t["angles"].cos()),
    stage("sin", lambda t: t["angles"].sin()),
    stage("left", lambda t: t["x"][..., : t["x"].shape[-1] // 2]),
    stage("right", lambda t: t["x"][..., t["x"].shape[-1] // 2 :]),
    stage("first", lambda t: t["left"] * t["cos"] - t["right"] * t["sin"]),
    stage("second", lambda t: t["right"] * t["cos"] + t["left"] * t["sin"]),
    stage("result", lambda t: torch.cat((t["first"], t["second"]), -1)),
)
_ATTENTION = (
    stage("keys", lambda t: t["y"].transpose(-1, -2)),
    stage("scores", lambda t: (t["x"] @ t["keys"]) * 0.25),
    stage("mask", lambda t: torch.full((4, 4), float("-inf"), device=t["x"].device, dtype=t["x"].dtype).triu(1)),
    stage("masked", lambda t: t["scores"] + t["mask"]),
    stage("weights", lambda t: t["masked"].softmax(-1)),
    stage("result", lambda t: t["weights"] @ t["x"]),
)
_SOFTMAX = (
    stage("scaled", lambda t: t["x"] * 0.5),
    stage("hidden", lambda t: _hidden(t["x"])[None, None]),
    stage("masked", lambda t: t["scaled"].masked_fill(t["hidden"], -10000.0)),
    stage("result", lambda t: torch.softmax(t["masked"], dim=-1)),
)
_SOFTMAX_IN_PLACE = (
    stage("scaled", lambda t: t["x"] * 0.5),
    stage("hidden", lambda t: _hidden(t["x"])[None, None]),
    stage("masked", lambda t: t["scaled"].masked_fill_(t["hidden"], -10000.0)),
    stage("result", lambda t: torch.softmax(t["scaled"], dim=-1)),
)
_CONVOLUTION = (
    stage("kernel", lambda t: t["w"][:3].expand(3, 3, 3).unsqueeze(0).expand(3, 3, 3, 3) * 0.1),
    stage("image", lambda t: F.conv2d(t["x"], t["kernel"].contiguous(), padding=1)),
    stage("rectified", lambda t: t["image"].relu()),
    stage("pooled", lambda t: F.max_pool2d(t["rectified"], 2)),
    stage("result", lambda t: F.batch_norm(t["image"], t["average"], t["variance"], training=True)),
)
_LISTS = (
    stage("list", lambda t: [t["x"] * 0.5, t["y"] * 2, t["x"] + t["y"], t["x"].clone()]),
    stage("moved", lambda t: torch._foreach_add(t["list"], t["list"], alpha=0.5)),
    stage("result", lambda t: torch._foreach_mul(t["moved"], 0.25)[2]),
)
_LOSS = (
    stage("rows", lambda t: t["x"].reshape(-1, t["x"].shape[-1])),
    stage("classes", lambda t: t["position"].repeat(t["rows"].shape[0])[: t["rows"].shape[0]]),
    stage("result", lambda t: F.cross_entropy(t["rows"], t["classes"])),
)
_CONSTANTS = (
    stage("ones", lambda t: torch.ones(t["x"].shape[-2:], device=t["x"].device, dtype=t["x"].dtype)),
    stage("lower", lambda t: t["ones"].tril()),
    stage("column", lambda t: t["lower"][:, 2:3]),
    stage("filled", lambda t: t["column"].fill_(3)),
    stage("result", lambda t: t["x"] * t["lower"] + t["filled"]),
)
_CHAIN = (
    stage("gate", lambda t: torch.sigmoid(t["x"])),
    stage("product", lambda t: t["gate"] * t["y"]),
    stage("sum", lambda t: t["product"].sum(-1, keepdim=True)),
    stage("result", lambda t: t["product"] / (t["sum"].abs() + 1)),
)

FORMS: dict[str, Form] = {
    "norm": Form("rms_norm", "float32", _NORM),
    "norm in bfloat16": Form("rms_norm", "bfloat16", _NORM),
    "rotation": Form("rotary_embedding", "float32", _ROTATION),
    "rotation by halves": Form("rotary_embedding", "float32", _HALVES),
    "attention": Form("attention", "bfloat16", _ATTENTION),
    "masked softmax": Form("scaled_masked_softmax", "float32", _SOFTMAX),
    "masked softmax in place": Form("scaled_masked_softmax", "float32", _SOFTMAX_IN_PLACE),
    "convolution": Form(None, "float32", _CONVOLUTION),
    "lists": Form(None, "float32", _LISTS),
    "loss": Form(None, "float32", _LOSS),
    "constants": Form(None, "float32", _CONSTANTS),
    "chain": Form(None, "float32", _CHAIN),
}

SHAPE = (2, 3, 4, 4)
"""Of x and y; a square, so that masks and products fit."""


def inputs(dtype: str, device: Any) -> Tensors:
    """x, y and w, buffers that nothing has to read, and views of x and of the cache."""
    draw = torch.Generator().manual_seed(1)
    kind = getattr(torch, dtype)

    def random(*shape: int) -> Any:
        return (torch.randint(-8, 9, shape, generator=draw) / 8).to(kind).to(device)

    return {
        "x": random(*SHAPE),
        "y": random(*SHAPE),
        "w": random(SHAPE[-1]) + 1,
        "cache": random(2, 3, 6, 4),
        "count": torch.zeros(1, dtype=torch.int64, device=device),
        "average": torch.zeros(3, dtype=torch.float32, device=device),
        "variance": torch.ones(3, dtype=torch.float32, device=device),
        "position": torch.tensor([3, 0, 2, 1], device=device),
    }


def _latest(tensors: Tensors) -> Any:
    """Latest value other than class indices and masks."""
    values = [value[0] if isinstance(value, (list, tuple)) else value for value in tensors.values()]
    return next(value for value in reversed(values) if value.is_floating_point() and value.dim() > 0)


WRITES: dict[str, Callable[[Tensors], Any]] = {
    "count": lambda t: t["count"].add_(1),
    "cache at positions": lambda t: t["cache"].index_copy_(2, t["position"], t["x"]),
    "slice of the cache": lambda t: t["cache"][:, :, 1:3].copy_(t["y"][:, :, :2]),
    "number in a column": lambda t: t["cache"][..., 1:2].fill_(5),
    "item of the cache": lambda t: t["cache"].__setitem__((slice(None), slice(None), slice(2, 3)), 0.5),
    "whole cache": lambda t: t["cache"].mul_(0.5),
    "x": lambda t: t["x"].add_(0.125),
    "column of x": lambda t: t["x"].__setitem__((Ellipsis, slice(2, 3)), 0.5),
    "transposed x": lambda t: t["x"].transpose(1, 2).sub_(0.25),
    "flat x": lambda t: t["x"].view(-1)[3:7].mul_(-1),
    "weight": lambda t: t["w"].mul_(0.5),
    "y from x": lambda t: t["y"].copy_(t["x"].flip(0)),
    "latest": lambda t: _latest(t).mul_(2),
    "slice of the latest": lambda t: _latest(t)[..., :1].add_(1),
    "wide": lambda t: t["wide"].add_(0.5) if "wide" in t else None,
    "cosines": lambda t: t["cos"][..., 2:].mul_(0.5) if "cos" in t else None,
    "mask": lambda t: t["mask"][:, :1].fill_(0) if "mask" in t else None,
    "hidden": lambda t: t["hidden"].logical_not_() if "hidden" in t else None,
    "view in another shape": lambda t: t.update(view=t["x"].view(2, -1)[:, 1:9:2]),
    "write to that view": lambda t: t["view"].neg_() if "view" in t else None,
    "result into the cache": lambda t: t["cache"][:, :, :1].copy_(t["root"][:, :, :1] * t["x"][:, :, :1])
    if "root" in t else None,
}  # fmt: skip
"""In place, on inputs, buffers, views and what the stages have made."""


class Program(torch.nn.Module):  # type: ignore[misc]
    """The stages of a form with writes before, between and after them. Cache, count and statistics are buffers, and x,
    y and w arguments. It returns the result, and views of what writes change."""

    BUFFERS = ("cache", "count", "average", "variance", "position")

    def __init__(self, form: Form, writes: Sequence[tuple[int, str]], device: Any) -> None:
        super().__init__()
        self.form = form
        self.steps: list[Callable[[Tensors], Any]] = []
        for k, one in enumerate((*form.stages, None)):
            self.steps += [WRITES[name] for place, name in writes if place % (len(form.stages) + 1) == k]
            self.steps += [one] if one is not None else []
        for name, value in inputs(form.dtype, device).items():
            if name in self.BUFFERS:
                self.register_buffer(name, value)

    def forward(self, x: Any, y: Any, w: Any) -> tuple[Any, ...]:
        tensors = {"x": x, "y": y, "w": w, **{name: getattr(self, name) for name in self.BUFFERS}}
        for step in self.steps:
            step(tensors)
        view = [tensors["view"]] if "view" in tensors else []
        return (tensors["result"], *view, x.transpose(0, 1), self.cache[..., :2])

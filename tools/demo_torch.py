"""ResNet-18 and a Llama-style decoder in training on droplet, compared with the CPU: `make demo-torch`.

Prints how the losses go on both, what ran on the CPU instead of the device, and writes the curves to
build/demo-torch.png.
"""

from __future__ import annotations

import os
import struct
import sys
import time
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
import torch_build
from torch import nn

ROOT = Path(__file__).resolve().parent.parent
PICTURE = ROOT / "build/demo-torch.png"
STEPS = int(os.environ.get("DIOPIGEN_DEMO_STEPS", "30"))
Batch = tuple[torch.Tensor, torch.Tensor]
Make = Callable[[], nn.Module]
Draw = Callable[[torch.Generator], Batch]
Curves = dict[str, list[float]]


def main() -> int:
    """Builds, trains, draws; the exit code is 1 where the losses of both sides part."""
    started = time.monotonic()
    say("build      droplet and its backend (minutes for the first time)")
    os.environ.update((torch_build.given() or torch_build.build()).environment())
    sys.path[:0] = [str(ROOT / "examples"), str(ROOT / "examples/droplet")]
    import models
    import torch_droplet

    tasks: dict[str, tuple[Make, Draw]] = {
        "ResNet-18": (lambda: models.resnet18(width=16), pictures),
        "decoder": (models.LlamaDecoder, sentences),
    }
    curves: dict[str, Curves] = {}
    for name, (make, data) in tasks.items():
        torch_droplet.reset_fallback_report()
        curves[name] = {device: train(name, make, data, device) for device in ("cpu", "droplet")}
        table(name, curves[name])
        fallen = torch_droplet.fallback_report()
        what = ", ".join(f"{overload} {count}" for overload, count in fallen.items())
        say(f"on the CPU instead of droplet: {what or 'nothing'}")
    PICTURE.write_bytes(png(drawn([curves[name] for name in tasks])))
    say(f"\npicture    {PICTURE.relative_to(ROOT)}: losses by step, CPU in blue, droplet in orange dots")
    apart = {name: parted(found) for name, found in curves.items()}
    for name, far in apart.items():
        say(f"{name:10} the losses differ by at most {far:.1e} of the first one")
    say(f"All of it in {time.monotonic() - started:.0f} s.")
    return int(any(far > 1e-2 for far in apart.values()))


def say(text: str) -> None:
    print(text, flush=True)


def pictures(generator: torch.Generator) -> Batch:
    """Noise with a bright square whose place is the class."""
    classes = torch.randint(4, (16,), generator=generator)
    images = 0.5 * torch.randn(16, 3, 32, 32, generator=generator)
    for image, device in zip(images, classes.tolist(), strict=True):
        row, column = 16 * (device // 2), 16 * (device % 2)
        image[:, row : row + 16, column : column + 16] += 1
    return images, classes


def sentences(generator: torch.Generator) -> Batch:
    """Numbers that count up from anywhere, each sentence by steps of its own."""
    first = torch.randint(64, (16, 1), generator=generator)
    steps = torch.randint(1, 4, (16, 1), generator=generator)
    tokens = (first + steps * torch.arange(17)) % 64
    return tokens[:, :-1], tokens[:, 1:]


def train(
    name: str, make: Callable[[], nn.Module], data: Callable[[torch.Generator], Batch], device: str
) -> list[float]:
    """The losses by step, from the same weights and with the same data on every device."""
    torch.manual_seed(0)
    network = make().to(device)
    optimizer: Any = torch.optim.AdamW(network.parameters(), lr=2e-3)
    if name.startswith("ResNet"):
        optimizer = torch.optim.SGD(network.parameters(), lr=0.01, momentum=0.9)
    generator, losses = torch.Generator().manual_seed(1), []
    started = time.monotonic()
    for step in range(STEPS):
        inputs, targets = (part.to(device) for part in data(generator))
        optimizer.zero_grad()
        scores = network(inputs)
        loss = F.cross_entropy(scores.transpose(1, 2) if scores.dim() == 3 else scores, targets)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        bar(f"{name} on {device}", step + 1, losses[-1], time.monotonic() - started)
    return losses


def bar(title: str, done: int, loss: float, seconds: float) -> None:
    """Progress on one line of a terminal; the last state only, elsewhere."""
    if not sys.stdout.isatty() and done < STEPS:
        return
    filled = 24 * done // STEPS
    end = "\n" if done == STEPS else ""
    text = f"{title:22} [{'#' * filled}{'.' * (24 - filled)}] {done:3}/{STEPS}  loss {loss:.4f}  {seconds:5.1f} s"
    print(f"\r{text}" if sys.stdout.isatty() else text, end=end, flush=True)


def table(name: str, curves: Curves) -> None:
    say(f"\n{name}\n step   loss on the CPU   on droplet    difference")
    for step in sorted({*range(0, STEPS, max(1, STEPS // 8)), STEPS - 1}):
        left, right = curves["cpu"][step], curves["droplet"][step]
        say(f"{step + 1:5} {left:17.6f} {right:12.6f} {right - left:13.1e}")


def parted(curves: Curves) -> float:
    """The largest difference, relative to the first loss."""
    far = [abs(a - b) for a, b in zip(curves["cpu"], curves["droplet"], strict=True)]
    return max(far) / curves["cpu"][0] if all(value == value for value in far) else float("inf")


# ---- The picture -----------------------------------------------------------------------------------------------------

WIDTH, HEIGHT, EDGE = 480, 320, 20
BLUE, ORANGE, GREY, WHITE = (31, 119, 180), (255, 127, 14), (160, 160, 160), (255, 255, 255)
Colour = tuple[int, int, int]
Rows = list[list[Colour]]


def drawn(panels: Sequence[Curves]) -> Rows:
    """The panels next to each other: each curve from the top left."""
    rows: Rows = [[WHITE] * (WIDTH * len(panels)) for _ in range(HEIGHT)]
    for index, curves in enumerate(panels):
        left = WIDTH * index
        for x in range(EDGE, WIDTH - EDGE):
            rows[HEIGHT - EDGE][left + x] = GREY
        for y in range(EDGE, HEIGHT - EDGE):
            rows[y][left + EDGE] = GREY
        top = max(max(losses) for losses in curves.values())
        points = {device: [at(step, loss / top, left) for step, loss in enumerate(curves[device])] for device in curves}
        for (x0, y0), (x1, y1) in zip(points["cpu"], points["cpu"][1:], strict=False):
            steps = max(abs(x1 - x0), abs(y1 - y0), 1)
            for k in range(steps + 1):
                dot(rows, x0 + (x1 - x0) * k // steps, y0 + (y1 - y0) * k // steps, BLUE, 1)
        for x, y in points["droplet"]:
            dot(rows, x, y, ORANGE, 2)
    return rows


def at(step: int, height: float, left: int) -> tuple[int, int]:
    """Where a point of a curve is drawn."""
    x = left + EDGE + (WIDTH - 2 * EDGE) * step // max(STEPS - 1, 1)
    return x, HEIGHT - EDGE - int((HEIGHT - 2 * EDGE) * height)


def dot(rows: Rows, x: int, y: int, colour: Colour, size: int) -> None:
    for row in range(max(y - size, 0), min(y + size + 1, HEIGHT)):
        for column in range(max(x - size, 0), min(x + size + 1, len(rows[0]))):
            rows[row][column] = colour


def png(rows: Rows) -> bytes:
    """The file format by its specification: a header, the rows deflated, an end; 8 bits for each of three colours."""

    def chunk(kind: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    lines = b"".join(b"\0" + bytes(value for colour in row for value in colour) for row in rows)
    header = struct.pack(">IIBBBBB", len(rows[0]), len(rows), 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(lines)) + chunk(b"IEND", b"")


if __name__ == "__main__":
    sys.exit(main())

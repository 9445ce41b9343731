"""A ResNet learns handwritten digits and a decoder learns a text, on droplet and on the CPU: `make demo-torch`.

Both start from the same weights and read the same batches. Prints the losses and the accuracy on data that was not
trained on, and writes the curves to build/demo-torch.svg. The exit code is 1 where a model does not reach its accuracy,
or where the two devices differ. What droplet leaves to others is in build/demo-torch.log.
"""

from __future__ import annotations

import contextlib
import math
import os
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import demo_data
import torch
import torch.nn.functional as F
import torch_build
from demo_picture import Panel, picture
from torch import nn

ROOT = Path(__file__).resolve().parent.parent
PICTURE = ROOT / "build/demo-torch.svg"
NOTICES = ROOT / "build/demo-torch.log"
DEVICES = ("cpu", "droplet")
START = 20
"""Steps in which the losses of both devices are compared: later, differences of rounding grow with every step."""


@dataclass(frozen=True)
class Task:
    """`accuracy`: the fraction of correct predictions on the test data that both devices must reach."""

    title: str
    make: Callable[[], nn.Module]
    data: demo_data.Data
    optimizer: Callable[[Any], torch.optim.Optimizer]
    batch: int
    steps: int
    accuracy: float


@dataclass(frozen=True)
class Trained:
    """The losses by step, the accuracy on the test data, and the seconds of the training."""

    losses: list[float]
    accuracy: float
    seconds: float


def tasks() -> dict[str, Task]:
    import models

    return {
        "ResNet-18": Task(
            "ResNet-18 on handwritten digits",
            lambda: models.resnet18(width=16),
            demo_data.digits(),
            lambda parameters: torch.optim.SGD(parameters, lr=0.05, momentum=0.9),
            batch=32,
            steps=200,
            accuracy=0.92,
        ),
        "decoder": Task(
            "decoder on Python's language reference",
            lambda: models.LlamaDecoder(tokens=demo_data.SYMBOLS),
            demo_data.text(),
            lambda parameters: torch.optim.AdamW(parameters, lr=5e-3),
            batch=16,
            steps=200,
            accuracy=0.45,
        ),
    }


def main() -> int:
    started = time.monotonic()
    say("build      droplet and its backend (minutes for the first time)")
    os.environ.update((torch_build.given() or torch_build.build()).environment())
    sys.path[:0] = [str(ROOT / "examples"), str(ROOT / "examples/droplet"), str(ROOT / "diopi_torch/src")]
    NOTICES.parent.mkdir(exist_ok=True)
    NOTICES.write_text("")
    with elsewhere(NOTICES):
        import torch_droplet

    wrong, panels = [], []
    for name, task in tasks().items():
        torch_droplet.reset_fallback_report()
        runs = {device: train(name, task, device) for device in DEVICES}
        report(task, runs)
        fallen = torch_droplet.fallback_report()
        what = ", ".join(f"{overload} {count}" for overload, count in fallen.items())
        say(f"ran PyTorch's kernel for the CPU instead: {what or 'nothing'}")
        wrong += [f"{name}: {reason}" for reason in faults(task, runs)]
        reached = ", ".join(f"{run.accuracy:.1%} on {device}" for device, run in runs.items())
        panels.append(Panel(task.title, f"test accuracy {reached}", {name: run.losses for name, run in runs.items()}))
    PICTURE.write_text(picture(panels), encoding="utf-8")
    say(f"\npicture    {PICTURE.relative_to(ROOT)}: losses by step")
    count = len(NOTICES.read_text(errors="replace").splitlines())
    say(f"notices    {NOTICES.relative_to(ROOT)}: {count} lines, on functions that droplet lacks")
    for reason in wrong:
        say(f"wrong      {reason}")
    say(f"All of it in {time.monotonic() - started:.0f} s.")
    return int(bool(wrong))


def say(text: str) -> None:
    print(text, flush=True)


@contextlib.contextmanager
def elsewhere(path: Path) -> Iterator[None]:
    """Appends to a file what the libraries write to standard error."""
    sys.stderr.flush()
    retained = os.dup(2)
    with path.open("ab") as file:
        os.dup2(file.fileno(), 2)
    try:
        yield
    finally:
        sys.stderr.flush()
        os.dup2(retained, 2)
        os.close(retained)


def train(name: str, task: Task, device: str) -> Trained:
    """From the same weights and with the same batches on every device."""
    torch.manual_seed(0)
    network = task.make().to(device)
    optimizer = task.optimizer(network.parameters())
    # Down to nothing: where large steps end says more about the last batches and about rounding than about the device.
    rate = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.0, total_iters=task.steps)
    generator, losses = torch.Generator().manual_seed(1), []
    started = time.monotonic()
    with elsewhere(NOTICES):
        for step in range(task.steps):
            inputs, targets = (part.to(device) for part in task.data.batch(task.batch, generator))
            optimizer.zero_grad()
            loss = loss_of(network(inputs), targets)
            loss.backward()
            optimizer.step()
            rate.step()
            losses.append(loss.item())
            bar(f"{name} on {device}", step + 1, task.steps, losses[-1], time.monotonic() - started)
        seconds = time.monotonic() - started
        return Trained(losses, accuracy_of(network, task.data.test, device), seconds)


def loss_of(scores: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    return F.cross_entropy(scores.flatten(0, -2), targets.flatten())


@torch.no_grad()
def accuracy_of(network: nn.Module, tested: demo_data.Batch, device: str, batch: int = 120) -> float:
    """The fraction of targets whose score is the highest."""
    network.eval()
    right = torch.zeros((), dtype=torch.int64)
    for inputs, targets in zip(*(part.split(batch) for part in tested), strict=True):
        scores = network(inputs.to(device))
        right += (scores.argmax(-1) == targets.to(device)).sum().cpu()
    return float(right.item() / tested[1].numel())


def bar(title: str, done: int, steps: int, loss: float, seconds: float) -> None:
    """Progress on one line of a terminal; the last state only, elsewhere."""
    if not sys.stdout.isatty() and done < steps:
        return
    filled = 24 * done // steps
    end = "\n" if done == steps else ""
    text = f"{title:22} [{'#' * filled}{'.' * (24 - filled)}] {done:3}/{steps}  loss {loss:.4f}  {seconds:5.1f} s"
    print(f"\r{text}" if sys.stdout.isatty() else text, end=end, flush=True)


def report(task: Task, runs: dict[str, Trained]) -> None:
    cpu, droplet = (runs[device] for device in DEVICES)
    say(f"\n{task.title}\n step   loss on the CPU   on droplet    difference")
    for step in sorted({*range(0, task.steps, max(1, task.steps // 8)), task.steps - 1}):
        left, right = cpu.losses[step], droplet.losses[step]
        say(f"{step + 1:5} {left:17.6f} {right:12.6f} {right - left:13.1e}")
    say(f"test accuracy: {cpu.accuracy:.2%} on the CPU, {droplet.accuracy:.2%} on droplet; stated: {task.accuracy:.0%}")
    say(f"time: {droplet.seconds / cpu.seconds:.1f} times the CPU's")


def apart(runs: dict[str, Trained], steps: int = START) -> float:
    """The largest difference of the first losses, relative to the first one; infinite where one is not a number."""
    cpu, droplet = (runs[device].losses[:steps] for device in DEVICES)
    far = [abs(left - right) for left, right in zip(cpu, droplet, strict=True)]
    return max(far) / cpu[0] if all(value == value for value in far) else float("inf")


def chance(task: Task, accuracy: float) -> float:
    """Maximum difference of two equally good networks on the test data: three standard deviations of the difference of
    two fractions of so many targets."""
    return 3 * math.sqrt(2 * accuracy * (1 - accuracy) / task.data.test[1].numel())


def faults(task: Task, runs: dict[str, Trained]) -> list[str]:
    """Describes the errors of the runs."""
    wrong = [
        f"accuracy {run.accuracy:.2%} on {device}, below {task.accuracy:.0%}"
        for device, run in runs.items()
        if not run.accuracy >= task.accuracy
    ]
    cpu, droplet = (runs[device] for device in DEVICES)
    if abs(cpu.accuracy - droplet.accuracy) > (bound := chance(task, cpu.accuracy)):
        wrong.append(f"the accuracies differ by more than {bound:.1%}")
    if not apart(runs) <= 1e-2:
        wrong.append(f"the first {START} losses differ by {apart(runs):.1e} of the first one")
    return wrong


if __name__ == "__main__":
    sys.exit(main())

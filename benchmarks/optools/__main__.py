"""`python -m benchmarks.optools`: what a tool adds to an operator and to a training step, in one run.

Compared with the time of the operator, with an empty dispatch mode of torch, and with what tools do that replace
functions of torch one by one: a wrapper that describes its arguments, and one that saves them with `torch.save` for
each call. Times are those of the thread's processor, the least of several; ratios count. `--device NAME` measures on
another device; `--quick` does fewer steps on smaller images.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "optools/src"))

import torch  # noqa: E402  # after the path
from optools.capturing import Capture  # noqa: E402  # after the path
from optools.comparing import Compare  # noqa: E402  # after the path
from optools.overflowing import Overflows  # noqa: E402  # after the path
from optools.timing import Timing  # noqa: E402  # after the path
from torch.utils._python_dispatch import TorchDispatchMode  # noqa: E402  # after the path

from benchmarks.machine import describe  # noqa: E402  # after the path
from benchmarks.optools.resnet import ResNet18  # noqa: E402  # after the path

LOOPS, REPEATS = 2000, 9
METADATA_PROMISED = 25.0
"""Microseconds that capturing shapes and names may add to an operator."""
SAMPLE_PROMISED = 1.10
"""Time of a training step with one call in a hundred captured over that without."""


class Empty(TorchDispatchMode):
    """Cost of an empty dispatch mode."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*args, **(kwargs or {}))


class Patched:
    """Replaces `torch.add` by a wrapper, as tools do that patch functions: it describes tensors in dictionaries, and
    with `save` writes arguments and results to files."""

    def __init__(self, folder: Path, save: bool) -> None:
        self.folder, self.save, self.count = folder, save, 0
        self.log: list[Any] = []

    def __enter__(self) -> Patched:
        self.original = original = torch.add

        def wrapper(*args: Any, **kwargs: Any) -> Any:
            self.count += 1
            described = [self.described(value) for value in args]
            if self.save:
                torch.save(args, self.folder / f"{self.count}_inputs.pth")
            result = original(*args, **kwargs)
            if self.save:
                torch.save(result, self.folder / f"{self.count}_outputs.pth")
            self.log.append((described, self.described(result)))
            return result

        torch.add = wrapper
        return self

    def __exit__(self, *_: object) -> None:
        torch.add = self.original

    @staticmethod
    def described(value: Any) -> Any:
        """Description of a tensor as such tools print it."""
        if not isinstance(value, torch.Tensor):
            return value
        return {
            "shape": value.shape,
            "stride": value.stride(),
            "numel": value.numel(),
            "dtype": str(value.dtype),
            "device": str(value.device),
            "requires_grad": value.requires_grad,
            "layout": str(value.layout),
            "data": value.data_ptr(),
        }


def least(action: Callable[[], Any], loops: int, repeats: int = REPEATS) -> float:
    """Nanoseconds of the thread's processor time for each of `loops`."""
    action()
    best = float("inf")
    for _ in range(repeats):
        began = time.thread_time_ns()
        for _ in range(loops):
            action()
        best = min(best, (time.thread_time_ns() - began) / loops)
    return best


def operators(device: str, folder: Path) -> bool:
    """The table of what is added to an operator; whether the promises are kept."""
    x, y = torch.ones(64, device=device), torch.ones(64, device=device)

    def add() -> None:
        torch.add(x, y)

    with torch.no_grad():
        eager = least(add, LOOPS)
        rows: list[tuple[str, float]] = []

        def measured(name: str, context: AbstractContextManager[Any], loops: int = LOOPS) -> None:
            with context:
                rows.append((name, least(add, loops)))

        measured("an empty dispatch mode", Empty())
        measured("capture of shapes and names", Capture(folder / "shapes", operands=False))
        measured("capture of 1 in 100 calls", Capture(folder / "sample", sample=0.01))
        measured("capture with operands", Capture(folder / "operands"), 200)
        measured("time", Timing(shapes=True), 500)
        measured("overflow", Overflows(), 200)
        measured("compare with the CPU and float64", Compare(), 20)
        measured("patched function, described", Patched(folder, False))
        saving = folder / "saved"
        saving.mkdir()
        measured("patched function, saved", Patched(saving, True), 20)
        off = least(add, LOOPS)
    empty = rows[0][1] - eager
    print(f"torch.add of 64 elements on {device}: {eager / 1e3:.2f} us")
    print(f"{'with':<34}  {'us more':>9}  {'over an empty mode':>18}  promised")
    good = True
    for name, found in rows:
        more = found - eager
        promise = ""
        if name == "capture of shapes and names":
            promise, good = f"{METADATA_PROMISED:.0f} us", good and more / 1e3 <= METADATA_PROMISED
        print(f"{name:<34}  {more / 1e3:>9.2f}  {more / empty:>18.2f}  {promise}")
    print(f"{'after all tools have stopped':<34}  {(off - eager) / 1e3:>9.2f}  {(off - eager) / empty:>18.2f}  0")
    return good


def training(device: str, folder: Path, steps: int, images: tuple[int, ...]) -> bool:
    """Steps of ResNet-18 without and with a sample, alternating; whether the promise is kept."""
    torch.manual_seed(0)
    model = ResNet18().to(device)
    optimizer = torch.optim.SGD(model.parameters(), 0.01, momentum=0.9)
    data, classes = torch.randn(images).to(device), torch.arange(images[0]).to(device)

    # Of the CPU, the processor's time of this thread, which runs everything: other processes do not count.
    clock = time.thread_time if device == "cpu" else time.perf_counter

    def step() -> float:
        began = clock()
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(data), classes).backward()
        optimizer.step()
        if device != "cpu":
            torch.accelerator.synchronize()
        return clock() - began

    kinds: dict[str, Callable[[int], AbstractContextManager[Any]]] = {
        "no tool": lambda _: nullcontext(),
        "an empty dispatch mode": lambda _: Empty(),
        "capture of 1 in 100 calls": lambda n: Capture(folder / f"s{n}", sample=0.01, operands=False, seed=n),
        "with their operands": lambda n: Capture(folder / f"sample{n}", sample=0.01, seed=n),
        "capture of shapes and names": lambda n: Capture(folder / f"shapes{n}", operands=False),
    }
    times: dict[str, list[float]] = {name: [] for name in kinds}
    step()
    for number in range(steps):
        for name, make in kinds.items():
            with make(number):
                times[name].append(step())
    plain = statistics.median(times["no tool"])
    print(f"\na training step of ResNet-18, images {list(images)}: {plain * 1e3:.0f} ms")
    good = True
    for name, found in list(times.items())[1:]:
        ratio = statistics.median(found) / plain
        promise = ""
        if name == "capture of 1 in 100 calls":
            promise, good = f"  promised {SAMPLE_PROMISED:.2f}", ratio <= SAMPLE_PROMISED
        print(f"{name:<34}  {ratio:>6.3f} times{promise}")
    return good


def main() -> int:
    """Prints both tables; exit code 1 where a promise is not kept."""
    parser = argparse.ArgumentParser(prog="benchmarks.optools")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    torch.set_num_threads(1)
    print(f"{describe()}, torch {torch.__version__}")
    folder = Path(tempfile.mkdtemp(prefix="optools-"))
    try:
        good = operators(options.device, folder)
        images = (4, 3, 64, 64) if options.quick else (8, 3, 224, 224)
        return 0 if training(options.device, folder, 3 if options.quick else 9, images) and good else 1
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    sys.exit(main())

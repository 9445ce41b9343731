"""`python -m benchmarks.torch_dispatch`: small operators and a small decoder, compared with PyTorch on the CPU.

Needs torch; the backend of droplet is built where the environment does not name one (`tools/torch_build.py`). The first
table runs on a vendor's library whose kernels do nothing, so that it shows the glue alone; the others on droplet.
`python -m benchmarks.torch_dispatch script`, or `decoder`, prints one of these alone.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.torch_dispatch import empty_vendor

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent
REPEATS = 9
LOOPS = 20_000
SWITCH_PROMISED = 5.0
"""Nanoseconds that the run-time switches may cost while they are off."""
STEP_PROMISED = 1.3
"""Time of a training step on droplet over that on the CPU."""


def _backend() -> dict[str, str]:
    """The variables that lead to the backend; it is built where the environment has none."""
    sys.path.insert(0, str(ROOT / "tools"))
    import torch_build

    return (torch_build.given() or torch_build.build()).environment()


def _built(folder: Path) -> tuple[Path, Path]:
    """The loops over operators, and the vendor's library that does nothing."""
    import torch

    torch_root = Path(torch.__file__).parent
    includes = [f"-isystem{torch_root / 'include'}", f"-isystem{torch_root / 'include/torch/csrc/api/include'}"]
    loops = folder / "libloops.so"
    link = [f"-L{torch_root / 'lib'}", "-ltorch_cpu", "-lc10", f"-Wl,-rpath,{torch_root / 'lib'}"]
    command = ["g++", "-O2", "-fPIC", "-shared", "-std=c++20", *includes, HERE / "main.cpp", "-o", loops, *link]
    subprocess.run(list(map(str, command)), check=True)
    return loops, empty_vendor.build(folder)


def _operators(loops: str) -> None:
    """Prints the nanoseconds of `add.out` and `add` on the CPU and on the device, and of a flag that is looked at."""
    import torch
    import torch_droplet  # noqa: F401  # the device

    torch.ops.load_library(loops)
    run = torch.ops.diopi_benchmark
    best: dict[tuple[str, str], float] = {}
    with torch.inference_mode():
        operands = {device: [torch.ones(1, device=device) for _ in range(3)] for device in ("cpu", "droplet")}
        for _ in range(REPEATS):
            for device, (a, b, out) in operands.items():
                found = {"add.out": run.add_out(a, b, out, LOOPS), "add": run.add(a, b, LOOPS)}
                for name, time in found.items():
                    best[device, name] = min(time, best.get((device, name), time))
    for name in ("add.out", "add"):
        print(name, best["cpu", name], best["droplet", name])
    print("switch", min(run.flag(LOOPS * 100) for _ in range(REPEATS)))


def _table(text: str) -> bool:
    """The table of `_operators`; whether every promise is kept."""
    retained = True
    print(f"{'one element':<24}  {'CPU ns':>8}  {'glue ns':>8}  {'ratio':>6}  promised")
    for line in text.splitlines():
        name, *numbers = line.split()
        values = [float(number) for number in numbers]
        if name == "switch":
            good = values[0] <= SWITCH_PROMISED
            print(f"{'switches that are off':<24}  {'':>8}  {values[0]:>8.2f}  {'':>6}  {SWITCH_PROMISED:.2f} ns")
        else:
            good = values[1] <= values[0]
            print(f"{name:<24}  {values[0]:>8.1f}  {values[1]:>8.1f}  {values[1] / values[0]:>6.2f}  1.00")
        retained &= good
    return retained


def main() -> int:
    """Prints both tables; exit code 1 where a promise is not kept."""
    sys.path[:0] = [str(ROOT / "examples/droplet"), str(ROOT / "diopi_torch/src")]
    if len(sys.argv) == 3 and sys.argv[1] == "operators":
        _operators(sys.argv[2])
        return 0
    if sys.argv[1:] in (["script"], ["decoder"]):
        os.environ.update(_backend())
        return 0 if {"script": _script, "decoder": _decoder}[sys.argv[1]]() else 1
    with tempfile.TemporaryDirectory() as name:
        loops, vendor = _built(Path(name))
        os.environ.update(_backend())
        environment = empty_vendor.environment(vendor)
        command = [sys.executable, "-m", "benchmarks.torch_dispatch", "operators", str(loops)]
        done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    retained = _table(done.stdout)
    retained &= _script()
    return 0 if _decoder() and retained else 1


def _script() -> bool:
    """The table of what a script sees; whether every promise is kept."""
    from benchmarks.torch_dispatch.script import lines

    print(f"\n{'from a script, with waits':<24}  {'CPU ns':>8}  {'droplet':>8}  {'ratio':>6}  promised")
    retained = True
    for line in lines():
        ratio = line.device / line.cpu
        print(f"{line.name:<24}  {line.cpu:>8.0f}  {line.device:>8.0f}  {ratio:>6.2f}  {line.promised:.2f}")
        retained &= ratio <= line.promised
    return retained


def _decoder() -> bool:
    """The table of the training steps; whether every promise is kept."""
    from benchmarks.torch_dispatch.decoder import SIZES, step_times

    print(f"\n{'decoder, training step':<24}  {'CPU ms':>8}  {'droplet':>8}  {'ratio':>6}  promised")
    retained = True
    for size in SIZES:
        cpu, device = step_times(size)
        name = f"width {size.width}, {size.batch} x {size.length}"
        print(f"{name:<24}  {cpu * 1e3:>8.2f}  {device * 1e3:>8.2f}  {device / cpu:>6.2f}  {STEP_PROMISED:.2f}")
        retained &= device / cpu <= STEP_PROMISED
    return retained


if __name__ == "__main__":
    sys.exit(main())

"""Everything that a machine with a GPU can show of the CUDA library, and a page with what it showed.

`make conformance-cuda` runs it. Steps, each of which `--only` may name: `build`, `cases` (the whole suite, by several
processes that share the GPU), `models` (their calls), `streams` (several in one process), `sanitizer` (the fast share
under compute-sanitizer) and `speed` (compared with PyTorch). What cannot run here is reported; the exit code is 1
where a step failed. With `--lib` and `--runtime` other libraries are verified, such as the emulated one.
"""

from __future__ import annotations

import argparse
import datetime
import os
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MODELS = sorted(path.stem for path in (ROOT / "specs/models").glob("*.yaml"))

Command = Sequence[str | Path]


@dataclass(frozen=True)
class Step:
    """Commands that run one after another; `missing` says why they cannot, and is empty where they can."""

    name: str
    commands: Sequence[Command]
    missing: str = ""


@dataclass
class Done:
    """Result of a step: the last line that each command printed, and the overall status."""

    step: Step
    good: bool = True
    seconds: float = 0.0
    said: list[str] = field(default_factory=list)


def run(step: Step, show: Callable[[str], None]) -> Done:
    """Runs a step and shows its output as it comes."""
    done = Done(step)
    start = time.monotonic()
    environment = {
        "VIRTUAL_ENV": sys.prefix,  # where the build looks for wheels of NVIDIA's libraries
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]),
    }
    for command in step.commands if not step.missing else ():
        words = [str(word) for word in command]
        show(f"$ {shlex.join(words)}")
        process = subprocess.Popen(
            words, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        assert process.stdout is not None
        last = ""
        for line in process.stdout:
            show(line.rstrip("\n"))
            last = line.strip() or last
        done.said.append(last)
        if process.wait() != 0:
            done.good = False
            break
    done.seconds = time.monotonic() - start
    return done


def steps(options: argparse.Namespace) -> list[Step]:
    """All steps, for the libraries under test."""
    python = Path(sys.executable)
    build = ROOT / "build"
    library: Path = options.lib or build / "cuda/libdiopi_impl_cuda.so"
    runtime: Path = options.runtime or build / "cuda-runtime/libdiopirt.so"
    registry = options.out / "libregistry.so"
    conformance: list[str | Path] = [
        python,
        "-m",
        "diopigen",
        "conformance",
        "run",
        "--lib",
        library,
        "--runtime",
        runtime,
        "--device",
        "cuda",
    ]
    conformance += ["--memory-limit", "0", "--failures", "5"]
    cmake: list[str | Path] = ["-S", ROOT / "runtime", "-B", build / "cuda-runtime", "-G", "Ninja"]
    includes = [f"-I{ROOT / 'generated/include'}", f"-I{ROOT / 'runtime/include'}"]
    is_built_here = options.lib is None
    sanitizer = shutil.which("compute-sanitizer")
    has_torch = _runs([options.torch_python, "-c", "import torch; assert torch.cuda.is_available()"])
    families = [word for family in options.family or () for word in ("--family", family)]
    fast = ["--axis", "plain", "--axis", "recipe"]
    checked = [sanitizer or "compute-sanitizer", "--target-processes", "all", "--error-exitcode", "1"]
    return [
        Step(
            "build",
            [
                [
                    str(python),
                    str(ROOT / "tools/build_cuda.py"),
                    "--jobs",
                    str(options.jobs),
                    "--architectures",
                    options.architecture,
                ],
                ["cmake", *cmake],
                ["cmake", "--build", build / "cuda-runtime"],
            ],
            "" if is_built_here else f"{library} is taken as it is",
        ),
        Step(
            "cases",
            [
                [
                    *conformance,
                    "-j",
                    str(options.jobs),
                    "--time-limit",
                    "60",
                    "--json",
                    options.out / "cases.json",
                    *families,
                ]
            ],
        ),
        Step("models", [[*conformance, "-j", "1", "--time-limit", "300", "--model", model] for model in MODELS]),
        Step(
            "streams",
            [
                ["gcc", "-std=c11", "-shared", "-fPIC", *includes, ROOT / "tests/cuda/registry.c", "-o", registry],
                [python, ROOT / "tests/cuda/accelerator_program.py", runtime, library, registry, "streams"],
            ],
        ),
        Step(
            "sanitizer",
            [[*checked, *conformance, "-j", "1", "--time-limit", "600", *fast, *families]],
            "" if sanitizer else "no compute-sanitizer here: memory is not checked on the device",
        ),
        Step(
            "speed",
            [[options.torch_python, "-m", "benchmarks.cuda", "--lib", library, "--runtime", runtime]],
            "" if has_torch else "no PyTorch with CUDA here: the speed is not measured",
        ),
    ]


def page(results: Sequence[Done], device: str, date: str) -> str:
    """Results as a page of Markdown."""
    lines = [
        f"# The CUDA library on {device}, {date}",
        "",
        "| step | came of it | seconds | said |",
        "| --- | --- | --- | --- |",
    ]
    for done in results:
        outcome = "not run" if done.step.missing else "good" if done.good else "FAILED"
        said = done.step.missing or "<br>".join(line.replace("|", "\\|") for line in done.said if line)
        lines.append(f"| {done.step.name} | {outcome} | {done.seconds:.0f} | {said} |")
    lines += ["", "Commands:", "", "```"]
    for done in results:
        if not done.step.missing:
            lines += [shlex.join(shown(word) for word in command) for command in done.step.commands]
    return "\n".join([*lines, "```", ""])


def shown(word: str | Path) -> str:
    """A word of a command as one would type it in a checkout."""
    text = str(word)
    return "python" if text == sys.executable else text.replace(f"{ROOT}/", "")


def device_name() -> str:
    """The GPU as its driver calls it."""
    try:
        found = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True, check=True).stdout.split(" (UUID")
    except (OSError, subprocess.CalledProcessError):
        return "no GPU"
    return found[0].partition(": ")[2]


def _runs(command: Command) -> bool:
    try:
        return subprocess.run([str(word) for word in command], capture_output=True, check=False).returncode == 0
    except OSError:
        return False


def main() -> int:
    """Runs the steps, writes the page, and says whether all that ran was good."""
    names = ["build", "cases", "models", "streams", "sanitizer", "speed"]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", choices=names, help="may be repeated")
    parser.add_argument("--lib", type=Path, help="default: build/cuda, built by the first step")
    parser.add_argument("--runtime", type=Path, help="libdiopirt.so for it")
    parser.add_argument("--family", action="append", help="of cases: this family alone; may be repeated")
    parser.add_argument("--architecture", default="native", help="what to build for, as CMAKE_CUDA_ARCHITECTURES")
    parser.add_argument("--torch-python", default=sys.executable, help="a Python with a CUDA build of PyTorch")
    parser.add_argument("--jobs", type=int, default=4, help="processes that share the GPU, and compilers")
    parser.add_argument(
        "--out", type=Path, default=ROOT / "build/cuda-verified", help="folder for the page and results"
    )
    options = parser.parse_args()
    if (options.lib is None) != (options.runtime is None):
        parser.error("--lib and --runtime belong together")
    if options.lib is None and device_name() == "no GPU":
        print(
            "no GPU here (nvidia-smi finds none): the CUDA library is not verified on one; "
            "its kernels are in emulation (make test)"
        )
        return 1
    options.out.mkdir(parents=True, exist_ok=True)
    results = []
    for step in steps(options):
        if options.only is None or step.name in options.only:
            print(f"== {step.name}{': not run: ' + step.missing if step.missing else ''}", flush=True)
            results.append(run(step, lambda line: print(line, flush=True)))
    report = options.out / "report.md"
    report.write_text(page(results, device_name(), datetime.date.today().isoformat()))
    print(f"{report}: {'all good' if all(done.good for done in results) else 'FAILED'}")
    return 0 if all(done.good for done in results) else 1


if __name__ == "__main__":
    sys.exit(main())

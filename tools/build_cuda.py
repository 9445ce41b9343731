"""Compiles and links the CUDA library where nvcc is at hand, and checks what it shows.

No GPU is needed: whether the kernels are right is checked in emulation (tests/cuda). One architecture is compiled
unless others are named; the release has those of impl/cuda/CMakeLists.txt.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import time
from pathlib import Path

from cuda_resources import kernels, summary

from diopigen import api
from diopigen.diagnostics import Sink

ROOT = Path(__file__).resolve().parent.parent
SAMPLE = ("Unity/unity_kernels_cu.cu", "functions/activation/softmax.cu", "libraries/cub.cu")
"""Targets of a change: kernels that both libraries share, those of rows, of sorting. `make nightly` compiles all."""
QUICK = ("-DCMAKE_CUDA_ARCHITECTURES=80-virtual", "-DCMAKE_CUDA_FLAGS_RELEASE=-O0")
"""A sample shows that nvcc takes the sources; it is not optimized, and no assembly is made of it."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--architectures", default="80", help="as CMAKE_CUDA_ARCHITECTURES; 'release' for the default")
    parser.add_argument("--build", type=Path, default=ROOT / "build/cuda", help="folder for the build")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--sample", action="store_true", help=f"compile {', '.join(SAMPLE)} alone, link nothing")
    options = parser.parse_args()
    if shutil.which("nvcc") is None and not Path("/usr/local/cuda/bin/nvcc").exists():
        print("no nvcc here: the CUDA library is not compiled; its kernels are checked in emulation (make test)")
        return 0
    start = time.monotonic()
    if options.sample:
        flags = list(QUICK)
    elif options.architectures == "release":
        flags = []
    else:
        flags = [f"-DCMAKE_CUDA_ARCHITECTURES={options.architectures}"]
    log = options.build / "cpu_time.txt"
    log.unlink(missing_ok=True)
    launcher = f"{sys.executable};{ROOT / 'tools/cpu_time.py'};{log.resolve()}"
    launchers = [f"-DCMAKE_{language}_COMPILER_LAUNCHER={launcher}" for language in ("CUDA", "CXX")]
    folders = ["-S", str(ROOT / "impl/cuda"), "-B", str(options.build)]
    configure = ["cmake", *folders, "-G", "Ninja", "-DCMAKE_CUDA_FLAGS=-Xptxas=-v", *flags, *launchers]
    told = ""
    build = ["cmake", "--build", str(options.build), "--parallel", str(options.jobs)]
    if options.sample:
        build += ["--target", *(f"CMakeFiles/diopi_impl_cuda.dir/{source}.o" for source in SAMPLE)]
    for command in (configure, build):
        finished = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        if finished.returncode != 0:
            print(finished.stdout[-8000:])
            return 1
        told += finished.stdout
    if options.sample:
        print(f"nvcc takes {', '.join(SAMPLE)}; `make cuda` compiles all and links the library")
        return 0
    library = options.build / "libdiopi_impl_cuda.so"
    interface = api.load(api.workspace(str(ROOT / "specs")), Sink(), check=False).interface
    host = {f.name for header in interface.headers if header.file == "diopirt.h" for f in header.functions}
    declared = {function.name for function in interface.functions if not function.is_collective} - host
    declared |= {"initLibrary", "finalizeLibrary"}
    shown = subprocess.run(
        ["nm", "--dynamic", "--defined-only", str(library)], capture_output=True, text=True, check=True
    )
    symbols = {line.split()[-1] for line in shown.stdout.splitlines()}
    if symbols != declared:
        print(f"missing: {sorted(declared - symbols)}; not declared: {sorted(symbols - declared)}")
        return 1
    minutes = (time.monotonic() - start) / 60
    size = library.stat().st_size >> 20
    print(f"{library}: {len(symbols)} functions, {size} MiB, compiled in {minutes:.1f} min; not run: that needs a GPU")
    print(f"CPU time of the compilers: {cpu_time(log)}")
    compiled = kernels(told)
    print("\n".join(summary(compiled)))
    return 1 if any(kernel.is_wrong for kernel in compiled) else 0


def cpu_time(log: Path) -> str:
    """The sum of the units that were compiled, and the three that cost most."""
    lines = [line.split(maxsplit=1) for line in log.read_text().splitlines()] if log.exists() else []
    units = sorted(((float(seconds), Path(unit).name) for seconds, unit in lines), reverse=True)
    most = ", ".join(f"{unit.removesuffix('.o')} {seconds:.0f} s" for seconds, unit in units[:3])
    return f"{sum(seconds for seconds, _ in units) / 60:.1f} min in {len(units)} units" + (most and f" ({most})")


if __name__ == "__main__":
    sys.exit(main())

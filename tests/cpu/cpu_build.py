"""How the tests build the runtime and the CPU library."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).parents[2]
SANITIZED = "DIOPI_CPU_TEST_LIBRARIES"
"""Set in the child process that runs these tests again over libraries built with the sanitizers."""


def run_checked(command: Sequence[str | Path]) -> None:
    finished = subprocess.run(
        [str(part) for part in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=1200
    )
    assert finished.returncode == 0, f"{command}\n{finished.stdout[-8000:]}"


def build_libraries(generated: Path, output: Path, flags: Sequence[str]) -> tuple[Path, Path]:
    """libdiopirt.so and libdiopi_impl.so, compiled two files at a time."""
    includes = [f"-I{ROOT / 'impl/cpu/include'}", f"-I{generated / 'include'}", f"-I{ROOT / 'runtime/include'}"]
    common = ["g++", "-std=c++17", "-fPIC", "-Wall", "-Wextra", "-Werror", "-ffp-contract=off", *flags, *includes]
    runtime = output / "libdiopirt.so"
    runtime_sources = sorted((ROOT / "runtime/src").glob("*.cpp"))
    version_script = f"-Wl,--version-script={ROOT / 'runtime/libdiopirt.map'}"
    own = [*(ROOT / "impl/cpu/src").glob("*.cpp"), *(ROOT / "impl/cpu/functions").rglob("*.cpp")]
    sources = [*sorted((generated / "cpu").glob("*.cpp")), *sorted(own), ROOT / "runtime/src/host_device.cpp"]

    def compile_one(item: tuple[int, Path]) -> Path:
        compiled = output / f"{item[0]}_{item[1].stem}.o"
        run_checked([*common, "-c", item[1], "-o", compiled])
        return compiled

    with ThreadPoolExecutor(max_workers=2) as pool:
        building = pool.submit(run_checked, [*common, "-shared", *runtime_sources, version_script, "-o", runtime])
        objects = list(pool.map(compile_one, enumerate(sources)))
        building.result()
    library = output / "libdiopi_impl.so"
    own_script = f"-Wl,--version-script={ROOT / 'impl/cpu/libdiopi_impl.map'}"
    run_checked([*common, "-shared", *objects, own_script, "-pthread", "-o", library])
    return runtime, library

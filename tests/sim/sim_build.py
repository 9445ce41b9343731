"""How the tests build the simulated device and the programs over it, and run a case."""

from __future__ import annotations

import fcntl
import os
import re
import subprocess
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
SIM = ROOT / "runtime/sim"
COMPILER = tuple(os.environ.get("CXX", "g++").split())
WARNINGS = ("-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Werror")
INCLUDES = tuple(
    f"-I{ROOT / folder}"
    for folder in ("runtime/sim/include", "runtime/adaptor/include", "runtime/include", "generated/include")
)
VARIANTS = {
    "plain": ("-O1", "-g"),
    "address": ("-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"),
    "thread": ("-O1", "-g", "-fsanitize=thread"),
}


def run(command: Sequence[str | Path], **environment: str) -> subprocess.CompletedProcess[str]:
    """Runs a command in an environment without the variables of the simulated device but those that are given."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("DIOPI_SIM_")}
    return subprocess.run(
        [str(part) for part in command], capture_output=True, text=True, env={**clean, **environment}, timeout=300
    )


def succeed(command: Sequence[str | Path]) -> str:
    done = run(command)
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    return done.stdout


def compiled(sources: Sequence[Path], flags: Sequence[str], folder: Path) -> list[Path]:
    """The object files of sources, compiled two at a time."""

    def compile_one(source: Path) -> Path:
        target = folder / f"{'_'.join(source.relative_to(ROOT).with_suffix('').parts)}.o"
        succeed([*COMPILER, "-std=c++17", "-fPIC", *WARNINGS, *flags, *INCLUDES, "-c", source, "-o", target])
        return target

    with ThreadPoolExecutor(max_workers=2) as pool:
        return list(pool.map(compile_one, sources))


def build(variant: str, folder: Path) -> None:
    """The programs `cases` and `host_cases`, libdiopi_sim.so and a vendor's library over it."""
    flags = VARIANTS[variant]
    link_time = SIM / "src/link_time.cpp"
    device = compiled([path for path in sorted((SIM / "src").glob("*.cpp")) if path != link_time], flags, folder)
    own = [path for path in sorted(HERE.glob("cases_*.cpp")) if path.stem != "cases_host"]
    common, *cases = compiled([HERE / "sim_test.cpp", *own], flags, folder)
    end = ["-pthread", "-rdynamic", "-o"]
    succeed([*COMPILER, *flags, common, *cases, *device, *end, folder / "cases"])
    runtime = compiled(sorted((ROOT / "runtime/src").glob("*.cpp")), flags, folder)
    host = compiled([HERE / "cases_host.cpp", link_time], flags, folder)
    succeed([*COMPILER, *flags, common, *host, *runtime, *device, *end, folder / "host_cases"])
    if variant == "plain":
        succeed([*COMPILER, "-shared", *device, "-pthread", "-o", folder / "libdiopi_sim.so"])
        vendor = [host[1], f"-L{folder}", "-ldiopi_sim", f"-Wl,-rpath,{folder}", "-o", folder / "libdiopi_impl.so"]
        succeed([*COMPILER, "-shared", *vendor])
        (relu,) = compiled([HERE / "vendor_relu.cpp"], flags, folder)
        succeed([*COMPILER, "-shared", relu, *vendor[1:-1], folder / "libdiopi_relu.so"])
        version_script = f"-Wl,--version-script={ROOT / 'runtime/libdiopirt.map'}"
        succeed([*COMPILER, "-shared", *runtime, version_script, "-pthread", "-o", folder / "libdiopirt.so"])
        (opening,) = compiled([HERE / "sim_link_time_host.cpp"], flags, folder)
        succeed([*COMPILER, opening, "-ldl", "-rdynamic", "-o", folder / "link_time_host"])


def built(variant: str, shared: Path) -> Path:
    """The folder of a variant below `shared`, built by whichever process of the session comes first."""
    folder = shared / f"sim-{variant}"
    folder.mkdir(exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "done").exists():
            build(variant, folder)
            (folder / "done").touch()
    return folder


def case_names(source: str) -> list[str]:
    """The cases that a file defines."""
    return re.findall(r"^CASE\((\w+)\)", (HERE / source).read_text(encoding="utf-8"), re.MULTILINE)


def normal(report: str) -> str:
    """A report with addresses as 0x#, and of each stack only the frames of functions with a name of ours."""
    kept = []
    for line in report.splitlines():
        frame = re.match(r"\S+\((\w*)\+0x[0-9a-f]+\) ?\[0x[0-9a-f]+\]$", line)
        if frame is None:
            kept.append(re.sub(r"0x[0-9a-f]+", "0x#", line))
        elif frame[1] in ("makeTheMemory", "freeTheMemory"):
            kept.append(f"    {frame[1]}")
        else:
            assert line.startswith(("/", "./")), line
    return "\n".join(kept) + "\n" if kept else ""

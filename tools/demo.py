"""The main job from end to end: a vendor that did not exist is scaffolded, filled, built, and judged through the C ABI.

`make demo` runs it. Everything is written below build/demo, and a second run starts from nothing again.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from diopigen import api, proto
from diopigen.diagnostics import Sink
from diopigen.ir.model import Interface

ROOT = Path(__file__).resolve().parent.parent
VENDOR = "demo"
TREE = ROOT / "build" / VENDOR
BIN = Path(sys.executable).parent


def main() -> int:
    """Runs the steps; the exit code is that of the judgement."""
    started = time.monotonic()
    sink = Sink()
    where = api.Workspace(ROOT / "specs", ROOT / "templates", "specs")
    interface = api.load(where, sink).interface
    say(f"spec      {len(interface.functions)} functions of {len(interface.headers)} headers, checked")
    run("generate", [BIN / "diopigen", "generate", "--out", TREE.parent / "generated"])
    say(f"generate  headers, diopi.json, schemas and kernels in {short(TREE.parent / 'generated')}")

    shutil.rmtree(TREE, ignore_errors=True)
    run("scaffold", [BIN / "diopigen", "scaffold", "--vendor", VENDOR, "--out", TREE])
    skeletons = sorted((TREE / "impl" / VENDOR / "functions").rglob("*.cpp"))
    families = {path.parent.name for path in skeletons}
    say(f"scaffold  {len(skeletons)} operators of {len(families)} families in {short(TREE)}, each a skeleton")

    filled = fill(interface, where, skeletons)
    say(
        f"fill      {filled['generated']} functions generated from expressions, {filled['handwritten']} handwritten;"
        f" {filled['left']} skeletons left"
    )
    wanted = functions_of(interface, skeletons)

    seconds = build()
    library = TREE / "build" / "libdiopi_impl.so"
    say(f"build     {short(library)} ({library.stat().st_size // 1024} KiB) in {seconds:.0f} s")

    say("judge     conformance cases from the spec, through the C ABI\n")
    judged = subprocess.run(
        [BIN / "diopigen", "conformance", "run", "--lib", library, "--by", "function", *wanted], cwd=ROOT, check=False
    )
    say(f"\nAll of it in {time.monotonic() - started:.0f} s. Look around: {short(TREE)}/README.md")
    return judged.returncode


def say(text: str) -> None:
    """A line of the summary, at once."""
    print(text, flush=True)


def short(path: Path) -> str:
    """A path as a user would type it from the checkout."""
    return path.relative_to(ROOT).as_posix()


def run(what: str, command: Sequence[str | Path]) -> None:
    """A step whose output matters only where it fails."""
    done = subprocess.run(list(map(str, command)), cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        print(done.stdout[-4000:], done.stderr[-4000:], sep="\n", file=sys.stderr)
        sys.exit(f"demo: {what} failed with exit code {done.returncode}")


def functions_of(interface: Interface, skeletons: Sequence[Path]) -> list[str]:
    """The options that choose the functions of the scaffolded operators."""
    operators = {path.stem for path in skeletons}
    names = [f.name for f in interface.functions if f.operator in operators]
    return [word for name in names for word in ("--ops", name)]


def fill(interface: Interface, where: api.Workspace, skeletons: Sequence[Path]) -> Counter[str]:
    """Puts kernels in the place of the skeletons of every operator that they implement in full."""
    kernels = TREE / "impl" / VENDOR / "kernels"
    generated, own = ROOT / "generated" / "cpu", ROOT / "impl" / "cpu"
    shutil.copytree(own / "include" / "diopi_cpu", TREE / "impl" / "diopi_cpu")
    shutil.copytree(generated, kernels / "generated")
    shutil.copytree(own / "functions", kernels / "functions")
    shutil.copytree(own / "src", kernels / "src", ignore=shutil.ignore_patterns("library.cpp"))

    counts: Counter[str] = Counter()
    implemented: set[str] = set()
    for folder, kind in ((kernels / "generated", "generated"), (kernels / "functions", "handwritten")):
        found = proto.check_vendor(interface, where, folder, [], Sink())
        implemented.update(found)
        counts[kind] = len(found)
    for path in skeletons:
        functions = {f.name for f in interface.functions if f.operator == path.stem}
        if functions <= implemented:
            path.unlink()
        else:
            counts["left"] += 1

    # Messages come from the kernels now.
    library = TREE / "impl" / VENDOR / "library.cpp"
    text = library.read_text(encoding="utf-8")
    text = text.replace('#include "demo/error.h"', '#include "demo/error.h"\n#include "diopi_cpu/error.h"')
    text = text.replace("return impl::demo::lastError();", "return diopi::cpu::last_error_text();")
    library.write_text(text, encoding="utf-8")
    return counts


def build() -> float:
    """Builds the tree with all processors; gives the seconds."""
    started = time.monotonic()
    environment = [f"-DCMAKE_MAKE_PROGRAM={BIN / 'ninja'}", "-G", "Ninja"]
    folder = TREE / "build"
    run("configure", [BIN / "cmake", "-S", TREE, "-B", folder, "-DCMAKE_BUILD_TYPE=Release", *environment])
    run("build", [BIN / "cmake", "--build", folder, "--parallel", str(os.cpu_count() or 2)])
    return time.monotonic() - started


if __name__ == "__main__":
    sys.exit(main())

"""droplet from an empty folder to a verified library: scaffold, kernels, shims, build, conformance, coverage, a trace,
and one page that shows all of it.

`make demo` runs it. Everything is written below build/, and a second run starts the tree from nothing again.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from progress import watched

from diopigen import api
from diopigen.chip.reader import read_chip
from diopigen.diagnostics import Sink
from diopigen.ir.model import Interface

ROOT = Path(__file__).resolve().parent.parent
EXAMPLE = ROOT / "examples/droplet"
TREE = ROOT / "build/droplet"
REFERENCE = ROOT / "build/tests/plain/libdiopi_impl.so"
SAMPLE = "4"
"""Cases of each function on the device with delays; `tests/droplet` runs all of them."""
TRACED = ("Softmax", "Mm", "LayerNorm", "Gelu")
"""Functions in the trace."""
PAGE = TREE / "index.html"
LOGS = ROOT / "build/demo"
BIN = Path(sys.executable).parent
DIOPIGEN = BIN / "diopigen"
JOBS = str(os.cpu_count() or 2)


def main() -> int:
    """Runs the steps; the exit code is that of the conformance runs. The last line of a failure names the step."""
    started = time.monotonic()
    shutil.rmtree(LOGS, ignore_errors=True)
    say("spec       is read and checked")
    where = api.Workspace(ROOT / "specs", ROOT / "templates", "specs")
    interface = api.load(where, Sink()).interface
    chip = read_chip(EXAMPLE / "droplet.yaml", "droplet.yaml", interface, Sink())
    assert chip is not None  # a test reads the file
    # Collectives need several processes: their suite is `conformance collectives`.
    collectives = {function.name for function in interface.functions if function.is_collective}
    kernels = [operator.name for operator in chip.operators if operator.name not in collectives]
    say(f"spec       {len(interface.functions)} functions of {len(interface.headers)} headers, checked")

    skeletons = scaffold(kernels)
    say(f"scaffold   {skeletons} operators in {short(TREE)}, each a skeleton; the chip has {len(kernels)} functions")
    lines = copy_kernels(interface, kernels)
    run("elementwise", [DIOPIGEN, "elementwise", "impl/droplet", "--chip", "droplet.yaml"], TREE)
    run("shims", [DIOPIGEN, "adaptors", "impl/droplet", "--out", "generated/adaptors/droplet"], TREE)
    run("chip", [DIOPIGEN, "chip", "droplet.yaml", "--out", "generated/chip"], TREE)
    say(f"kernels    {lines} lines copied in; elementwise kernels, shims and the table of the chip generated")

    say("build      droplet, the dispatch library and the reference library, with all processors: a minute or two")
    vendor, dispatch = build_droplet()
    reference = build_reference()
    say(f"build      {short(vendor)}, {short(dispatch)}, {short(reference)}")
    run("doctor", [DIOPIGEN, "doctor", "impl/droplet"], TREE)
    say("doctor     finds nothing")

    libraries = {"DIOPI_VENDOR_LIBRARY": str(vendor), "DIOPI_REFERENCE_LIBRARY": str(reference)}
    side = ["--impl", str(TREE / "impl/droplet")]
    selected = [word for name in kernels for word in ("--ops", name)]
    say(f"\nnative     the {len(kernels)} functions with kernels; what they leave falls back to the reference\n")
    native = conformance("native", dispatch, libraries, [*side, *selected, *written("native")])
    say(f"\nsample     all functions, at most {SAMPLE} cases of each, on a device with random delays\n")
    delayed = {**libraries, "DIOPI_SIM_DELAY": "1,50", "DIOPI_FALLBACK": "warn"}
    sample = conformance("sample", dispatch, delayed, [*side, "--sample", SAMPLE, *written("sample")])
    say("")
    coverage = [DIOPIGEN, "coverage", "impl/droplet", "--next", "5", *written("coverage")]
    subprocess.run(coverage, cwd=TREE, stderr=subprocess.DEVNULL, check=False)
    trace = TREE / "build/trace.json"
    traced = {**libraries, "DIOPI_SIM_TRACE": str(trace)}
    # One process: several would write the same file.
    few = [word for name in TRACED for word in ("--ops", name)]
    trace_code = conformance("trace", dispatch, traced, [*few, "--sample", SAMPLE], quiet=True, jobs="1")
    say(f"\ntrace      {short(trace)}: open it in chrome://tracing")
    run("page", overview(trace))
    say(f"All of it in {time.monotonic() - started:.0f} s. Look around: {short(TREE)}/README.md")
    failed = [name for name, code in (("native", native), ("sample", sample), ("trace", trace_code)) if code]
    say(f"page       {short(PAGE)}: open it in a browser")
    return fail(failed[0], "see above") if failed else 0


def say(text: str) -> None:
    """A line of the summary, at once."""
    print(text, flush=True)


def short(path: Path) -> str:
    """A path as a user would type it from the checkout."""
    return path.relative_to(ROOT).as_posix()


def fail(step: str, why: str) -> int:
    """The last line of a demonstration that fails; gives the exit code."""
    print(f"demo: the step '{step}' failed: {why}", file=sys.stderr, flush=True)
    return 1


def run(step: str, command: Sequence[str | Path], folder: Path = ROOT) -> None:
    """A step whose output matters only where it fails."""
    log = LOGS / f"{step}.log"
    code = watched(step, command, log, folder, {**os.environ, "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}"})
    if code != 0:
        print(log.read_text()[-4000:], file=sys.stderr)
        sys.exit(fail(step, f"exit code {code}; all that it printed is in {short(log)}"))


def scaffold(kernels: Sequence[str]) -> int:
    """A new tree with a skeleton for every operator that there is a kernel for; gives their number."""
    shutil.rmtree(TREE, ignore_errors=True)
    selected = [word for name in kernels for word in ("--ops", name)]
    run("scaffold", [DIOPIGEN, "scaffold", "--vendor", "droplet", "--out", TREE, *selected])
    return len(list((TREE / "impl/droplet/functions").rglob("*.cpp")))


def copy_kernels(interface: Interface, kernels: Sequence[str]) -> int:
    """Copies examples/droplet over the tree, and gives the lines of its C++. Skeletons of operators with
    kernels make room; functions of theirs that have none are left to the fallback."""
    written = set(kernels)
    operators = {f.operator for f in interface.functions if f.name in written}
    for path in sorted((TREE / "impl/droplet/functions").rglob("*.cpp")):
        if path.stem in operators:
            path.unlink()
    shutil.copytree(EXAMPLE, TREE, dirs_exist_ok=True, ignore=shutil.ignore_patterns("README.md"))
    sources = [path for path in (EXAMPLE / "impl").rglob("*") if path.suffix in (".cpp", ".h")]
    return sum(len(path.read_text().splitlines()) for path in sources)


def build_droplet() -> tuple[Path, Path]:
    """The vendor's library and the dispatch library."""
    options = ["-G", "Ninja", f"-Ddiopigen_DIR={ROOT}/cmake", "-DCMAKE_CXX_FLAGS_RELEASE=-O0"]
    run("configure", ["cmake", "-S", TREE, "-B", TREE / "build", *options])
    targets = ("diopi_impl", "diopi_dispatch", "diopigen_runtime_shared")
    run("droplet", ["cmake", "--build", TREE / "build", "--parallel", JOBS, "--target", *targets])
    return TREE / "build/libdiopi_impl.so", TREE / "build/dispatch/libdiopi_dispatch.so"


def build_reference() -> Path:
    """The reference library as the tests take it: `make test` and a second run find it built. `make released` builds
    the fast one, in twice the time."""
    run("configure", ["cmake", "--preset", "plain"])
    run("reference", ["cmake", "--build", "--preset", "plain", "--parallel", JOBS, "--target", "diopi_impl"])
    return REFERENCE


def written(name: str) -> list[str | Path]:
    """The options that write a report as data and as a page."""
    reports = TREE / "build/reports"
    return ["--json", reports / f"{name}.json", "--html", reports / f"{name}.html"]


def overview(trace: Path) -> list[str | Path]:
    """The command that puts the reports together."""
    reports = TREE / "build/reports"
    runs = [reports / f"{name}.json" for name in ("native", "sample")]
    links = [word for name in ("native", "sample", "coverage") for word in ("--link", f"build/reports/{name}.html")]
    return [
        DIOPIGEN,
        "overview",
        *runs,
        "--coverage",
        reports / "coverage.json",
        "--trace",
        trace,
        *links,
        "--out",
        PAGE,
    ]


def conformance(
    step: str,
    library: Path,
    environment: Mapping[str, str],
    selected: Sequence[str | Path],
    *,
    quiet: bool = False,
    jobs: str = JOBS,
) -> int:
    """Conformance through the dispatch library; gives the exit code."""
    runtime = TREE / "build/runtime/libdiopirt.so"
    command: list[str | Path] = [
        DIOPIGEN,
        "conformance",
        "run",
        "--lib",
        library,
        "--runtime",
        runtime,
        "-j",
        jobs,
        *selected,
    ]
    through = subprocess.DEVNULL if quiet else None
    return watched(step, command, LOGS / f"{step}.log", ROOT, {**os.environ, **environment}, through)


if __name__ == "__main__":
    sys.exit(main())

"""Measures shims against direct calls, and the time to compile a full file of shims: `python -m benchmarks.adaptor`.

Everything is built and measured in one run, pinned to one core; each figure is printed with the promised one.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from diopigen import api
from diopigen.config.grammar import convertible, is_operator
from diopigen.config.model import Cast, FunctionRule, ResolvedConfig, TensorRule
from diopigen.diagnostics import Sink, Span
from diopigen.emit.adaptor.library import emit_adaptors
from diopigen.ir.model import Interface
from diopigen.vendor.scan import spec_interface
from diopigen.vendor.shims import Vendor, resolved_config, shims

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent
INCLUDES = tuple(f"-I{ROOT / name}" for name in ("runtime/adaptor/include", "generated/include", "runtime/include"))
OPERATORS = 300
HELPERS = frozenset({"diopiCastDtype", "diopiCopyInp"})
_SPAN = Span("convert_config.yaml", 1, 1)


@dataclass(frozen=True, slots=True)
class Line:
    """One measurement: nanoseconds a call, allocations a call, and how many tensors a call makes."""

    nanoseconds: float
    allocations: float
    temporaries: int


def write_shims(interface: Interface, implemented: frozenset[str], vendor: str, folder: Path) -> Path:
    """The shims for int64 to int32 and float64 to float32 in row-major order, for the functions given."""
    casts = (Cast("int64", "int32", _SPAN), Cast("float64", "float32", _SPAN))
    rules = tuple(
        FunctionRule(
            function.name,
            tuple(TensorRule(name, casts, ("NCHW",), _SPAN, ("NCHW",)) for name in convertible(function)),
        )
        for function in interface.functions
        if is_operator(function) and convertible(function)
    )
    plan = emit_adaptors(
        interface, ResolvedConfig(vendor, "convert_config.yaml", rules, implemented), ROOT / "templates"
    )
    folder.mkdir(parents=True)
    for path in plan:
        (folder / path).write_bytes(plan[path])
    return folder / "adaptor.cpp"


def build(interface: Interface, folder: Path, describes: bool) -> Path:
    """The program, with the host runtime and the vendor's library as shared libraries, as in production.

    `describes` false: for the shims the host has no diopiHostDescribeTensor, and they ask for each thing.
    """
    folder.mkdir()
    source = write_shims(interface, HELPERS | {"diopiAdd", "diopiCat", "diopiAdam"}, "bench", folder / "bench")
    flags = ("g++", "-std=c++17", "-O2", "-fPIC", *INCLUDES)
    runtime = sorted(str(path) for path in (ROOT / "runtime/src").glob("*.cpp"))
    shared = folder / "libdiopirt.so"
    subprocess.run([*flags, "-shared", f"-I{ROOT / 'runtime/src'}", *runtime, "-o", str(shared)], check=True)
    library = folder / "libdiopi_impl.so"
    names = [] if describes else ["-DdiopiHostDescribeTensor=absent"]
    subprocess.run(
        [*flags, *names, "-shared", str(source), str(HERE / "vendor.cpp"), str(shared), "-o", str(library)], check=True
    )
    program = folder / "measure"
    subprocess.run(
        [
            *flags,
            str(HERE / "main.cpp"),
            str(library),
            str(shared),
            f"-Wl,-rpath,{folder}",
            "-o",
            str(program),
        ],
        check=True,
    )
    return program


def run(program: Path, rounds: int) -> dict[str, Line]:
    """All measurements by name."""
    output = subprocess.run([str(program), str(rounds)], check=True, capture_output=True, text=True).stdout
    found = {}
    for line in output.splitlines():
        name, nanoseconds, allocations, temporaries = line.split()
        found[name] = Line(float(nanoseconds), float(allocations), int(temporaries))
    return found


def compile_seconds(interface: Interface, folder: Path) -> float:
    """Processor seconds to compile the shims of the first 300 operators at -O2."""
    names = [function.name for function in interface.functions if is_operator(function) and convertible(function)]
    source = write_shims(interface, frozenset(names[:OPERATORS]) | HELPERS, "many", folder / "many")
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = ["g++", "-std=c++17", "-O2", "-fPIC", *INCLUDES, "-c", str(source), "-o", str(folder / "many.o")]
    subprocess.run(command, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime - before.ru_utime) + (after.ru_stime - before.ru_stime)


LIMITS = {"add": 25.0, "cat": 100.0}
"""Nanoseconds over the direct call that were promised with nothing to convert."""


def generation_seconds(where: api.Workspace, interface: Interface) -> float:
    """Processor seconds from the interface in memory to the shims of impl/camb: scan, configuration, text."""
    vendor = Vendor(ROOT / "impl/camb", "camb")
    before = time.process_time()
    resolved = resolved_config(spec_interface(interface), where, vendor, Sink())
    assert resolved is not None
    shims(interface, where, resolved)
    return time.process_time() - before


def report_passing(lines: dict[str, Line], limits: Mapping[str, float]) -> Iterator[tuple[str, bool]]:
    """Calls that need no conversion, each line with whether it keeps its promise."""
    for name in ("add", "cat", "adam"):
        limit = limits.get(name)
        direct, shim = lines[f"{name}.direct"], lines[f"{name}.pass"]
        over = shim.nanoseconds - direct.nanoseconds
        retained = shim.allocations == 0 and (limit is None or over <= limit)
        yield (
            f"{name:5} direct {direct.nanoseconds:6.1f} ns, shim {shim.nanoseconds:6.1f} ns, "
            f"{shim.nanoseconds / direct.nanoseconds:5.1f} times, {over:5.1f} ns over"
            f"{'' if limit is None else f' (at most {limit:.0f})'}, {shim.allocations:.0f} allocations (none)",
            retained,
        )


def report_conversions(lines: dict[str, Line]) -> Iterator[tuple[str, bool]]:
    """Calls that convert int64 to int32 and back, compared with the cost of creating as many tensors."""
    for elements in (1, 120, 4096):
        for name in ("add", "cat", "adam"):
            tensors = lines[f"{name}.tensors.int64.{elements}"]
            shim = lines[f"{name}.convert.int64.{elements}"]
            more = shim.allocations - tensors.allocations
            yield (
                f"{name:5} {elements:4} elements: {shim.nanoseconds:8.0f} ns, making {shim.temporaries:2} tensors "
                f"{tensors.nanoseconds:8.0f} ns, {shim.nanoseconds / tensors.nanoseconds:4.1f} times, "
                f"{more:.0f} other allocations (at most 2)",
                more <= 2,
            )


def main() -> int:
    """Builds, measures, prints; 1 where a promise is not kept."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 400
    where = api.Workspace(ROOT / "specs", ROOT / "templates", "specs")
    interface = api.load(where, Sink(), check=False).interface
    generation = min(generation_seconds(where, interface) for _ in range(3))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        as_it_is = run(build(interface, folder / "describes", describes=True), rounds)
        asked = run(build(interface, folder / "asked", describes=False), rounds)
        seconds = compile_seconds(interface, folder)
    parts = [
        ("Nothing to convert", report_passing(as_it_is, LIMITS)),
        ("Nothing to convert, a host without diopiHostDescribeTensor (no promise)", report_passing(asked, {})),
        ("int64 to int32 and back", report_conversions(as_it_is)),
        ("Generation", [(f"impl/camb: {generation:.2f} s after the load (at most 0.3)", generation < 0.3)]),
        (
            "Compilation",
            [(f"{OPERATORS} operators at -O2: {seconds:.1f} s on one core (at most 10)", seconds < 10)],
        ),
    ]
    broken = False
    for title, lines in parts:
        print(title)
        for text, retained in lines:
            print(f"  {'ok  ' if retained else 'MISS'} {text}")
            broken = broken or not retained
    return int(broken)


if __name__ == "__main__":
    sys.exit(main())

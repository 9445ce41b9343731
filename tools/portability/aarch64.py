"""64-bit ARM on any machine: cross-compiled by Debian's g++-aarch64-linux-gnu, run under qemu-user."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from builds import ROOT, WORK, Broken, Libraries, Skipped, run_logged

COMPILER = "aarch64-linux-gnu-g++"
EMULATOR = "qemu-aarch64"
TOOLCHAIN = ROOT / "cmake/toolchains/aarch64-linux-gnu.cmake"
FOLDER = WORK / "aarch64"
_CPU, _ALL = "impl/cpu", ("runtime", "runtime/kernels", "runtime/sim", "runtime/dispatch", "impl/cpu")
_SYSROOT = "/usr/aarch64-linux-gnu"
_SANITIZED = ("-O1", "-g1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
_WARNINGS = ("-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Werror")


def available() -> None:
    """Raises `Skipped` where the compiler or the emulator is not there."""
    for tool, package in ((COMPILER, "g++-aarch64-linux-gnu"), (EMULATOR, "qemu-user")):
        if shutil.which(tool) is None:
            raise Skipped(f"{tool} is not installed ({package})")


def libraries(jobs: int) -> Libraries:
    """Builds runtime, simulated device, dispatch library, CPU library and a scaffolded vendor, warnings as errors.
    Returns the CPU library with its runtime."""
    available()
    log = FOLDER / "build.log"
    log.unlink(missing_ok=True)
    options = [f"-DCMAKE_TOOLCHAIN_FILE={TOOLCHAIN}", "-DCMAKE_BUILD_TYPE=Release"]
    if shutil.which("ccache"):
        options.append("-DCMAKE_CXX_COMPILER_LAUNCHER=ccache")
    environment = {**os.environ, "CCACHE_BASEDIR": str(ROOT), "CCACHE_NOHASHDIR": "1"}
    vendor = FOLDER / "vendor"
    shutil.rmtree(vendor, ignore_errors=True)
    scaffold = [sys.executable, "-m", "diopigen", "scaffold", "--vendor", "crossed", "--out", str(vendor)]
    if run_logged([*scaffold, "--ops", "Add*", "--ops", "Softmax*"], log) != 0:
        raise Broken(f"a vendor cannot be scaffolded: {log.relative_to(ROOT)}")
    sources = {part: ROOT / part for part in _ALL} | {"a scaffolded vendor": vendor}
    for name, source in sources.items():
        folder = FOLDER / (source.relative_to(ROOT) if name in _ALL else "vendor-build")
        for command in (
            ["cmake", "-S", str(source), "-B", str(folder), "-G", "Ninja", *options, f"-Ddiopigen_DIR={ROOT}/cmake"],
            ["cmake", "--build", str(folder), "--parallel", str(jobs)],
        ):
            if run_logged(command, log, environment) != 0:
                raise Broken(f"{name} does not build for aarch64: {log.relative_to(ROOT)}")
    return Libraries(FOLDER / _CPU / "libdiopi_impl.so", FOLDER / "runtime/libdiopirt.so")


def executor() -> str:
    """The command of an executor for aarch64, which is all of the suite that the emulator has to run."""
    available()
    program, log = FOLDER / "diopi-executor", FOLDER / "executor.log"
    log.unlink(missing_ok=True)
    sources = map(str, sorted((ROOT / "runtime/executor").glob("*.cpp")))
    includes = [f"-I{ROOT / 'runtime/include'}", f"-I{ROOT / 'generated/include'}"]
    command = [COMPILER, "-std=c++17", "-O2", *_WARNINGS, *includes, *sources, "-ldl", "-o", str(program)]
    if run_logged(command, log) != 0:
        raise Broken(f"the executor does not build for aarch64: {log.relative_to(ROOT)}")
    return shlex.join([EMULATOR, "-L", _SYSROOT, str(program)])


def programs(sanitized: bool) -> dict[str, str]:
    """Runs the C++ tests of the runtime and the simulated device, each test in a process of its own. Returns how each
    differs from a run on this machine; empty where it does not.

    Some tests must end with a signal: what counts is that both runs end alike.
    """
    available()
    found = {}
    for name, sources in _programs().items():
        here, there = _link(name, sources, "c++", sanitized), _link(name, sources, COMPILER, sanitized)
        emulated = [EMULATOR, "-L", _SYSROOT, str(there)]
        faults = set(_cases(here, "--test-suite=faults"))
        for case in _cases(here):
            one = [f"--test-case={case}", "--no-intro"]
            # What is wrong in the order of work shows by chance, unless the device looks for it.
            settings = {"DIOPI_SIM_ORDER_CHECK": "1"} if case in faults else {}
            expected, _ = _output([str(here), *one], settings)
            status, text = _output([*emulated, *one], settings)
            same = (expected == 0) == (status == 0)
            found[f"{name}.{case}"] = "" if same else f"status {status}, on this machine {expected}\n{text}"
    return found


def _cases(program: Path, *options: str) -> list[str]:
    listed = _output([str(program), "--list-test-cases", "--no-intro", *options], {})[1].splitlines()
    return [line for line in listed if line and not line.startswith(("[doctest]", "==="))]


def _output(command: Sequence[str], settings: Mapping[str, str]) -> tuple[int, str]:
    """Exit status and the end of what a test prints. Leaks are looked for by stopping the process, which an emulator
    cannot do."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("DIOPI_SIM_")}
    environment |= {"ASAN_OPTIONS": "detect_leaks=0", **settings}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=600, check=False)
    return done.returncode, done.stdout if done.returncode == 0 else (done.stdout + done.stderr)[-2000:]


def _programs() -> dict[str, list[Path]]:
    runtime = sorted((ROOT / "runtime/src").glob("*.cpp"))
    device = [
        path
        for folder in ("runtime/sim/src", "runtime/kernels/src")
        for path in sorted((ROOT / folder).glob("*.cpp"))
        if path.stem != "link_time"
    ]
    tests, sim = ROOT / "tests/runtime", ROOT / "tests/sim"
    main = ROOT / "tests/doctest_main.cpp"
    own = [main, tests / "fake_device.cpp", *sorted(tests.glob("test_*.cpp"))]
    cases = [
        main,
        sim / "sim_test.cpp",
        *(path for path in sorted(sim.glob("cases_*.cpp")) if path.stem != "cases_host"),
    ]
    return {"runtime": [*own, *runtime], "sim": [*cases, *device]}


def _link(name: str, sources: Sequence[Path], compiler: str, sanitized: bool) -> Path:
    """Compiles and links a program of tests."""
    folder = FOLDER / ("sanitized" if sanitized else "programs") / compiler
    folder.mkdir(parents=True, exist_ok=True)
    program = folder / name
    flags = [*(_SANITIZED if sanitized else ("-O1", "-g1")), "-std=c++17", *_WARNINGS]
    includes = [
        f"-I{ROOT / path}"
        for path in (
            "runtime/sim/include",
            "runtime/kernels/include",
            "runtime/adaptor/include",
            "runtime/include",
            "generated/include",
        )
    ]
    includes += ["-isystem", str(ROOT / "third_party")]
    log = program.with_suffix(".log")
    log.unlink(missing_ok=True)
    launcher = ["ccache"] if shutil.which("ccache") else []
    objects = []
    for source in sources:
        target = folder / f"{'_'.join(source.relative_to(ROOT).with_suffix('').parts)}.o"
        objects.append(str(target))
        if run_logged([*launcher, compiler, *flags, *includes, "-c", str(source), "-o", str(target)], log) != 0:
            raise Broken(f"{source.relative_to(ROOT)} does not compile with {compiler}: {log.relative_to(ROOT)}")
    if run_logged([compiler, *flags, *objects, "-pthread", "-rdynamic", "-o", str(program)], log) != 0:
        raise Broken(f"{name} does not link with {compiler}: {log.relative_to(ROOT)}")
    return program

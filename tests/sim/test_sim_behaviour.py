"""Behaviour of the simulated device without errors, in three builds; and its environment variables."""

from __future__ import annotations

import json
import re
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from doctest_programs import case_names, passed
from programs import program
from sampling import some
from sim_build import HERE, INCLUDES, KERNELS, ROOT, SIM, WARNINGS, run, run_case, succeed

ENVIRONMENT = {
    "the_limit_is_a_status": {"DIOPI_SIM_MEMORY": "1M"},
    "memory_in_pieces_is_said_to_be_so": {"DIOPI_SIM_MEMORY": "2K"},
    "every_synchronisation_is_seen": {"DIOPI_SIM_ORDER_CHECK": "1"},
    "random_allocations_never_overlap": {"DIOPI_SIM_MEMORY": "64K"},
    "the_host_quotes_the_device": {"DIOPI_SIM_MEMORY": "1M"},
}
CASES = [
    (program, name)
    for program in ("cases", "host_cases")
    for name in case_names(f"sim/{program}", "--test-suite-exclude=faults")
]
"""Programs that are wrong are in the suite 'faults': test_sim_delay.py and test_sim_faults.py run them."""
BUILDS = [
    "plain",
    pytest.param("address", marks=pytest.mark.sanitize),
    pytest.param("thread", marks=(pytest.mark.sanitize, pytest.mark.slow)),
]
SANITIZER = {"ASAN_OPTIONS": "detect_leaks=1", "TSAN_OPTIONS": "halt_on_error=1"}


@pytest.mark.parametrize("build", BUILDS)
@pytest.mark.parametrize(("program", "name"), CASES, ids=[name for _, name in CASES])
def test_a_case(variant: Callable[[str], Path], build: str, program: str, name: str) -> None:
    done = run_case(variant(build) / program, name, **SANITIZER, **ENVIRONMENT.get(name, {}))
    assert done.returncode == 0, done.stdout + done.stderr
    assert passed(done.stdout) and done.stderr == "", done.stdout + done.stderr


UNDER_CHECK = [
    "random_allocations_never_overlap",
    "threads_allocate_at_once",
    "kernels_and_copies_go_round",
    "a_stream_waits_for_another",
    "a_capture_of_two_streams",
    "no_leak",
]


@pytest.mark.parametrize("build", BUILDS)
@pytest.mark.parametrize("name", UNDER_CHECK)
def test_the_checks_do_not_complain_of_right_programs(variant: Callable[[str], Path], build: str, name: str) -> None:
    checks = {"DIOPI_SIM_MEMORY_CHECK": "1", "DIOPI_SIM_ORDER_CHECK": "1", "DIOPI_SIM_DELAY": "3,200"}
    done = run_case(variant(build) / "cases", name, **SANITIZER, **checks, **ENVIRONMENT.get(name, {}))
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    assert passed(done.stdout), done.stdout


@pytest.mark.parametrize(
    ("variable", "value", "valid"),
    [
        ("DIOPI_SIM_DEVICES", "0", "a number from 1 to 16"),
        ("DIOPI_SIM_DEVICES", "17", "a number from 1 to 16"),
        ("DIOPI_SIM_DEVICES", "two", "a number from 1 to 16"),
        ("DIOPI_SIM_MEMORY", "0", "a number of bytes from 1 to 16384G, or one with K, M or G behind it"),
        ("DIOPI_SIM_MEMORY", "-5", "a number of bytes from 1 to 16384G, or one with K, M or G behind it"),
        ("DIOPI_SIM_MEMORY", "12MB", "a number of bytes from 1 to 16384G, or one with K, M or G behind it"),
        (
            "DIOPI_SIM_MEMORY",
            "99999999999999999999",
            "a number of bytes from 1 to 16384G, or one with K, M or G behind it",
        ),
        ("DIOPI_SIM_MEMORY", "16385G", "a number of bytes from 1 to 16384G, or one with K, M or G behind it"),
        ("DIOPI_SIM_DELAY", "5", "SEED,MICROSECONDS with at most 10000000 microseconds"),
        ("DIOPI_SIM_DELAY", "5,10000001", "SEED,MICROSECONDS with at most 10000000 microseconds"),
        ("DIOPI_SIM_MEMORY_CHECK", "yes", "0 or 1"),
        ("DIOPI_SIM_ORDER_CHECK", "2", "0 or 1"),
        ("DIOPI_SIM_DEBUG", "on", "0 or 1"),
    ],
)
def test_a_variable_that_cannot_be_read_is_named(plain: Path, variable: str, value: str, valid: str) -> None:
    done = run_case(plain / "cases", "the_environment_is_read", **{variable: value})
    assert done.returncode == 0, done.stdout
    assert done.stdout.splitlines()[0] == f"<{variable} is '{value}': {valid} is possible>"


@pytest.mark.parametrize(
    ("variable", "value"),
    [("DIOPI_SIM_DEVICES", "16"), ("DIOPI_SIM_MEMORY", "4096"), ("DIOPI_SIM_MEMORY", "3G"), ("DIOPI_SIM_DELAY", "7,0")],
)
def test_a_variable_that_can_be_read_is_taken(plain: Path, variable: str, value: str) -> None:
    done = run_case(plain / "cases", "the_environment_is_read", **{variable: value})
    assert (done.returncode, done.stdout.splitlines()[0]) == (0, "<>")


@pytest.mark.parametrize(("provided", "limit"), [({}, 4096), ({"DIOPI_SIM_MEMORY": "2K"}, 2048)])
def test_the_environment_goes_before_the_memory_of_the_chip(plain: Path, provided: dict[str, str], limit: int) -> None:
    done = run_case(plain / "cases", "a_chip_says_how_much_memory_it_has", **provided)
    assert done.stdout.splitlines()[0] == f"limit {limit}"


def test_the_trace_is_one_that_chrome_reads(plain: Path, tmp_path: Path) -> None:
    done = run_case(plain / "cases", "a_program_with_a_trace", DIOPI_SIM_TRACE=str(tmp_path / "trace-%p.json"))
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    (path,) = tmp_path.iterdir()
    assert re.fullmatch(r"trace-[0-9]+\.json", path.name)
    trace = json.loads(path.read_text(encoding="utf-8"))
    events = trace["traceEvents"]
    names = {(e["name"], e["pid"], e["tid"], e["args"]["name"]) for e in events if e["ph"] == "M"}
    assert names == {
        ("process_name", 0, 0, "device 0"),
        ("process_name", 1, 0, "device 1"),
        ("thread_name", 0, 0, "stream 0"),
        ("thread_name", 1, 1, "stream 1"),
    }
    work = [(e["name"], e["pid"], e["tid"], e["args"]["bytes"]) for e in events if e["ph"] == "X"]
    assert work == [("copy to device", 0, 0, 16), ("copy to device", 1, 1, 32), ('odd "name"\\\n', 1, 1, 32)]
    assert all(e["ts"] >= 0 and e["dur"] >= 0 for e in events if e["ph"] == "X")
    assert events[-1]["ts"] >= events[-2]["ts"] + events[-2]["dur"] - 0.001


def test_a_trace_survives_the_end_of_its_process(plain: Path, tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    done = run_case(plain / "cases", "kernel_uses_a_captured_pointer", DIOPI_SIM_TRACE=str(path))
    assert done.returncode == -signal.SIGSEGV
    assert not path.exists()  # nothing had been waited for
    done = run_case(plain / "cases", "host_reads_after_two_copies", DIOPI_SIM_TRACE=str(path))
    assert done.returncode == -signal.SIGSEGV
    events = json.loads(path.read_text(encoding="utf-8"))["traceEvents"]
    assert [e["name"] for e in events if e["ph"] == "X"] == ["copy to device", "copy to host"]
    assert len(events) == 4


def test_a_trace_that_cannot_be_written_is_said(plain: Path, tmp_path: Path) -> None:
    path = tmp_path / "absent" / "trace.json"
    done = run_case(plain / "cases", "a_program_with_a_trace", DIOPI_SIM_TRACE=str(path))
    assert done.returncode == 0
    assert done.stderr == f"diopi-sim: DIOPI_SIM_TRACE: cannot write '{path}': No such file or directory\n"


def test_a_host_that_looks_functions_up_by_name_is_served(plain: Path) -> None:
    assert succeed([plain / "link_time_host", plain / "libdiopi_impl.so"]) == "as wanted\n"


def test_a_fault_is_explained_after_the_library_was_closed(plain: Path) -> None:
    done = run([plain / "link_time_host", plain / "libdiopi_impl.so", "close"])
    assert (done.returncode, done.stdout) == (-signal.SIGSEGV, "as wanted\n")
    assert done.stderr.startswith("diopi-sim: host access to device memory: read at 0x")


def test_a_vendor_library_shows_the_eleven_functions(plain: Path) -> None:
    lines = succeed(["nm", "--dynamic", "--defined-only", plain / "libdiopi_impl.so"]).splitlines()
    own = {line.split()[2] for line in lines if line.split()[1] in ("T", "W")}
    assert own == {
        *(f"device_{name}" for name in ("malloc", "free", "make_stream", "destroy_stream", "synchronize_stream")),
        *(f"device_memcpy_{way}_async" for way in ("h2d", "d2h", "d2d")),
        *("initLibrary", "finalizeLibrary", "buildGeneratorState"),
    }


HEADERS = sorted(
    f"{folder.name}/{path.name}"
    for folder in (SIM / "include/diopigen_sim", KERNELS / "include/diopigen_kernels")
    for path in folder.glob("*.h")
)


@pytest.mark.parametrize("header", some(HEADERS, 6))
@pytest.mark.parametrize("standard", ["c++17", pytest.param("c++20", marks=pytest.mark.slow)])
def test_headers_compile_alone(tmp_path: Path, header: str, standard: str) -> None:
    source = tmp_path / "one.cpp"
    source.write_text(f"#include <{header}>\n#include <{header}>\n", encoding="utf-8")
    succeed(["g++", f"-std={standard}", *WARNINGS, *INCLUDES, "-fsyntax-only", source])


def test_the_device_functions_are_c(tmp_path: Path) -> None:
    source = tmp_path / "one.c"
    source.write_text("#include <diopigen_sim/device_functions.h>\n", encoding="utf-8")
    succeed(["gcc", "-std=c11", *WARNINGS, *INCLUDES, "-fsyntax-only", source])


@pytest.mark.slow
def test_clang_compiles_it_too(tmp_path: Path) -> None:
    for source in sorted([*(SIM / "src").glob("*.cpp"), *(KERNELS / "src").glob("*.cpp")]):
        succeed([program("clang++", "clang"), "-std=c++17", *WARNINGS, *INCLUDES, "-fsyntax-only", source])


def test_vendors_link_the_device_as_one_library_or_whole(plain: Path) -> None:
    for name, expected in (("relu", {"initLibrary", "diopiRelu"}), ("alone", {"initLibrary", "device_malloc"})):
        lines = succeed(["nm", "--dynamic", "--defined-only", plain / f"libdiopi_{name}.so"]).splitlines()
        assert expected <= {line.split()[2] for line in lines}


@pytest.mark.slow
def test_a_vendor_finds_it_through_cmake(tmp_path: Path) -> None:
    found = f"-Ddiopigen_DIR={ROOT / 'cmake'}"
    succeed(["cmake", "-S", HERE / "consumer", "-B", tmp_path, "-G", "Ninja", found])
    succeed(["cmake", "--build", tmp_path, "--parallel", "2", "--target", "diopi_relu", "diopi_alone"])
    for name, expected in (("relu", {"initLibrary", "diopiRelu"}), ("alone", {"initLibrary", "device_malloc"})):
        lines = succeed(["nm", "--dynamic", "--defined-only", tmp_path / f"libdiopi_{name}.so"]).splitlines()
        assert expected <= {line.split()[2] for line in lines}

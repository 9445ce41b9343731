"""Each fault that the device finds, injected in a program: the whole report, and how the program ends."""

from __future__ import annotations

import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from doctest_programs import case_names
from sim_build import normal, run_case

CHECK = {"DIOPI_SIM_MEMORY_CHECK": "1"}
DEBUG = {"DIOPI_SIM_DEBUG": "1"}
ORDER = {"DIOPI_SIM_ORDER_CHECK": "1"}

FIX_HOST = "  fix: copy the memory to the host, and synchronise the stream, before the host uses it\n"
FIX_FREE = "  fix: synchronise the stream before the memory is freed\n"
FIX_ORDER = "  fix: let the second stream wait for an event of the first, or synchronise the first\n"
HOST = "diopi-sim: host access to device memory: "


def alloc(index: int, by: str = "    makeTheMemory\n") -> str:
    return f"diopi-sim: allocation #{index} was allocated by:\n{by}"


FREED = "diopi-sim: allocation #1 was freed by:\n    freeTheMemory\n"
COMPLETE = "allocation #1 (4096 bytes on device 0 at 0x#)"

REPORTS = {
    "host_reads_device_memory": (
        {},
        signal.SIGSEGV,
        f"{HOST}read at 0x#\n  it is byte 12 of allocation #2 (4096 bytes on device 1 at 0x#)\n{FIX_HOST}",
    ),
    "host_writes_device_memory": (
        DEBUG,
        signal.SIGSEGV,
        f"{alloc(1)}{HOST}write at 0x#\n  it is byte 4 of {COMPLETE}\n{FIX_HOST}",
    ),
    "host_thread_reads_device_memory": (
        DEBUG,
        signal.SIGSEGV,
        f"{alloc(1)}{HOST}read at 0x#\n  it is byte 0 of {COMPLETE}\n{FIX_HOST}",
    ),
    "host_reads_device_memory_while_a_kernel_runs": (
        {},
        signal.SIGSEGV,
        f"{HOST}read at 0x#\n  it is byte 0 of {COMPLETE}\n{FIX_HOST}",
    ),
    "host_reads_freed_memory": (
        CHECK,
        signal.SIGSEGV,
        f"{alloc(1)}{FREED}{HOST}read at 0x#\n  it is byte 0 of {COMPLETE}, which was freed\n{FIX_HOST}",
    ),
    "host_reads_where_nothing_was_allocated": (
        {},
        signal.SIGSEGV,
        f"{HOST}read at 0x#\n"
        f"  it lies 1048064 bytes behind the end of allocation #1 (512 bytes on device 0 at 0x#)\n{FIX_HOST}",
    ),
    "kernel_uses_a_captured_pointer": (
        DEBUG,
        signal.SIGSEGV,
        f"{alloc(2)}diopi-sim: kernel uses a device pointer of the host's: write at 0x# by diopiFill on stream 0\n"
        "  it is byte 0 of allocation #2 (64 bytes on device 0 at 0x#)\n"
        "  fix: name the memory as a buffer of the launch, and take the pointer from Kernel::in or Kernel::out\n",
    ),
    "kernel_reaches_beyond_its_memory": (
        CHECK,
        signal.SIGSEGV,
        f"{alloc(1)}diopi-sim: kernel reaches beyond its memory: write at 0x# by diopiFill on stream 0\n"
        f"  it lies 0 bytes behind the end of {COMPLETE}\n"
        "  fix: correct the kernel's index, or the size that the memory was allocated with\n",
    ),
    "kernel_writes_just_behind_its_memory": (
        CHECK,
        signal.SIGABRT,
        f"{alloc(1)}diopi-sim: write behind the end of memory: byte 100 was written, found when the memory was freed\n"
        "  allocation #1 (100 bytes on device 0 at 0x#)\n"
        "  fix: correct the kernel that writes too far, or the size that the memory was allocated with\n",
    ),
    "kernel_keeps_a_pointer_to_freed_memory": (
        CHECK,
        signal.SIGSEGV,
        f"{alloc(1)}{FREED}diopi-sim: use after free in a kernel: read at 0x# by diopiLate on stream 0\n"
        f"  it is byte 8 of {COMPLETE}, which was freed\n{FIX_FREE}",
    ),
    "double_free": (
        CHECK,
        signal.SIGABRT,
        f"{alloc(1)}{FREED}diopi-sim: double free: free of 0x#, which was freed before\n"
        "  allocation #1 (4096 bytes on device 1 at 0x#)\n  fix: free it once\n",
    ),
    "use_after_free": (
        CHECK,
        signal.SIGABRT,
        f"{alloc(1)}{FREED}diopi-sim: use after free: diopiFill: buffer 0 is 0x#, in memory that was freed\n"
        f"  {COMPLETE}\n  fix: free the memory after its last use\n",
    ),
    "free_under_a_queued_kernel": (
        CHECK,
        signal.SIGABRT,
        f"{alloc(1)}{FREED}diopi-sim: use after free: diopiFill on stream 0 starts after its memory was freed; it was "
        f"queued before\n  {COMPLETE}\n{FIX_FREE}",
    ),
    "wrong_device": (
        CHECK,
        signal.SIGABRT,
        f"{alloc(1)}diopi-sim: wrong device: diopiFill: buffer 0 is 0x#, memory of device 0, in work for device 1\n"
        f"  {COMPLETE}\n  fix: make the stream on the device of the memory, or copy the memory over\n",
    ),
    "leak": (
        CHECK,
        23,
        f"{alloc(1)}diopi-sim: leak: memory was never freed\n"
        "  allocation #1 (100 bytes on device 0 at 0x#)\n  fix: free it when the last tensor over it ends\n"
        f"{alloc(3)}diopi-sim: leak: memory was never freed\n"
        "  allocation #3 (300 bytes on device 1 at 0x#)\n  fix: free it when the last tensor over it ends\n"
        "diopi-sim: leak: 2 allocations with 400 bytes were never freed\n",
    ),
    "streams_without_synchronisation": (
        ORDER,
        signal.SIGABRT,
        f"{alloc(1, '')}diopi-sim: missing synchronisation: diopiAddScalar on stream 1 reads bytes 0 to 1024, which "
        "copy to device on stream 0 writes; nothing orders the two\n"
        f"  allocation #1 (1024 bytes on device 0 at 0x#)\n{FIX_ORDER}",
    ),
    "write_after_read": (
        ORDER,
        signal.SIGABRT,
        f"{alloc(1, '')}diopi-sim: missing synchronisation: copy to device on stream 1 writes bytes 0 to 256, which "
        "diopiAddScalar on stream 0 reads; nothing orders the two\n"
        f"  allocation #1 (256 bytes on device 0 at 0x#)\n{FIX_ORDER}",
    ),
    "free_before_the_end": (
        ORDER,
        signal.SIGABRT,
        f"{alloc(1, '')}diopi-sim: missing synchronisation: free of 0x# while diopiAddScalar on stream 0 may still use "
        "it\n  allocation #1 (256 bytes on device 0 at 0x#)\n"
        "  fix: synchronise that stream before the memory is freed\n",
    ),
}


@pytest.mark.parametrize("name", sorted(REPORTS))
def test_a_fault_is_reported_and_ends_the_program(plain: Path, name: str) -> None:
    environment, end, report = REPORTS[name]
    done = run_case(plain / "cases", name, **environment)
    assert normal(done.stderr) == report
    assert done.returncode == (-end if isinstance(end, signal.Signals) else end)
    assert "still alive" not in done.stdout


IN_ASAN = ["host_reads_device_memory", "kernel_uses_a_captured_pointer", "double_free", "use_after_free"]


@pytest.mark.sanitize
@pytest.mark.parametrize("name", IN_ASAN)
def test_the_handler_goes_before_that_of_the_address_sanitizer(variant: Callable[[str], Path], name: str) -> None:
    environment, end, report = REPORTS[name]
    options = {"ASAN_OPTIONS": "allow_user_segv_handler=1:handle_abort=0"}
    done = run_case(variant("address") / "cases", name, **options, **environment)
    own = "".join(line + "\n" for line in normal(done.stderr).splitlines() if "makeTheMemory" not in line)
    assert own == report.replace("    makeTheMemory\n", "")
    assert done.returncode == -end


@pytest.mark.parametrize("name", ["leak", "no_leak"])
def test_without_the_check_the_end_is_silent(plain: Path, name: str) -> None:
    done = run_case(plain / "cases", name)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_long_list_of_leaks_is_cut_and_says_so(plain: Path) -> None:
    done = run_case(plain / "cases", "many_leaks", **CHECK)
    assert done.returncode == 23
    assert done.stderr.count("memory was never freed") == 20
    last = "diopi-sim: leak: 25 allocations with 200 bytes were never freed; the first 20 are above\n"
    assert done.stderr.endswith(last)


def test_a_foreign_fault_goes_to_the_earlier_handler(plain: Path) -> None:
    done = run_case(plain / "cases", "foreign_fault_with_an_earlier_handler")
    assert (done.returncode, done.stdout, done.stderr) == (7, "earlier handler: 0x8\n", "")


FOREIGN = ["foreign_fault_without_an_earlier_handler", "foreign_signal"]


@pytest.mark.parametrize("name", FOREIGN)
def test_a_foreign_fault_ends_the_program_as_ever(plain: Path, name: str) -> None:
    done = run_case(plain / "cases", name)
    assert (done.returncode, done.stdout, done.stderr) == (-signal.SIGSEGV, "", "")


def test_every_program_with_a_fault_is_run() -> None:
    others = {"no_leak", "many_leaks", "foreign_fault_with_an_earlier_handler", "host_without_synchronisation"}
    in_a_trace = {"host_reads_after_two_copies"}
    known = {*REPORTS, *FOREIGN, *others, *in_a_trace}
    assert set(case_names("sim/cases", "--test-suite=faults")) == known

"""Claims of the example: the number of handwritten lines, and of the chip's functions."""

from __future__ import annotations

import re
import struct
from pathlib import Path

from droplet_tree import built_tree

from diopigen.chip.reader import read_chip
from diopigen.diagnostics import Sink
from diopigen.emit.elementwise.kernels import expressible
from diopigen.ir.model import Interface

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples/droplet"
SOURCES = sorted(path for path in (EXAMPLE / "impl").rglob("*") if path.is_file())


def test_what_a_person_wrote_has_fewer_than_900_lines() -> None:
    """Comments, blank lines and the device functions included; calls of the fabric and of first versions apart."""
    assert {path.suffix for path in SOURCES} == {".cpp", ".h"}
    lines = {path.name: len(path.read_text().splitlines()) for path in SOURCES}
    collectives, serving = lines.pop("collectives.cpp"), lines.pop("serving.cpp")
    assert 300 < sum(lines.values()) < 900
    page = (EXAMPLE / "README.md").read_text()
    assert f"112 native functions in {sum(lines.values())} lines" in page
    assert f"14 collectives in {collectives} more" in page
    assert f"28 of language model servers in {serving}" in page


def test_the_chip_lists_what_there_is_a_kernel_for(interface: Interface) -> None:
    chip = read_chip(EXAMPLE / "droplet.yaml", "droplet.yaml", interface, Sink())
    assert chip is not None
    native = {operator.name for operator in chip.operators}
    # A chip lists kernels; collectives are calls of its communication library.
    native |= {function.name for function in interface.functions if function.is_collective}
    written = {name for path in SOURCES for name in re.findall(r"^diopiError_t (diopi\w+)\(", path.read_text(), re.M)}
    generated = native & {function.name for function in expressible(interface)} - written
    assert native == written | generated
    assert (len(native), len(generated), len(written)) == (154, 76, 78)


def test_thread_local_memory_fits_into_what_other_libraries_leave() -> None:
    """The loader has about 1,600 bytes for the libraries of a process whose variables are "initial-exec", and a host
    such as PyTorch with tvm-ffi leaves less than 850."""
    program = built_tree("injected").library.read_bytes()
    first, size, count = (*struct.unpack_from("<Q", program, 32), *struct.unpack_from("<HH", program, 54))
    headers = [struct.unpack_from("<IIQQQQQQ", program, first + index * size) for index in range(count)]
    (bytes_of_thread,) = [header[6] for header in headers if header[0] == 7]  # p_memsz of PT_TLS
    assert 0 < bytes_of_thread <= 512

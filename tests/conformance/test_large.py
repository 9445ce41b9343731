"""Calls with many elements: rows that repeat, of which the executor has all and the checker one."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

from diopigen.cli import cli
from diopigen.commands.conformance_running import until_interrupted
from diopigen.conformance.cases.rows import small_row_calls
from diopigen.conformance.run.blocks import Block
from diopigen.conformance.run.fields import FrameError, StreamedFields
from diopigen.conformance.run.frames import Frame
from diopigen.conformance.run.prepare import Preparer
from diopigen.conformance.run.rows import Rows
from diopigen.ir.enumerators import dtype_codes
from diopigen.ir.model import Interface


def run(library: Path, runtime: Path, *options: str) -> Result:
    command = ["conformance", "large", "--lib", str(library), "--runtime", str(runtime), "--ops", "diopiRelu"]
    return CliRunner().invoke(cli, [*command, "--elements", "150000", *options])


def test_rows_that_repeat_are_right_and_one_call_is_enough(
    tiny_library: Path, runtime: Path, tmp_path: Path, interface: Interface
) -> None:
    report = tmp_path / "report.json"
    found = run(tiny_library, runtime, "--output", f"json={report}", "--ops", "diopiLogicalNot")
    assert found.exit_code == 0, found.output
    assert "2 functions: 2 passed" in found.output
    relu = next(one for one in json.loads(report.read_text()) if one["function"] == "diopiRelu")
    assert relu["call"]["elements"] > 150_000 and relu["call"]["batched"] == ["out", "input"]
    assert relu["call"]["case"]["dtype"] == "uint8"  # this library has no int8
    small = relu["call"]["case"]["arguments"]["input"]["shape"]
    assert relu["call"]["elements"] == relu["call"]["times"] * np.prod(small)
    assert relu["call"]["bytes"] == 2 * relu["call"]["elements"]


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("one element far away", "'out': 1 of"),
        ("index of 16 bits", "'out': "),
        ("input changed far away", "'input': an input is"),
        ("write past the end of Relu", "'out': memory outside the tensor is written"),
    ],
)
def test_a_fault_is_found_in_whichever_rows(
    tiny_library: Path, runtime: Path, monkeypatch: pytest.MonkeyPatch, fault: str, words: str
) -> None:
    monkeypatch.setenv("TINY_FAULT", fault)
    found = run(tiny_library, runtime)
    assert found.exit_code == 1, found.output
    assert words in found.output and "1 functions: 1 failed" in found.output
    assert ("repeat " in found.output) == (fault != "write past the end of Relu")


@pytest.mark.parametrize(("name", "has_rows"), [("diopiRelu", True), ("diopiTriu", False), ("diopiTriuInp", False)])
def test_rows_that_depend_on_their_number_do_not_repeat(interface: Interface, name: str, has_rows: bool) -> None:
    function = interface.function(name)
    assert function is not None
    rows = Rows(Preparer(interface))
    ways = [way for ways in small_row_calls(interface, function) for way in ways]
    assert ways and any(rows.is_repeatable(function, way) for way in ways) == has_rows


def test_a_call_that_needs_more_memory_than_allowed_is_not_started(tiny_library: Path, runtime: Path) -> None:
    found = run(tiny_library, runtime, "--elements", str(1 << 40), "--limit", "memory=8")
    assert found.exit_code == 0, found.output
    assert "too large" in found.output and "GiB" in found.output


def repeated(interface: Interface) -> tuple[Frame, Block]:
    """A call with two rows of three bytes, four times over."""
    frame = Frame(dtype_codes(interface))
    block = frame.tensor(np.arange(6, dtype=np.uint8).reshape(2, 3), "uint8")
    frame.repeat(block, 4)
    return frame, block


def answered(frame: Frame, content: bytes) -> bytes:
    """The answer of an executor whose only storage is `content`."""
    return bytes(4 + 4 + 8) + bytes(4) + bytes(4) + bytes(4) + content


def streamed(payload: bytes) -> StreamedFields:
    left = bytearray(payload)

    def receive(count: int) -> bytearray:
        taken = left[:count]
        del left[:count]
        return taken

    return StreamedFields(len(payload), receive)


def test_repeats_that_differ_are_returned_by_number(interface: Interface) -> None:
    frame, block = repeated(interface)
    rows = [bytearray(range(6)) for _ in range(4)]
    rows[2][4] = rows[3][4] = 99
    ends = bytes(block.before[: block.start]), bytes(block.before[block.start + 6 :])
    payload = answered(frame, ends[0] + b"".join(rows) + ends[1])
    answer = frame.decoded(streamed(payload))
    assert bytes(answer.storages[0]) == bytes(block.before)
    assert list(answer.others) == [2] and answer.unread == 0
    assert block.elements(answer.others[2][0]).tolist() == [[0, 1, 2], [3, 99, 5]]
    assert frame.longest_answer > len(payload)
    for wrong, message in ((payload[:-1], "ends before"), (payload + b"x", "behind its fields")):
        with pytest.raises(FrameError, match=message):
            frame.decoded(streamed(wrong))


def test_more_repeats_than_are_retained_are_counted(interface: Interface) -> None:
    frame, block = Frame(dtype_codes(interface)), None
    period = 1 << 23  # bytes, of which 16 are retained
    block = frame.tensor(np.zeros(period, dtype=np.uint8), "uint8")
    frame.repeat(block, 20)
    rows = [np.full(period, number, dtype=np.uint8).tobytes() for number in range(20)]
    ends = bytes(block.before[: block.start]), bytes(block.before[block.start + period :])
    answer = frame.decoded(streamed(answered(frame, ends[0] + b"".join(rows) + ends[1])))
    assert list(answer.others) == list(range(1, 17)) and answer.unread == 3


def test_an_interrupt_keeps_what_is_known(capsys: pytest.CaptureFixture[str]) -> None:
    def items() -> Iterator[int]:
        yield from (1, 2)
        raise KeyboardInterrupt

    assert until_interrupted(items(), 5, "functions") == ([1, 2], True)
    assert "interrupted after 2 of 5 functions" in capsys.readouterr().err
    assert until_interrupted(iter([3]), 1, "calls") == ([3], False)

"""The score of a library: work by hand-computed figures, times by the clock of the checker, libraries that cheat."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from diopigen.chip.model import Peaks
from diopigen.cli import cli, main
from diopigen.commands import conformance_speed
from diopigen.conformance.model import Case, Fault, Number, Operand, Value
from diopigen.conformance.run.execute import Checker
from diopigen.conformance.run.executor import Copies, Rejected
from diopigen.conformance.run.frames import NO_SUCH_CALL, Answer, Argument, Frame
from diopigen.conformance.run.worker import Setup
from diopigen.conformance.speed import session
from diopigen.conformance.speed.report import Score, line, text, to_json
from diopigen.conformance.speed.score import Row, findings, served, summary
from diopigen.conformance.speed.session import Call, Comparison
from diopigen.conformance.speed.sizes import SIZES, calls_of, elements_of
from diopigen.conformance.speed.timing import Run, Speed, Subject, Timer, TrialError, measure
from diopigen.conformance.speed.work import Work, work_of
from diopigen.console import Session
from diopigen.ir.model import Function, Interface
from diopigen.ir.recipe import Drawn
from lab.cheats.build import Workshop
from lab.cheats.model import Cheat, cheats


def _f32(*shape: int) -> Operand:
    return Operand(shape, "float32")


def _case(name: str, arguments: Mapping[str, Value], dtype: str = "float32") -> Case:
    return Case(f"diopi{name}/{dtype}/speed", f"diopi{name}", "", dtype, "speed", arguments)


def _function(interface: Interface, name: str) -> Function:
    function = interface.function(f"diopi{name}")
    assert function is not None
    return function


ATTENTION: Mapping[str, Value] = {
    "attention_out": Operand((2, 3, 4, 8), "float16"), "softmax_lse": _f32(2, 4, 3), "gen": None,
    "q": Operand((2, 3, 4, 8), "float16"), "k": Operand((2, 5, 2, 8), "float16"), "v": Operand((2, 5, 2, 8), "float16"),
    "alibi_slopes": None, "p_dropout": 0.0, "softmax_scale": 0.5, "is_causal": False, "window_size_left": -1,
    "window_size_right": -1,
}  # fmt: skip
CONVOLUTION: Mapping[str, Value] = {
    "out": _f32(2, 6, 3, 4), "input": _f32(2, 4, 5, 6), "weight": _f32(6, 2, 3, 3), "bias": _f32(6),
    "stride": (1, 1), "padding": (0, 0), "dilation": (1, 1), "groups": 2,
}  # fmt: skip
WORK: list[tuple[str, Mapping[str, Value], Work]] = [
    # other counts once though it is broadcast; alpha * other has 3 elements, the sum 6
    ("Add", {"out": _f32(2, 3), "input": _f32(2, 3), "other": _f32(3), "alpha": Number(2, "int64")}, Work(36, 24, 9.0)),
    # what is written in place is read as well
    ("ReluInp", {"input": _f32(5)}, Work(20, 20, 5.0)),
    ("Mm", {"out": _f32(3, 5), "input": _f32(3, 4), "mat2": _f32(4, 5)}, Work(48 + 80, 60, 120.0)),
    ("Softmax", {"out": _f32(2, 3), "input": _f32(2, 3), "dim": 1}, Work(24, 24, 30.0)),
    # 144 outputs of 2 channels and 9 taps
    ("Convolution2d", CONVOLUTION, Work(4 * (240 + 108 + 6), 4 * 144, 2.0 * 144 * 2 * 9)),
    # two products over 2 * 4 heads of 3 queries, 5 keys and 8 numbers
    ("FlashAttention", ATTENTION, Work(2 * (192 + 160 + 160), 2 * 192 + 4 * 24, 4.0 * 8 * 8 * 15)),
    # of the last three keys a query sees those up to its own: 3, 4 and 5 keys
    ("FlashAttention", {**ATTENTION, "is_causal": True}, Work(1024, 480, 4.0 * 8 * 8 * 12)),
    # a window leaves the number of operations open
    ("FlashAttention", {**ATTENTION, "window_size_left": 1}, Work(1024, 480, None)),
    # of 100 rows no more than the 2 that are looked up
    ("Embedding", {"out": _f32(2, 4), "weight": _f32(100, 4), "indices": Operand((2,), "int64"), "padding_idx": -1,
                   "scale_grad_byfreq": False, "sparse": False}, Work(32 + 16, 32, None)),
    # a scatter in place touches as many elements as it is given, which the spec does not tell
    ("ScatterInp", {"input": _f32(100, 4), "dim": 0, "src": _f32(2, 4), "index": Operand((2, 4), "int64"),
                    "reduce": ""}, Work(32 + 64, 0, None)),
    # the cheaper branch counts, and an operation over numbers does not
    ("Gelu", {"out": _f32(6), "input": _f32(6), "approximate": "none"}, Work(24, 24, 12.0)),
]  # fmt: skip


@pytest.mark.parametrize(("name", "arguments", "expected"), WORK)
def test_the_work_of_a_call(interface: Interface, name: str, arguments: Mapping[str, Value], expected: Work) -> None:
    assert work_of(_function(interface, name), _case(name, arguments)) == expected


def test_calls_have_about_the_size_that_is_asked_for(interface: Interface) -> None:
    recorded = [_case("Add", {"out": _f32(700, 1000), "input": _f32(700, 1000), "other": _f32(1000)})]
    found = calls_of(interface, _function(interface, "Add"), list(SIZES), "", recorded)
    assert {size: case.dtype for size, case in found.items()} == dict.fromkeys(SIZES, "float32")
    assert found["medium"].arguments == recorded[0].arguments
    for size in ("small", "large"):
        assert SIZES[size] / 8 <= elements_of(found[size]) <= SIZES[size] * 8
    assert calls_of(interface, _function(interface, "Add"), ["small"], "complex32", ()) == {}


# ---- scores ---------------------------------------------------------------------------------------------------------


def _row(outcome: str = "passed", ours: float = 1e-3, reference: float | None = None, **more: Any) -> Row:
    def speed(seconds: float) -> Speed:
        return Speed(seconds, seconds, 1, False)

    case = _case("Add", {"out": _f32(1000, 1000)})
    work = more.pop("work", Work(8_000_000, 4_000_000, 2e6))
    other = None if reference is None else speed(reference)
    cold = None if outcome in ("missing", "crashed") else speed(ours)
    return Row(case, "medium", more.pop("tolerance", "rounding"), outcome, work, cold, reference=other, **more)


PEAKS = Peaks(bandwidth=900, operations={"float32": 19_500})
CACHE = 1 << 20


def test_the_limit_is_the_larger_of_both() -> None:
    row = _row(ours=1e-4)
    assert row.limit(PEAKS) == (12e6 / 900e9, "memory")
    assert row.fraction(PEAKS) == pytest.approx(12e6 / 900e9 / 1e-4)
    assert _row(work=Work(8, 4, 39e9)).limit(PEAKS) == (2e-3, "operations")
    assert _row(work=Work(8, 4, None)).limit(Peaks(operations={"float32": 1})) is None
    assert _row().limit(Peaks()) is None


def test_a_time_beyond_a_peak_is_impossible() -> None:
    found = findings([_row(ours=3.0e-6)], PEAKS, CACHE)
    # 12 MB, of which 1 MiB of outputs may still be in the cache
    assert [(one.kind, one.message) for one in found] == [("impossible", "3,650 GB/s of 900")]
    assert findings([_row(ours=13.4e-6)], PEAKS, CACHE) == []
    few = _row(work=Work(100, 1_000_000, 0.0), ours=1e-9)
    assert findings([few], PEAKS, CACHE) == []  # outputs that fit in the cache need not have reached the memory
    quick = Work(8, 8, 1e6)
    assert [one.message for one in findings([_row(work=quick, ours=1e-8)], PEAKS, CACHE)] == [
        "100,000 GFLOP/s of 19,500"
    ]
    # Winograd's algorithm has fewer operations than the definition
    assert findings([_row(work=quick, ours=1e-8, tolerance="convolution")], PEAKS, CACHE) == []


def test_wrong_outputs_and_other_libraries_are_findings() -> None:
    fault = Fault("values", "out", "1 of 4 elements is wrong", "1", "2")
    found = findings([_row("failed", faults=(fault,))], Peaks(), CACHE)
    assert [(one.kind, one.message) for one in found] == [
        ("wrong", "'out': 1 of 4 elements is wrong (expected 1, got 2)")
    ]
    assert [one.kind for one in served({"/lib/other.so": ["diopiAdd"]})] == ["served"]


def test_fast_p_counts_what_is_right_and_fast() -> None:
    rows = [
        _row(ours=1.0, reference=4.0), _row(ours=1.0, reference=1.0), _row("failed", ours=1.0, reference=9.0),
        _row("crashed", reference=1.0), _row(ours=1.0),
    ]  # fmt: skip
    found = summary(rows, PEAKS)
    assert found.compared == 4
    assert found.fast == {0.5: 0.5, 1.0: 0.25, 1.5: 0.25, 2.0: 0.25}
    assert found.ratio == pytest.approx(2.0)
    nothing = summary([_row()], Peaks())
    assert (nothing.fast, nothing.ratio, nothing.fraction) == ({}, None, None)


def test_reports_have_all_rows_and_findings() -> None:
    rows = [_row(ours=3e-6, reference=6e-6), _row("missing", has_equal_copies=True)]
    score = Score(
        rows, findings(rows, PEAKS, CACHE), summary(rows, PEAKS), PEAKS, "lib", "ref", 7, CACHE, {"large": ["diopiNms"]}
    )
    cells = ("diopiAdd/float32/speed", "passed", "3.0", ".", "4,000", "666.7", "444.4%", "memory", "2.00")
    assert line(rows[0], PEAKS) == cells
    shown = text(score)
    assert "IMPOSSIBLE diopiAdd/float32/speed: 3,650 GB/s of 900" in shown
    assert "no call of size large: diopiNms" in shown
    assert "over ref: fast_0.5 1.00, fast_1 1.00, fast_1.5 1.00, fast_2 0.00" in shown
    record = json.loads(to_json(score))
    assert record["rows"][0]["ratio"] == 2.0 and record["rows"][1]["cold"] is None
    assert record["summary"]["fast"] == {"0.5": 1.0, "1": 1.0, "1.5": 1.0, "2": 0.0}


# ---- times ----------------------------------------------------------------------------------------------------------


class FakeCalls:
    """A library on a clock of its own: `each` seconds for a call, `empty` for a round trip. It can claim any time."""

    def __init__(self, each: float, empty: float, status: int = 0) -> None:
        self.each, self.empty, self.status, self.now = each, empty, status, 0.0
        self.copies: list[Copies] = []

    def clock(self) -> float:
        return self.now

    def prepare(self, function: str, frame: Frame, arguments: Sequence[Argument], copies: Copies, limit: float) -> None:
        self.copies.append(copies)
        self.now += 100.0  # which no time of a call contains

    def run(self, count: int, limit: float) -> tuple[int, int]:
        self.now += self.empty + count * self.each
        return self.status if count else 0, 0

    def read(self, index: int, frame: Frame, limit: float) -> Answer:
        return Answer(0, 0, -1.0, "", storages=[content for _, content in frame.storages])


@pytest.fixture(scope="module")
def relu(interface: Interface) -> Subject:
    case = _case("Relu", {"out": _f32(64), "input": _f32(64)})
    return Subject(Checker(interface, seed=3).preparer, _function(interface, "Relu"), case)


def _timer(calls: Any, subject: Subject, clock: Any) -> Timer:
    return Timer(calls, subject, {1: "diopiErrorOccurred", 5: "diopiNoImplement"}, clock, random.Random(1), 1.0)


def test_runs_are_long_enough_and_on_data_of_their_own(relu: Subject) -> None:
    fake = FakeCalls(each=1e-6, empty=50e-6)
    (measured,) = measure([_timer(fake, relu, fake.clock)], 1 << 20, 3)
    assert measured.warm is not None and not measured.cold.is_coarse
    assert measured.cold.seconds == pytest.approx(1e-6, rel=0.06)
    timed = [one for one in fake.copies if one.count > 1]
    assert any(one.evicted == 2 << 20 for one in timed) and any(one.evicted == 0 for one in timed)
    spans = sorted((one.first, one.first + one.count) for one in fake.copies)
    assert all(before[1] <= after[0] for before, after in pairwise(spans))


def test_no_more_than_a_twentieth_is_subtracted(relu: Subject) -> None:
    fake = FakeCalls(each=1.0, empty=10.0)  # slow where it is called for nothing
    timer = _timer(fake, relu, fake.clock)
    run = Run(1)
    timer.trial(run, 0)
    speed = timer.speed(run)
    assert speed.is_coarse
    assert speed.longest == pytest.approx(11.0) and speed.seconds == pytest.approx(11.0 * 0.95)


@pytest.mark.parametrize(("status", "outcome"), [(1, "failed"), (5, "unimplemented")])
def test_a_call_that_fails_has_no_time(relu: Subject, status: int, outcome: str) -> None:
    fake = FakeCalls(each=1.0, empty=0.0, status=status)
    with pytest.raises(TrialError) as caught:
        measure([_timer(fake, relu, fake.clock)], 1 << 20, 1)
    assert caught.value.outcome == outcome


def test_an_executor_without_copies_is_no_crash(relu: Subject, monkeypatch: pytest.MonkeyPatch) -> None:
    def declined(*_: Any) -> None:
        raise Rejected(NO_SUCH_CALL, "this executor makes no copies of calls to be timed")

    fake = FakeCalls(each=1.0, empty=0.0)
    monkeypatch.setattr(fake, "prepare", declined)
    with pytest.raises(TrialError) as caught:
        _timer(fake, relu, fake.clock).trial(Run(1), 0)
    assert caught.value.outcome == "inapplicable"


def test_copies_differ_in_the_order_of_their_elements(interface: Interface, relu: Subject) -> None:
    first, second = (relu.copy(number).values["input"] for number in (5, 6))
    assert np.array_equal(np.roll(first, -1), second) and not np.array_equal(first, second)
    indices = Operand((4,), "int64", Drawn("integers", (0, 9)))
    case = _case("IndexSelect", {"out": _f32(4), "input": _f32(9), "dim": 0, "index": indices})
    subject = Subject(Checker(interface).preparer, _function(interface, "IndexSelect"), case)
    assert len(subject.rotations) == 1  # indices stay as they are drawn


# ---- libraries ------------------------------------------------------------------------------------------------------


def _rows(interface: Interface, library: Path, runtime: Path, elements: int = 256, **settings: Any) -> list[Row]:
    case = _case("Relu", {"out": _f32(elements), "input": _f32(elements)})
    setup = Setup(interface, str(library), str(runtime), 11, 20.0, 8 << 30)
    comparison = Comparison(setup, settings.pop("reference", None), cache=1 << 20, trials=2, **settings)
    rows = list(comparison.rows([Call(_function(interface, "Relu"), "small", case)]))
    assert comparison.end() == {}
    return rows


@pytest.fixture(scope="session")
def workshop(tmp_path_factory: pytest.TempPathFactory) -> Workshop:
    return Workshop(tmp_path_factory.mktemp("cheats"))


def test_a_right_library_has_times(interface: Interface, tiny_library: Path, runtime: Path) -> None:
    setup = Setup(interface, str(tiny_library), str(runtime), 11, 20.0, 8 << 30)
    (row,) = _rows(interface, tiny_library, runtime, reference=setup)
    assert (row.outcome, row.faults) == ("passed", ())
    assert row.cold is not None and row.warm is not None and row.ratio is not None
    assert row.cold.calls > 1


@pytest.mark.parametrize("name", ["cached_by_address", "right_for_the_first_calls"])
def test_outputs_of_timed_calls_are_compared(
    name: str, interface: Interface, workshop: Workshop, runtime: Path, tmp_path: Path
) -> None:
    """Remembered results meet other data at their addresses; a call that does nothing leaves its output as it was. A
    busy machine times few calls, so that few are right."""
    cheat = workshop.build(cheats([name])[0], tmp_path, ["-DRIGHT_CALLS=2"])
    (row,) = _rows(interface, cheat, runtime)
    assert row.outcome == "failed" and row.faults


STANDING = r"""
#include <unistd.h>

#include <ctime>

#include "HEADERS/cheat.h"
#include "HEADERS/redirect.h"

static int still(clockid_t, timespec* now) {
    *now = {1000000000, 0};
    return 0;
}

diopiError_t cheat::called(const Call& call) {
    redirect("clock_gettime", still);
    usleep(3000);
    return call.right();
}
"""


def test_a_clock_of_the_library_does_not_count(
    interface: Interface, workshop: Workshop, runtime: Path, tmp_path: Path
) -> None:
    source = tmp_path / "standing.cpp"
    headers = str(Path(__file__).parents[2] / "lab/cheats/native")
    source.write_text(STANDING.replace("HEADERS", headers))
    library = workshop.build(Cheat(str(source.with_suffix("")), "endings", ""), tmp_path)
    (row,) = _rows(interface, library, runtime)
    assert row.outcome == "passed" and row.cold is not None
    assert row.cold.seconds >= 0.95 * 0.003  # a sleep ends no sooner


def test_an_impossible_time_fails_the_command(
    interface: Interface, tiny_library: Path, runtime: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A clock that runs a million times too slow stands for a library that is too fast."""
    monkeypatch.setattr(session, "CLOCK", lambda: time.perf_counter() * 1e-6)
    monkeypatch.setattr(Session, "models", lambda _: ())  # which take seconds to read, as the spec does
    monkeypatch.setattr(Session, "load", lambda _: SimpleNamespace(interface=interface))
    chip, results = tmp_path / "chip.yaml", tmp_path / "speed.json"
    chip.write_text(
        "chip: pebble\ndoc: It is small.\ndtypes: [float32]\nmax_rank: 4\nalignment: 16\n"
        "peaks: {bandwidth: 1, cache: 1048576, operations: {float32: 1}}\n"
    )
    words = ["--lib", str(tiny_library), "--runtime", str(runtime), "--reference", "none", "--ops", "Relu"]
    words += ["--sizes", "small", "--vendor", f"chip={chip}", "--output", f"json={results}"]
    done = CliRunner().invoke(cli, ["conformance", "speed", *words])
    assert done.exit_code == 1, done.output
    assert "IMPOSSIBLE diopiRelu/float32/small: " in done.output
    assert {one["kind"] for one in json.loads(results.read_text())["findings"]} == {"impossible"}


@pytest.mark.parametrize("option", ["--lib", "--runtime", "--reference", "--chip", "--json"])
@pytest.mark.parametrize("is_folder", [False, True], ids=["missing", "a folder"])
def test_a_path_that_does_not_do(
    option: str,
    is_folder: bool,
    interface: Interface,
    tiny_library: Path,
    runtime: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(Session, "load", lambda _: SimpleNamespace(interface=interface))
    monkeypatch.setattr(conformance_speed, "_calls", lambda *_: ([], {}))
    path = tmp_path / "in" / "named"
    (path if is_folder else path.parent).mkdir(parents=True)
    paths = {"--lib": tiny_library, "--runtime": runtime, "--reference": "none", option: path}
    with pytest.raises(SystemExit) as ended:
        main(["conformance", "speed", *(str(one) for pair in paths.items() for one in pair)])
    said = capsys.readouterr().err
    is_written = option == "--json" and not is_folder
    assert ended.value.code == (0 if is_written else 2), said
    assert is_written or str(path) in said.replace("\n", "")
    assert "Traceback" not in said


def test_an_unknown_size_is_an_error(tiny_library: Path) -> None:
    done = CliRunner().invoke(cli, ["conformance", "speed", "--lib", str(tiny_library), "--sizes", "small,huge"])
    assert done.exit_code == 2 and "'huge' is none of small, medium, large" in done.output

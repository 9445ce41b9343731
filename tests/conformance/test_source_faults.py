"""Faults in sources: what can be changed, how that is written behind switches, and a campaign over two functions."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

from diopigen.conformance.cases.suite import select
from diopigen.diagnostics import Failure, Sink, Span
from diopigen.header.libclang import load
from diopigen.ir.model import Interface
from lab.mutation.sources.campaign import spread
from lab.mutation.sources.lists import Waiver, named, waivers
from lab.mutation.sources.model import Point, Result, from_record, score, to_record
from lab.mutation.sources.operators import Source
from lab.mutation.sources.points import points_of
from lab.mutation.sources.report import summary, text, to_json
from lab.mutation.sources.run import Outcome, Plan, Workshop
from lab.mutation.sources.sampling import one_dtype_each, sample, selected
from lab.mutation.sources.switches import injected, switched

pytestmark = pytest.mark.slow  # compiles two functions with and without faults

TINY = Path(__file__).with_name("tiny_sources")

# Every change of relu.cpp: line, column, kind, what is changed, what comes in its place.
GOLDEN = """
5:32 constant: 0 -> 1
6:36 constant: 0 -> 1
12:21 constant: 0 -> 1
15:9 removed condition: x == nullptr -> false
15:9 removed condition: x == nullptr -> true
15:9 relation: x == nullptr -> x != nullptr
18:9 relation: count > 1000000 -> count >= 1000000
18:9 removed condition: count > 1000000 -> false
18:9 removed condition: count > 1000000 -> true
18:17 constant: 1000000 -> 1000001
18:17 constant: 1000000 -> 999999
19:9 dropped statement: count -= 1; -> ;
19:9 operator: count -= 1; -> count += 1;
19:18 constant: 1 -> 0
19:18 constant: 1 -> 2
21:22 constant: 0 -> 1
21:25 off by one: i < count + 0 -> i + 1 < count + 0
21:25 relation: i < count + 0 -> i <= count + 0
21:29 operator: count + 0 -> (count) - (0)
21:29 dropped term: count + 0 -> 0
21:29 dropped term: count + 0 -> count
21:37 constant: 0 -> 1
22:9 dropped statement: y[i] = x[i] < 0.0F ? 0.0F : x[i]; -> ;
22:16 relation: x[i] < 0.0F -> x[i] <= 0.0F
22:16 removed condition: x[i] < 0.0F ? 0.0F : x[i] -> 0.0F
22:16 removed condition: x[i] < 0.0F ? 0.0F : x[i] -> x[i]
22:23 constant: 0.0F -> 1.0f
22:30 constant: 0.0F -> 1.0f
"""

SUMS = """
template <typename Body>
void each(int count, Body&& body) {
    for (int i = 0; i < count; ++i) {
        body(i);
    }
}

template <typename T>
T sum(const T* x, int count) {
    T total = 0;
    each(count, [&](auto i) { total += x[i]; });
    return total;
}

double both(const float* x, const double* y) { return sum(x, 2) + sum(y, 3); }
"""


@pytest.fixture(scope="module")
def workshop(header_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Workshop:
    root = tmp_path_factory.mktemp("root")
    shutil.copytree(TINY, root / "impl/tiny")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TINY_INCLUDE", str(header_folder))
        return Workshop(root, root / "work", "impl/tiny", ("impl/tiny",), 1, lambda _: None)


@pytest.fixture(scope="module")
def points(workshop: Workshop) -> list[Point]:
    return workshop.points(Plan(0, 0), Sink())[0]


def of(points: Sequence[Point], original: str, replacement: str) -> Point:
    found = [p for p in points if (p.original, p.replacement) == (original, replacement)]
    assert len(found) == 1, [p.id for p in points]
    return found[0]


def test_the_changes_of_a_source_are_these(points: list[Point]) -> None:
    found = [
        f"{p.line}:{p.column} {p.kind}: {p.original} -> {p.replacement}" for p in points if p.file.endswith("relu.cpp")
    ]
    assert "\n".join(found) == GOLDEN.strip()


def test_headers_are_read_once_and_what_is_constant_is_left_alone(points: list[Point]) -> None:
    assert sum(p.file.endswith("elements.h") for p in points) == 8
    assert not any(p.original == "kNone" or p.line == 3 for p in points if p.file.endswith("add.cpp"))


def test_templates_and_lambdas_are_read_once_and_named_after_the_function_around_them(tmp_path: Path) -> None:
    source = tmp_path / "sums.cpp"
    source.write_text(SUMS)
    # As the scan reads: declarations of precompiled headers left out, instantiations listed.
    parsed = load().Index.create(True).parse(str(source), args=["-std=c++17"])
    assert not list(parsed.diagnostics)
    found = list(points_of(parsed.cursor, {str(source): Source(SUMS.encode())}, {str(source): "sums.cpp"}))
    changes = [(p.start, p.end, p.replacement) for p in found]
    assert len(changes) == len(set(changes))
    assert {p.function for p in found} == {"each", "sum", "both"}
    assert of(found, "total += x[i];", ";").function == "sum"


def test_faults_are_behind_switches_within_one_another(points: list[Point]) -> None:
    source = (TINY / "add.cpp").read_bytes()
    outer = of(points, "x[i] + factor * y[i]", "x[i]")
    inner = of(points, "factor * y[i]", "factor")
    statement = of(points, "z[i] = static_cast<float>(x[i] + factor * y[i]);", ";")
    text = switched(source, {4: inner, 5: outer, 6: statement}).decode()
    assert (
        "{ if (::diopi_fault::on(6)) { ; } else { z[i] = static_cast<float>((::diopi_fault::on(5) ? (x[i]) : "
        "(x[i] + (::diopi_fault::on(4) ? (factor) : (factor * y[i]))))); } }"
    ) in text
    assert text.count("\n") == source.count(b"\n")
    assert b"static_cast<float>(x[i] + (factor))" in injected(source, inner)


@pytest.fixture(scope="module")
def outcome(workshop: Workshop, points: list[Point], interface: Interface, runtime: Path) -> Outcome:
    """Outcome of all changes, except one with a waiver."""
    cases = [case for case in select(interface, ops=("Add", "Relu")) if case.dtype == "float32"]
    waiver = Waiver("*/relu.cpp", "diopiRelu", "1000000", "*", "no tensor is as large", Span("waivers.yaml"))
    return workshop.run(points, [waiver], cases, interface, runtime)


def result_of(outcome: Outcome, original: str, replacement: str) -> Result:
    points = [result.point for result in outcome.results]
    return outcome.results[points.index(of(points, original, replacement))]


def test_a_fault_is_killed_by_the_first_case_that_reaches_it_and_fails(outcome: Outcome) -> None:
    killed = result_of(outcome, "factor * y[i]", "factor")
    assert (killed.outcome, killed.found_as, killed.functions) == ("killed", "values", ("diopiAdd",))
    assert killed.case.startswith("diopiAdd/float32/")
    assert result_of(outcome, "i < count + 0", "i <= count + 0").found_as == "guard"
    assert result_of(outcome, "dtype != diopi_dtype_float32", "dtype == diopi_dtype_float32").functions == (
        "diopiAdd",
        "diopiRelu",
    )


def test_what_no_case_reaches_or_finds_is_a_hole(outcome: Outcome) -> None:
    assert result_of(outcome, "count -= 1;", ";").outcome == "not reached"
    unread = result_of(outcome, "x == nullptr || y == nullptr || z == nullptr", "false")
    assert unread.outcome == "killed"  # dtypes that the library does not know must be refused
    shown = text(outcome.results, outcome.files)
    assert "impl/tiny/relu.cpp:19:9 in diopiRelu (dropped statement)" in shown
    assert "no case evaluates it" in shown


def test_the_same_object_code_shows_that_a_change_is_no_fault(outcome: Outcome) -> None:
    same = result_of(outcome, "count + 0", "(count) - (0)")
    assert (same.outcome, same.reason) == ("equivalent", "the same object code")
    waived = result_of(outcome, "1000000", "1000001")
    assert (waived.outcome, waived.reason) == ("equivalent", "no tensor is as large")


def test_the_share_is_that_of_all_faults_which_count(outcome: Outcome) -> None:
    found = score(outcome.results)
    out = [result for result in outcome.results if result.outcome in ("equivalent", "stillborn")]
    assert found.counted == len(outcome.results) - len(out)
    assert 0.5 < found.fraction < 1
    assert f"{found.killed} of {found.counted} found" in summary(outcome.results)
    assert [from_record(to_record(result)) for result in outcome.results] == outcome.results
    assert '"share"' in to_json(outcome.results, {"seed": 1})


def test_a_second_run_keeps_what_it_knows(
    workshop: Workshop, points: list[Point], interface: Interface, runtime: Path, outcome: Outcome,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr("lab.mutation.sources.campaign.CaseRunner", None)
    monkeypatch.setattr("lab.mutation.sources.reach.CaseRunner", None)
    cases = [case for case in select(interface, ops=("Add", "Relu")) if case.dtype == "float32"]
    again = workshop.run(points, [], cases, interface, runtime)
    assert [r.case for r in again.results] == [r.case for r in outcome.results]


def test_cases_are_tried_function_by_function_and_axis_by_axis(interface: Interface) -> None:
    cases = select(interface, ops=("Add", "Relu", "Softmax"))
    every = spread(cases, len(cases))
    assert sorted(case.id for case in every) == sorted(case.id for case in cases)
    first = spread(cases, 30)
    assert first == every[:30]
    assert len({case.function for case in first[:3]}) == 3
    of_add = [case.axis for case in first if case.function == "diopiAdd"]
    assert len(of_add) == 10 == len(set(of_add))


def test_of_cases_in_several_dtypes_one_is_selected(interface: Interface) -> None:
    cases = select(interface, ops=("Softmax", "Sort"))
    selected_cases = one_dtype_each(cases)
    names = [case.id.replace(case.dtype, "") for case in selected_cases]
    assert len(names) == len(set(names)) == len({case.id.replace(case.dtype, "") for case in cases}) < len(cases)
    assert {case.id for case in cases if case.axis == "error"} <= {case.id for case in selected_cases}
    assert len({case.dtype for case in selected_cases}) > 3 and selected_cases == one_dtype_each(selected_cases)


def test_a_sample_is_the_same_each_time_and_moves_little(points: list[Point]) -> None:
    first = sample(points, 20, 3)
    assert len(first) == 20 and first == sample(list(reversed(points)), 20, 3) and first != sample(points, 20, 4)
    fewer = [point for point in points if point != first[0]]
    assert len(set(first) & set(sample(fewer, 20, 3))) >= 18
    assert selected(points, families=(), files=("*/add.cpp",), kinds=("narrowed",)) == [
        of(points, "static_cast<double>(alpha->ival)", "static_cast<double>(static_cast<float>(alpha->ival))")
    ]
    with pytest.raises(Failure, match="no fault is of the kind 'narowed'"):
        selected(points, families=(), files=(), kinds=("narowed",))


def test_lists_are_held_to_the_sources(workshop: Workshop, tmp_path: Path) -> None:
    listed = tmp_path / "named.yaml"
    entry = "  - {{name: {0}, sentence: a fault, file: impl/tiny/add.cpp, find: '{1}', replace: '0'}}\n"
    listed.write_text("faults:\n" + entry.format("good", "factor * y[i]") + entry.format("gone", "alpha->nothing"))
    sink = Sink()
    found = named(listed, "named.yaml", workshop.files, sink)
    assert [(p.function, p.line, p.original) for p in found] == [("good", 16, "factor * y[i]")]
    assert [d.message for d in sink.sorted()] == ["impl/tiny/add.cpp has the code of 'gone' 0 times, not once"]
    idle = tmp_path / "waivers.yaml"
    idle.write_text("equivalent:\n  - {file: impl/tiny/add.cpp, code: 'nothing[0]', reason: none}\n")
    sink = Sink()
    workshop.points(Plan(0, 0, waivers=idle), sink)
    assert [d.message for d in sink.sorted()] == ["no change of the sources is 'nothing[0]' in impl/tiny/add.cpp"]
    assert waivers(idle, "waivers.yaml", Sink())[0].reason == "none"

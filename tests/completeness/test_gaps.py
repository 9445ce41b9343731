"""Findings of `check` for operators without cases, oracle, kernel or glue: names, severity, and after a rename."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
import small_spec
from click.testing import CliRunner, Result

from diopigen import api
from diopigen.cli import cli
from diopigen.completeness.operators import report_gaps
from diopigen.completeness.sources import defined_kernels, libraries
from diopigen.diagnostics import Severity, Sink, Span
from diopigen.ir.model import Interface

ROOT = Path(__file__).resolve().parents[2]
COUNTED = "functions that lack something for a known reason:"
OPERATORS = """\
family: example
header: functions.h
doc: Two operators.
operators:
  - name: Twice
    doc: Twice its input.
    params:
      - {name: out, type: tensor, direction: out, dtype: same(input), shape: same(input), doc: The result.}
      - {name: input, type: tensor, direction: in, dtype: [floating], shape: any, doc: The operand.}
    kernel: 2 * input
    tolerance: rounding
  - name: Frobnicate
    doc: Frobnicates its input.
    params:
      - {name: out, type: tensor, direction: out, dtype: same(input), shape: same(input), doc: The result.}
      - {name: input, type: tensor, direction: in, dtype: [floating], shape: any, doc: The operand.}
    variants: [inplace]
    tolerance: rounding
"""
KERNELS = """\
#include "kernels.h"
// void frobnicate_inp(const FrobnicateInpArgs& args) {
/* void frobnicate_inp(const FrobnicateInpArgs& args) {
 */
void frobnicate_inp(const FrobnicateInpArgs& args);
void diopigen::entry::frobnicate(const FrobnicateArgs& args) {
    run(args);
}
"""


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A spec of two operators, one an expression, and a CPU library with a kernel for a form of the other."""
    small_spec.write(tmp_path / "specs", OPERATORS)
    (tmp_path / "impl/cpu/functions").mkdir(parents=True)
    (tmp_path / "impl/cpu/functions/frobnicate.cpp").write_text(KERNELS)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def check(*options: str) -> Result:
    return CliRunner().invoke(cli, ["check", "--format", "json", *options])


def found(done: Result) -> list[tuple[str, str, int, str]]:
    """Severity, rule, line and message of each finding."""
    document = json.loads(done.output)
    return [(d["severity"], d["code"], d["span"]["line"], d["message"]) for d in document["diagnostics"]]


def test_what_a_tree_with_a_library_lacks_is_a_warning(tree: Path) -> None:
    done = check()
    assert done.exit_code == 0
    assert found(done) == [
        ("warning", "missing-cases", 12, "no case calls diopiFrobnicate and diopiFrobnicateInp"),
        ("warning", "missing-oracle", 12, "no oracle knows the results of diopiFrobnicate and diopiFrobnicateInp"),
        ("warning", "missing-kernel", 17, "the CPU library has no kernel for diopiFrobnicateInp"),
    ]
    assert check("--strict").exit_code == 1


def test_a_header_that_says_why_makes_it_known(tree: Path) -> None:
    headers = tree / "specs/headers.yaml"
    text = headers.read_text()
    headers.write_text(text.replace("doc: Operators.", "doc: Operators., not_covered: no one calls them"))
    done = check("--strict")
    counted = f"{COUNTED} 2 without cases, 2 without an oracle, 1 without a kernel"
    assert (done.exit_code, found(done)) == (0, [("note", "missing-known", 0, counted)])
    listed = found(check("--missing"))
    assert [(severity, rule) for severity, rule, _, _ in listed] == [
        ("note", "missing-cases"),
        ("note", "missing-oracle"),
        ("note", "missing-kernel"),
    ]
    assert all(message.endswith(": no one calls them") for *_, message in listed)


def test_a_spec_without_libraries_is_told_on_request(tree: Path) -> None:
    shutil.rmtree(tree / "impl")
    assert found(check("--strict")) == []
    assert [(severity, rule) for severity, rule, _, _ in found(check("--missing"))] == [
        ("note", "missing-cases"),
        ("note", "missing-oracle"),
    ]


def test_after_a_rename_the_former_kernel_is_named(tree: Path) -> None:
    done = CliRunner().invoke(cli, ["generate", "--target", "json"])
    assert done.exit_code == 0, done.output
    operators = tree / "specs/ops/example.yaml"
    operators.write_text(operators.read_text().replace("name: Frobnicate", "name: Frobnicates"))
    document = json.loads(check().output)
    by_rule = {d["code"]: d for d in document["diagnostics"]}
    renamed = [d["message"] for d in document["diagnostics"] if d["code"] == "operator-renamed"]
    gone = "has the signature of {}, which was generated last and is no longer in the spec"
    assert renamed == [
        f"diopiFrobnicates {gone.format('diopiFrobnicate')}",
        f"diopiFrobnicatesInp {gone.format('diopiFrobnicateInp')}",
    ]
    (note,) = by_rule["missing-kernel"]["notes"]
    assert note["message"] == "the kernel of Frobnicate, which may be its former name"
    assert (note["span"]["file"], note["span"]["line"]) == ("impl/cpu/functions/frobnicate.cpp", 6)


def test_kernels_are_definitions_alone(tree: Path) -> None:
    assert libraries(tree) == ("cpu",)
    assert {name: span.line for (name, _), span in defined_kernels(tree, "cpu").items()} == {"frobnicate": 6}


@pytest.mark.parametrize("library", ["cpu", "cuda"])
def test_every_kernel_of_the_reference_libraries_is_of_a_function(library: str, interface: Interface) -> None:
    """A definition that the pattern does not know would make a kernel appear as missing."""
    from diopigen.emit.entry.functions import arguments_name, kernel_name

    known = {(kernel_name(function), arguments_name(function)) for function in interface.functions}
    defined = set(defined_kernels(ROOT, library))
    of_operators = {kernel for kernel in defined if kernel[1].endswith("Args") and len(kernel[1]) > len("Args")}
    assert len(of_operators & known) > 200
    assert [kernel for kernel in of_operators - known if re.search(r"[A-Z].*Args", kernel[1])] == []


def test_the_spec_lacks_nothing_without_a_reason(interface: Interface, workspace: api.Workspace) -> None:
    sink = Sink()
    report_gaps(interface, ROOT, {}, sink, Span("specs", 0, 0), each=True)
    assert [str(one.span) for one in sink.sorted() if one.severity is not Severity.NOTE] == []
    assert [one.message for one in sink.sorted() if one.code in ("missing-kernel", "missing-oracle")] == []
    assert set(interface.not_covered) == set()


def test_a_form_that_the_planner_has_not_is_named(tree: Path) -> None:
    planner = tree / "diopi_torch/src/diopi_torch"
    planner.mkdir(parents=True)
    (planner / "fused_forms.py").write_text('FORMS: object = {"summed": 1, "largest": 2}\n')
    entry = tree / "specs/ops/example.yaml"
    lines = entry.read_text().splitlines()
    lines.insert(next(k for k, line in enumerate(lines) if line.startswith("    variants:")), "    fused: sumed")
    entry.write_text("\n".join(lines) + "\n")
    done = check()
    (form,) = [one for one in json.loads(done.output)["diagnostics"] if one["code"] == "missing-form"]
    assert form["message"] == "diopiFrobnicate is fused as 'sumed', which is no form of the planner"
    assert (form["severity"], form["span"]["line"], form["span"]["column"]) == (
        "warning",
        lines.index("    fused: sumed") + 1,
        12,
    )
    assert form["fix"] == "did you mean 'summed'?"

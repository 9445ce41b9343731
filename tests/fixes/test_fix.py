"""`check --fix`: what is mechanical is changed in the text, all else stays as it is and is reported."""

from __future__ import annotations

from pathlib import Path

import pytest
import small_spec
from click.testing import CliRunner, Result

from diopigen.cli import cli
from diopigen.diagnostics import Correction, Diagnostic, Severity, Span, did_you_mean
from diopigen.fixes.edits import edits_of
from diopigen.spec.text_edits import applied

HEADERS = """\
headers:
  - {file: diopirt.h, doc: Types., order: []}
  - file: functions.h
    doc: Operators.
    includes: [diopirt.h]
    order:
      - diopiFirst
      - diopiFirst     # twice
      - diopiFormer    # renamed
"""
ORDERED = HEADERS.replace("      - diopiFirst     # twice\n", "").replace("diopiFormer ", "diopiLater ")
BAD = """\
# A file with a comment at the top,
family: example
header: functions.h

operators:
  - name: First       # the name
    doc: It has no full stop
    params:
      - {name: out,   type: tensor, direction: out, dtype: same(inptu), shape: same(input), doc: The result.}
      - {name: input, type: tensro, direction: in, dtype: [flaot32,  "float64"], shape: any, doc: 'The operand'} # kept
    kernal: 2 * sqaure(input)     # twice the square
    tolerance: roundign
  - name: Later
    doc: As diopiFormer was.
    draft: true
    params:
      - {name: out, type: tensor, direction: out, dtype: same(input), shape: same(input), doc: The result.}
      - {name: input, type: tensor, direction: in, dtype: [floating], shape: any, doc: The operand.}
	tolerance: exact

  - name: FirstBackward
    doc: Something that was not decided.
    params:
      - {name: out, type: tensor, direction: out, dtype: same(input), shape: same(input), doc: The result.}
      - {name: input, type: tensor, direction: in, dtype: [float46], shape: any, doc: The operand.}
      - {name: other, type: tensor, direction: in, shape: any, doc: The operand.}
    backward_of: Former
"""
GOOD = """\
# A file with a comment at the top,
family: example
header: functions.h

operators:
  - name: First       # the name
    doc: It has no full stop.
    params:
      - {name: out,   type: tensor, direction: out, dtype: same(input), shape: same(input), doc: The result.}
      - {name: input, type: tensor, direction: in, dtype: [float32,  "float64"], shape: any, doc: 'The operand.'} # kept
    kernel: 2 * square(input)     # twice the square
    tolerance: rounding
  - name: Later
    doc: As diopiLater was.
    params:
      - {name: out, type: tensor, direction: out, dtype: same(input), shape: same(input), doc: The result.}
      - {name: input, type: tensor, direction: in, dtype: [floating], shape: any, doc: The operand.}
    tolerance: exact

  - name: FirstBackward
    doc: Something that was not decided.
    params:
      - {name: out, type: tensor, direction: out, dtype: same(input), shape: same(input), doc: The result.}
      - {name: input, type: tensor, direction: in, dtype: [float46], shape: any, doc: The operand.}
      - {name: other, type: tensor, direction: in, shape: any, doc: The operand.}
    backward_of: Later
"""

FORMER = """\
family: example
header: functions.h
operators:
  - name: First
    doc: An operator.
    params:
      - {name: input, type: tensor, direction: inout, dtype: [floating], shape: any, doc: The operand.}
  - name: Former
    doc: As diopiFormer was.
    params:
      - {name: out, type: tensor, direction: out, dtype: same(input), shape: same(input), doc: The result.}
      - {name: input, type: tensor, direction: in, dtype: [floating], shape: any, doc: The operand.}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A spec that was generated under one name, then renamed and changed with many slips."""
    small_spec.write(tmp_path / "specs", FORMER)
    (tmp_path / "specs/headers.yaml").write_text(HEADERS.split("      - diopiFirst ")[0])
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(cli, ["generate", "--target", "json"])
    assert done.exit_code == 0, done.output
    (tmp_path / "specs/headers.yaml").write_text(HEADERS)
    (tmp_path / "specs/ops/example.yaml").write_text(BAD)
    return tmp_path


def check(*options: str) -> Result:
    return CliRunner().invoke(cli, ["check", *options])


def test_what_is_mechanical_is_fixed_and_the_rest_is_reported(folder: Path) -> None:
    operators = folder / "specs/ops/example.yaml"
    operators.chmod(0o640)
    done = check("--fix")
    assert operators.read_text() == GOOD
    assert (folder / "specs/headers.yaml").read_text() == ORDERED
    assert operators.stat().st_mode & 0o777 == 0o640
    assert done.exit_code == 1
    errors = [line for line in done.stderr.splitlines() if ": error[" in line]
    assert [line.split(": ", 1)[1].split("]")[0] for line in errors] == ["error[unknown-dtype", "error[missing-dtype"]
    fixed = [line.split("note[fixed]: ")[1] for line in done.stderr.splitlines() if "note[fixed]" in line]
    assert sorted(fixed) == sorted(
        [
            "doc-form: 'It has no full stop' became 'It has no full stop.'",
            "doc-form: 'The operand' became 'The operand.'",
            "doc-reference: 'diopiFormer' became 'diopiLater'",
            "draft-done: 'draft: true' was removed",
            "unknown-dtype: 'flaot32' became 'float32'",
            "unknown-function: 'sqaure' became 'square'",
            "unknown-key: 'kernal' became 'kernel'",
            "unknown-reference: '- diopiFirst' was removed",
            "unknown-reference: 'Former' became 'Later'",
            "unknown-reference: 'diopiFormer' became 'diopiLater'",
            "unknown-reference: 'inptu' became 'input'",
            "unknown-type: 'tensro' became 'tensor'",
            "unknown-word: 'roundign' became 'rounding'",
            "yaml-syntax: tabs became spaces",
        ]
    )


def test_a_diff_writes_nothing(folder: Path) -> None:
    done = check("--fix", "--diff")
    assert done.exit_code == 1
    assert (folder / "specs/ops/example.yaml").read_text() == BAD
    assert "-    kernal: 2 * sqaure(input)     # twice the square\n" in done.stdout
    assert "+    kernel: 2 * square(input)     # twice the square\n" in done.stdout
    assert done.stdout.startswith("--- a/specs/headers.yaml\n+++ b/specs/headers.yaml\n")
    assert check("--diff").exit_code == 2


def test_a_spec_without_findings_stays_as_it_is(folder: Path) -> None:
    (folder / "specs/ops/example.yaml").write_text(FORMER)
    (folder / "specs/headers.yaml").write_text(HEADERS.split("      - diopiFirst ")[0])
    before = (folder / "specs/ops/example.yaml").stat().st_mtime_ns
    done = check("--fix")
    assert (done.exit_code, done.stdout) == (0, "2 functions in 3 files, 0 model tables: nothing found\n")
    assert (folder / "specs/ops/example.yaml").stat().st_mtime_ns == before


def finding(fix: str | None, line: int, column: int, end: int) -> Diagnostic:
    return Diagnostic("a-rule", Severity.ERROR, "wrong", Span("f", line, column, line, end), (), fix)


@pytest.mark.parametrize(
    ("text", "fix", "column", "result"),
    [
        ("a: inptu # inptu\n", Correction.of("x", "inptu", "input"), 4, "a: input # inptu\n"),
        ("a: 'inptu'\n", Correction.of("x", "inptu", "input"), 4, "a: 'input'\n"),
        ("a: inptu + inptu\n", Correction.of("x", "inptu", "input"), 4, "a: inptu + inptu\n"),
        ("a: inptus\n", Correction.of("x", "inptu", "input"), 4, "a: inptus\n"),
        ("a: inptu\n", Correction.of("x", "inptu", "input", is_certain=False), 4, "a: inptu\n"),
        ("a: inptu\n", "did you mean 'input'?", 4, "a: inptu\n"),
        ("a: inptu\r\n", Correction.of("x", "inptu", "input"), 4, "a: input\r\n"),
        ("\u00e4: inptu", Correction.of("x", "inptu", "input"), 4, "\u00e4: input"),
        ("  draft: true\n", Correction.of("x", "draft: true", ""), 3, ""),
        ("{draft: true, a: b}\n", Correction.of("x", "draft: true", ""), 2, "{draft: true, a: b}\n"),
    ],
)
def test_an_edit_is_of_one_word_in_the_span(text: str, fix: str, column: int, result: str) -> None:
    end = len(text.rstrip("\r\n")) + 1 if "# " not in text else text.index(" #") + 1
    assert applied(edits_of([finding(fix, 1, column, end)], text), text) == result


def test_of_edits_that_overlap_the_first_is_created() -> None:
    one, two = Correction.of("x", "a b", "c"), Correction.of("x", "b", "d")
    edits = edits_of([finding(one, 1, 1, 4), finding(two, 1, 3, 4)], "a b\n")
    assert applied(edits, "a b\n") == "c\n"


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("a:\n  - name: Bad\n\tdoc: x\n    b: c\n", "a:\n  - name: Bad\n    doc: x\n    b: c\n"),
        ("a:\n    b: c\n\td: e\n", "a:\n    b: c\n    d: e\n"),
        ("a:\n\tb: c\n\td: e\n", "a:\n\tb: c\n\td: e\n"),  # any width is YAML
        ("a: {\n\tb: [}\n", "a: {\n\tb: [}\n"),  # none is
    ],
)
def test_a_tab_is_as_wide_as_the_file_leaves_no_choice(text: str, result: str) -> None:
    tab = finding(Correction.of("x", "\t", " "), text[: text.index("\t")].count("\n") + 1, 1, 2)
    assert applied(edits_of([tab], text), text) == result


def suggestion(name: str, candidates: list[str]) -> Correction:
    found = did_you_mean(name, candidates)
    assert isinstance(found, Correction)
    return found


def test_a_suggestion_is_certain_where_one_name_is_nearest() -> None:
    one = suggestion("inptu", ["input", "output"])
    assert (one, one.wrong, one.right, one.is_certain) == ("did you mean 'input'?", "inptu", "input", True)
    assert suggestion("flaot32", ["float32", "tfloat32"]).is_certain
    assert not suggestion("float46", ["float64", "float16"]).is_certain
    assert did_you_mean("zebra", ["input"]) is None

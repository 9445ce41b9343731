"""`rename NAME.PARAM NEW`: the lines that change in each file, written by hand, and what is left to a person."""

# ruff: noqa: E501 (lines of a spec are as they are)

from __future__ import annotations

from pathlib import Path

import naming_trees as trees
import pytest
from naming_trees import Run, left

Change = tuple[list[str], list[str]]


def changes(lines: dict[str, list[tuple[str, str]]]) -> dict[str, Change]:
    return {name: ([old for old, _ in pairs], [new for _, new in pairs if new]) for name, pairs in lines.items()}


def test_an_operand_is_renamed_in_its_forms_tables_cases_and_kernels(tree: Path, run: Run) -> None:
    done = run("rename", "diopiScale.other", "factor")
    assert done.exit_code == 0, done.output
    forms = "diopiScale, diopiScaleInp, diopiScaleInpScalar, diopiScaleScalar"
    assert (
        done.stdout == f"'other' of {forms} is 'factor': 8 files changed, 3 left to a person; next: diopigen generate\n"
    )
    changed = trees.changed(tree)
    operators = changed.pop("specs/ops/scaling.yaml")
    assert operators[1] == [
        "    doc: Product of input and factor, in which the other is broadcast.",
        "      - {name: out,   type: tensor, direction: out, dtype: 'promote(input, factor)', shape: 'broadcast(input, factor)', doc: The product.}",
        "      - {name: factor, type: tensor, direction: in, dtype: [floating], shape: 'broadcastable(input)', doc: The other operand.} # kept",
        "      - {kind: scalar, operands: [factor], params: {factor: {dtype: [number]}}, cases: [{input: [2], factor: 3}], constraints: []}",
        "        operands: [factor]",
        "          - {input: [2, 3], factor: 2}",
        "        doc: Product of input and factor in place.",
        "    kernel: where(mode == 'other', input * factor, factor * input)",
        "      - {id: C1, require: 'rank(factor) <= 2 and mode == \"other\"', note: 'factor has few dimensions, mode is the default',",
        "         error: diopiErrorOccurred, case: {input: [2, 2, 2], factor: [2, 2, 2]}}",
        "      - {input: [2, 3], factor: [3]}",
        "      - {input: [2, 3], factor: {shape: [3], dtype: float64}, mode: input}",
    ]
    assert len(operators[0]) == 11  # one line is new, the others replace one each
    call = "  - {phase: forward, function: Scale, dtype: float32, count: %d, aten: mul.Tensor, arguments: {input: %s, %s: %s}}"
    published = '{"calls":[["Scale",{"out":"#0[2]","input":"#0[2] normal 0","%s":"#0[2] ones"}],["ScaleBackward",{"grad_input":"#0[2]","grad":"&0.out","other":"&0.%s"}]]}'
    assert changed == changes(
        {
            "specs/dlinfer.yaml": [
                (
                    "  - {dlinfer: multiply, parameters: [x, y], call: Scale, arguments: {out: x, input: x, other: y}, returns: x}",
                    "  - {dlinfer: multiply, parameters: [x, y], call: Scale, arguments: {out: x, input: x, factor: y}, returns: x}",
                ),
            ],
            "specs/relax.yaml": [
                (
                    "  - {relax: multiply, call: Scale, arguments: {input: x0, other: x1}}",
                    "  - {relax: multiply, call: Scale, arguments: {input: x0, factor: x1}}",
                ),
                (
                    "    match: multiply(multiply(input, other), other)",
                    "    match: multiply(multiply(input, factor), factor)",
                ),
                (
                    "    shapes: {other: [any], input: ['other.0']}",
                    "    shapes: {factor: [any], input: ['factor.0']}",
                ),
            ],
            "specs/models/net.yaml": [
                (call % (2, "[2, 3]", "other", "[3]"), call % (2, "[2, 3]", "factor", "[3]")),
                (call % (3, "[2, 2]", "other", "[2]"), call % (3, "[2, 2]", "factor", "[2]")),
            ],
            "impl/cpu/functions/scaling.cpp": [
                (
                    '    require(args.other.rank() <= 2, "args.other");',
                    '    require(args.factor.rank() <= 2, "args.other");',
                ),
                ("    product(args, args.input, args . other);", "    product(args, args.input, args . factor);"),
            ],
            "impl/acme/convert_config.yaml": [
                (
                    "    layout: NHWC, other(NCHW)   # other tensors as they are",
                    "    layout: NHWC, factor(NCHW)   # other tensors as they are",
                ),
                ("      other: (float64)->float32", "      factor: (float64)->float32"),
            ],
            "tests/data/host_calls/calls.yaml": [
                (
                    "    - {form: a row, call: {input: [2, 3], other: [3]}}",
                    "    - {form: a row, call: {input: [2, 3], factor: [3]}}",
                )
            ],
            "tests/data/published_calls/scaling.jsonl": [
                (published % ("other", "other"), published % ("factor", "factor"))
            ],
        }
    )
    assert left(done) == [
        "impl/cpu/functions/scaling.h:3 warning",
        "specs/ops/scaling.yaml:7 note",  # 'input and other' is changed, 'the other' stays
        "specs/ops/scaling.yaml:7 note",
        "specs/ops/scaling.yaml:11 note",
        "specs/ops/scaling.yaml:12 note",
        "specs/ops/scaling.yaml:21 note",
        "specs/ops/scaling.yaml:24 note",
        "tests/data/host_calls/calls.yaml:8 warning",
        "tests/test_scaling.py:1 warning",
    ]
    checked = run("check")
    assert checked.exit_code == 0, checked.output


def test_what_is_written_in_place_is_named_where_variants_mean_it(tree: Path, run: Run) -> None:
    done = run("rename", "ScaleInp.input", "x")
    assert done.exit_code == 0, done.output
    _, lines = trees.changed(tree)["specs/ops/scaling.yaml"]
    assert "      - {kind: inplace, target: x}" in lines
    assert "        target: x" in lines
    assert (
        "      - {name: mode, type: string, values: [other, input], default: other, doc: Which way; as 'other' says.}"
        not in lines
    )
    assert run("check").exit_code == 0
    assert run("generate", "--target", "headers").exit_code == 0
    header = (tree / "generated/include/diopi/functions.h").read_text()
    assert "diopiScaleInp(diopiContextHandle_t ctx, diopiTensorHandle_t x, diopiConstTensorHandle_t other" in header


def test_a_number_that_shapes_and_intervals_name(tree: Path, run: Run) -> None:
    done = run("rename", "SqueezeRows.rows", "row_count")
    assert done.exit_code == 0, done.output
    changed = trees.changed(tree)
    assert changed["specs/ops/squeezing.yaml"][1] == [
        "    doc: Each sum is of row_count neighbours.",
        "      - {name: out, type: tensor, direction: out, dtype: same(input), shape: ['R // row_count', C], doc: The sums.}",
        "      - {name: row_count, type: int64, range: '[1, size(input, 0)]', default: 1, doc: How many rows are one.}",
        "      - {id: C1, require: 'divides(row_count, R)', error: diopiErrorOccurred, case: {input: [4, 2], row_count: 3}}",
        "      - {input: [4, 2], row_count: 2}",
    ]
    assert left(done) == [
        "specs/ops/squeezing.yaml:5 note",
        "specs/ops/squeezing.yaml:9 note",
        "specs/ops/squeezing.yaml:14 note",
    ]
    # The attribute of Relax is called as it was, and so is the comment.
    assert changed["specs/relax.yaml"][1] == [
        "  - {relax: sum, call: SqueezeRows, arguments: {input: x0, row_count: rows}}"
    ]
    assert sorted(changed) == ["specs/models/net.yaml", "specs/ops/squeezing.yaml", "specs/relax.yaml"]


def test_a_gradient_that_is_paired_by_name_is_left(tree: Path, run: Run) -> None:
    done = run("rename", "Scale.input", "x")
    assert "specs/ops/scaling.yaml:35 warning" in left(done)
    assert "fix: diopigen rename ScaleBackward.grad_input grad_x" in done.stderr


def test_what_is_left_is_where_the_files_have_it(tree: Path, run: Run) -> None:
    """'the other' in line 7 is one column further on when 'other' in front of it is 'factor'."""
    assert "specs/ops/scaling.yaml:7:51: note" in run("rename", "Scale.other", "factor", "--dry-run").stderr
    assert "specs/ops/scaling.yaml:7:52: note" in run("rename", "Scale.other", "factor").stderr


def test_there_and_back_is_the_tree_as_it_was(tree: Path, run: Run) -> None:
    assert run("rename", "SqueezeRows.rows", "row_count").exit_code == 0
    assert run("rename", "SqueezeRows.row_count", "rows").exit_code == 0
    assert trees.changed(tree) == {}


def test_a_dry_run_shows_the_changes_and_writes_nothing(tree: Path, run: Run) -> None:
    done = run("rename", "SqueezeRows.rows", "row_count", "--dry-run")
    assert done.exit_code == 0
    assert "--- a/specs/ops/squeezing.yaml\n+++ b/specs/ops/squeezing.yaml\n" in done.stdout
    assert "+      - {input: [4, 2], row_count: 2}\n" in done.stdout
    assert done.stdout.endswith(": 3 files would change; next: diopigen generate\n")
    assert trees.changed(tree) == {}


@pytest.mark.parametrize(
    ("inside", "name"), [("specs", "."), ("specs/ops", ".."), ("impl", "../specs"), ("impl", "{}")]
)
def test_a_spec_is_named_from_anywhere(
    tree: Path, run: Run, monkeypatch: pytest.MonkeyPatch, inside: str, name: str
) -> None:
    monkeypatch.chdir(tree / inside)
    done = run("rename", "Scale.other", "factor", "--spec", name.format(tree / "specs"))
    assert done.exit_code == 0, done.output
    assert len(trees.changed(tree)) == 8
    files = {line.split(":")[0] for line in done.stderr.splitlines() if "[left-by-hand]" in line}
    assert all(Path(file).exists() for file in files)

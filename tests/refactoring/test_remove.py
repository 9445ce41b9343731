"""`remove NAME`: the lines that go in each file, written by hand, and what is left to a person."""

# ruff: noqa: E501 (lines of a spec are as they are)

from __future__ import annotations

from pathlib import Path

import naming_trees as trees
from naming_trees import Run, left

ENTRY = trees.FILES["specs/ops/scaling.yaml"].split("operators:\n")[1].split("\n  # The gradient.")[0]
"""The entry of Scale, with the comment above it and the blank line behind it."""


def expect(tree: Path, changes: dict[str, list[tuple[str, str]]]) -> None:
    """Compares the tree with one in which texts, each of which a file has once, are replaced."""
    for name, text in trees.FILES.items():
        for old, new in changes.get(name, ()):
            assert text.count(old) == 1
            text = text.replace(old, new)
        assert (tree / name).read_text() == text, name


def test_a_function_goes_with_its_forms_and_with_all_that_refers_to_it(tree: Path, run: Run) -> None:
    done = run("remove", "diopiScale")
    assert done.exit_code == 0, done.output
    forms = ("diopiScale", "diopiScaleInp", "diopiScaleInpScalar", "diopiScaleScalar")
    assert done.stdout.startswith(f"{', '.join(f'{name} is gone' for name in forms)}: 6 files changed, 6 left")
    call = "  - {phase: forward, function: Scale, dtype: float32, count: %d, aten: mul.Tensor, arguments: {input: %s, other: %s}}\n"
    expect(
        tree,
        {
            "specs/headers.yaml": [
                ("      - diopiScale     # the oldest\n      - diopiScaleInp\n", ""),
                ("      # in place, by a number\n      - diopiScaleInpScalar\n", ""),
            ],
            "specs/ops/scaling.yaml": [(f"{ENTRY}\n", ""), ("    backward_of: Scale\n", "")],
            "specs/dlinfer.yaml": [
                (
                    "  - {dlinfer: multiply, parameters: [x, y], call: Scale, arguments: {out: x, input: x, other: y}, returns: x}\n",
                    "",
                )
            ],
            "specs/relax.yaml": [
                ("  - {relax: multiply, call: Scale, arguments: {input: x0, other: x1}}\n", ""),
                ("fused:\n", "fused: []\n"),
                (trees.FILES["specs/relax.yaml"].split("fused:\n")[1], ""),
            ],
            "specs/models/net.yaml": [
                (call % (2, "[2, 3]", "[3]"), ""),
                (call % (3, "[2, 2]", "[2]"), ""),
                (
                    "unmapped: []\n",
                    "unmapped:\n  - {phase: forward, aten: mul.Tensor, count: 5, why: 'no function of the spec names the overload'}\n",
                ),
            ],
            "specs/torch.yaml": [
                ("  # for halves\n  - {overload: mul.out, calls: [Scale], why: meaning}\n", ""),
                ("calls: [Scale, SqueezeRows]", "calls: [SqueezeRows]"),
            ],
        },
    )
    assert left(done) == [
        "impl/cpu/functions/scaling.cpp:6 warning",
        "specs/ops/scaling.yaml:6 warning",  # the gradient, which is that of no operator
        "specs/torch.yaml:2 warning",  # the kernel that is gone was here
        "specs/torch.yaml:2 warning",
        "tests/data/published_calls/scaling.jsonl:1 warning",
        "tests/test_scaling.py:1 warning",
    ]
    assert run("check").exit_code == 0
    assert run("generate", "--target", "headers").exit_code == 0
    assert "diopiScale(" not in (tree / "generated/include/diopi/functions.h").read_text()


def test_a_form_goes_and_the_others_stay(tree: Path, run: Run) -> None:
    done = run("remove", "ScaleInpScalar")
    assert done.exit_code == 0, done.output
    variant = """\
      - kind: inplace_scalar
        cases:
          - {input: [2, 3], other: 2}
        constraints: []
        doc: Product of input and other in place.
"""
    expect(
        tree,
        {
            "specs/headers.yaml": [("      # in place, by a number\n      - diopiScaleInpScalar\n", "")],
            "specs/ops/scaling.yaml": [(variant, "")],
        },
    )
    assert run("check").exit_code == 0
    assert run("remove", "ScaleInp").exit_code == 0
    assert run("remove", "ScaleScalar").exit_code == 0
    assert "variants" not in (tree / "specs/ops/scaling.yaml").read_text()
    assert run("check").exit_code == 0


def test_a_gradient_goes_and_its_operator_stays(tree: Path, run: Run) -> None:
    done = run("remove", "ScaleBackward")
    assert done.exit_code == 0, done.output
    gradient = "\n  # The gradient.\n" + trees.FILES["specs/ops/scaling.yaml"].split("  # The gradient.\n")[1]
    expect(
        tree,
        {
            "specs/headers.yaml": [("      - diopiScaleBackward\n", "")],
            "specs/ops/scaling.yaml": [(gradient, "")],
        },
    )
    assert run("check").exit_code == 0


def test_a_file_without_operators_goes(tree: Path, run: Run) -> None:
    scaling = tree / "specs/ops/scaling.yaml"
    scaling.write_text(scaling.read_text().replace("diopiSqueezeRows", "what comes before"))
    done = run("remove", "SqueezeRows")
    assert done.exit_code == 0, done.output
    assert not (tree / "specs/ops/squeezing.yaml").exists()
    assert (tree / "specs/relax.yaml").read_text() == trees.FILES["specs/relax.yaml"].replace(
        "  # rows of a matrix\n  - {relax: sum, call: SqueezeRows, arguments: {input: x0, rows: rows}}\n", ""
    )
    assert run("check").exit_code == 0

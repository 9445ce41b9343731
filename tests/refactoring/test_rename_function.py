"""`rename NAME NEW`: a function and the forms that follow its name."""

# ruff: noqa: E501 (lines of a spec are as they are)

from __future__ import annotations

from pathlib import Path

import naming_trees as trees
from naming_trees import Run, left


def test_a_function_is_renamed_with_its_forms(tree: Path, run: Run) -> None:
    done = run("rename", "Scale", "diopiMultiplyBy")
    assert done.exit_code == 0, done.output
    changed = trees.changed(tree)
    assert {name: lines for name, (_, lines) in changed.items() if not name.startswith("specs/models")} == {
        "specs/headers.yaml": [
            "      - diopiMultiplyBy     # the oldest",
            "      - diopiMultiplyByInp",
            "      - diopiMultiplyByInpScalar",
        ],
        "specs/ops/scaling.yaml": ["  - name: MultiplyBy", "    backward_of: MultiplyBy"],
        "specs/dlinfer.yaml": [
            "  - {dlinfer: multiply, parameters: [x, y], call: MultiplyBy, arguments: {out: x, input: x, other: y}, returns: x}"
        ],
        "specs/relax.yaml": [
            "  - {relax: multiply, call: MultiplyBy, arguments: {input: x0, other: x1}}",
            "    call: MultiplyBy",
        ],
        "specs/torch.yaml": [
            "  - {overload: mul.out, calls: [MultiplyBy], why: meaning}",
            "  - {overload: dot, calls: [MultiplyBy, SqueezeRows], why: composition}",
        ],
        "impl/cpu/functions/scaling.cpp": ["void multiply_by(const MultiplyByArgs& args) {"],
        "impl/acme/convert_config.yaml": ["- diopiMultiplyBy:"],
    }
    calls = [line.split("function: ")[1].split(",")[0] for line in changed["specs/models/net.yaml"][1]]
    assert calls == ["MultiplyBy", "MultiplyBy"]
    assert left(done) == ["tests/data/published_calls/scaling.jsonl:1 warning", "tests/test_scaling.py:1 warning"]
    assert run("check").exit_code == 0


def test_a_form_has_a_name_of_its_own(tree: Path, run: Run) -> None:
    for old, new in (("ScaleInp", "ScaleHere"), ("ScaleScalar", "ScaleBy"), ("ScaleInpScalar", "ScaleHereBy")):
        done = run("rename", old, new)
        assert done.exit_code == 0, done.output
    _, lines = trees.changed(tree)["specs/ops/scaling.yaml"]
    assert lines == [
        "      - {kind: inplace, name: ScaleHere}",
        "      - {kind: scalar, name: ScaleBy, params: {other: {dtype: [number]}}, cases: [{input: [2], other: 3}], constraints: []}",
        "        name: ScaleHereBy",
    ]
    assert run("rename", "ScaleHereBy", "ScaleThere").exit_code == 0
    assert "        name: ScaleThere\n" in (tree / "specs/ops/scaling.yaml").read_text()
    assert run("check").exit_code == 0

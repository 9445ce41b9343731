"""Names that do not fit, and changes that would leave a broken spec: an error, and nothing is written."""

from __future__ import annotations

from pathlib import Path

import naming_trees as trees
import pytest
from naming_trees import Run

from diopigen.diagnostics import Failure

ANOTHER = "choose another name"
WORD = "is a word of C or C++, or a variable of generated code"


@pytest.mark.parametrize(
    ("arguments", "message", "fix"),
    [
        (["rename", "Scael.other", "x"], "there is no function 'Scael'", "did you mean 'Scale'?"),
        (["rename", "diopiScael", "Product"], "there is no function 'diopiScael'", "did you mean 'diopiScale'?"),
        (["rename", "Scale.othr", "x"], "diopiScale has no parameter 'othr'", "did you mean 'other'?"),
        (["rename", "ScaleInp.out", "x"], "diopiScaleInp has no parameter 'out'", "parameters: input, other, mode"),
        (["rename", "Scale.other", "out"], "'out' is a parameter of diopiScale already", ANOTHER),
        (["rename", "ScaleInp.other", "out"], "'out' is a parameter of diopiScale already", ANOTHER),
        (["rename", "Scale.other", "other"], "'other' is a parameter of diopiScale already", ANOTHER),
        (["rename", "SqueezeRows.rows", "R"], "'R' is a name in the entry of SqueezeRows already", ANOTHER),
        (["rename", "Scale.other", "inf"], "'inf' is a constant of expressions already", ANOTHER),
        (["rename", "Scale.other", "ReductionNone"], "'ReductionNone' is a constant of expressions already", ANOTHER),
        (["rename", "Scale.other", "float32"], "'float32' is a constant of expressions already", ANOTHER),
        (["rename", "Scale.other", "register"], f"'register' {WORD}", ANOTHER),
        (["rename", "Scale.other", "contract"], f"'contract' {WORD}", ANOTHER),
        (["rename", "Scale.other", "ctx"], f"'ctx' {WORD}", ANOTHER),
        (["rename", "Scale.other", "two words"], "'two words' is no name of a parameter", ANOTHER),
        (["rename", "Scale.other", "yes"], "'yes' is no name of a parameter", ANOTHER),
        (["rename", "Scale.other", "2nd"], "'2nd' is no name of a parameter", ANOTHER),
        (["rename", "Scale", "scaled"], "'scaled' is no name of a function, which is UpperCamelCase", ANOTHER),
        (["rename", "Scale", "SqueezeRows"], "'diopiSqueezeRows' is a function already", ANOTHER),
        (["remove", "SqueezeRow"], "there is no function 'SqueezeRow'", "did you mean 'SqueezeRows'?"),
    ],
)  # fmt: skip
def test_a_name_that_does_not_fit(tree: Path, run: Run, arguments: list[str], message: str, fix: str) -> None:
    done = run(*arguments)
    assert isinstance(done.exception, Failure)  # the command line shows it and ends with 2
    (finding,) = done.exception.diagnostics
    assert (finding.message, finding.fix) == (message, fix)
    assert trees.changed(tree) == {}


def test_a_text_that_names_what_is_removed_is_an_error_at_its_line(tree: Path, run: Run) -> None:
    done = run("remove", "SqueezeRows")
    assert done.exit_code == 1
    assert "nothing was written" in done.stderr
    assert "specs/ops/scaling.yaml:32:10: error[doc-reference]" in done.stderr
    assert trees.changed(tree) == {}


def test_an_error_is_where_the_file_has_it_as_it_is(tree: Path, run: Run) -> None:
    """The entry above, which is removed, does not count."""
    file = tree / "specs/ops/squeezing.yaml"
    file.write_text(
        file.read_text()
        + """\
  - name: Last
    doc: As diopiSqueezeRows.
    params:
      - {name: out, type: tensor, direction: out, dtype: same(input), shape: same(input), doc: The result.}
      - {name: input, type: tensor, direction: in, dtype: [floating], shape: any, doc: The operand.}
    cases:
      - {input: [2]}
    tolerance: exact
"""
    )
    done = run("remove", "SqueezeRows")
    assert "specs/ops/squeezing.yaml:16:10: error[doc-reference]" in done.stderr


def test_a_spec_with_errors_is_not_changed(tree: Path, run: Run) -> None:
    file = tree / "specs/ops/squeezing.yaml"
    file.write_text(file.read_text().replace("dtype: [floating]", "dtype: [flaoting]"))
    done = run("rename", "Scale.other", "factor")
    assert done.exit_code == 1
    assert "error[unknown-dtype]" in done.stderr
    assert sorted(trees.changed(tree)) == ["specs/ops/squeezing.yaml"]


def test_without_a_spec_of_ones_own_nothing_is_changed(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = run("rename", "Add.other", "addend")
    assert done.exit_code == 2
    assert "name the spec with --spec" in done.stderr


def test_a_file_that_cannot_be_written_leaves_all_as_they_were(
    tree: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    from diopigen.output import disk

    real = disk.stage

    def full(folder: Path, target: Path, content: bytes, mode: int | None) -> Path:
        if target.name == "relax.yaml":
            raise disk.fault(OSError(28, "No space left on device"), target, "write")
        return real(folder, target, content, mode)

    monkeypatch.setattr(disk, "stage", full)
    done = run("rename", "SqueezeRows.rows", "row_count")
    assert isinstance(done.exception, Failure)
    assert trees.changed(tree) == {}
    assert not list(tree.rglob("*.tmp"))

"""Shell completion: the names of the spec, and nothing without one."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.shell_completion import ShellComplete

from diopigen.cli import cli
from diopigen.ir.model import Interface

ROOT = Path(__file__).resolve().parents[2]


def completed(line: str, *, spec: Path = ROOT / "specs") -> list[str]:
    """The words that a shell is offered for the last word of a line."""
    *words, last = [word.replace("SPEC", str(spec)) for word in line.split(" ")]
    shell = ShellComplete(cli, {}, "diopigen", "_DIOPIGEN_COMPLETE")
    return [item.value for item in shell.get_completions(words, last)]


@pytest.mark.parametrize(
    ("line", "some"),
    [
        ("conformance run --spec SPEC --ops diopiSoftmaxB", ["diopiSoftmaxBackward"]),
        ("conformance run --spec SPEC --ops SoftmaxB", ["SoftmaxBackward"]),
        ("conformance list --spec SPEC --family optim", ["optimizer"]),
        ("conformance run --spec SPEC --dtype bf", ["bfloat16"]),
        ("conformance run --spec SPEC --axis non-c", ["non-contiguous"]),
        ("conformance run --spec SPEC --only dtype=bf", ["dtype=bfloat16"]),
        ("conformance run --spec SPEC --only mod", ["model="]),
        ("conformance run --spec SPEC --show ac", ["accuracy"]),
        ("conformance run --spec SPEC --model resnet5", ["resnet50"]),
        ("scaffold --spec SPEC --model resnet5", ["resnet50"]),
        ("coverage impl --spec SPEC --model resnet5", ["resnet50"]),
        ("explain --spec SPEC unknown-dt", ["unknown-dtype"]),
        ("explain --spec SPEC diopiGeluB", ["diopiGeluBackward"]),
        ("generate --spec SPEC --target dispa", ["dispatch"]),
    ],
)
def test_names_are_completed(line: str, some: list[str]) -> None:
    assert completed(line) == some


def test_all_functions_are_offered(interface: Interface) -> None:
    assert completed("explain --spec SPEC diopi") == [function.name for function in interface.functions]


@pytest.mark.parametrize("content", [None, "operators: ["])
def test_a_spec_that_cannot_be_read_completes_nothing(
    content: str | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "specs"
    if content is not None:
        folder.mkdir()
        (folder / "types.yaml").write_text(content)
    assert completed("conformance run --spec SPEC --ops diopi", spec=folder) == []
    assert completed("conformance run --spec SPEC --model r", spec=folder) == []
    assert capsys.readouterr() == ("", "")

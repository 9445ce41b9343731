"""`diopigen check` takes the findings of a tree without errors from the cache, and never those of another tree."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import small_spec
from click.testing import CliRunner, Result

from diopigen import api
from diopigen.cli import cli
from diopigen.commands import checking
from diopigen.completeness.sources import FORMS_FILE

OPERATOR = small_spec.OPERATOR.replace("    kernel: 2 * input\n", "")
"""An operator whose results no oracle knows."""
Check = Callable[..., tuple[Result, bool]]


@pytest.fixture
def check(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Check:
    """Runs the command in a tree; whether it had to do the work."""
    small_spec.write(tmp_path / "specs", OPERATOR)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DIOPIGEN_CACHE", str(tmp_path / "cache"))
    work, calls = checking._work, [0]

    def counted(*arguments: object, **options: object) -> object:
        calls[0] += 1
        return work(*arguments, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(checking, "_work", counted)

    def run(*options: str) -> tuple[Result, bool]:
        before = calls[0]
        return CliRunner().invoke(cli, ["check", *options]), calls[0] > before

    return run


def test_findings_are_those_of_the_first_run(check: Check) -> None:
    """With their severities and exit code: the operator lacks an oracle."""
    first, worked = check("--missing")
    again, worked_again = check("--missing")
    assert worked and not worked_again
    assert "missing-" in first.output
    assert (again.output, again.exit_code) == (first.output, first.exit_code)
    assert check()[1], "other options have other findings"


def test_a_change_of_the_tree_is_checked(check: Check, tmp_path: Path) -> None:
    check()
    source = tmp_path / "impl/cpu/functions/example.cpp"
    last = tmp_path / "generated/diopi.json"
    for path in (source, last, tmp_path / "specs/models/none.txt"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("{}")
        assert check()[1], path
        assert not check()[1], path


def test_errors_are_not_cached(check: Check, tmp_path: Path) -> None:
    ops = tmp_path / "specs/ops/example.yaml"
    good = ops.read_text()
    check()
    ops.write_text(good.replace("same(input), shape", "same(inputs), shape"))
    for _ in range(2):
        result, worked = check()
        assert worked and result.exit_code == 1 and "inputs" in result.output
    ops.write_text(good)
    result, worked = check()
    assert result.exit_code == 0 and not worked


def test_severities_of_the_project_count(check: Check, tmp_path: Path) -> None:
    (tmp_path / "impl/cpu/functions").mkdir(parents=True)
    lenient, _ = check()
    (tmp_path / "diopigen.yaml").write_text("severity:\n  missing-kernel: error\n")
    strict, worked = check()
    assert worked and lenient.exit_code == 0 and strict.exit_code == 1


def test_forms_of_the_planner_count(check: Check, tmp_path: Path) -> None:
    forms = tmp_path / FORMS_FILE
    for text in ("one", "two"):
        forms.parent.mkdir(parents=True, exist_ok=True)
        forms.write_text(f"# {text}\n")
        assert check()[1] and not check()[1]


def test_ignored_findings_are_not_forgotten(check: Check, tmp_path: Path) -> None:
    """A finding that a project ignores is one for another project: what comes of the work is not stored."""
    ops = tmp_path / "specs/ops/example.yaml"
    ops.write_text(ops.read_text().replace("    doc: An operator.\n", "    doc: An operator.\n    draft: true\n"))
    settings = tmp_path / "diopigen.yaml"
    settings.write_text("severity:\n  draft-done: ignore\n")
    out = ["--out", str(tmp_path / "out"), "--target", "json", "--strict"]
    assert CliRunner().invoke(cli, ["generate", *out]).exit_code == 0
    settings.unlink()
    found = CliRunner().invoke(cli, ["generate", *out])
    assert found.exit_code == 1 and "draft-done" in found.output


def test_a_file_that_is_another_one_for_a_moment(check: Check, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is read once: the digest of what was checked is that of what was read."""
    ops = tmp_path / "specs/ops/example.yaml"
    good = ops.read_text()
    bad = good.replace("same(input), shape", "same(inputs), shape")
    load = api.load

    def load_meanwhile(*arguments: Any, **options: Any) -> Any:
        ops.write_text(good)
        try:
            return load(*arguments, **options)
        finally:
            ops.write_text(bad)

    ops.write_text(bad)
    with monkeypatch.context() as patch:
        patch.setattr(api, "load", load_meanwhile)
        check()
    result, worked = check()
    assert worked and result.exit_code == 1 and "inputs" in result.output

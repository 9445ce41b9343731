"""`diopigen generate`, from the shell: the same bytes everywhere, and nothing half-written."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from sampling import first

ROOT = Path(__file__).resolve().parent.parent.parent
DIOPIGEN = [sys.executable, "-m", "diopigen"]


def run(
    *arguments: str, cwd: Path = ROOT, env: dict[str, str] | None = None, code: int = 0
) -> subprocess.CompletedProcess[str]:
    """Runs diopigen and holds it to an exit code; a traceback is never right."""
    done = subprocess.run(
        [*DIOPIGEN, *arguments],
        cwd=cwd,
        env={**os.environ, **(env or {})},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "Traceback" not in done.stderr, done.stderr
    assert "error[internal]" not in done.stderr, done.stderr
    assert done.returncode == code, f"exit {done.returncode}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}"
    return done


def tree(folder: Path) -> dict[str, bytes]:
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


@pytest.mark.slow
def test_two_folders_and_two_ways_to_name_the_spec_give_the_same_bytes(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    run("generate", "--out", str(tmp_path / "a"))
    run("generate", "--spec", str(ROOT / "specs"), "--out", "b", cwd=elsewhere)
    assert tree(tmp_path / "a") == tree(elsewhere / "b")


def test_the_checked_in_files_are_what_the_spec_says() -> None:
    run("generate", "--check")


def test_a_second_run_writes_nothing(tmp_path: Path) -> None:
    run("generate", "--out", str(tmp_path))
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
    done = run("generate", "--out", str(tmp_path))
    assert "0 written, 0 removed" in done.stdout
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")} == before


def test_a_hand_edit_is_found_named_and_retained(tmp_path: Path) -> None:
    run("generate", "--out", str(tmp_path))
    edited = tmp_path / "include/diopi/functions.h"
    edited.write_text(edited.read_text() + "// mine\n")
    done = run("generate", "--out", str(tmp_path), code=1)
    assert "generated-file-edited" in done.stderr and "functions.h" in done.stderr
    assert edited.read_text().endswith("// mine\n")
    run("generate", "--out", str(tmp_path), "--check", code=1)
    assert "-// mine" in run("generate", "--out", str(tmp_path), "--diff", code=0).stdout
    run("generate", "--out", str(tmp_path), "--force")
    run("generate", "--out", str(tmp_path), "--check")


def test_check_of_an_empty_folder_names_every_missing_file(tmp_path: Path) -> None:
    done = run("generate", "--out", str(tmp_path), "--check", "--format", "json", code=1)
    found = json.loads(done.stdout)
    assert found["errors"] == len(found["diagnostics"]) > 8


def test_dry_run_writes_nothing(tmp_path: Path) -> None:
    done = run("generate", "--out", str(tmp_path / "new"), "--dry-run")
    assert "would write   include/diopi/functions.h\n" in done.stdout
    assert not (tmp_path / "new").exists()


def test_two_processes_at_once_leave_a_whole_tree(tmp_path: Path) -> None:
    command = [*DIOPIGEN, "generate", "--out", str(tmp_path / "out")]
    both = [subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE) for _ in range(2)]
    assert [process.wait() for process in both] == [0, 0]
    run("generate", "--out", str(tmp_path / "out"), "--check")


def test_an_unwritable_position_is_one_line_and_exit_2(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    done = run("generate", "--out", str(tmp_path / "file"), code=2)
    assert "error[output-unwritable]" in done.stderr


def test_an_unknown_target_names_the_nearest(tmp_path: Path) -> None:
    done = run("generate", "--out", str(tmp_path), "--target", "header", code=2)
    assert "did you mean 'headers'?" in done.stderr


@pytest.mark.parametrize(
    ("name", "content", "rule"),
    first(
        [
            ("ops/norm.yaml", b"family: norm\nheader: functions.h\noperators:\n  - {name: A", "yaml-syntax"),
            ("ops/norm.yaml", b"doc: '" + b"x" * 10_000_000 + b"'\n", "file-too-large"),
            ("ops/norm.yaml", b"doc: '" + b"x" * 100_000 + b"'\n", "line-too-long"),
            ("ops/norm.yaml", b"\x7fELF\0\0\0", "file-not-text"),
            ("ops/norm.yaml", "family: größe".encode("latin-1"), "file-not-utf8"),
            ("ops/norm.yaml", b"[" * 100_000, "line-too-long"),
            ("ops/norm.yaml", b"[\n" * 100_000, "yaml-too-deep"),
            ("ops/norm.yaml", b"a: &x [*x]\n", "yaml-alias"),
            ("types.yaml", b"", "yaml-empty"),
        ],
        2,
    ),
)
def test_bad_files_give_a_position_and_a_rule(tmp_path: Path, name: str, content: bytes, rule: str) -> None:
    """A file that is not text has exit code 2; a text with errors has findings."""
    shutil.copytree(ROOT / "specs", tmp_path / "specs")
    (tmp_path / "specs" / name).write_bytes(content)
    done = run("generate", cwd=tmp_path, code=2 if rule.startswith("file-") else 1)
    assert f"specs/{name}:" in done.stderr
    assert f"error[{rule}]" in done.stderr
    assert not (tmp_path / "generated").exists()


@pytest.mark.slow
def test_a_directory_instead_of_a_file(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "specs", tmp_path / "specs")
    (tmp_path / "specs/ops/norm.yaml").unlink()
    (tmp_path / "specs/ops/norm.yaml").mkdir()
    done = run("check", cwd=tmp_path, code=2)
    assert "specs/ops/norm.yaml:1:1: error[file-unreadable]: is a directory" in done.stderr


def test_a_cycle_of_references_is_named(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "specs", tmp_path / "specs")
    path = tmp_path / "specs/ops/elementwise_unary.yaml"
    text = path.read_text()
    old = "name: input, type: tensor, direction: in, dtype: "
    start = text.index(old)
    end = text.index(", shape", start) if ", shape" in text[start : start + 200] else text.index(", doc", start)
    path.write_text(text[:start] + old + "same(out)" + text[end:])
    done = run("check", cwd=tmp_path, code=1)
    assert "error[reference-cycle]" in done.stderr


def test_a_missing_spec_folder_is_exit_2(tmp_path: Path) -> None:
    done = run("check", "--spec", "nowhere", cwd=tmp_path, code=2)
    assert "nowhere:1:1: error[spec-missing]" in done.stderr


def test_stamp_and_depfile_name_the_inputs(tmp_path: Path) -> None:
    stamp, depfile = tmp_path / "stamp", tmp_path / "stamp.d"
    run("generate", "--out", str(tmp_path / "out"), "--stamp", str(stamp), "--depfile", str(depfile))
    text = depfile.read_text()
    assert stamp.exists()
    assert text.startswith(f"{stamp}:")
    assert str(ROOT / "specs/types.yaml") in text
    assert str(ROOT / "templates/c/header.h.j2") in text


@pytest.mark.parametrize("output_format", first(["json", "sarif"]))
def test_machine_formats_are_json_on_standard_output(output_format: str) -> None:
    json.loads(run("check", "--format", output_format).stdout)

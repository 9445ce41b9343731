"""tools/line_difference.py: sums by folder, and one line where history is too short."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

TOOL = Path(__file__).resolve().parents[2] / "tools/line_difference.py"


def git(folder: Path, *words: str) -> None:
    name = ("-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false")
    subprocess.run(["git", *name, *words], cwd=folder, check=True, capture_output=True)


def run(folder: Path, *words: str) -> str:
    done = subprocess.run([sys.executable, folder / "tools" / TOOL.name, *words], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_lines_are_summed_by_folder(tmp_path: Path) -> None:
    (tmp_path / "tools").mkdir()
    shutil.copy(TOOL, tmp_path / "tools")
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm", "one")
    assert run(tmp_path) == "lines: nothing to compare with (no commit before)\n"
    for name in ("README.md", "docs/a.md", "docs/deep/b.md", "generated/c.h"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("one\ntwo\n")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm", "two")
    (tmp_path / "docs/a.md").write_text("two\n")
    title, *rows = run(tmp_path).splitlines()
    assert title.startswith("lines by hand since ")
    sums = [[".", "+2", "-0", "+2"], ["docs", "+3", "-0", "+3"], ["all", "+5", "-0", "+5"]]
    assert [row.split() for row in rows] == sums
    assert len({len(row) for row in rows}) == 1
    assert [row.split()[1:] for row in run(tmp_path, "HEAD").splitlines()[1:]] == [["+0", "-1", "-1"]] * 2
    assert run(tmp_path, "nowhere").startswith("lines: nothing to compare with (fatal: ")

"""kestrel brought up as its README says: from the chip's file, with kernels by hand in the place of skeletons."""

from __future__ import annotations

import shutil
from pathlib import Path

from click.testing import CliRunner

from diopigen.cli import cli

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples/kestrel"
SPEC = ("--spec", str(ROOT / "specs"))


def command(*words: str | Path) -> str:
    """What a command of diopigen prints, which must find no errors."""
    done = CliRunner().invoke(cli, [*map(str, words), *SPEC])
    assert done.exit_code == 0, done.output
    return done.output


def bring_up(tree: Path) -> None:
    """The tree of kestrel at a new folder."""
    command("scaffold", "--chip", EXAMPLE / "kestrel.yaml", "--out", tree)
    for path in sorted((tree / "impl/kestrel/functions").rglob("*.cpp")):
        if "return notImplemented(" in path.read_text(encoding="utf-8"):
            path.unlink()
    shutil.copytree(EXAMPLE / "impl", tree / "impl", dirs_exist_ok=True)
    command("adaptors", tree / "impl/kestrel", "--out", tree / "generated/adaptors/kestrel")

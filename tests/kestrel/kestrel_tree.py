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


CONVERSIONS = "- common_config:\n    dtype: (float64)->float32\n"
"""What a scaffolded tree has as an example in its configuration, as far as the chip's kernels take the targets."""
FAULTS = {
    "functions/rows.cpp": ("std::exp(each - all.largest)", "std::exp(each - all.largest) * 1.0001"),
    "functions/image.cpp": ("Values x = load(k, 4), sum(c.count)", "Values x = load(k, 4), sum(c.count, 1e-3)"),
}
"""Injected faults: a text of a kernel and what takes its place."""
MOVER = "int32, int64]"
"""The end of the dtypes of the mover in the chip's file."""


def bring_up(tree: Path, *, conversions: str = "", faults: bool = False) -> None:
    """The tree of kestrel at a new folder, with these conversions in its configuration."""
    chip = EXAMPLE / "kestrel.yaml"
    if conversions:  # by a mover that takes what is converted
        text = chip.read_text(encoding="utf-8")
        assert text.count(MOVER) == 1
        chip = tree.parent / f"{tree.name}.yaml"
        chip.write_text(text.replace(MOVER, "int32, int64, float64]"), encoding="utf-8")
    command("scaffold", "--chip", chip, "--out", tree, "--with-torch")
    for path in sorted((tree / "impl/kestrel/functions").rglob("*.cpp")):
        if "return notImplemented(" in path.read_text(encoding="utf-8"):
            path.unlink()
    shutil.copytree(EXAMPLE / "impl", tree / "impl", dirs_exist_ok=True)
    if conversions:
        config = tree / "convert_config.yaml"
        config.write_text(config.read_text(encoding="utf-8") + conversions, encoding="utf-8")
    for name, (text, wrong) in FAULTS.items() if faults else ():
        path = tree / "impl/kestrel" / name
        source = path.read_text(encoding="utf-8")
        assert source.count(text) == 1, f"{name}: {text}"
        path.write_text(source.replace(text, wrong), encoding="utf-8")
    command("adaptors", tree / "impl/kestrel", "--out", tree / "generated/adaptors/kestrel")

"""kestrel brought up as its README says: from the chip's file alone."""

from __future__ import annotations

from pathlib import Path

from click.testing import CliRunner

from diopigen.cli import cli

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples/kestrel"
SPEC = ("--spec", str(ROOT / "specs"))


def command(*words: str | Path) -> str:
    """Output of a command of diopigen, without errors."""
    done = CliRunner().invoke(cli, [*map(str, words), *SPEC])
    assert done.exit_code == 0, done.output
    return done.output


CONVERSIONS = "- common_config:\n    dtype: (float64)->float32\n"
"""The example in the configuration of a scaffolded tree, as far as the chip's kernels support the targets."""
FAULTY = ("Softmax", "BatchNormBackward")
"""Operators whose first result an injected fault makes too large."""
FAULT = """namespace {

Status tooLarge(diopiStreamHandle_t stream, const char* name, const std::vector<Buffer>& buffers,
                const KernelFunction& kernel) {
    return launch(stream, name, buffers, [=](const Kernel& k) {
        kernel(k);
        Values all = load(k, 0);
        for (double& each : all) {
            each *= 1.001;
        }
        store(k, 0, all);
    });
}

}  // namespace

"""
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
    named = [word for name in FAULTY if faults for word in ("--ops", name)]
    command("scaffold", "--chip", chip, "--out", tree, "--with-vllm", *named)
    if conversions:
        config = tree / "convert_config.yaml"
        config.write_text(config.read_text(encoding="utf-8") + conversions, encoding="utf-8")
    for name in FAULTY if faults else ():
        (path,) = (tree / "impl/kestrel/functions").rglob(f"{name}.cpp")
        source = path.read_text(encoding="utf-8")
        opening = "namespace kestrel {\n\n"
        assert source.count("(launch,") == source.count(opening) == 1, path
        source = source.replace(opening, opening + FAULT).replace("(launch,", "(tooLarge,")
        path.write_text(source, encoding="utf-8")
    command("adaptors", tree / "impl/kestrel", "--out", tree / "generated/adaptors/kestrel")

"""`rename` and `remove` on the real spec in a folder of its own: parameters of functions of several kinds, and a
function of which others are composed. The texts that change are written by hand."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from naming_trees import Run

SPEC = Path(__file__).resolve().parents[2] / "specs"


def entry(text: str, name: str) -> str:
    """The entry of an operator with the blank line behind it."""
    start = text.index(f"  - name: {name}\n")
    stop = text.find("\n  - name: ", start)
    return text[start:] if stop < 0 else text[start : stop + 1]


def replaced(text: str, changes: list[tuple[str, str, int]]) -> str:
    """The text with each first text replaced by the second one, which it has so often."""
    for old, new, count in changes:
        assert text.count(old) == count, old
        text = text.replace(old, new)
    return text


def in_entry(name: str, changes: list[tuple[str, str, int]], text: str) -> str:
    one = entry(text, name)
    return text.replace(one, replaced(one, changes))


def calls(text: str, function: str, old: str, new: str) -> str:
    """A model table in which a key of the calls of a function is another one."""
    lines = text.splitlines(keepends=True)
    return "".join(line.replace(old, new) if f"function: {function}," in line else line for line in lines)


FOREACH = [
    ("promote(inputs, other)", "promote(tensors, other)", 1),
    ("same(inputs)", "same(tensors)", 1),
    ("{name: inputs,", "{name: tensors,", 1),
    ("target: inputs", "target: tensors", 1),
    ("          inputs: {doc", "          tensors: {doc", 1),
    ("categories(inputs)", "categories(tensors)", 1),
    ("{inputs: [", "{tensors: [", 6),
    ("kernel: inputs + other", "kernel: tensors + other", 1),
]
LERP = [
    ("interpolation from input to end by weight, with", "interpolation from input to end by share, with", 1),
    ("broadcast(input, end, weight)", "broadcast(input, end, share)", 1),
    ("The values at weight 0.", "The values at share 0.", 1),
    ("The values at weight 1.", "The values at share 1.", 1),
    ("{name: weight,", "{name: share,", 1),
    ("operands: [weight]", "operands: [share]", 1),
    ("params: {weight:", "params: {share:", 1),
    (", weight: 0.25}", ", share: 0.25}", 1),
    (", weight: 0.75}", ", share: 0.75}", 1),
    (", weight: 1}", ", share: 1}", 1),
    (
        "where(abs(weight) < 0.5, input + weight * (end - input), end - (end - input) * (1 - weight))",
        "where(abs(share) < 0.5, input + share * (end - input), end - (end - input) * (1 - share))",
        1,
    ),
    ("weight: {shape:", "share: {shape:", 2),
    ("so that weight 0 gives input and weight 1 gives", "so that share 0 gives input and share 1 gives", 1),
]
SOFTMAX = [
    ("along dim; NaN where all inputs along dim are", "along axis; NaN where all inputs along axis are", 1),
    ("{name: dim, type: int64, dim_of", "{name: axis, type: int64, dim_of", 1),
    ("dim: 1}", "axis: 1}", 7),
    ("dim: 0}", "axis: 0}", 5),
    ("dim: -2}", "axis: -2}", 1),
]
UPSAMPLE = [
    ("{name: mode,", "{name: method,", 1),
    ('where(mode == "linear", 3', 'where(method == "linear", 3', 1),
    ('where(mode == "trilinear"', 'where(method == "trilinear"', 1),
    ("note: mode fits", "note: method fits", 1),
    ("mode: bilinear}}", "method: bilinear}}", 3),
    ("mode: linear}}", "method: linear}}", 2),
    ("mode: trilinear}}", "method: trilinear}}", 2),
    ("mode: bicubic}}", "method: bicubic}}", 2),
    ("mode: bicubic}\n", "method: bicubic}\n", 2),
    ("mode: linear}\n", "method: linear}\n", 1),
    ("mode: trilinear}\n", "method: trilinear}\n", 1),
    ("mode: bilinear}\n", "method: bilinear}\n", 1),
]  # fmt: skip


def expected() -> dict[str, str]:
    """All files of the spec as they are to be, by path."""
    files = {path.relative_to(SPEC).as_posix(): path.read_text() for path in sorted(SPEC.rglob("*.yaml"))}
    files["ops/foreach.yaml"] = in_entry("ForeachaddScalar", FOREACH, files["ops/foreach.yaml"])
    ternary = "ops/elementwise_ternary.yaml"
    files[ternary] = in_entry("LerpTensor", LERP, files[ternary])
    files["ops/activation.yaml"] = in_entry("Softmax", SOFTMAX, files["ops/activation.yaml"])
    files["ops/resample.yaml"] = in_entry("UpsampleLinear", UPSAMPLE, files["ops/resample.yaml"])
    softmax = "call: Softmax, arguments: {input: x0, %s: axis}"
    files["relax.yaml"] = replaced(files["relax.yaml"], [(softmax % "dim", softmax % "axis", 1)])
    for name in files:
        if name.startswith("models/"):
            files[name] = calls(files[name], "Softmax", ", dim: ", ", axis: ")
            files[name] = calls(files[name], "UpsampleLinear", ", mode: ", ", method: ")
            files[name] = calls(files[name], "LerpTensor", ", weight: ", ", share: ")
            files[name] = calls(files[name], "LerpScalar", ", weight: ", ", share: ")
    return _without_roll(files)


def _without_roll(files: dict[str, str]) -> dict[str, str]:
    files["headers.yaml"] = replaced(files["headers.yaml"], [("      - diopiRoll\n", "", 1)])
    files["ops/shape.yaml"] = files["ops/shape.yaml"].replace(entry(files["ops/shape.yaml"], "Roll"), "")
    comment = "  # PyTorch takes no dimensions for all of them\n"
    files["torch.yaml"] = replaced(
        files["torch.yaml"],
        [
            (f"{comment}  - {{overload: roll, calls: [Roll], why: meaning}}\n", "", 1),
            ("calls: [Roll, Mul, Sub]", "calls: [Mul, Sub]", 1),
        ],
    )
    lines = [line for line in files["models/swin_t.yaml"].splitlines(keepends=True) if "function: Roll," not in line]
    unmapped = "".join(
        f"  - {{phase: {phase}, aten: roll, count: 10, why: 'no function of the spec names the overload'}}\n"
        for phase in ("forward", "backward")
    )
    files["models/swin_t.yaml"] = replaced("".join(lines), [("unmapped: []\n", f"unmapped:\n{unmapped}", 1)])
    return files


@pytest.mark.slow
def test_parameters_of_several_kinds_and_a_function(tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(SPEC, tmp_path / "specs")
    monkeypatch.chdir(tmp_path)
    for arguments in (
        ("rename", "ForeachaddScalar.inputs", "tensors"),
        ("rename", "LerpScalar.weight", "share"),
        ("rename", "Softmax.dim", "axis"),
        ("rename", "UpsampleLinear.mode", "method"),
        ("remove", "Roll"),
    ):
        done = run(*arguments)
        assert done.exit_code == 0, done.output
    texts = {name: (tmp_path / "specs" / name).read_text() for name in expected()}
    assert {name: texts[name] for name, text in expected().items() if texts[name] != text} == {}
    assert run("check").exit_code == 0
    done = run("generate")
    assert done.exit_code == 0, done.output
    header = (tmp_path / "generated/include/diopi/functions.h").read_text()
    assert "diopiSoftmax(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input,\n" in header
    assert "int64_t axis)" in header
    assert "diopiRoll(" not in header

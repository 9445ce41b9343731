"""Signatures that the interface changed: the diff, what `--apply` writes, and what is left alone."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from diopigen.cli import cli
from diopigen.vendor.parameters import written_params

BEFORE = """#include <diopi/functions.h>

// diopiNeg( is an old friend
extern "C" diopiError_t diopiNeg(diopiContextHandle_t ctx, diopiTensorHandle_t out) {
    return run(ctx, out);
}

namespace impl { namespace test {
diopiError_t diopiExp(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input)
{ return ok(); }

diopiError_t diopiAdd(diopiContextHandle_t ctx, diopiTensorHandle_t out /* (result) */, diopiConstTensorHandle_t input,
                      diopiConstTensorHandle_t other, double alpha) try {
    return run(ctx, out, input, other, alpha);
} catch (...) {
    return diopiErrorOccurred;
}
}}
"""
NEG = "diopiNeg(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input) {"
ADD = """diopiError_t diopiAdd(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                      diopiConstTensorHandle_t other, const diopiScalar_t* alpha) try {
"""


def tree(folder: Path, text: str) -> Path:
    path = folder / "impl/test/functions/kernels.cpp"
    path.parent.mkdir(parents=True)
    path.write_text(text)
    return path


def sync(path: Path, *options: str) -> tuple[int, str]:
    done = CliRunner().invoke(cli, ["sync", str(path.parents[1]), *options])
    return done.exit_code, done.output


def test_a_diff_and_what_is_applied(tmp_path: Path) -> None:
    path = tree(tmp_path, BEFORE)
    code, output = sync(path)
    assert code == 1
    assert path.read_text() == BEFORE
    lines = output.splitlines()
    assert lines[0].startswith("--- a/") and lines[1].startswith("+++ b/")
    removed = [line for line in lines[2:] if line.startswith("-")]
    assert len(removed) == 3 and all("diopiNeg(" in line or "diopiAdd(" in line or "alpha" in line for line in removed)
    assert f'+extern "C" diopiError_t {NEG}' in lines

    code, output = sync(path, "--apply")
    assert code == 0 and output.endswith("2 signatures updated in 1 files; bodies are yours to adapt\n")
    after = path.read_text()
    assert NEG in after and ADD in after
    assert "// diopiNeg( is an old friend" in after
    assert "return run(ctx, out);" in after and "{ return ok(); }" in after
    code, output = sync(path)
    assert code == 0 and output.endswith("every signature is that of the interface\n")


def test_a_tree_that_is_not_there(tmp_path: Path) -> None:
    done = CliRunner().invoke(cli, ["sync", str(tmp_path / "nowhere")])
    assert done.exit_code == 2 and "error[vendor-unreadable]" in done.output


def test_scaffold_for_a_model(tmp_path: Path) -> None:
    arguments = ["scaffold", "--vendor", "test", "--out", str(tmp_path / "tree")]
    done = CliRunner().invoke(cli, [*arguments, "--model", "resnet50"])
    assert done.exit_code == 0, done.output
    names = {path.stem for path in (tmp_path / "tree/impl/test/functions").rglob("*.cpp")}
    assert {"Convolution2d", "BatchNormBackward", "Relu", "Addmm"} <= names and "LayerNorm" not in names
    done = CliRunner().invoke(cli, [*arguments, "--model", "resnet"])
    assert done.exit_code == 2 and "there is no model 'resnet'; did you mean 'resnet50'?" in done.output


UNUSED = """#include <diopi/functions.h>
extern "C" {
diopiError_t diopiNeg(diopiContextHandle_t, diopiTensorHandle_t) { return diopiNoImplement; }
diopiError_t diopiExp(diopiContextHandle_t /*ctx*/, diopiTensorHandle_t out, float /* input */) { return use(out); }
diopiError_t diopiAdd(diopiContextHandle_t c, diopiTensorHandle_t result, diopiConstTensorHandle_t input,
                      diopiConstTensorHandle_t, [[maybe_unused]] double alpha) {
    return use(c, result, input);
}
diopiError_t diopiSub(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input) {
    return use(ctx, out, input);
}
}
"""
SYNCED = """diopiError_t diopiNeg(diopiContextHandle_t, diopiTensorHandle_t, diopiConstTensorHandle_t /*input*/) { return diopiNoImplement; }
diopiError_t diopiExp(diopiContextHandle_t /*ctx*/, diopiTensorHandle_t out, diopiConstTensorHandle_t /*input*/) { return use(out); }
diopiError_t diopiAdd(diopiContextHandle_t c, diopiTensorHandle_t result, diopiConstTensorHandle_t input,
                      diopiConstTensorHandle_t, [[maybe_unused]] const diopiScalar_t* alpha) {
    return use(c, result, input);
}
diopiError_t diopiSub(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                      diopiConstTensorHandle_t other, const diopiScalar_t* alpha) {
"""  # noqa: E501  # a file as the command writes it


def test_what_has_no_name_gets_none_and_the_names_of_a_body_stay(tmp_path: Path) -> None:
    path = tree(tmp_path, UNUSED)
    code, _ = sync(path, "--apply")
    after = path.read_text()
    assert code == 0
    signatures = " ".join(SYNCED.split())
    assert signatures in " ".join(after.split()).replace("( ", "(")
    assert sync(path)[0] == 0


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("void", []),
        ("int64_t", [("int64_t", "")]),
        ("unsigned int", [("unsigned int", "")]),
        ("unsigned n", [("unsigned", "n")]),
        ("const int64_t * p , struct T*", [("const int64_t *", "p"), ("T *", "")]),
        ("const bool* const", [("const bool *const", "")]),
        ("int64_t d = f(1, 2), diopiSize_t", [("int64_t", "d"), ("diopiSize_t", "")]),
        ("std::array<int, 2> a, ns::T", [("std::array<int, 2>", "a"), ("ns::T", "")]),
        ("const float x[3], diopiDtype_t /* dtype, (all) */", [("const float *", "x"), ("diopiDtype_t", "")]),
        ("[[maybe_unused]] T* __attribute__((unused)) p", [("T *", "p")]),
    ],
)
def test_parameters_as_vendors_write_them(text: str, expected: list[tuple[str, str]]) -> None:
    assert [(param.type, param.name) for param in written_params(text)] == expected

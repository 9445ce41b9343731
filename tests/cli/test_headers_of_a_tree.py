"""`--proto`: the public headers of a vendor's tree are what its sources are compared with, in every command."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from adaptors_cli import SOURCE
from click.testing import CliRunner
from test_generate import ROOT

from diopigen.cli import cli

RELU = "diopiRelu(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input"
OURS = "diopiError_t diopiOurs(diopiContextHandle_t, diopiTensorHandle_t)"
OLDER = f"""\
#ifndef OLDER_FUNCTIONS_H
#define OLDER_FUNCTIONS_H
#include "diopirt.h"
#if defined(__cplusplus)
extern "C" {{
#endif
DIOPI_API const char* diopiGetLastErrorString();
DIOPI_API diopiError_t diopiCastDtype(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                                      diopiConstTensorHandle_t input);
DIOPI_API diopiError_t diopiCopyInp(diopiContextHandle_t ctx, diopiConstTensorHandle_t src, diopiTensorHandle_t dest);
DIOPI_API diopiError_t diopiContiguous(diopiContextHandle_t ctx, diopiTensorHandle_t* out,
                                       diopiConstTensorHandle_t input, diopiMemoryFormat_t format);
DIOPI_API diopiError_t diopiEqual(diopiContextHandle_t ctx, bool* out, diopiConstTensorHandle_t input,
                                  diopiConstTensorHandle_t other);
DIOPI_API diopiError_t {RELU});
DIOPI_API diopiError_t diopiOurs(diopiContextHandle_t ctx, diopiTensorHandle_t out);
#if defined(__cplusplus)
}}
#endif
#endif
"""


@pytest.fixture
def headers(tmp_path: Path) -> Path:
    """The headers of an older interface: of Softmax nothing, and a function of its own."""
    folder = tmp_path / "proto/include/diopi"
    folder.mkdir(parents=True)
    shutil.copy(ROOT / "generated/include/diopi/diopirt.h", folder)
    (folder / "functions.h").write_text(OLDER)
    return folder


@pytest.fixture
def chip(tmp_path: Path) -> Path:
    directory = tmp_path / "impl/chip"
    (directory / "functions").mkdir(parents=True)
    source = SOURCE.replace("VENDOR", "chip")
    source = source.replace("}  // namespace", f"{OURS} {{ return diopiSuccess; }}\n}}  // namespace")
    (directory / "functions/kernels.cpp").write_text(source.replace("return diopiNoImplement", "return diopiSuccess"))
    return directory


def change(chip: Path, old: str, new: str) -> None:
    path = chip / "functions/kernels.cpp"
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))


def called(*words: str | Path) -> tuple[int, str]:
    done = CliRunner().invoke(cli, [str(word) for word in words])
    return done.exit_code, done.output


def test_sources_are_compared_with_the_headers(headers: Path, chip: Path) -> None:
    change(chip, OURS, OURS.replace(", diopiTensorHandle_t", ""))
    code, said = called("check-impl", chip, "--proto", headers)
    assert code == 1 and "'diopiOurs' takes 1 parameter in place of 2" in said
    assert "no header declares 'diopiSoftmax'" in said and said.count("warning[impl-orphan]") == 1
    change(chip, OURS.replace(", diopiTensorHandle_t", ""), OURS)
    code, said = called("check-impl", chip, "--proto", headers / "functions.h")
    assert code == 0 and said.endswith(": 5 of 6 functions have a kernel\n")
    code, said = called("check-impl", chip)
    assert code == 0 and "no header declares 'diopiOurs'" in said and ": 5 of 579 functions have a kernel\n" in said


def test_coverage_counts_what_check_impl_counts(headers: Path, chip: Path) -> None:
    for proto in ([], ["--proto", str(headers)]):
        counts = [called(command, chip, *proto)[1].rpartition(": ")[2] for command in ("check-impl", "coverage")]
        known = counts[0].replace("5 of 6", "4 of 5")  # coverage is about functions of the spec
        assert known == counts[1] and known.endswith("functions have a kernel\n")


def test_signatures_are_those_of_the_headers(headers: Path, chip: Path) -> None:
    change(chip, OURS, OURS.replace(", diopiTensorHandle_t", ""))
    code, said = called("sync", chip, "--proto", headers)
    assert code == 1
    assert "-diopiError_t diopiOurs(diopiContextHandle_t) { return diopiSuccess; }" in said
    assert "+diopiError_t diopiOurs(diopiContextHandle_t, diopiTensorHandle_t /*out*/) { return diopiSuccess; }" in said


@pytest.mark.build
def test_shims_compile_with_the_headers_of_the_tree(headers: Path, chip: Path, tmp_path: Path) -> None:
    code, said = called("adaptors", chip, "--proto", headers, "--out", tmp_path / "out")
    assert code == 0 and "shims for 4 functions" in said
    text = (tmp_path / "out/adaptor.cpp").read_text()
    assert "diopiRelu" in text and "diopiSoftmax" not in text and "functions_collective.h" not in text
    includes = ["-I", str(headers.parent), "-I", str(ROOT / "runtime/adaptor/include"), "-I", str(tmp_path / "out")]
    includes += ["-I", str(ROOT / "generated/include")]
    flags = ["-std=c++17", "-Wall", "-Wextra", "-Werror", "-fsyntax-only"]
    compiler = ["g++", *flags, *includes, str(tmp_path / "out/adaptor.cpp")]
    done = subprocess.run(compiler, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_a_shim_has_one_signature(headers: Path, chip: Path, tmp_path: Path) -> None:
    path = headers / "functions.h"
    path.write_text(path.read_text().replace(RELU, f"{RELU}, int64_t axis"))
    relu = "diopiRelu(diopiContextHandle_t, diopiTensorHandle_t, diopiConstTensorHandle_t"
    change(chip, relu, f"{relu}, int64_t")
    code, said = called("adaptors", chip, "--proto", path, "--out", tmp_path / "out")
    assert code == 1 and not (tmp_path / "out").exists()
    assert (
        "error[adaptors-signature]: 'diopiRelu' takes 4 parameters in place of 3" in said
        and "functions.h:15:24" in said
    ), said


def test_headers_that_do_not_parse_end_the_command(headers: Path, chip: Path) -> None:
    (headers / "functions.h").write_text("diopiError_t diopiRelu(unheard x);\n")
    for command in ("check-impl", "coverage", "doctor", "sync"):
        code, said = called(command, chip, "--proto", headers)
        assert code in (1, 2) and "header-syntax" in said and "Traceback" not in said, said

"""A spec that was imported from headers: drafts, which the other commands serve while `check` lists what is open."""

from __future__ import annotations

from pathlib import Path

import pytest

from diopigen.cli import main

HEADERS = {
    "acme/types.h": """\
#pragma once
typedef struct diopiContext* diopiContextHandle_t;
typedef struct diopiTensor* diopiTensorHandle_t;
typedef const struct diopiTensor* diopiConstTensorHandle_t;
typedef enum { diopiSuccess = 0, diopiErrorOccurred = 1 } diopiError_t;
typedef enum { diopi_dtype_int8 = 0, diopi_dtype_float16 = 5, diopi_dtype_float32 = 7 } diopiDtype_t;
""",
    "functions.h": """\
#include <private.h>
/**
 * @brief Rectifies.
 * @param[in] ctx Context.
 * @param[out] out the result. type = [float16, float]
 * @param[in] input the input. type = [float16, float32, int8]
 */
__attribute__((weak)) diopiError_t diopiRelu(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                                             diopiConstTensorHandle_t input);
/**
 * @brief Rectifies in place.
 * @param[in,out] input the values. type = [float16, float128]
 * @sa Other parameters refer to diopiRelu()
 */
__attribute__((weak)) diopiError_t diopiReluInp(diopiContextHandle_t ctx, diopiTensorHandle_t input);
/**
 * @brief Says whether a tensor is there.
 * @sa Other parameters refer to diopiRelu().
 */
__attribute__((weak)) diopiError_t diopiHas(diopiContextHandle_t ctx, diopiConstTensorHandle_t input);
""",
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "acme").mkdir()
    for name, text in HEADERS.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "private").mkdir()
    (tmp_path / "private/private.h").write_text('#include "acme/types.h"\n')
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    capsys.readouterr()
    with pytest.raises(SystemExit) as ended:
        main(list(arguments))
    said = capsys.readouterr()
    return int(ended.value.code or 0), said.out + said.err


def test_a_header_in_a_private_folder_needs_an_option(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, said = run(capsys, "import-proto", "functions.h", "acme/types.h", "--out", "specs")
    assert code == 2 and "'private.h' file not found" in said and not (folder / "specs").exists()
    code, said = run(capsys, "check-proto", "functions.h", "acme/types.h", "-I", "nowhere")
    assert code == 2 and "-I: 'nowhere' is no folder" in said


def test_commands_serve_drafts_and_check_lists_what_is_open(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    headers = ["functions.h", "acme/types.h", "-I", "private"]
    code, said = run(capsys, "import-proto", *headers, "--out", "specs")
    assert code == 0
    assert said == (
        "specs: 4 files written; next: diopigen check --spec specs\n"
        "functions.h:12:19: warning[import-unsupported]: the dtypes of 'input' of diopiReluInp are left out:"
        " 'float128' unknown\n"
        "   12 |  * @param[in,out] input the values. type = [float16, float128]\n"
        "      |                   ^^^^^\n"
        "  fix: fill them in by hand\n"
        "1 warning\n"
    )
    assert (folder / "specs/ops/functions.yaml").read_text() == (
        "family: functions\nheader: functions.h\ndoc: To be described.\noperators:\n"
        "  - name: Relu\n    doc: Rectifies.\n    draft: true\n    params:\n"
        "      - {name: out, type: tensor, direction: out, dtype: [float16, float32],"
        " doc: the result.}\n"
        "      - {name: input, type: tensor, direction: in, dtype: [float16, float32, int8],"
        " doc: the input.}\n"
        "  - name: ReluInp\n    doc: Rectifies in place.\n    draft: true\n    params:\n"
        "      - {name: input, type: tensor, direction: inout, doc: 'the values. type = [float16, float128].'}\n"
        # What its comment leaves to another function's is taken from there: nothing is open.
        "  - name: Has\n    doc: Says whether a tensor is there.\n    params:\n"
        "      - {name: input, type: tensor, direction: in, dtype: [float16, float32, int8],"
        " doc: the input.}\n"
    )

    code, said = run(capsys, "check", "--spec", "specs")
    assert code == 0
    assert said == (
        "specs/ops/functions.yaml:9:16: warning[missing-shape]: diopiRelu: output 'out' has no 'shape'\n"
        "    9 |       - {name: out, type: tensor, direction: out, dtype: [float16, float32], doc: the result.}\n"
        "      |                ^^^\n"
        "  fix: add 'shape' with a rule or a list of dimensions\n"
        "specs/ops/functions.yaml:15:16: warning[missing-dtype]: diopiReluInp: tensor 'input' has no 'dtype'\n"
        "   15 |       - {name: input, type: tensor, direction: inout,"
        " doc: 'the values. type = [float16, float128].'}\n"
        "      |                ^^^^^\n"
        "  fix: add 'dtype' with a list or a rule\n"
        "2 warnings\n"
    )
    assert run(capsys, "check", "--spec", "specs", "--strict")[0] == 1

    note = "note[draft-open]: 2 places of 2 functions that are drafts are open\n  fix: see `diopigen check`\n"
    code, said = run(capsys, "generate", "--spec", "specs", "--target", "headers", "--target", "json")
    assert code == 0 and note in said
    for old in ("generated/diopi.json", "specs"):
        code, said = run(capsys, "breaking", "--spec", "specs", "--against", old)
        assert code == 0 and "nothing breaks" in said
    code, said = run(capsys, "check-proto", "--spec", "specs", *headers, "--no-docs", "-v")
    assert code == 0 and note in said, said


def test_a_draft_with_nothing_open_is_none(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(capsys, "import-proto", "functions.h", "acme/types.h", "-I", "private", "--out", "specs")
    path = folder / "specs/ops/functions.yaml"
    path.write_text(path.read_text().replace("  - name: Has\n", "  - name: Has\n    draft: true\n"))
    code, said = run(capsys, "check", "--spec", "specs")
    assert code == 0
    assert (
        "specs/ops/functions.yaml:17:12: warning[draft-done]: diopiHas is called a draft, but nothing in it is open\n"
        "   17 |     draft: true\n"
        "      |            ^^^^\n"
        "  fix: remove 'draft'\n"
    ) in said

"""check-proto, check-impl, import-proto and breaking, from the shell."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
from header_helpers import facts_interface, synthesise
from sampling import first
from test_generate import ROOT, run

from diopigen.ir.model import Interface

HEADERS = ROOT / "generated/include/diopi"


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """A copy of the emitted headers, to break."""
    shutil.copytree(HEADERS, tmp_path / "diopi")
    return tmp_path / "diopi"


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert text.count(old) >= 1, old
    path.write_text(text.replace(old, new, 1), encoding="utf-8")


def test_the_emitted_headers_agree_with_the_spec(interface: Interface) -> None:
    counts = f"{len(interface.functions)} functions in {len(interface.headers)} headers"
    assert run("check-proto").stdout == f"{counts}: all as the spec says\n"


@pytest.mark.parametrize("language", ["c", "c++"])
def test_both_languages(language: str) -> None:
    run("check-proto", "--language", language)


def test_headers_in_the_style_of_the_wild_agree_with_the_spec(tmp_path: Path, interface: Interface) -> None:
    """The published headers, in which nothing is missing but what the spec has on top."""
    published = {function.name for function in facts_interface().functions}
    headers = {function.header for function in facts_interface().functions}
    new = {function.name for function in interface.functions if function.header in headers} - published
    paths = [str(path) for path in synthesise(tmp_path / "diopi")]
    done = run("check-proto", "--no-docs", "-v", *paths, code=1 if new else 0)
    missing = set(re.findall(r"error\[missing-function\]: '(\w+)'", done.stderr))
    assert missing == new
    assert "note[macro-value]: the macro 'DIOPI_VER_MINOR' is '0'" in done.stderr
    if not new:
        assert done.stdout == f"{len(published)} functions in 6 headers: all as the spec says\n"


@pytest.mark.parametrize(
    ("old", "new", "rule"),
    [
        ("diopiError_t diopiRelu(", "diopiError_t diopiRelux(", "missing-function"),
        (
            "diopiRelu(diopiContextHandle_t ctx, diopiTensorHandle_t out,",
            "diopiRelu(diopiContextHandle_t ctx, diopiTensorHandle_t result,",
            "parameter-name",
        ),
        (
            "diopiRelu(diopiContextHandle_t ctx, diopiTensorHandle_t out,",
            "diopiRelu(diopiContextHandle_t ctx, diopiConstTensorHandle_t out,",
            "parameter-const",
        ),
        ("DIOPI_API diopiError_t diopiRelu(", "DIOPI_RT_API diopiError_t diopiRelu(", "linkage"),
    ],
)
def test_a_changed_header_is_found_where_it_changed(copied: Path, old: str, new: str, rule: str) -> None:
    edit(copied / "functions.h", old, new)
    done = run("check-proto", "--strict", "--format", "json", str(copied / "functions.h"), code=1)
    found = json.loads(done.stdout)["diagnostics"]
    assert rule in {item["code"] if "code" in item else item["rule"] for item in found}
    assert all("functions.h" in json.dumps(item) for item in found)


def test_drift_of_a_comment_is_found(copied: Path) -> None:
    edit(copied / "functions_sparse.h", "@param[in] mat2", "@param[out] mat3")
    done = run("check-proto", "--strict", str(copied / "functions_sparse.h"), code=1)
    assert "'diopiSpMM' has no parameter 'mat3'" in done.stderr and "functions_sparse.h:" in done.stderr


def test_a_header_that_does_not_parse_is_an_error_and_never_half_a_result(copied: Path) -> None:
    edit(copied / "functions_sparse.h", "diopiConstTensorHandle_t mat2", "diopiUnheardOf_t mat2")
    done = run("check-proto", str(copied / "functions_sparse.h"), code=1)
    assert re.search(r"functions_sparse\.h:\d+:\d+: error\[header-syntax\]", done.stderr)
    assert "parameter-type" not in done.stderr


def test_check_impl_needs_no_sdk(tmp_path: Path) -> None:
    functions = tmp_path / "impl/acme/functions"
    functions.mkdir(parents=True)
    (functions / "relu.cpp").write_text(
        "#include <acme_sdk.h>\n#include <diopi/functions.h>\n"
        "namespace impl {\nnamespace acme {\n"
        "diopiError_t diopiRelu(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input) "
        "{ return diopiSuccess; }\n"
        "diopiError_t diopiReluu(diopiContextHandle_t ctx) { return diopiSuccess; }\n"
        "diopiError_t diopiSin(diopiContextHandle_t ctx, diopiTensorHandle_t out) { return diopiSuccess; }\n"
        "}\n}\n"
    )
    done = run("check-impl", "--list", str(tmp_path / "impl/acme"), code=1)
    assert done.stdout.splitlines() == ["diopiRelu", "diopiSin"]
    assert "relu.cpp:6:14: warning[impl-orphan]" in done.stderr
    assert "relu.cpp:7:14: error[impl-signature]" in done.stderr


def test_import_proto_leaves_open_what_c_does_not_say(tmp_path: Path) -> None:
    headers = [str(HEADERS / name) for name in ("diopirt.h", "functions.h")]
    done = run("import-proto", *headers, "--out", str(tmp_path / "specs"))
    assert "diopigen check --spec" in done.stdout
    found = json.loads(run("check", "--spec", str(tmp_path / "specs"), "--format", "json", code=0).stdout)
    rules = {item.get("code", item.get("rule")) for item in found["diagnostics"]}
    assert {item["severity"] for item in found["diagnostics"]} == {"warning"}  # drafts
    assert rules <= {"missing-dtype", "missing-shape", "missing-direction", "missing-count", "irregular-order"}


def test_an_imported_spec_gives_the_headers_back(tmp_path: Path) -> None:
    wild = synthesise(tmp_path / "diopi")
    run("import-proto", *map(str, wild), "--out", str(tmp_path / "specs"))
    done = run("breaking", "--against", str(tmp_path / "diopi"), "--new", str(tmp_path / "specs"), code=0)
    assert "error" not in done.stderr


@pytest.mark.slow
def test_nothing_breaks_against_the_own_json_headers_and_spec() -> None:
    for old in ("generated/diopi.json", "generated/include/diopi", "specs"):
        assert run("breaking", "--against", old).stdout == f"{old}: nothing breaks\n"


def test_a_removed_function_breaks_and_a_renamed_parameter_is_a_note(copied: Path, tmp_path: Path) -> None:
    edit(copied / "functions.h", "diopiError_t diopiRelu(", "diopiError_t diopiReluOld(int unlike_any_other, ")
    edit(copied / "functions_sparse.h", "diopiConstTensorHandle_t mat2", "diopiConstTensorHandle_t matrix")
    done = run("breaking", "--against", str(copied), code=1)
    assert "error[function-removed]" in done.stderr
    assert "note[parameter-renamed]" in done.stderr
    assert "note[function-added]" in done.stderr


@pytest.mark.parametrize(
    ("content", "code"), first([(b'{"format": 1}', 2), (b"\xff", 2), (b"{", 2), (b"[]", 2), (b'{"format": 99}', 2)], 2)
)
def test_a_damaged_json_is_a_finding(tmp_path: Path, content: bytes, code: int) -> None:
    (tmp_path / "old.json").write_bytes(content)
    done = run("breaking", "--against", str(tmp_path / "old.json"), code=code)
    assert "error[interface-unreadable]" in done.stderr


@pytest.mark.slow
def test_explain_shows_a_function_and_a_rule() -> None:
    text = run("explain", "Add").stdout
    assert text.startswith("DIOPI_API diopiError_t diopiAdd(")
    assert "add.out" in text
    assert run("explain", "unknown-dtype").stdout.startswith("unknown-dtype: ")
    assert "did you mean 'diopiAdd'?" in run("explain", "diopiAddd", code=2).stderr


def test_every_listed_rule_has_a_purpose() -> None:
    lines = run("explain", "--rules").stdout.splitlines()
    assert len(lines) > 100
    assert all(re.match(r"[a-z][a-z0-9-]* +\S", line) for line in lines)

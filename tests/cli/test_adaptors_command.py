"""`diopigen adaptors`, from the shell: tables, exit codes, and nothing written where something is in error."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from adaptors_cli import CONFIG, Adaptors, created
from test_generate import ROOT, run, tree

HEADERS = ROOT / "generated/include/diopi"


def test_shims_are_written_where_the_vendor_s_are(vendor: Path, adaptors: Adaptors) -> None:
    root = vendor.parent.parent
    out, err = adaptors(vendor)
    assert out.startswith("generated/adaptors/chip: shims for 5 functions; ") and err == ""
    before = tree(root / "generated/adaptors/chip")
    assert "MANIFEST.json" in before and json.loads(before["vendor.json"]) == {"vendor": "chip"}
    out, _ = adaptors(vendor)
    assert "0 written, 0 removed" in out
    adaptors(vendor, "--check")
    assert tree(root / "generated/adaptors/chip") == before


def test_the_same_tree_elsewhere_gives_the_same_bytes(vendor: Path, tmp_path: Path, adaptors: Adaptors) -> None:
    adaptors(vendor)
    other = tmp_path / "a" / "b"
    shutil.copytree(vendor, other / "impl" / "chip")
    run("adaptors", str(other / "impl/chip"), "--out", str(tmp_path / "out"), cwd=ROOT)
    assert tree(tmp_path / "out") == tree(vendor.parent.parent / "generated/adaptors/chip")


def test_two_vendors_are_independent(vendor: Path, tmp_path: Path, adaptors: Adaptors) -> None:
    other = created(tmp_path, "ship", "- common_config:\n    layout: NHWC\n")
    adaptors(vendor)
    before = tree(tmp_path / "generated/adaptors/chip")
    adaptors(other)
    assert tree(tmp_path / "generated/adaptors/chip") == before
    adaptors(vendor, "--check")
    adaptors(other, "--check")
    _, err = adaptors(other, "--out", "generated/adaptors/chip", "--force", code=1)
    assert err == (
        "generated/adaptors/chip/vendor.json:1:1: error[adaptors-other-vendor]: "
        "'generated/adaptors/chip' holds the shims of chip, not of ship\n"
        '    1 | {"vendor": "chip"}\n'
        "      | ^\n"
        "  fix: give another folder with --out, or leave --out away\n"
        "1 error\n"
    )
    assert tree(tmp_path / "generated/adaptors/chip") == before


@pytest.mark.parametrize("mode", ["--check", "--diff", "--dry-run"])
def test_modes_that_write_nothing(mode: str, vendor: Path, adaptors: Adaptors) -> None:
    out, err = adaptors(vendor, mode, code=1 if mode == "--check" else 0)
    assert not (vendor.parent.parent / "generated").exists()
    said = {"--check": err, "--diff": out, "--dry-run": out}[mode]
    assert "vendor.json" in said


def test_check_says_which_command_fixes_it(vendor: Path, adaptors: Adaptors) -> None:
    adaptors(vendor)
    (vendor / "convert_config.yaml").write_text("- common_config: {dtype: (int8)->int16}\n")
    _, err = adaptors(vendor, "--check", code=1)
    assert "run 'diopigen adaptors impl/chip'" in err


def test_nothing_is_written_after_an_error_and_all_are_shown(vendor: Path, adaptors: Adaptors) -> None:
    (vendor / "convert_config.yaml").write_text(
        "- common_config:\n    dtype: (int64)int32\n- diopiSoftMax:\n    layout: ND\n- diopiRelu:\n    layout: NHCW\n"
    )
    out, err = adaptors(vendor, code=1)
    assert out == ""
    assert [line.split(": ", 2)[:2] for line in err.split("\n") if line.startswith("impl/")] == [
        ["impl/chip/convert_config.yaml:2:13", "note[config-narrowing]"],
        ["impl/chip/convert_config.yaml:2:19", "error[config-missing-arrow]"],
        ["impl/chip/convert_config.yaml:3:3", "error[config-unknown-operator]"],
        ["impl/chip/convert_config.yaml:6:13", "error[config-unknown-layout]"],
    ]
    assert not (vendor.parent.parent / "generated").exists()


def test_warnings_do_not_stop_a_run_but_strict_makes_them_errors(vendor: Path, adaptors: Adaptors) -> None:
    (vendor / "convert_config.yaml").write_text("- diopiAbs:\n    layout: NHWC\n")
    _, err = adaptors(vendor, "--strict", code=1)
    assert "error[config-not-implemented]" in err and err.endswith("1 error\n")
    assert not (vendor.parent.parent / "generated").exists()
    out, err = adaptors(vendor)
    assert "warning[config-not-implemented]" in err and "shims for 5 functions" in out


def test_a_configuration_provided_by_name(vendor: Path, tmp_path: Path, adaptors: Adaptors) -> None:
    (tmp_path / "other.yaml").write_text("- common_config:\n    dtype: (int8)->int16\n")
    out, _ = adaptors(vendor, "--config", "other.yaml", "--explain", "Relu")
    assert "other.yaml:2" in out and "convert_config.yaml" not in out


def test_headers_provided_by_name(vendor: Path, adaptors: Adaptors) -> None:
    headers = [argument for path in sorted(HEADERS.glob("*.h")) for argument in ("--proto", str(path))]
    assert adaptors(vendor, *headers, "--explain") == adaptors(vendor, "--explain")


def test_a_tree_whose_configuration_is_in_its_root(tmp_path: Path, adaptors: Adaptors) -> None:
    """As `diopigen scaffold` lays it out."""
    vendor = created(tmp_path, "chip", None)
    (tmp_path / "convert_config.yaml").write_text(CONFIG)
    out, _ = adaptors(vendor, "--explain", "Relu")
    assert "convert_config.yaml:2" in out


def test_no_configuration_converts_nothing_and_is_noted(tmp_path: Path, adaptors: Adaptors) -> None:
    vendor = created(tmp_path, "chip", None)
    out, err = adaptors(vendor, "--explain", "Relu")
    assert out.startswith("diopiRelu: implemented by chip; its tensors are passed on as they are\n")
    assert err == (
        "impl/chip:1:1: note[adaptors-no-config]: "
        "'impl/chip' has no convert_config.yaml, so that nothing is converted\n"
        "  fix: nothing, where the kernels take every dtype and layout; docs/adaptors.md says how to write one\n"
        "1 note\n"
    )


def test_the_default_configuration_is_without_a_finding(tmp_path: Path, adaptors: Adaptors) -> None:
    vendor = created(tmp_path, "chip", (ROOT / "convert_config.yaml").read_text(encoding="utf-8"))
    out, err = adaptors(vendor, "--explain", "Relu")
    assert out.startswith("diopiRelu: implemented by chip; its tensors are passed on as they are\n") and err == ""


def test_the_examples_in_the_default_configuration_are_right(tmp_path: Path, adaptors: Adaptors) -> None:
    lines = (ROOT / "convert_config.yaml").read_text(encoding="utf-8").split("\n")
    examples = [line[2:] for line in lines if line.startswith(("# - ", "#     ", "#       "))]
    assert len(examples) > 15
    vendor = created(tmp_path, "chip", "\n".join(examples) + "\n")
    _, err = adaptors(vendor, "--explain", "Relu")
    assert {line.split("[")[1].split("]")[0] for line in err.split("\n") if "config-" in line} <= {
        "config-narrowing",
        "config-not-implemented",
    }


@pytest.mark.parametrize(
    ("arguments", "code", "rule"),
    [
        (["impl/nothing"], 2, "vendor-unreadable"),
        (["impl/chip/functions/kernels.cpp"], 2, "vendor-name"),
        (["impl/chip/functions/kernels.cpp", "--vendor", "chip"], 2, "vendor-unreadable"),
        (["impl/chip", "--config", "missing.yaml"], 2, "file-unreadable"),
        (["impl/chip", "--config", "impl"], 2, "file-unreadable"),
        (["impl/chip", "--proto", "missing.h"], 2, "header-unreadable"),
        (["impl/chip", "--spec", "missing"], 2, "spec-missing"),
        (["impl/chip", "--vendor", "new chip"], 2, "vendor-name"),
        (["impl/chip", "--vendor", "ship"], 1, "adaptors-namespace"),
        (["impl/chip", "--out", "impl/chip/convert_config.yaml/x"], 2, "output-unwritable"),
    ],
)
def test_bad_paths_and_names(arguments: list[str], code: int, rule: str, vendor: Path, adaptors: Adaptors) -> None:
    root = vendor.parent.parent
    before = tree(root)
    _, err = adaptors.command(arguments, root, code)
    assert f"error[{rule}]" in err, err
    assert "fix: " in err
    assert tree(root) == before


def test_functions_in_another_namespace(vendor: Path, adaptors: Adaptors) -> None:
    source = vendor / "functions" / "kernels.cpp"
    source.write_text(source.read_text().replace("impl::chip", "impl::ship"))
    _, err = adaptors(vendor, code=1)
    assert err == (
        "impl/chip:1:1: error[adaptors-namespace]: none of the 5 functions is in the namespace impl::chip\n"
        "  impl/chip/functions/kernels.cpp:5:14: note: found in impl::ship\n"
        "      5 | diopiError_t diopiCastDtype(diopiContextHandle_t, diopiTensorHandle_t, diopiConstTensorHandle_t) {\n"
        "        |              ^^^^^^^^^^^^^^\n"
        "  fix: put them into 'namespace impl::chip', or give the vendor's name with --vendor\n"
        "1 error\n"
    )
    out, _ = adaptors(vendor, "--vendor", "ship", "--explain", "Relu")
    assert out.startswith("diopiRelu: implemented by ship\n")


def test_a_namespace_that_a_macro_names_counts(vendor: Path, adaptors: Adaptors) -> None:
    source = vendor / "functions" / "kernels.cpp"
    source.write_text(source.read_text().replace("namespace impl::chip", "namespace OP_IMPL_NS"))
    out, _ = adaptors(vendor, "--explain", "Relu")
    assert out.startswith("diopiRelu: implemented by chip\n")


def test_what_a_vendor_exports_itself_gets_no_shim(vendor: Path, adaptors: Adaptors) -> None:
    extra = 'extern "C" diopiError_t diopiRelu(diopiContextHandle_t, diopiTensorHandle_t, diopiConstTensorHandle_t) {\n'
    (vendor / "functions" / "extra.cpp").write_text(
        f"#include <diopi/functions.h>\n\n{extra}    return diopiSuccess;\n}}\n"
    )
    out, err = adaptors(vendor, "--explain", "Relu")
    assert out.startswith("diopiRelu: not implemented by chip")
    assert "warning[adaptors-exported]: 'diopiRelu' is defined outside impl::chip too, so that it gets no shim" in err


def test_a_wrong_signature_stops_the_run(vendor: Path, adaptors: Adaptors) -> None:
    source = vendor / "functions" / "kernels.cpp"
    source.write_text(
        source.read_text().replace("diopiConstTensorHandle_t, int64_t)", "diopiConstTensorHandle_t, int)")
    )
    _, err = adaptors(vendor, code=1)
    assert "error[impl-signature]: 'diopiSoftmax' takes 'int' as" in err
    assert not (vendor.parent.parent / "generated").exists()


def test_findings_in_every_form(vendor: Path, adaptors: Adaptors) -> None:
    (vendor / "convert_config.yaml").write_text("- diopiSoftMax:\n    layout: ND\n")
    out, _ = adaptors(vendor, "--format", "json", code=1)
    (finding,) = json.loads(out)["diagnostics"]
    assert (finding["code"], finding["span"]["line"], finding["span"]["column"]) == ("config-unknown-operator", 1, 3)
    out, _ = adaptors(vendor, "--format", "github", code=1)
    assert out.startswith("::error file=impl/chip/convert_config.yaml,line=1,col=3,title=config-unknown-operator::")
    for form in ("sarif", "junit"):
        assert "config-unknown-operator" in adaptors(vendor, "--format", form, code=1)[0]


def test_the_worked_example(tmp_path: Path) -> None:
    done = run("adaptors", "impl/camb", "--out", str(tmp_path / "out"))
    assert "shims for 24 functions" in done.stdout
    assert "error[" not in done.stderr
    done = run("adaptors", "impl/camb", "--explain", "Convolution2d")
    lines = done.stdout.split("\n")
    assert lines[0] == "diopiConvolution2d: implemented by camb"
    weight = next(line for line in lines if line.startswith("  weight "))
    config = (ROOT / "impl/camb/convert_config.yaml").read_text(encoding="utf-8").split("\n")
    assert weight.split()[-2:] == ["NCHW", f"convert_config.yaml:{config.index('- diopiConvolution2d:') + 2}"]


def test_the_shims_of_the_worked_example_are_up_to_date() -> None:
    done = run("adaptors", "impl/camb", "--check")
    assert done.returncode == 0, f"{done.stdout}run `make generate`, and commit generated/adaptors/camb"

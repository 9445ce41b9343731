"""Elementwise kernels that follow from the spec: which are written, what prevents others, and what they compute."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from artefacts import artefact
from click.testing import CliRunner, Result
from sampling import first

from diopigen.cli import cli
from diopigen.emit.cpu.kernels import tensor_functions
from diopigen.emit.elementwise.kernels import expressible
from diopigen.ir.model import Interface

ROOT = Path(__file__).resolve().parents[2]
LOOP = Path(__file__).resolve().parent / "host_loop"
HANDWRITTEN = """#include <diopi/functions.h>
namespace impl { namespace plain {
diopiError_t diopiAbs(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input)
{ return launch(ctx, out, input); }
diopiError_t diopiExp(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input)
{ return diopiNoImplement; }
}}
"""


def elementwise(tree: Path, *options: str) -> Result:
    return CliRunner().invoke(cli, ["elementwise", str(tree), "--spec", str(ROOT / "specs"), *options])


def kernels(tree: Path) -> str:
    return (tree / "functions_elementwise/kernels.cpp").read_text()


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A vendor with a loop and no kernels."""
    created = tmp_path / "impl/plain"
    created.mkdir(parents=True)
    (created / "elementwise.h").write_text("")
    return created


def test_what_fits_a_pattern_is_written_and_checked(tree: Path) -> None:
    done = elementwise(tree, "--ops", "Log*", "--ops", "Relu")
    assert done.exit_code == 0, done.output
    names = set(re.findall(r"^diopiError_t (\w+)", kernels(tree), re.MULTILINE))
    assert {"diopiLog2", "diopiLogicalAnd", "diopiRelu", "diopiReluInp"} <= names
    assert all("Log" in name or "Relu" in name for name in names)
    assert elementwise(tree, "--ops", "Log*", "--ops", "Relu", "--check").exit_code == 0
    stale = elementwise(tree, "--ops", "Log*", "--check")
    assert stale.exit_code == 1 and "kernels.cpp" in stale.output


def test_what_a_person_wrote_is_left_out_and_a_skeleton_is_named(tree: Path) -> None:
    (tree / "functions").mkdir()
    (tree / "functions/own.cpp").write_text(HANDWRITTEN)
    done = elementwise(tree, "--ops", "Abs", "--ops", "Exp", "--ops", "Neg")
    assert done.exit_code == 0, done.output
    assert "1 operators have a skeleton that takes the place of a kernel: diopiExp" in done.output
    assert "diopiError_t diopiNeg(" in kernels(tree) and "diopiError_t diopiNegInp(" in kernels(tree)
    assert "diopiError_t diopiAbs(" not in kernels(tree) and "diopiError_t diopiExp(" not in kernels(tree)


def test_a_chip_says_which(tree: Path, tmp_path: Path) -> None:
    chip = tmp_path / "pebble.yaml"
    operators = "operators:\n  - names: [diopiAdd, diopiMm]\n"
    chip.write_text(f"chip: pebble\ndoc: Small.\ndtypes: [float32]\nmax_rank: 4\nalignment: 4\n{operators}")
    assert elementwise(tree, "--chip", str(chip)).exit_code == 0
    assert re.findall(r"^diopiError_t (\w+)", kernels(tree), re.MULTILINE) == ["diopiAdd"]


@pytest.mark.parametrize("pattern", first(["Conv*", "diopiAdd2"]))
def test_a_pattern_that_fits_nothing_writes_nothing(tree: Path, pattern: str) -> None:
    done = elementwise(tree, "--ops", pattern)
    assert done.exit_code == 1 and f"no elementwise operator fits '{pattern}'" in done.output
    assert not (tree / "functions_elementwise").exists()


def test_a_missing_loop_is_a_warning(tmp_path: Path) -> None:
    bare = tmp_path / "impl/plain"
    bare.mkdir(parents=True)
    done = elementwise(bare, "--ops", "Neg")
    assert done.exit_code == 0 and "elementwise.h is missing" in done.output


def test_what_is_not_written_needs_more_than_a_loop_over_floats(interface: Interface) -> None:
    written = {function.name for function in expressible(interface)}
    left = {function.operator for function in tensor_functions(interface) if function.name not in written}
    lists, integers, coordinates = (
        "Foreachadd Foreachmul",
        "Bitwise PlusScalarInp UpdatePaddingCount",
        "Tril Triu Arange",
    )
    others = "Expand CopyInp CastDtype Ones Zeros Linspace Polar Complex Imag Real Erfinv MaskedFill"
    known = f"{lists} {integers} {coordinates} {others}".split()
    assert [name for name in sorted(left) if not name.startswith(tuple(known))] == []
    assert len(written) >= 160


def test_sums_products_comparisons_and_choices_take_integers_too(tree: Path) -> None:
    """The numbers of docs/vendor-tree.md; a fraction that a kernel needs keeps integers out."""
    assert elementwise(tree).exit_code == 0
    takes = dict(re.findall(r"^struct (\w+) \{\n.*\n.*kTakesIntegers = (\w+)", kernels(tree), re.MULTILINE))
    integral = {name for name, value in takes.items() if value == "true"}
    assert (len(takes), len(integral)) == (164, 75)
    assert {"Add", "AddScalar", "SubInp", "Clamp", "EqScalar", "Where", "Fill", "Abs"} <= integral
    assert not {"Div", "Exp", "Gelu", "Lerp", "Pow", "Remainder", "IsNan", "LeakyRelu"} & integral
    assert f"and {len(integral)} of them also in integers" in (ROOT / "docs/vendor-tree.md").read_text()


@pytest.mark.slow
@pytest.mark.build
@pytest.mark.suite
def test_every_kernel_computes_what_the_suite_says(tmp_path: Path) -> None:
    """All of them over a loop on the host, behind shims without a configuration, verified by conformance."""
    tree = tmp_path / "impl/plain"
    tree.mkdir(parents=True)
    for path in LOOP.iterdir():
        shutil.copy(path, tree)
    assert elementwise(tree).exit_code == 0
    shims = ["adaptors", str(tree), "--out", str(tmp_path / "shims"), "--spec", str(ROOT / "specs")]
    written = CliRunner().invoke(cli, shims)
    assert written.exit_code == 0, written.output
    includes = ["runtime/adaptor/include", "runtime/include", "generated/include"]
    compiler = ["g++", "-std=c++17", "-fPIC", "-Wall", "-Wextra", "-Werror", "-O0", f"-I{tmp_path / 'impl'}"]
    compiler += [f"-I{ROOT / folder}" for folder in includes]
    sources = [tree / "functions_elementwise/kernels.cpp", tree / "view.cpp", tmp_path / "shims/adaptor.cpp"]
    library, runtime = tmp_path / "libplain.so", artefact("libdiopirt.so")
    device = ROOT / "runtime/src/host_device.cpp"
    command = [*compiler, "-shared", *sources, device, "-o", library]
    done = subprocess.run(list(map(str, command)), stderr=subprocess.PIPE, text=True)
    assert done.returncode == 0, done.stderr
    names = re.findall(r"^diopiError_t (\w+)", kernels(tree), re.MULTILINE)
    report = tmp_path / "report.json"
    run: list[str | Path] = [
        sys.executable,
        "-m",
        "diopigen",
        "conformance",
        "run",
        "--lib",
        library,
        "--runtime",
        runtime,
        "-j",
        "2",
    ]
    run += [word for name in names for word in ("--ops", name)]
    subprocess.run([*run, "--json", report], cwd=ROOT, env={**os.environ}, capture_output=True, check=False)
    cases = json.loads(report.read_text())["cases"]
    expected = {"passed", "unimplemented", "inapplicable"}  # what the loop leaves; two devices, which a host has not
    assert [case["id"] for case in cases if case["outcome"] not in expected] == []
    verified = Counter(case["function"] for case in cases if case["outcome"] == "passed" and case["axis"] != "error")
    # The others are those of which every call was left to a fallback.
    assert [name for name in names if verified[name] == 0] == []

"""A chip unlike droplet, made with the kernel library: no 64-bit types, channels last, rank 4, aligned, synchronous."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from artefacts import artefact
from kestrel_tree import EXAMPLE, ROOT, bring_up, command
from programs import SUITE

from diopigen.chip.reader import read_chip
from diopigen.diagnostics import Sink
from diopigen.emit.elementwise.kernels import expressible
from diopigen.emit.vendor.library_kernels import first_versions
from diopigen.ir.model import Interface


def native(interface: Interface) -> set[str]:
    """The operators of the chip's file."""
    chip = read_chip(EXAMPLE / "kestrel.yaml", "kestrel.yaml", interface, Sink())
    assert chip is not None
    return {operator.name for operator in chip.operators}


def test_no_kernel_is_written_by_hand(interface: Interface) -> None:
    """Each is generated, or a first version of the kernel library."""
    generated = {function.name for function in expressible(interface)}
    assert native(interface) - generated <= set(first_versions(interface, ROOT / "runtime"))
    assert sorted(path.name for path in EXAMPLE.iterdir()) == [
        "README.md",
        "README.zh-CN.md",
        "kestrel.yaml",
    ]


def test_bring_up_leaves_nothing_open(tmp_path: Path) -> None:
    tree = tmp_path / "kestrel"
    bring_up(tree)
    implemented = command("check-impl", tree / "impl/kestrel")
    assert re.search(r"impl/kestrel: 28 of \d{3} functions have a kernel\n$", implemented)
    said = command("adaptors", tree / "impl/kestrel", "--out", tree / "generated/adaptors/kestrel", "--check")
    assert "warning" not in said and "error" not in said
    table = command("adaptors", tree / "impl/kestrel", "--explain", "diopiConvolution2d")
    assert re.search(r"input +in +- +- +NHWC +kestrel.yaml:\d+", table)
    assert re.search(r"out +out +- +- +- +-", command("adaptors", tree / "impl/kestrel", "--explain", "diopiAdd"))


@pytest.fixture(scope="module")
def report(interface: Interface, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Results of the suite for the native operators."""
    file = tmp_path_factory.mktemp("kestrel") / "results.json"
    libraries = ["--lib", artefact("kestrel/libdiopi_impl.so"), "--runtime", artefact("libdiopirt.so")]
    words = [*libraries, *(word for name in sorted(native(interface)) for word in ("--ops", name)), "--json", file]
    run = [*SUITE, *map(str, words), "--spec", str(ROOT / "specs")]
    done = subprocess.run(run, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return found


def test_conformance(report: dict[str, Any], interface: Interface) -> None:
    outcomes = [case["outcome"] for case in report["cases"]]
    assert set(outcomes) == {"passed", "unimplemented"} and outcomes.count("passed") > 900
    passed = {case["function"] for case in report["cases"] if case["outcome"] == "passed" and case["axis"] == "recipe"}
    generated = {function.name for function in expressible(interface)}
    assert native(interface) - generated <= passed, "each by at least one of its ordinary cases"


def test_the_first_layer_of_a_network_is_native(report: dict[str, Any]) -> None:
    """Its convolution has a gradient of the weight alone: that of the image is not needed."""
    outcomes = {case["id"]: case["outcome"] for case in report["cases"]}
    assert outcomes["diopiConvolution2dBackward/float32/recipe-4"] == "passed"


def test_every_call_that_is_left_says_why(report: dict[str, Any]) -> None:
    left = [case for case in report["cases"] if case["outcome"] == "unimplemented"]
    assert [case["id"] for case in left if not case.get("reason")] == []
    by_dtype = {case["dtype"] for case in left if case["axis"] == "recipe"}
    assert {"float64", "int64"} <= by_dtype, "64-bit types are not computed with"


# ---- conversions ----------------------------------------------------------------------------------------------------


def converted_run(interface: Interface, library: str, folder: Path, *more: str) -> tuple[int, dict[str, Any], str]:
    """The exit code, the results as JSON, and the report of the native operators' cases in float64 and the rejections,
    over a tree whose configuration converts float64."""
    tree = artefact("libdiopirt.so").parent / f"build/tests/kestrel/written/{library}"
    words = ["--lib", artefact(f"{library}/libdiopi_impl.so"), "--runtime", artefact("libdiopirt.so"), *more]
    words += [word for name in sorted(native(interface)) for word in ("--ops", name)]
    words += [
        "--axis",
        "recipe",
        "--axis",
        "error",
        "--axis",
        "special",
        "--axis",
        "mixed",
        "--json",
        folder / "r.json",
    ]
    run = [*SUITE, *map(str, words), "--spec", str(ROOT / "specs")]
    run += ["--impl", str(tree / "impl/kestrel")] if "--no-impl" not in more else []
    done = subprocess.run([word for word in run if word != "--no-impl"], capture_output=True, text=True)
    found: dict[str, Any] = json.loads((folder / "r.json").read_text(encoding="utf-8"))
    return done.returncode, found, done.stdout


def test_converted_calls_pass_by_the_precision_that_they_have(interface: Interface, tmp_path: Path) -> None:
    code, found, report = converted_run(interface, "kestrel_converted", tmp_path)
    assert code == 0, report
    converted = [case for case in found["cases"] if case["outcome"] == "converted"]
    assert len({case["function"] for case in converted}) >= 20
    assert {case["dtype"] for case in converted} >= {"float64"}
    assert any(case["axis"] == "error" for case in converted), "a dtype that the shim accepts need not be rejected"
    assert "converted by shims: " in report and "float64 as float32" in report


def test_without_the_configuration_the_same_calls_fail(interface: Interface, tmp_path: Path) -> None:
    code, found, _ = converted_run(interface, "kestrel_converted", tmp_path, "--no-impl")
    assert code == 1 and found["counts"]["failed"] >= 50 and found["counts"]["converted"] == 0


def test_wrong_kernels_are_found_behind_conversions(interface: Interface, tmp_path: Path) -> None:
    code, found, _ = converted_run(interface, "kestrel_faulty", tmp_path)
    failed = {case["function"] for case in found["cases"] if case["outcome"] == "failed" and case["dtype"] == "float64"}
    assert code == 1 and failed == {"diopiSoftmax", "diopiBatchNormBackward"}

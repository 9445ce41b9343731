"""The table of `make portability`: what is in it, and what its rows say when something fails or is missing."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import builds
import pytest
import pythons
import suite
import table
from configurations import BUILDS, CONFIGURATIONS, EIGHT, SETTINGS, Build, Configuration

ROOT = Path(__file__).resolve().parents[2]
TOOL = ROOT / "tools/portability"

GOOD = suite.Row("libraries: bare", "1.0.0 (avx2)", 10, 8, 2, (), 61.7)
LIMITS = suite.Limits(jobs=1)


def test_configurations_are_whole() -> None:
    titles = [one.title for one in CONFIGURATIONS]
    assert len(set(titles)) == len(titles)
    assert {one.build for one in CONFIGURATIONS} <= set(BUILDS)
    assert all(bool(one.probe) == bool(one.effect) for one in CONFIGURATIONS)
    # What only the environment or an emulator changes is seen to change something.
    assert all(one.probe or one.level for one in CONFIGURATIONS if one.environment or one.emulated)
    assert len({(build.options, build.libraries) for build in EIGHT}) == len(EIGHT) == 8
    assert all((ROOT / test).exists() for one in CONFIGURATIONS for test in one.tests)
    assert {one.group for one in CONFIGURATIONS if one.shared} >= {"oneDNN", "OpenBLAS", "qemu"}


def test_the_table_is_aligned_and_names_what_failed() -> None:
    failed = replace(GOOD, title="oneDNN: AVX2", passed=6, failures=("diopiA/float32/plain-1", "diopiB/int8/error-2"))
    rows = [GOOD, failed, suite.Row("qemu: EPYC", skipped="no qemu"), suite.Row("compiler: clang", broken="no build")]
    assert table.text(rows, "Chip 1") == (
        "on Chip 1\n"
        "\n"
        "configuration    what ran          cases  passed  failed  not covered  seconds\n"
        "libraries: bare  1.0.0 (avx2)         10       8       0            2       62\n"
        "oneDNN: AVX2     1.0.0 (avx2)         10       6       2            2       62\n"
        "qemu: EPYC       skipped: no qemu\n"
        "compiler: clang  BROKEN: no build                                            0\n"
        "\n"
        "oneDNN: AVX2: diopiA/float32/plain-1\n"
        "oneDNN: AVX2: diopiB/int8/error-2\n"
        "3 configurations, 1 skipped: 20 cases, 2 failed, in 2 configurations\n"
    )
    assert "| libraries: bare | 1.0.0 (avx2) | 10 | 8 | 0 | 2 | 62 |\n" in table.markdown(rows, "Chip 1")
    page = (ROOT / "docs/portability.md").read_text(encoding="utf-8")
    head = page.split(table.SECTION)[0]
    assert table.in_page(page, rows, "Chip 1") == head + table.SECTION + table.markdown(rows, "Chip 1")
    assert json.loads(table.to_json(rows, "Chip 1"))["rows"][1]["failures"] == list(failed.failures)
    assert [row.good for row in rows] == [True, False, True, False]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"flags": ("sse2", "avx1024")}, "this processor has no avx1024"),
        ({"emulated": "qemu-missing -cpu 8086"}, "qemu-missing is not installed (qemu-user)"),
        ({"python": "3.99", "numpy": "2"}, "there is no Python 3.99 on this machine, in PATH or of pyenv"),
    ],
)
def test_what_the_machine_lacks_is_skipped_with_the_reason(
    change: dict[str, Any], reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(suite, "processor", lambda: ("Chip 1", frozenset({"sse2"})))
    row = suite.run(replace(Configuration("a", "b"), **change), LIMITS)
    assert (row.skipped, row.good, row.cases) == (reason, True, 0)


def test_a_compiler_that_is_missing_is_a_reason_and_one_that_fails_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(builds, "WORK", tmp_path)
    with pytest.raises(builds.Skipped, match="cc-missing is not installed"):
        builds.build(Build("x", compiler="cc-missing"), 1)
    monkeypatch.setattr(builds, "ROOT", tmp_path)  # without sources
    with pytest.raises(builds.Broken, match=r"runtime does not build: logs/build-x\.log"):
        builds.build(Build("x"), 1)


def test_a_setting_that_nothing_heeds_breaks_its_row() -> None:
    wrong = Configuration("a", "b", probe="probes.libm_is_fused()", effect="perhaps")
    row = suite.run(wrong, LIMITS)
    assert row.broken.startswith("probes.libm_is_fused() gives '") and row.broken.endswith("', not 'perhaps'")
    row = suite.run(replace(wrong, probe="probes.nothing()"), LIMITS)
    assert row.broken == (
        "probes.nothing() gives 'AttributeError: module '__main__' has no attribute 'nothing'', not 'perhaps'"
    )


def test_a_row_has_no_settings_but_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENBLAS_CORETYPE", "ONEDNN_MAX_CPU_ISA", "NPY_DISABLE_CPU_FEATURES", "GLIBC_TUNABLES"):
        assert name in SETTINGS
        monkeypatch.setenv(name, "of the user")
    monkeypatch.setenv("OTHER", "kept")
    environment = suite._environment(Configuration("a", "b", environment={"ONEDNN_MAX_CPU_ISA": "AVX2"}))
    assert {name: environment[name] for name in SETTINGS & environment.keys()} == {"ONEDNN_MAX_CPU_ISA": "AVX2"}
    assert environment["OTHER"] == "kept"


def test_a_library_must_say_what_the_configuration_asks_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(suite, "processor", lambda: ("Chip 1", frozenset({"avx2"})))
    fault = suite._version_fault
    assert fault("1.0.0 (avx2, oneDNN, libmvec)", Configuration("a", "b"), BUILDS["onednn"]) == ""
    assert fault("1.0.0 (baseline, oneDNN, libmvec)", Configuration("a", "b"), BUILDS["onednn"]) == (
        "the library is '1.0.0 (baseline, oneDNN, libmvec)', and should run on avx2"
    )
    assert fault("1.0.0 (avx2, oneDNN)", Configuration("a", "b"), BUILDS["onednn-sleef-highway"]) == (
        "the library is '1.0.0 (avx2, oneDNN)', without Highway and SLEEF"
    )
    assert fault("2.0 (baseline)", Configuration("a", "b", level="baseline"), None) == ""


def test_results_become_a_row(tmp_path: Path) -> None:
    cases = [
        {"id": f"diopiA/{n}", "outcome": outcome} for n, outcome in enumerate(("passed", "failed", "missing", "hung"))
    ]
    content = {
        "version": "1",
        "seconds": 2.5,
        "counts": {"passed": 1},
        "cases": cases,
        "endings": [{"message": "leak"}],
    }
    (tmp_path / "a.json").write_text(json.dumps(content), encoding="utf-8")
    assert suite._row("a: b", tmp_path / "a.json") == suite.Row(
        "a: b", "1", 4, 1, 1, ("diopiA/1", "diopiA/3", "leak"), 2.5
    )


def test_the_needs_of_another_python_come_from_the_project() -> None:
    needs = pythons._needs()
    names = {need.split("=")[0].split("<")[0].split(">")[0] for need in needs}
    assert {"pyyaml", "jinja2", "click", "libclang", "pytest", "hypothesis"} <= names
    assert not names & {"numpy", "mypy", "torch", "cmake"} and all("extra" not in need for need in needs)


def test_the_command_lists_and_refuses() -> None:
    def ran(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([sys.executable, str(TOOL), *arguments], capture_output=True, text=True, check=False)

    listed = ran("--list", "--only", "qemu*", "--only", "oneDNN: SSE*")
    assert listed.stdout.split("\n") == ["oneDNN: SSE41", "qemu: Nehalem", "qemu: Haswell", "qemu: EPYC", ""]
    rejected = ran("--only", "nothing")
    assert rejected.returncode == 2 and "no configuration is chosen; --list names them" in rejected.stderr
    assert "--lib and --runtime go together" in ran("--lib", "x").stderr

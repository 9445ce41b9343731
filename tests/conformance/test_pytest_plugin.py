"""The pytest plugin, run by a pytest of its own: one test per case, free of charge where the option is absent."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ADD = ("--diopi-ops", "diopiAdd", "--diopi-axis", "plain")


def pytest_run(
    folder: Path, *arguments: str, fault: str = "", plugins: tuple[str, ...] = ()
) -> subprocess.CompletedProcess[str]:
    """Runs pytest in a folder with the plugin and nothing else that is installed."""
    environment = {
        **os.environ,
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        "PYTHONPATH": str(ROOT),
        "TINY_FAULT": fault,
    }
    loaded = [part for name in ("diopigen.pytest_plugin", *plugins) for part in ("-p", name)]
    command = [sys.executable, "-m", "pytest", *loaded, "-p", "no:cacheprovider", *arguments]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)


def library(tiny_library: Path, runtime: Path) -> tuple[str, ...]:
    return ("--diopi-lib", str(tiny_library), "--diopi-runtime", str(runtime), "--diopi-spec", str(ROOT / "specs"))


def counts(done: subprocess.CompletedProcess[str]) -> dict[str, int]:
    """Numbers by outcome in the last line."""
    last = done.stdout.strip().splitlines()[-1]
    return {word: int(number) for number, word in re.findall(r"(\d+) (passed|failed|skipped|deselected)", last)}


def test_every_case_is_a_test(tmp_path: Path, tiny_library: Path, runtime: Path) -> None:
    (tmp_path / "test_of_its_own.py").write_text("def test_fails():\n    assert False\n", encoding="utf-8")
    done = pytest_run(tmp_path, "-v", *library(tiny_library, runtime), *ADD, "--diopi-dtype", "int32")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "diopi::diopiAdd/int32/plain PASSED" in done.stdout
    assert counts(done) == {"passed": 1}
    # Files that are named run as well, and -k chooses among all.
    done = pytest_run(tmp_path, "test_of_its_own.py", *library(tiny_library, runtime), *ADD, "-k", "int32 or fails")
    assert done.returncode == 1
    assert {"passed": 1, "failed": 1}.items() <= counts(done).items()
    assert counts(done)["deselected"] > 3


def test_a_failure_tells_what_is_wrong_and_how_to_repeat_it(tmp_path: Path, tiny_library: Path, runtime: Path) -> None:
    selected = ("--diopi-ops", "diopiAdd", "--diopi-ops", "diopiNeg", "--diopi-dtype", "int32")
    axes = ("--diopi-axis", "plain", "--diopi-axis", "recipe")
    done = pytest_run(tmp_path, "-rs", *library(tiny_library, runtime), *selected, *axes, fault="alpha ignored")
    assert done.returncode == 1
    assert "values: out: " in done.stdout
    assert f"repeat with: diopigen conformance repro 'diopiAdd/int32/recipe-1' --lib {tiny_library}" in done.stdout
    assert "the library exports no such function" in done.stdout
    assert "Traceback" not in done.stdout and "pytest_items.py" not in done.stdout
    assert counts(done)["failed"] >= 1 and counts(done)["passed"] >= 1 and counts(done)["skipped"] >= 1


@pytest.mark.slow
def test_what_the_chip_declares_counts(tmp_path: Path, tiny_library: Path, runtime: Path) -> None:
    arguments = (*library(tiny_library, runtime), *ADD, "--diopi-dtype", "float32")
    chip = tmp_path / "chip.yaml"
    head = "chip: tiny\ndoc: A chip.\ndtypes: [float32]\nmax_rank: 4\nalignment: 1\n"
    head += "operators:\n  - doc: Everything.\n    names: [diopiAdd]\n"

    def declared(ulp: int) -> subprocess.CompletedProcess[str]:
        entry = f"[{{functions: [diopiAdd], dtypes: [float32], ulp: {ulp}}}]"
        chip.write_text(f"{head}accuracy: {entry}\n", encoding="utf-8")
        return pytest_run(tmp_path, *arguments, "--diopi-chip", str(chip), fault="float32 off by 50 units")

    assert counts(declared(100)) == {"passed": 1}
    done = declared(20)
    assert counts(done) == {"failed": 1}
    assert f"worse than declared: 20 ULP ({chip}:9)" in done.stdout
    assert f"--chip {chip}" in done.stdout, "the case is repeated with the chip's file"


@pytest.mark.slow
def test_a_crash_fails_one_test_and_the_others_go_on(tmp_path: Path, tiny_library: Path, runtime: Path) -> None:
    selected = (
        "--diopi-ops",
        "diopiAdd",
        "--diopi-ops",
        "diopiRelu",
        "--diopi-axis",
        "plain",
        "--diopi-dtype",
        "int32",
    )
    done = pytest_run(tmp_path, *library(tiny_library, runtime), *selected, fault="crash")
    assert counts(done) == {"failed": 1, "passed": 1}
    assert "crash: the process ended with SIGABRT" in done.stdout
    limit = ("--diopi-time-limit", "0.7")
    done = pytest_run(tmp_path, *library(tiny_library, runtime), *selected, *limit, fault="hang")
    assert counts(done) == {"failed": 1, "passed": 1}
    assert "hang: the call has not returned within 0.7 s" in done.stdout


@pytest.mark.slow
def test_workers_of_xdist_share_the_cases(tmp_path: Path, tiny_library: Path, runtime: Path) -> None:
    selected = (*ADD, "--diopi-dtype", "int32", "--diopi-dtype", "int64", "--diopi-dtype", "float64")
    done = pytest_run(tmp_path, "-n", "2", "-v", *library(tiny_library, runtime), *selected, plugins=("xdist.plugin",))
    assert counts(done) == {"passed": 3}, done.stdout + done.stderr


@pytest.mark.slow
def test_a_worker_is_bound_to_its_card_and_repeats_are_compared(
    tmp_path: Path, tiny_library: Path, runtime: Path
) -> None:
    provided = (*library(tiny_library, runtime), "--diopi-ops", "diopiAdd", "--diopi-dtype", "float32")
    words = ("--diopi-axis", "recipe", "--diopi-repeat", "2", "--diopi-worker-env", "TINY_FAULT={worker}")
    done = pytest_run(tmp_path, "-n", "1", *provided, *words, plugins=("xdist.plugin",), fault="varies")
    assert done.returncode == 0, "the variable of the worker replaces that of the environment" + done.stdout
    done = pytest_run(tmp_path, *provided, *words[:4], "--diopi-shard", "1/1", fault="varies")
    assert "nondeterminism: out: run 2 of 2: 1 of 6 elements have other bytes" in done.stdout
    done = pytest_run(tmp_path, *provided, "--diopi-worker-env", "CARD={rank}")
    assert (done.returncode, "--diopi-worker-env 'CARD={rank}': {rank} is not known" in done.stderr) == (4, True)


@pytest.mark.slow
def test_known_exceptions_are_skipped_with_their_reason(tmp_path: Path, tiny_library: Path, runtime: Path) -> None:
    (tmp_path / "known.yaml").write_text("skip:\n  - cases: diopiAdd/int32/*\n    reason: not planned\n")
    options = ("-rs", "--diopi-exceptions", "known.yaml", "--diopi-dtype", "int32")
    done = pytest_run(tmp_path, *library(tiny_library, runtime), *ADD, *options)
    assert counts(done) == {"skipped": 1}
    assert "known exception (skip, known.yaml:2): not planned" in done.stdout
    (tmp_path / "known.yaml").write_text("skip:\n  - cases: diopiAdd/int32/none\n    reason: not planned\n")
    done = pytest_run(tmp_path, *library(tiny_library, runtime), *ADD, *options)
    assert done.returncode == 4
    assert "known.yaml:2:12: error[exception-matches-nothing]" in done.stderr


@pytest.mark.slow
def test_wrong_options_are_wrong_usage(tmp_path: Path, tiny_library: Path, runtime: Path) -> None:
    provided = library(tiny_library, runtime)
    done = pytest_run(tmp_path, *provided, "--diopi-ops", "diopiSoftmx")
    assert done.returncode == 4
    assert "did you mean 'diopiSoftmax'?" in done.stderr
    done = pytest_run(tmp_path, "--diopi-lib", "nowhere.so", *provided[2:], *ADD)
    assert done.returncode == 4
    assert "nowhere.so" in done.stderr and "error[library-missing]: does not exist" in done.stderr
    (tmp_path / "broken.so").write_text("no library", encoding="utf-8")
    done = pytest_run(tmp_path, "--diopi-lib", str(tmp_path / "broken.so"), *provided[2:], *ADD)
    assert counts(done) == {"failed": 1}, "the run stops at the first case"
    assert "error[library-unloadable]" in done.stdout


def test_without_the_option_nothing_is_imported(tmp_path: Path) -> None:
    code = (
        "import sys\n"
        "def test_light():\n"
        "    heavy = {'numpy', 'yaml', 'click', 'jinja2', 'diopigen.api', 'diopigen.pytest_items'}\n"
        "    assert 'diopigen.pytest_plugin' in sys.modules\n"
        "    assert not heavy & set(sys.modules)\n"
    )
    (tmp_path / "test_light.py").write_text(code, encoding="utf-8")
    done = pytest_run(tmp_path)
    assert counts(done) == {"passed": 1}, done.stdout


def test_an_installed_package_announces_the_plugin() -> None:
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert '[project.entry-points.pytest11]\n"diopigen.pytest_plugin" = "diopigen.pytest_plugin"\n' in text


def test_what_goes_wrong_when_the_library_is_left_fails_the_run(
    tmp_path: Path, tiny_library: Path, runtime: Path
) -> None:
    done = pytest_run(tmp_path, *library(tiny_library, runtime), *ADD, "--diopi-dtype", "int32", fault="leak")
    assert done.returncode == 1
    assert "after the last case: LIBRARY finalizeLibrary returns 3, not 0" in done.stdout
    assert "tiny: leak 1 of 80" in done.stdout and "Traceback" not in done.stdout

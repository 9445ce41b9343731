"""`diopigen_generate` runs the generator when the spec or a template changed, and only then, under each build tool."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from sampling import first
from vendor_trees import ROOT

PROJECT = """
cmake_minimum_required(VERSION 3.24)
project(consumer LANGUAGES CXX)
find_package(diopigen REQUIRED)
diopigen_generate(TARGET diopi_headers SPEC "the specs" TEMPLATES templates OUT out ONLY headers)
add_library(kernels STATIC kernels.cpp)
target_link_libraries(kernels PRIVATE diopi_headers)
"""

KERNELS = "#include <diopi/functions.h>\nint answer() { return diopiSuccess; }\n"


def run(*line: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(part) for part in line], cwd=cwd, capture_output=True, text=True)


class Consumer:
    """A project with a spec of its own; `runs` counts how often the generator was called to write."""

    def __init__(self, root: Path, generator: str) -> None:
        self.root = root
        shutil.copytree(ROOT / "specs", root / "the specs")
        shutil.copytree(ROOT / "templates/c", root / "templates/c")
        (root / "CMakeLists.txt").write_text(PROJECT)
        (root / "kernels.cpp").write_text(KERNELS)
        command = root / "diopigen"
        log = root / "calls"
        command.write_text(f'#!/bin/sh\necho "$*" >> "{log}"\nexec "{sys.executable}" -m diopigen "$@"\n')
        command.chmod(0o755)
        self.log = log
        options = [f"-Ddiopigen_DIR={ROOT}/cmake", f"-DDIOPIGEN_EXECUTABLE={command}"]
        self.configured = run("cmake", "-G", generator, "-B", "build", *options, cwd=root)

    def build(self) -> int:
        """Builds, and gives how often the generator wrote."""
        before = self.writes()
        done = run("cmake", "--build", "build", cwd=self.root)
        assert done.returncode == 0, done.stdout + done.stderr
        return self.writes() - before

    def writes(self) -> int:
        return sum("--stamp" in line for line in self.log.read_text().splitlines())

    def object_time(self) -> int:
        (found,) = self.root.glob("build/**/kernels.cpp.o")
        return found.stat().st_mtime_ns


@pytest.mark.slow
@pytest.mark.parametrize("generator", first(["Ninja", "Unix Makefiles"]))
def test_the_generator_runs_when_it_must_and_only_then(generator: str, tmp_path: Path) -> None:
    root = tmp_path / "a project"
    root.mkdir()
    consumer = Consumer(root, generator)
    assert consumer.configured.returncode == 0, consumer.configured.stderr
    assert not (root / "out").exists()
    assert consumer.build() == 1
    assert (root / "out/include/diopi/functions.h").exists()
    assert consumer.build() == 0

    compiled = consumer.object_time()
    loss = root / "the specs/ops/loss.yaml"
    loss.write_bytes(loss.read_bytes())  # a newer time, the same content
    assert consumer.build() == 1
    assert consumer.build() == 0
    assert consumer.object_time() == compiled

    loss.write_text(loss.read_text().replace("    doc: ", "    doc: Changed. ", 1))
    assert consumer.build() == 1
    assert "Changed. " in (root / "out/include/diopi/functions.h").read_text()
    assert consumer.object_time() > compiled
    assert consumer.build() == 0

    template = root / "templates/c/header.h.j2"
    template.write_text(template.read_text().replace("Do not edit", "Please do not edit"))
    assert consumer.build() == 1
    assert "Please do not edit" in (root / "out/include/diopi/diopirt.h").read_text()
    assert consumer.build() == 0

    loss.write_text(loss.read_text() + "nonsense: [\n")
    done = run("cmake", "--build", "build", cwd=root)
    assert done.returncode != 0 and "loss.yaml" in done.stdout + done.stderr


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("diopigen_generate(OUT out)", "diopigen_generate: TARGET is missing"),
        ("diopigen_generate(TARGET x)", "diopigen_generate: OUT is missing"),
        ("diopigen_generate(TARGET x OUT out NONSENSE)", "diopigen_generate: unknown argument 'NONSENSE'"),
        ("diopigen_generate(TARGET x OUT out SPEC nowhere)", "diopigen_generate: SPEC: there is no folder"),
        ("diopigen_generate(TARGET x OUT out ONLY headrs)", "did you mean 'headers'?"),
        ("diopigen_add_runtime(NONSENSE)", "diopigen_add_runtime: there is no runtime/NONSENSE in"),
    ],
)
def test_wrong_calls(call: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "CMakeLists.txt").write_text(
        f"cmake_minimum_required(VERSION 3.24)\nproject(p LANGUAGES NONE)\nfind_package(diopigen REQUIRED)\n{call}\n"
    )
    program = tmp_path / "diopigen"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m diopigen "$@"\n')
    program.chmod(0o755)
    options = [f"-Ddiopigen_DIR={ROOT}/cmake", f"-DDIOPIGEN_EXECUTABLE={program}"]
    done = run("cmake", "-B", "build", *options, cwd=tmp_path)
    assert done.returncode == 1
    assert message in " ".join(done.stderr.split())


def test_the_command_is_missing(tmp_path: Path) -> None:
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.24)\nproject(p LANGUAGES NONE)\nfind_package(diopigen REQUIRED)\n"
        "diopigen_generate(TARGET x OUT out)\n"
    )
    # A copy, so that the environment of this checkout is not found next to it.
    shutil.copytree(ROOT / "cmake", tmp_path / "elsewhere/cmake")
    done = subprocess.run(
        [str(shutil.which("cmake")), "-B", "build", f"-Ddiopigen_DIR={tmp_path}/elsewhere/cmake"],
        cwd=tmp_path,
        env={**os.environ, "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1
    assert "the diopigen command is not on the path" in " ".join(done.stderr.split())


def test_the_runtime_can_be_added(header_folder: Path, tmp_path: Path) -> None:
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.24)\nproject(p LANGUAGES CXX)\nfind_package(diopigen REQUIRED)\n"
        f'diopigen_add_runtime(INCLUDE_DIR "{header_folder}")\n'
        'get_target_property(name diopigen_runtime_shared OUTPUT_NAME)\nmessage(STATUS "runtime: ${name}")\n'
    )
    done = run("cmake", "-B", "build", f"-Ddiopigen_DIR={ROOT}/cmake", cwd=tmp_path)
    assert done.returncode == 0 and "-- runtime: diopirt" in done.stdout, done.stderr

"""The build of a scaffolded tree writes its shims anew when a kernel or the configuration has changed, on request."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from sampling import first
from test_build import exported, run, succeed
from vendor_trees import ROOT, Scaffold

KERNEL = """\
#include <diopi/functions.h>

namespace impl {
namespace droplet {

diopiError_t diopiNeg(diopiContextHandle_t, diopiTensorHandle_t, diopiConstTensorHandle_t) { return diopiSuccess; }

}  // namespace droplet
}  // namespace impl
"""


class Tree:
    """A tree whose build calls diopigen, and how often it did."""

    def __init__(self, root: Path, generator: str) -> None:
        self.root, self.log = root, root.parent / "calls"
        command = root.parent / "diopigen"
        command.write_text(f'#!/bin/sh\necho "$*" >> "{self.log}"\nexec "{sys.executable}" -m diopigen "$@"\n')
        command.chmod(0o755)
        options = [f"-Ddiopigen_DIR={ROOT}/cmake", f"-DDIOPIGEN_EXECUTABLE={command}", "-DDIOPI_GENERATE_SHIMS=ON"]
        succeed("cmake", "-G", generator, "-B", "build", "-DCMAKE_BUILD_TYPE=Debug", *options, cwd=root)

    def build(self) -> int:
        """Builds the library, and gives how often the shims were written."""
        before = self.writes()
        succeed("cmake", "--build", "build", "--target", "diopi_impl", cwd=self.root)
        return self.writes() - before

    def writes(self) -> int:
        return sum("--stamp" in line for line in self.log.read_text().splitlines())

    def exported(self) -> set[str]:
        return exported(self.root / "build/libdiopi_impl.so")


@pytest.mark.slow
@pytest.mark.parametrize("generator", first(["Ninja", "Unix Makefiles"]))
def test_shims_follow_kernels_and_configuration(generator: str, make: Scaffold, tmp_path: Path) -> None:
    root = tmp_path / "a tree"
    make(root, "Add")
    tree = Tree(root, generator)
    assert tree.build() == 1
    assert tree.build() == 0
    shims = root / "generated/adaptors/droplet/adaptor.cpp"
    before = shims.read_text()
    (root / "convert_config.yaml").write_text("- common_config:\n    dtype: (int64)->int32\n")
    assert tree.build() == 1
    assert "diopi_dtype_int64, diopi_dtype_int32" in shims.read_text() and shims.read_text() != before
    # A kernel in a file of its own.
    assert "diopiNeg" not in tree.exported()
    (root / "impl/droplet/functions/mine.cpp").write_text(KERNEL)
    assert tree.build() == 1
    assert "diopiNeg" in tree.exported()
    assert tree.build() == 0


@pytest.mark.slow
def test_an_error_in_the_configuration_fails_the_build(make: Scaffold, tmp_path: Path) -> None:
    root = tmp_path / "tree"
    make(root, "Add")
    tree = Tree(root, "Ninja")
    (root / "convert_config.yaml").write_text("- diopiAdd:\n    dtype: (int63)->int32\n")
    done = run("cmake", "--build", "build", "--target", "diopi_impl", cwd=root)
    assert done.returncode != 0 and "convert_config.yaml:2:13: error[config-unknown-dtype]" in done.stdout + done.stderr
    (root / "convert_config.yaml").unlink()
    assert tree.build() == 1


def test_missing_arguments_are_named(tmp_path: Path) -> None:
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.24)\nproject(p LANGUAGES NONE)\nfind_package(diopigen REQUIRED)\n"
        "diopigen_adaptors(TARGET shims OUT out)\n"
    )
    line = ["cmake", "-B", "build", f"-Ddiopigen_DIR={ROOT}/cmake", f"-DDIOPIGEN_EXECUTABLE={sys.executable}"]
    done = subprocess.run(line, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode != 0 and "diopigen_adaptors: IMPL is missing" in done.stderr

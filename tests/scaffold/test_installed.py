"""A vendor's tree builds with the diopigen that is installed: from a wheel, found by its command."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from vendor_trees import ROOT, Scaffold


def run(*words: str | Path, cwd: Path, path: str) -> subprocess.CompletedProcess[str]:
    """A command with these programs alone on its path."""
    environment = {"PATH": path, "HOME": str(cwd)}
    return subprocess.run([str(word) for word in words], cwd=cwd, env=environment, capture_output=True, text=True)


def test_without_diopigen_the_build_says_what_to_do(make: Scaffold, tmp_path: Path) -> None:
    make(tmp_path, "Add")
    done = run(str(shutil.which("cmake")), "--preset", "debug", cwd=tmp_path, path="/usr/bin:/bin")
    assert done.returncode == 1
    said = " ".join(done.stderr.split())
    assert "No diopigen on the path: pip install diopigen, or scaffold with --vendored." in said


@pytest.mark.slow
def test_a_tree_builds_with_a_wheel(tmp_path: Path) -> None:
    """In an environment with diopigen's dependencies and without the checkout: all parts that a tree may use."""
    build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    subprocess.run([*build, "--wheel-dir", str(tmp_path), str(ROOT)], check=True)
    (wheel,) = tmp_path.glob("diopigen-*.whl")
    subprocess.run([sys.executable, "-m", "venv", str(tmp_path / "env")], check=True)
    programs = tmp_path / "env/bin"
    path = f"{programs}:{Path(str(shutil.which('cmake'))).parent}:/usr/bin:/bin"

    def succeed(*words: str | Path, cwd: Path = tmp_path) -> str:
        done = run(*words, cwd=cwd, path=path)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    succeed(programs / "python", "-m", "pip", "install", "--quiet", "--no-index", "--no-deps", wheel)
    (site,) = (tmp_path / "env/lib").glob("python3*/site-packages")
    linked = site / "linked"
    linked.mkdir()
    for name in Path(pytest.__file__).parents[1].iterdir():
        if not name.name.startswith(("diopigen", "__editable__", "_diopigen", "pip")) and name.suffix != ".pth":
            (linked / name.name).symlink_to(name)
    (site / "linked.pth").write_text(f"{linked}\n")

    assert str(tmp_path / "env") in succeed(programs / "diopigen", "cmake-dir")
    tree = tmp_path / "tree"
    succeed(programs / "diopigen", "scaffold", "--vendor", "quartz", "--out", tree)
    assert not (tree / "third_party").exists()
    (tree / "CMakeLists.txt").write_text((tree / "CMakeLists.txt").read_text() + "diopigen_add_runtime(sim dispatch)\n")
    launcher = ["-DCMAKE_CXX_COMPILER_LAUNCHER=ccache"] if shutil.which("ccache") else []
    succeed("cmake", "--preset", "debug", *launcher, cwd=tree)
    succeed("cmake", "--build", "--preset", "debug", "--parallel", str(os.cpu_count()), cwd=tree)
    succeed("ctest", "--preset", "debug", cwd=tree)
    succeed(programs / "diopigen", "doctor", "impl/quartz", cwd=tree)
    assert (tree / "build/debug/dispatch/libdiopi_dispatch.so").is_file()

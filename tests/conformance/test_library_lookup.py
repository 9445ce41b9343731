"""Lookup of the library and the runtime of a command, with an error for a wrong name."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from programs import SUITE
from sampling import first

from diopigen.conformance.run.locate import library_and_runtime
from diopigen.diagnostics import Failure

ROOT = Path(__file__).resolve().parents[2]


def _touch(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    return path


def test_the_nearest_runtime_counts(tmp_path: Path) -> None:
    library = _touch(tmp_path / "libdiopi_impl.so")
    _touch(tmp_path / "a/b/libdiopirt.so")
    nearest = _touch(tmp_path / "z/libdiopirt.so")
    assert library_and_runtime(str(library), None) == (library, nearest)


def test_a_named_runtime_counts(tmp_path: Path) -> None:
    library, runtime = _touch(tmp_path / "libdiopi_impl.so"), _touch(tmp_path / "rt/mine.so")
    _touch(tmp_path / "libdiopirt.so")
    assert library_and_runtime(str(library), str(runtime)) == (library, runtime)


def test_the_search_is_bounded_and_follows_no_links(tmp_path: Path) -> None:
    library = _touch(tmp_path / "tree/libdiopi_impl.so")
    _touch(tmp_path / "tree/1/2/3/4/libdiopirt.so")
    _touch(tmp_path / "elsewhere/libdiopirt.so")
    (tmp_path / "tree/link").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "tree/loop").symlink_to(tmp_path / "tree")
    os.mkfifo(tmp_path / "tree/fifo")
    with pytest.raises(Failure) as caught:
        library_and_runtime(str(library), None)
    assert caught.value.diagnostics[0].code == "runtime-missing"


@pytest.mark.parametrize("name", ["missing.so", "folder", "loop", "missing/../../../../x.so"])
@pytest.mark.parametrize("command", first(["diopigen conformance run", "diopigen conformance repro", "lab mutate"]))
def test_a_library_that_is_not_there(command: str, name: str, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "loop").symlink_to("loop")
    case = ["diopiAdd/float32/plain"] if command.endswith("repro") else []
    done = subprocess.run(
        [sys.executable, "-m", *command.split(), *case, "--lib", name],
        cwd=tmp_path, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 2
    assert done.stdout == ""
    assert "error[library-missing]" in done.stderr and "fix: build the library, or name it with --lib" in done.stderr
    assert "fault of diopigen" not in done.stderr


@pytest.mark.slow
@pytest.mark.build
def test_a_runtime_is_built_once_where_none_is_found(tiny_library: Path, tmp_path: Path) -> None:
    library = tmp_path / "alone/libdiopi_impl.so"
    library.parent.mkdir()
    shutil.copy(tiny_library, library)
    command = [*SUITE, "--lib", library, "--spec", ROOT / "specs"]
    command += ["--ops", "diopiAdd", "--dtype", "float32", "--axis", "plain"]
    environment = {**os.environ, "DIOPIGEN_CACHE": str(tmp_path / "cache")}
    runs = [
        subprocess.run(list(map(str, command)), cwd=tmp_path, env=environment, capture_output=True, text=True)
        for _ in range(2)
    ]
    assert "building the host runtime, once" in runs[0].stderr and "building" not in runs[1].stderr
    assert [run.stdout.splitlines()[-1].split(": ")[-1] for run in runs] == ["1 passed"] * 2
    assert len(list((tmp_path / "cache").glob("*/libdiopirt.so"))) == 1
    assert [path.name for path in (tmp_path / "cache").glob("diopirt-*/*")] == ["libdiopirt.so"]


@pytest.mark.parametrize(
    ("compiler", "text"),
    first(
        [
            ("", "there is no C++ compiler to build the host runtime with"),
            ("nowhere", "nowhere: No such file or directory"),
            ("false", "the host runtime does not compile: false"),
        ]
    ),
)
def test_without_a_compiler_no_runtime_is_built(compiler: str, text: str, tmp_path: Path) -> None:
    library = _touch(tmp_path / "libdiopi_impl.so")
    path = tmp_path / "bin"
    path.mkdir()
    if compiler == "false":
        (path / "false").symlink_to("/bin/false")
    environment = {**os.environ, "DIOPIGEN_CACHE": str(tmp_path / "cache"), "PATH": str(path), "CXX": compiler}
    done = subprocess.run(
        [*SUITE, "--lib", str(library), "--spec", str(ROOT / "specs")],
        cwd=tmp_path, env=environment, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 2 and done.stdout == ""
    assert "error[runtime-build]" in done.stderr and text in done.stderr

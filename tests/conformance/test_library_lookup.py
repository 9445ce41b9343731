"""Which library and which runtime a command means, and that a wrong name is answered at once."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from diopigen.conformance.run.locate import library_and_runtime
from diopigen.diagnostics import Failure


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
@pytest.mark.parametrize("command", ["run", "mutate", "repro"])
def test_a_library_that_is_not_there(command: str, name: str, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "loop").symlink_to("loop")
    case = ["diopiAdd/float32/plain"] if command == "repro" else []
    done = subprocess.run(
        [sys.executable, "-m", "diopigen", "conformance", command, *case, "--lib", name],
        cwd=tmp_path, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 2
    assert done.stdout == ""
    assert "error[library-missing]" in done.stderr and "fix: build the library, or name it with --lib" in done.stderr
    assert "fault of diopigen" not in done.stderr

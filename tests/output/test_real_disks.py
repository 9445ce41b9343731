"""Limits that the kernel sets: full disks, quotas and file systems that are read only."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from output_helpers import run, tree

REPOSITORY = Path(__file__).parents[2]


def in_subprocess(body: str, *arguments: str, wrapper: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
    """Runs `body` in a fresh interpreter with `apply`, `plan_of`, `tree` and `shown` at hand."""
    head = """
        import sys
        from pathlib import Path
        from output_helpers import plan_of, tree
        from diopigen.diagnostics import Failure, Sink
        from diopigen.output.apply import apply
        def shown(files, root):
            try:
                return apply(plan_of(files), root, Sink()).written
            except Failure as problem:
                return [f"{d.code}: {d.message}".replace(str(root), "R") for d in problem.diagnostics]
    """
    script = textwrap.dedent(head) + textwrap.dedent(body)
    environment = {**os.environ, "PYTHONPATH": f"{REPOSITORY}:{Path(__file__).parent}"}
    command = [*wrapper, sys.executable, "-c", script, *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=environment, check=False)


def test_a_real_limit_on_file_size(tmp_path: Path) -> None:
    """The kernel itself stops the write in the middle of a file."""
    run({"a": b"old"}, tmp_path)
    before = tree(tmp_path)
    body = """
        import resource, signal
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
        print(shown({"a": b"new", "b": b"x" * 5000}, Path(sys.argv[1])))
    """
    done = in_subprocess(body, str(tmp_path))
    assert done.stderr == ""
    assert done.stdout.strip() == "[\"output-no-space: cannot write 'R/b': it is larger than a file may be here\"]"
    assert tree(tmp_path) == before
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] == resource.RLIM_INFINITY


def mount_namespace() -> tuple[str, ...]:
    """A wrapper in which a file system can be mounted that no other process sees; skips where there is none."""
    for wrapper in (("unshare", "--mount"), ("unshare", "--mount", "--map-root-user")):
        probe = [*wrapper, "sh", "-c", "mount -t tmpfs -o size=64k none /mnt"]
        if shutil.which("unshare") and subprocess.run(probe, capture_output=True, check=False).returncode == 0:
            return wrapper
    pytest.skip("this machine permits no mount of a file system (needs unshare and tmpfs)")


def test_a_disk_that_is_really_full(tmp_path: Path) -> None:
    wrapper = (*mount_namespace(), "sh", "-c", f"mount -t tmpfs -o size=64k none '{tmp_path}' && exec \"$@\"", "sh")
    body = """
        root = Path(sys.argv[1]) / "r"
        print(shown({"a": b"old", "b": b"old"}, root))
        before = tree(root)
        print(shown({"a": b"new", "b": b"x" * 70_000, "c/d": b"new"}, root))
        print(tree(root) == before)
        print(shown({"a": b"new", "c/d": b"new"}, root))
    """
    done = in_subprocess(body, str(tmp_path), wrapper=wrapper)
    assert done.stderr == ""
    assert done.stdout.splitlines() == [
        "('MANIFEST.json', 'a', 'b')",
        "[\"output-no-space: cannot write 'R/b': the disk is full\"]",
        "True",
        "('MANIFEST.json', 'a', 'c/d')",
    ]


def test_a_file_system_that_is_really_read_only(tmp_path: Path) -> None:
    wrapper = (*mount_namespace(), "sh", "-c", f"mount -t tmpfs -o size=64k none '{tmp_path}' && exec \"$@\"", "sh")
    body = """
        import subprocess
        root = Path(sys.argv[1])
        print(shown({"a": b"old"}, root))
        subprocess.run(["mount", "-o", "remount,ro", str(root)], check=True)
        print(shown({"a": b"new"}, root))
        print(shown({"a": b"old"}, root))
        print(shown({"a": b"old"}, root / "new"))
    """
    done = in_subprocess(body, str(tmp_path), wrapper=wrapper)
    assert done.stderr == ""
    assert done.stdout.splitlines() == [
        "('MANIFEST.json', 'a')",
        "[\"output-unwritable: cannot write 'R/.diopigen-journal.json': the file system is read-only\"]",
        "()",
        "[\"output-unwritable: cannot make the folder 'R': the file system is read-only\"]",
    ]

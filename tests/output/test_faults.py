"""Kills, full disks and refusals: each file is old or new, no temporary file stays, and the next run heals."""

from __future__ import annotations

import errno
import os
import resource
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from output_helpers import die_at, fail_at, files_of, lines_of, plan_of, tree, unprivileged
from sampling import first

from diopigen.diagnostics import Failure, Sink
from diopigen.output.apply import apply
from diopigen.output.check import check
from diopigen.output.manifest import JOURNAL_NAME

REPOSITORY = Path(__file__).parents[2]

OLD = {"a": b"old a", "gone/deep/x": b"old x", "k/same": b"same", "k/b": b"old b", "swap": b"file", "flip/f": b"1"}
NEW = {"a": b"new a", "new/deep/y": b"new y", "k/same": b"same", "k/b": b"new b", "swap/f": b"in", "flip": b"2"}
OTHER = {"a": b"third a", "new/z": b"third z", "k/same": b"third same"}


def run(files: dict[str, bytes], root: Path) -> None:
    sink = Sink()
    apply(plan_of(files), root, sink)
    assert sink.sorted() == []


def expect_old_or_new(root: Path) -> None:
    for path, content in files_of(root).items():
        if not path.rpartition("/")[2].startswith(".diopigen-"):
            assert content in (OLD.get(path), NEW.get(path)), path


def expect_exactly(files: dict[str, bytes], root: Path) -> None:
    """Only the files, their folders and the manifest: no temporary file, no journal, no empty folder."""
    assert files_of(root) == files
    assert {path for path, content in tree(root).items() if content is None} == {
        path.rsplit("/", depth)[0] for path in files for depth in range(1, path.count("/") + 1)
    }
    sink = Sink()
    check(plan_of(files), root, sink)
    assert sink.sorted() == []


def for_every_step(tmp_path: Path, attempt: Callable[[Path, int], bool]) -> int:
    """Calls `attempt(root, step)` on fresh trees for step 1, 2, ... until it says that nothing happened."""
    for step in range(1, 1000):
        root = tmp_path / str(step)
        run(OLD, root)
        if not attempt(root, step):
            return step - 1
        shutil.rmtree(root)
    raise AssertionError("the run does not end")


def test_killed_at_every_step_then_the_same_plan(tmp_path: Path) -> None:
    def attempt(root: Path, step: int) -> bool:
        died = die_at(step, lambda: apply(plan_of(NEW), root, Sink()))
        expect_old_or_new(root)
        run(NEW, root)
        expect_exactly(NEW, root)
        return died

    assert for_every_step(tmp_path, attempt) > 40


@pytest.mark.slow
def test_killed_at_every_step_then_another_plan(tmp_path: Path) -> None:
    def attempt(root: Path, step: int) -> bool:
        died = die_at(step, lambda: apply(plan_of(NEW), root, Sink()))
        run(OTHER, root)
        expect_exactly(OTHER, root)
        return died

    assert for_every_step(tmp_path, attempt) > 40


@pytest.mark.slow
def test_killed_twice_in_a_row_then_back_to_the_first_plan(tmp_path: Path) -> None:
    def attempt(root: Path, step: int) -> bool:
        died = die_at(step, lambda: apply(plan_of(NEW), root, Sink()))
        die_at(step // 2 + 1, lambda: apply(plan_of(OTHER), root, Sink()))
        run(OLD, root)
        expect_exactly(OLD, root)
        return died

    assert for_every_step(tmp_path, attempt) > 40


def test_killed_in_the_first_run_of_all(tmp_path: Path) -> None:
    for step in range(1, 1000):
        root = tmp_path / "parent" / str(step)
        died = die_at(step, partial(apply, plan_of(NEW), root, Sink()))
        run(NEW, root)
        expect_exactly(NEW, root)
        if not died:
            break
    assert step > 30


@pytest.mark.slow
def test_a_killed_run_does_not_hide_an_edit(tmp_path: Path) -> None:
    """At every step: what a user typed after the kill is still seen as edited, or not generated."""

    def attempt(root: Path, step: int) -> bool:
        died = die_at(step, lambda: apply(plan_of(NEW), root, Sink()))
        (root / "a").write_bytes(b"typed by hand")
        sink = Sink()
        apply(plan_of(NEW), root, sink)
        assert [d.code for d in sink.sorted()] == ["generated-file-edited"]
        assert (root / "a").read_bytes() == b"typed by hand"
        return died

    for_every_step(tmp_path, attempt)


def test_check_after_a_kill_asks_for_another_run(tmp_path: Path) -> None:
    """At no step is `check` content with a half-done tree; at the end of a run it is."""

    def attempt(root: Path, step: int) -> bool:
        died = die_at(step, lambda: apply(plan_of(NEW), root, Sink()))
        sink = Sink()
        check(plan_of(NEW), root, sink)
        assert sink.has_errors == died
        return died

    for_every_step(tmp_path, attempt)


def test_the_words_about_a_run_cut_short(tmp_path: Path) -> None:
    run({"a": b"1"}, tmp_path)
    (tmp_path / JOURNAL_NAME).write_text('{"format": 1, "files": []}')
    sink = Sink()
    check(plan_of({"a": b"1"}), tmp_path, sink, command="gen")
    assert lines_of(sink, tmp_path) == [
        "R:1:1: error[output-unfinished]: the last run on 'R' was cut short "
        "| fix: run 'gen' again; it picks up where the other one stopped"
    ]
    run({"a": b"1"}, tmp_path)
    assert not (tmp_path / JOURNAL_NAME).exists()


@pytest.mark.parametrize("number", first([errno.ENOSPC, errno.EIO, errno.EACCES]))
def test_every_call_fails_in_turn(tmp_path: Path, number: int) -> None:
    """Each system call in turn fails once: a `Failure`, never a traceback or a file half written."""
    failed = 0

    def attempt(root: Path, step: int) -> bool:
        nonlocal failed
        before = tree(root)
        with pytest.MonkeyPatch.context() as patch:
            calls = fail_at(step, number, patch)
            try:
                apply(plan_of(NEW), root, Sink())
            except Failure as problem:
                failed += 1
                found = problem.diagnostics[0]
                assert found.code == ("output-no-space" if number == errno.ENOSPC else "output-unwritable")
                assert root.as_posix() in found.message and found.fix
                half_done = bool(found.notes)
                assert half_done or tree(root) == before
        expect_old_or_new(root)
        leftover = [path for path in tree(root) if path.endswith(".tmp")]
        # Only where the removal itself failed may a temporary file outlive the run.
        assert not leftover or calls[step - 1] == "unlink"
        run(NEW, root)
        expect_exactly(NEW, root)
        return len(calls) >= step

    steps = for_every_step(tmp_path, attempt)
    assert steps > 40 and failed > 30


def test_interrupt_leaves_no_temporary_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run(OLD, tmp_path)
    before = tree(tmp_path)
    real, count = os.fsync, 0

    def fsync(descriptor: int) -> None:
        nonlocal count
        count += 1
        if count == 5:
            raise KeyboardInterrupt
        real(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)
    with pytest.raises(KeyboardInterrupt):
        apply(plan_of(NEW), tmp_path, Sink())
    assert tree(tmp_path) == before


def only(caught: pytest.ExceptionInfo[Failure], root: Path) -> str:
    (found,) = caught.value.diagnostics
    return f"{found.code}: {found.message} | {found.fix}".replace(root.as_posix(), "R")


def refused(files: dict[str, bytes], root: Path, shown: Path | None = None) -> str:
    """The one finding of a run that must fail and must leave the tree as it is."""
    with pytest.raises(Failure) as caught:
        apply(plan_of(files), root, Sink(), force=True)
    return only(caught, shown or root)


def test_root_is_a_file(tmp_path: Path) -> None:
    root = tmp_path / "r"
    root.write_bytes(b"")
    expected = (
        "output-unwritable: 'R' cannot be the output folder: it is a file, not a folder "
        "| move it away, or choose another output folder"
    )
    assert refused({"a": b""}, root) == expected
    with pytest.raises(Failure) as caught:
        check(plan_of({}), root, Sink())
    assert only(caught, root) == expected


def test_root_is_below_a_file(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"")
    assert refused({"a": b""}, tmp_path / "f" / "r", tmp_path) == (
        "output-unwritable: cannot make the folder 'R/f/r': a part of the path is not a folder "
        "| move that file away, or choose another output folder"
    )


def test_root_is_a_dangling_link(tmp_path: Path) -> None:
    root = tmp_path / "r"
    root.symlink_to(tmp_path / "nowhere")
    assert refused({"a": b""}, root) == (
        "output-unwritable: 'R' cannot be the output folder: it is a symbolic link that leads nowhere "
        "| move it away, or choose another output folder"
    )
    assert not (tmp_path / "nowhere").exists()


def test_root_is_a_link_to_a_folder(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "r").symlink_to("real")
    run({"a": b"1"}, tmp_path / "r")
    expect_exactly({"a": b"1"}, tmp_path / "real")


@pytest.mark.parametrize("path", ["a", "sub/a", "MANIFEST.json"])
def test_a_folder_where_a_file_should_be(tmp_path: Path, path: str) -> None:
    (tmp_path / path).mkdir(parents=True)
    before = tree(tmp_path)
    assert refused({"a": b"", "sub/a": b"", "z": b""}, tmp_path) == (
        f"output-unwritable: cannot write 'R/{path}': 'R/{path}' is a folder "
        f"| move 'R/{path}' away, or choose another output folder"
    )
    assert tree(tmp_path) == before


def test_a_file_where_a_folder_should_be(tmp_path: Path) -> None:
    (tmp_path / "sub").write_bytes(b"mine")
    assert refused({"sub/deep/a": b""}, tmp_path) == (
        "output-unwritable: cannot write 'R/sub/deep/a': 'R/sub' is not a folder "
        "| move 'R/sub' away, or choose another output folder"
    )
    assert tree(tmp_path) == {"sub": b"mine"}


@pytest.mark.parametrize("target", ["nowhere", "there"])
def test_a_link_where_a_file_should_be(tmp_path: Path, target: str) -> None:
    root = tmp_path / "r"
    root.mkdir()
    (tmp_path / "there").write_bytes(b"mine")
    (root / "a").symlink_to(tmp_path / target)
    assert refused({"a": b"1"}, root) == (
        "output-unwritable: cannot write 'R/a': 'R/a' is a symbolic link "
        "| move 'R/a' away, or choose another output folder"
    )
    assert (tmp_path / "there").read_bytes() == b"mine" and not (tmp_path / "nowhere").exists()


def test_a_pipe_where_a_file_should_be(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a")
    assert refused({"a": b"1"}, tmp_path) == (
        "output-unwritable: cannot write 'R/a': 'R/a' is neither a file nor a folder "
        "| move 'R/a' away, or choose another output folder"
    )


def test_check_shows_what_is_in_the_way_and_the_rest(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    sink = Sink()
    check(plan_of({"a": b"1", "b": b"2"}), tmp_path, sink)
    assert [d.code for d in sink.sorted()] == ["output-unwritable", "generated-file-missing"]


def test_a_path_that_is_too_long(tmp_path: Path) -> None:
    path = "/".join(["d" * 250] * 17)
    with pytest.raises(Failure) as caught:
        apply(plan_of({"a": b"", path: b""}), tmp_path, Sink())
    found = caught.value.diagnostics[0]
    assert (found.code, found.fix) == ("output-unwritable", "choose an output folder with a shorter path")
    assert found.message.endswith("the name is too long")
    assert tree(tmp_path) == {}


def test_a_folder_without_permission() -> None:
    with unprivileged() as root:
        run({"a": b"1", "sub/b": b"1"}, root)
        (root / "sub").chmod(0o555)
        before = tree(root)
        assert refused({"a": b"2", "sub/b": b"2"}, root) == (
            "output-unwritable: cannot write 'R/sub/b': permission denied "
            "| make the folder writable for you, or choose another output folder"
        )
        assert tree(root) == before
        (root / "sub").chmod(0o755)
        run({"a": b"2", "sub/b": b"2"}, root)


def test_a_file_that_cannot_be_read() -> None:
    with unprivileged() as root:
        run({"a": b"1"}, root)
        (root / "a").chmod(0)
        assert refused({"a": b"2"}, root) == (
            "output-unreadable: cannot read 'R/a': permission denied "
            "| make it readable for you, then run the same command again"
        )


def test_a_root_that_cannot_be_made() -> None:
    with unprivileged() as folder:
        folder.chmod(0o555)
        assert refused({"a": b"1"}, folder / "r", folder) == (
            "output-unwritable: cannot make the folder 'R/r': permission denied "
            "| make the folder writable for you, or choose another output folder"
        )
        folder.chmod(0o755)


def test_a_new_root_is_gone_again_after_a_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(descriptor: int, content: bytes) -> int:
        raise OSError(errno.ENOSPC, "full")

    monkeypatch.setattr(os, "write", full)
    assert refused({"a": b"1"}, tmp_path / "x" / "r", tmp_path) == (
        "output-no-space: cannot write 'R/x/r/.diopigen-journal.json': the disk is full "
        "| free some space, then run the same command again"
    )
    assert tree(tmp_path) == {}


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
    return subprocess.run(command, capture_output=True, text=True, env=environment, check=False, timeout=60)


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

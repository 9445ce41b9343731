"""Obstacles of a run: it is rejected with one message, and the tree does not change."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest
from output_helpers import expect_exactly, plan_of, run, tree, unprivileged

from diopigen.diagnostics import Failure, Sink
from diopigen.output.apply import apply
from diopigen.output.check import check

REPOSITORY = Path(__file__).parents[2]


def only(caught: pytest.ExceptionInfo[Failure], root: Path) -> str:
    (found,) = caught.value.diagnostics
    return f"{found.code}: {found.message} | {found.fix}".replace(root.as_posix(), "R")


def rejected(files: dict[str, bytes], root: Path, shown: Path | None = None) -> str:
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
    assert rejected({"a": b""}, root) == expected
    with pytest.raises(Failure) as caught:
        check(plan_of({}), root, Sink())
    assert only(caught, root) == expected


def test_root_is_below_a_file(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"")
    assert rejected({"a": b""}, tmp_path / "f" / "r", tmp_path) == (
        "output-unwritable: cannot make the folder 'R/f/r': a part of the path is not a folder "
        "| move that file away, or choose another output folder"
    )


def test_root_is_a_dangling_link(tmp_path: Path) -> None:
    root = tmp_path / "r"
    root.symlink_to(tmp_path / "nowhere")
    assert rejected({"a": b""}, root) == (
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
    assert rejected({"a": b"", "sub/a": b"", "z": b""}, tmp_path) == (
        f"output-unwritable: cannot write 'R/{path}': 'R/{path}' is a folder "
        f"| move 'R/{path}' away, or choose another output folder"
    )
    assert tree(tmp_path) == before


def test_a_file_where_a_folder_should_be(tmp_path: Path) -> None:
    (tmp_path / "sub").write_bytes(b"mine")
    assert rejected({"sub/deep/a": b""}, tmp_path) == (
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
    assert rejected({"a": b"1"}, root) == (
        "output-unwritable: cannot write 'R/a': 'R/a' is a symbolic link "
        "| move 'R/a' away, or choose another output folder"
    )
    assert (tmp_path / "there").read_bytes() == b"mine" and not (tmp_path / "nowhere").exists()


def test_a_pipe_where_a_file_should_be(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a")
    assert rejected({"a": b"1"}, tmp_path) == (
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
        assert rejected({"a": b"2", "sub/b": b"2"}, root) == (
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
        assert rejected({"a": b"2"}, root) == (
            "output-unreadable: cannot read 'R/a': permission denied "
            "| make it readable for you, then run the same command again"
        )


def test_a_root_that_cannot_be_created() -> None:
    with unprivileged() as folder:
        folder.chmod(0o555)
        assert rejected({"a": b"1"}, folder / "r", folder) == (
            "output-unwritable: cannot make the folder 'R/r': permission denied "
            "| make the folder writable for you, or choose another output folder"
        )
        folder.chmod(0o755)


def test_a_new_root_is_gone_again_after_a_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(descriptor: int, content: bytes) -> int:
        raise OSError(errno.ENOSPC, "full")

    monkeypatch.setattr(os, "write", full)
    assert rejected({"a": b"1"}, tmp_path / "x" / "r", tmp_path) == (
        "output-no-space: cannot write 'R/x/r/.diopigen-journal.json': the disk is full "
        "| free some space, then run the same command again"
    )
    assert tree(tmp_path) == {}

"""Dependency files: Make and Ninja themselves must read the names that went in."""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from output_helpers import tree

from diopigen.diagnostics import Failure
from diopigen.output.depfile import depfile_text, write_if_changed, write_stamp

NAMES = st.text(st.sampled_from("ab.-_/+@ #$ü"), min_size=1, max_size=12)


def unescape(text: str) -> tuple[str, list[str]]:
    """A reader written from Make's manual: continuation lines, `\\ `, `\\#` and `$$`."""
    joined = text.removesuffix("\n").replace("\\\n", " ")
    target, _, rest = joined.partition(":")
    words = re.findall(r"(?:\\[ #]|\$\$|[^ \\$#])+", rest)
    plain = [re.sub(r"\\([ #])|\$(\$)", lambda match: match[1] or match[2], word) for word in (target, *words)]
    return plain[0], plain[1:]


def test_exactly() -> None:
    assert depfile_text("build/gen.stamp", ["t/b.j2", "s/a b.yaml", "#1", "t/b.j2", "$x"]) == (
        "build/gen.stamp: \\\n  \\#1 \\\n  $$x \\\n  s/a\\ b.yaml \\\n  t/b.j2\n"
    )
    assert depfile_text("stamp", []) == "stamp:\n"


@given(NAMES, st.lists(NAMES, max_size=5))
def test_reads_back(target: str, inputs: list[str]) -> None:
    assert unescape(depfile_text(target, inputs)) == (target, sorted(set(inputs)))


@pytest.mark.parametrize("name", ["", "a\nb", "a\tb", "a\\b", "a\rb"])
def test_names_that_cannot_be_written(name: str) -> None:
    for target, inputs in ((name, ["x"]), ("x", [name])):
        with pytest.raises(Failure) as caught:
            depfile_text(target, inputs)
        (found,) = caught.value.diagnostics
        why = f"has {name[1]!r} in it" if name else "is empty"
        assert found.message == f"cannot name {name!r} in a dependency file: it {why}"
        assert (found.code, found.fix) == ("depfile-name", "rename the file or the folder that it is in")


def build_dir(folder: Path, inputs: list[str]) -> None:
    for name in inputs:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x")
        os.utime(path, (1_000_000_000, 1_000_000_000))


INPUTS = ["plain.yaml", "with space.yaml", "dir one/two  spaces.j2", "hash#1.yaml", "$dollar.yaml", "ü.yaml", "a$$b"]


@pytest.mark.parametrize("tool", ["make", "ninja"])
def test_the_build_tool_itself(tool: str, tmp_path: Path) -> None:
    """Each input in turn is touched: the tool must run the step again, and only then."""
    build_dir(tmp_path, INPUTS)
    (tmp_path / "the.d").write_text(depfile_text("stamp", INPUTS))
    (tmp_path / "copy.d").write_text(depfile_text("stamp", INPUTS))
    if tool == "make":
        (tmp_path / "Makefile").write_text("all: stamp\nstamp:\n\t@touch stamp; echo RAN\ninclude the.d\n")
    else:
        (tmp_path / "build.ninja").write_text(
            "rule gen\n  command = cp copy.d the.d && touch stamp && echo RAN\n  depfile = the.d\nbuild stamp: gen\n"
        )

    def ran() -> bool:
        done = subprocess.run([tool], cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return "RAN" in done.stdout

    assert ran()
    assert not ran()
    later = (tmp_path / "stamp").stat().st_mtime + 100
    for name in INPUTS:
        os.utime(tmp_path / name, (later, later))
        assert ran(), name
        os.utime(tmp_path / name, (1_000_000_000, 1_000_000_000))
        assert not ran(), name


def test_a_name_that_is_not_utf_8_keeps_its_bytes(tmp_path: Path) -> None:
    name = os.fsdecode(b"/folder/\xff/kernels.cpp")
    write_stamp(tmp_path / "stamp", tmp_path / "x.d", [name])
    assert b"/folder/\xff/kernels.cpp" in (tmp_path / "x.d").read_bytes()


def test_write_if_changed(tmp_path: Path) -> None:
    path = tmp_path / "build" / "x.d"
    assert write_if_changed(path, b"1")
    before = path.stat().st_mtime_ns
    assert not write_if_changed(path, b"1")
    assert path.stat().st_mtime_ns == before
    path.chmod(0o640)
    (path.parent / ".diopigen-0123456789abcdef.tmp").write_bytes(b"half")
    assert write_if_changed(path, b"2")
    assert tree(tmp_path) == {"build": None, "build/x.d": b"2"}
    assert path.stat().st_mode & 0o777 == 0o640


def test_write_if_changed_over_something_else(tmp_path: Path) -> None:
    (tmp_path / "x.d").mkdir()
    with pytest.raises(Failure) as caught:
        write_if_changed(tmp_path / "x.d", b"")
    (found,) = caught.value.diagnostics
    assert (found.code, found.message.rpartition(": ")[2]) == ("output-unwritable", "a folder has that name")
    with tempfile.TemporaryDirectory() as name:
        link = Path(name, "l")
        link.symlink_to("nowhere")
        with pytest.raises(Failure):
            write_if_changed(link, b"")

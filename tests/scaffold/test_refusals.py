"""Invalid scaffolds are rejected with a message, with exit code 2, and nothing is left half-written."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from sampling import first
from vendor_trees import ROOT, Scaffold, command, snapshot

from diopigen.diagnostics import Failure, Sink
from diopigen.emit.vendor.selection import require_vendor_name
from diopigen.output import disk

NAME_FIX = "  fix: use letters, digits and single '_', starting with a letter: --vendor droplet\n"


MINIATURE = ("--spec", str(ROOT / "tests/data/miniature"))  # where the operators do not matter: it is read in no time


def rejected(*arguments: str, cwd: Path, status: int = 2) -> str:
    done = command("scaffold", *arguments, cwd=cwd)
    assert (done.returncode, done.stdout) == (status, ""), done.stderr
    return done.stderr


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("", "it is not a C identifier"),
        ("3dfx", "it is not a C identifier"),
        ("my-chip", "it is not a C identifier"),
        ("../up", "it is not a C identifier"),
        ("chip\n", "it is not a C identifier"),
        ("übung", "it is not a C identifier"),
        ("_chip", "C and C++ reserve names that start with '_' or have '__'"),
        ("a__b", "C and C++ reserve names that start with '_' or have '__'"),
        ("namespace", "it is a keyword of C or C++"),
        ("linux", "it is a macro of compilers or of the C library"),
        ("NUL", "it is a device name that some file systems refuse"),
        ("diopi", "it is a name of diopigen's own"),
        ("x" * 65, "it is longer than 64 characters"),
    ],
)
def test_vendor_names(name: str, reason: str) -> None:
    with pytest.raises(Failure) as caught:
        require_vendor_name(name)
    (finding,) = caught.value.diagnostics
    assert (finding.code, finding.message) == ("vendor-name", f"'{name}' cannot be a vendor's name: {reason}")


@pytest.mark.parametrize("name", ["droplet", "Chip9", "a_b", "x" * 64])
def test_good_vendor_names(name: str) -> None:
    require_vendor_name(name)


def test_a_bad_name_on_the_command_line(tmp_path: Path) -> None:
    said = rejected("--vendor", "for", "--out", "x", cwd=tmp_path)
    message = "error[vendor-name]: 'for' cannot be a vendor's name: it is a keyword of C or C++\n"
    assert said == message + NAME_FIX + "1 error\n"
    assert list(tmp_path.iterdir()) == []


def test_unknown_operators_and_families(tmp_path: Path) -> None:
    selected = ["Add", "Rellu", "diopiConv2*", "Zzzz", "GetStream", "GetVendorName"]
    arguments = [part for name in selected for part in ("--ops", name)]
    said = rejected(
        "--vendor",
        "chip",
        "--out",
        "x",
        *arguments,
        "--family",
        "reductoin",
        "--family",
        "norm",
        cwd=tmp_path,
    )
    library = "impl/<vendor>/library.cpp, which every tree has, implements diopiGetVendorName"
    assert said == (
        "error[unknown-family]: there is no family 'reductoin'\n"
        "  fix: did you mean 'reduction'?\n"
        "error[unknown-operator]: 'GetStream' is no operator: the host implements diopiGetStream\n"
        "  fix: leave it out\n"
        f"error[unknown-operator]: 'GetVendorName' is no operator: {library}\n"
        "  fix: leave it out\n"
        "error[unknown-operator]: no operator fits 'Rellu'\n"
        "  fix: did you mean 'Relu'?\n"
        "error[unknown-operator]: no operator fits 'Zzzz'\n"
        "  fix: use the name of an operator (Add, diopiAdd) or a pattern (Conv*)\n"
        "error[unknown-operator]: no operator fits 'diopiConv2*'\n"
        "  fix: did you mean 'diopiConvolution2d'?\n"
        "6 errors\n"
    )
    assert list(tmp_path.iterdir()) == []


def test_out_is_a_file(make: Scaffold, tmp_path: Path) -> None:
    target = tmp_path / "file"
    target.write_text("mine")
    with pytest.raises(Failure) as caught:
        make(target)
    assert caught.value.diagnostics[0].message == f"'{target}' cannot be the output folder: it is a file, not a folder"
    assert target.read_text() == "mine"


def test_out_is_not_empty(tmp_path: Path) -> None:
    for name in ("a.txt", "b.txt", "c.txt", "d.txt"):
        (tmp_path / "out" / name).parent.mkdir(exist_ok=True)
        (tmp_path / "out" / name).write_text("mine")
    before = snapshot(tmp_path)
    said = rejected("--vendor", "chip", "--out", "out", *MINIATURE, cwd=tmp_path)
    message = "'out' is not empty and was not scaffolded: it has 'a.txt', 'b.txt', 'c.txt' and 1 more"
    assert said == (
        f"out:1:1: error[scaffold-not-empty]: {message}\n"
        "  fix: choose another --out, or move what is there away\n"
        "1 error\n"
    )
    assert snapshot(tmp_path) == before


def test_a_fresh_repository_counts_as_empty(make: Scaffold, tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    assert "README.md" in make(tmp_path, "Add").started


def test_out_is_another_output_of_diopigen(make: Scaffold, tmp_path: Path) -> None:
    make(tmp_path, "Add")
    (tmp_path / "vendor.json").unlink()
    before = snapshot(tmp_path)
    with pytest.raises(Failure) as caught:
        make(tmp_path, "Add")
    assert [finding.code for finding in caught.value.diagnostics] == ["scaffold-foreign"]
    assert snapshot(tmp_path) == before


def test_out_is_the_tree_of_another_vendor(make: Scaffold, tmp_path: Path) -> None:
    make(tmp_path / "tree", "Add")
    before = snapshot(tmp_path)
    said = rejected("--vendor", "chip", "--out", "tree", *MINIATURE, cwd=tmp_path)
    assert said == (
        "tree/vendor.json:1:1: error[scaffold-other-vendor]: 'tree' is the tree of 'droplet', not of 'chip'\n"
        "    1 | {\n"
        "      | ^\n"
        "  fix: use --vendor droplet, or choose another --out\n"
        "1 error\n"
    )
    assert snapshot(tmp_path) == before


DAMAGED_MARKS = (
    "",
    "{",
    "[]",
    "\xff",
    '{"vendor": 3, "operators": {}}',
    '{"vendor": "droplet"}',
    '{"vendor": "droplet", "operators": {"ops": [1], "families": [], "all": false, "starter": true}}',
    '{"vendor": "droplet", "operators": {"ops": [], "families": [], "all": "no", "starter": true}}',
    "[" * 100_000,
)


def test_a_damaged_mark(make: Scaffold, tmp_path: Path) -> None:
    make(tmp_path, "Add")
    for mark in DAMAGED_MARKS:
        (tmp_path / "vendor.json").write_bytes(mark.encode("latin-1"))
        before = snapshot(tmp_path)
        with pytest.raises(Failure) as caught:
            make(tmp_path, "Add")
        assert [finding.code for finding in caught.value.diagnostics] == ["scaffold-mark-damaged"], mark[:80]
        assert snapshot(tmp_path) == before


def test_a_pattern_that_the_spec_lost_does_not_stop_a_tree(make: Scaffold, tmp_path: Path) -> None:
    make(tmp_path, "Add")
    mark = tmp_path / "vendor.json"
    document = json.loads(mark.read_text())
    document["operators"]["ops"].append("OperatorOfThePast")
    mark.write_text(json.dumps(document))
    assert make(tmp_path, "Relu", sink=Sink(), force=True).started != ()


def test_out_cannot_be_created(tmp_path: Path) -> None:
    done = command("scaffold", "--vendor", "chip", "--out", "/proc/chip", *MINIATURE, cwd=tmp_path)
    assert done.returncode == 2 and "error[output-unwritable]: cannot make the folder '/proc/chip'" in done.stderr


@pytest.mark.parametrize("last", first(["README.md", "impl/droplet/functions/elementwise_binary/Add.cpp"]))
@pytest.mark.parametrize("is_new", [True, False])
def test_a_full_disk_leaves_nothing_half_written(
    make: Scaffold, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, last: str, is_new: bool
) -> None:
    root = tmp_path / "tree"
    if not is_new:
        make(root, "Add", "Relu")
        (root / last).unlink()
    before = snapshot(tmp_path)
    stage = disk.stage

    def full(folder: Path, target: Path, content: bytes, mode: int | None) -> Path:
        if target == root / last:
            raise disk.fault(OSError(28, "No space left on device"), target, "write")
        return stage(folder, target, content, mode)

    monkeypatch.setattr(disk, "stage", full)
    with pytest.raises(Failure) as caught:
        make(root, "Add", "Relu")
    assert [finding.code for finding in caught.value.diagnostics] == ["output-no-space"]
    assert snapshot(tmp_path) == before
    assert root.exists() != is_new
    monkeypatch.undo()
    assert last in make(root, "Add", "Relu").started


def test_a_full_disk_leaves_a_folder_that_was_there(
    make: Scaffold, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(folder: Path, target: Path, content: bytes, mode: int | None) -> Path:
        raise disk.fault(OSError(28, "No space left on device"), target, "write")

    (tmp_path / ".git").mkdir()
    monkeypatch.setattr(disk, "stage", full)
    with pytest.raises(Failure):
        make(tmp_path, "Add")
    assert [path.name for path in tmp_path.iterdir()] == [".git"]


@pytest.mark.parametrize("count", first([20, 1, 37, 38, 45]))
def test_a_killed_first_run_heals_at_the_next(make: Scaffold, tmp_path: Path, count: int) -> None:
    """The process ends without a word when it is about to put the file number `count` in its place."""
    child = os.fork()
    if child == 0:
        left = count
        replace, link = os.replace, os.link

        def counted(action: Callable[..., None]) -> Callable[..., None]:
            def act(*arguments: object) -> None:
                nonlocal left
                left -= 1
                if left <= 0:
                    os._exit(7)
                action(*arguments)

            return act

        os.replace, os.link = counted(replace), counted(link)
        try:
            make(tmp_path / "tree", "Add")
        finally:
            os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    make(tmp_path / "tree", "Add", sink=Sink())
    make(tmp_path / "whole", "Add")
    healed = {name: content for name, (content, _) in snapshot(tmp_path / "tree").items()}
    assert healed == {name: content for name, (content, _) in snapshot(tmp_path / "whole").items()}


def test_three_runs_at_once_make_one_tree(make: Scaffold, tmp_path: Path) -> None:
    children = []
    for _ in range(3):
        child = os.fork()
        if child == 0:
            status = 1
            try:
                sink = Sink()
                make(tmp_path / "tree", sink=sink)
                status = len(sink)
            finally:
                os._exit(status)
        children.append(child)
    assert [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children] == [0, 0, 0]
    make(tmp_path / "whole")
    together = {name: content for name, (content, _) in snapshot(tmp_path / "tree").items()}
    assert together == {name: content for name, (content, _) in snapshot(tmp_path / "whole").items()}

"""Every path that a command takes, missing, of the wrong type or not readable: exit code 2 and the path in a line."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import click
import pytest
from sampling import some
from test_generate import ROOT

from diopigen.cli import cli, main
from diopigen.commands.grouped import GroupOption

MINIATURE = ["--spec", str(ROOT / "tests/data/miniature")]
SMALL = [*MINIATURE, "--target", "headers"]
SPEC = ["--spec", str(ROOT / "specs")]
HEADER = str(ROOT / "generated/include/diopi/diopirt.h")


def _pipe(path: Path) -> None:
    os.mkfifo(path)


def _binary(path: Path) -> None:
    path.write_bytes(b"\x7fELF\0\0\xff")


def _below_a_file(path: Path) -> None:
    path.parent.rmdir()
    path.parent.touch()


BAD: dict[str, dict[str, Callable[[Path], object]]] = {
    "file": {
        "missing": lambda path: None,
        "a folder": Path.mkdir,
        "a pipe": _pipe,
        "binary": _binary,
        "below a file": _below_a_file,
        "a circle": lambda path: path.symlink_to(path),
    },
    "folder": {
        "missing": lambda path: None,
        "a file": Path.touch,
        "a pipe": _pipe,
        "below a file": _below_a_file,
        "a circle": lambda path: path.symlink_to(path),
    },
    "any": {
        "missing": lambda path: None,
        "an empty folder": Path.mkdir,
        "a pipe": _pipe,
        "binary": _binary,
        "below a file": _below_a_file,
    },
    "new folder": {"a file": Path.touch, "a pipe": _pipe, "below a file": _below_a_file},
    "new file": {"a folder": Path.mkdir, "below a file": _below_a_file},
}
"""File kinds at a path, by what the command requires. The path itself has a folder of its own."""

VENDOR = "{vendor}"
CHIP = str(ROOT / "examples/droplet/droplet.yaml")
RESULTS = """{"library": "l", "vendor": "v", "version": "1", "seed": 0, "seconds": 1, "cases": []}"""
TAKEN: dict[tuple[str, str], tuple[str, list[str]]] = {
    ("check", "--spec"): ("folder", ["check", "--spec", "{}"]),
    ("check", "files"): ("file", ["check", "--fix", "{}", *SPEC]),
    ("init", "--out"): ("new file", ["init", "--name", "chip", "--yes", "--out", "{}", *SPEC]),
    ("generate", "--spec"): ("folder", ["generate", "--out", "{out}", "--spec", "{}"]),
    ("generate", "--templates"): ("folder", ["generate", "--out", "{out}", "--templates", "{}", *SMALL]),
    ("generate", "--out"): ("new folder", ["generate", "--out", "{}", *SMALL]),
    ("generate", "--stamp"): ("new file", ["generate", "--out", "{out}", "--stamp", "{}", *SMALL]),
    ("generate", "--depfile"): (
        "new file",
        ["generate", "--out", "{out}", "--stamp", "{out}/s", "--depfile", "{}", *SMALL],
    ),
    ("explain", "--spec"): ("folder", ["explain", "diopiAdd", "--spec", "{}"]),
    ("rename", "--spec"): ("folder", ["rename", "Add.other", "addend", "--spec", "{}"]),
    ("remove", "--spec"): ("folder", ["remove", "Add", "--spec", "{}"]),
    ("check-proto", "headers"): ("file", ["check-proto", "{}", *SPEC]),
    ("check-impl", "directory"): ("folder", ["check-impl", "{}", *SPEC]),
    ("check-impl", "--proto"): ("file", ["check-impl", VENDOR, "--proto", "{}", *SPEC]),
    ("check-proto", "-I"): ("folder", ["check-proto", HEADER, "-I", "{}", *SPEC]),
    ("breaking", "-I"): ("folder", ["breaking", "--against", HEADER, "-I", "{}", *SPEC]),
    ("import-proto", "-I"): ("folder", ["import-proto", HEADER, "-I", "{}", "--out", "{out}"]),
    ("import-proto", "headers"): ("file", ["import-proto", "{}", "--out", "{out}"]),
    ("import-proto", "--out"): ("new folder", ["import-proto", HEADER, "--out", "{}"]),
    ("breaking", "--against"): ("any", ["breaking", "--against", "{}", *SPEC]),
    ("breaking", "--new"): ("any", ["breaking", "--against", HEADER, "--new", "{}"]),
    ("scaffold", "--chip"): ("file", ["scaffold", "--chip", "{}", "--out", "{out}", *SPEC]),
    ("scaffold", "--out"): ("new folder", ["scaffold", "--vendor", "chip", "--out", "{}", *SPEC]),
    ("adaptors", "directory"): ("folder", ["adaptors", "{}", "--vendor", "chip", "--out", "{out}", *SPEC]),
    ("adaptors", "--config"): ("file", ["adaptors", VENDOR, "--config", "{}", "--out", "{out}", *SPEC]),
    ("adaptors", "--proto"): ("file", ["adaptors", VENDOR, "--proto", "{}", "--out", "{out}", *SPEC]),
    ("adaptors", "--out"): ("new folder", ["adaptors", VENDOR, "--out", "{}", *SPEC]),
    ("coverage", "directory"): ("folder", ["coverage", "{}", *SPEC]),
    ("coverage", "--proto"): ("file", ["coverage", VENDOR, "--proto", "{}", *SPEC]),
    ("coverage", "--fallbacks"): ("file", ["coverage", VENDOR, "--fallbacks", "{}", *SPEC]),
    ("coverage", "--html"): ("new file", ["coverage", VENDOR, "--html", "{}", *SPEC]),
    ("coverage", "--json"): ("new file", ["coverage", VENDOR, "--json", "{}", *SPEC]),
    ("chip", "file"): ("file", ["chip", "{}", *SPEC]),
    ("elementwise", "directory"): ("folder", ["elementwise", "{}", *SPEC]),
    ("elementwise", "--chip"): ("file", ["elementwise", VENDOR, "--chip", "{}", *SPEC]),
    ("docs", "--out"): ("new folder", ["docs", "--out", "{}", *MINIATURE]),
    ("docs", "--coverage"): ("file", ["docs", "--out", "{out}", "--coverage", "{}", *MINIATURE]),
    ("docs", "--against"): ("any", ["docs", "--out", "{out}", "--against", "{}", *MINIATURE]),
    ("docs", "--documents"): ("folder", ["docs", "--out", "{out}", "--documents", "{}", *MINIATURE]),
    ("overview", "files"): ("file", ["overview", "{}", "--out", "{out}", *SPEC]),
    ("overview", "--coverage"): ("file", ["overview", "{results}", "--coverage", "{}", "--out", "{out}", *SPEC]),
    ("overview", "--trace"): ("file", ["overview", "{results}", "--trace", "{}", "--out", "{out}", *SPEC]),
    ("overview", "--out"): ("new file", ["overview", "{results}", "--out", "{}", *SPEC]),
    ("doctor", "directory"): ("folder", ["doctor", "{}", *SPEC]),
    ("doctor", "--lib"): ("file", ["doctor", VENDOR, "--lib", "{}", *SPEC]),
    ("doctor", "--adaptors"): ("folder", ["doctor", VENDOR, "--adaptors", "{}", *SPEC]),
    ("doctor", "--proto"): ("file", ["doctor", VENDOR, "--proto", "{}", *SPEC]),
    ("sync", "directory"): ("folder", ["sync", "{}", *SPEC]),
    ("sync", "--proto"): ("file", ["sync", VENDOR, "--proto", "{}", *SPEC]),
    ("report show", "file"): ("file", ["conformance", "report", "{}", *SPEC]),
    ("report merge", "files"): ("file", ["conformance", "report", "merge", "{}", *SPEC]),
    ("device-configs", "file"): ("file", ["conformance", "device-configs", "{}", *SPEC]),
    ("device-configs", "--out"): ("new file", ["conformance", "device-configs", "{known}", "--out", "{}", *SPEC]),
    ("chip", "--out"): ("new folder", ["chip", CHIP, "--out", "{}", *SPEC]),
    ("adaptors", "--stamp"): ("new file", ["adaptors", VENDOR, "--out", "{out}", "--stamp", "{}", *SPEC]),
    ("adaptors", "--depfile"): (
        "new file",
        ["adaptors", VENDOR, "--out", "{out}", "--stamp", "{out}/s", "--depfile", "{}", *SPEC],
    ),
    **{
        (f"report {command}", option): (
            "new file",
            ["conformance", "report", command, "{results}", option, "{}", *SPEC],
        )
        for command in ("show", "merge")
        for option in ("--json", "--junit", "--html")
    },
    ("list", "--spec"): ("folder", ["conformance", "list", "--spec", "{}"]),
    ("list", "--costs"): ("file", ["conformance", "list", "--shard", "1/2", "--costs", "{}", *SPEC]),
    ("list", "--only-failures"): ("file", ["conformance", "list", "--only-failures", "{}", *SPEC]),
    ("report balance", "costs_file"): ("file", ["conformance", "report", "balance", "{}", "--shards", "2"]),
    ("report balance", "--against"): (
        "file",
        ["conformance", "report", "balance", "{results}", "--shards", "2", "--against", "{}"],
    ),
    ("report diff", "old"): ("file", ["conformance", "report", "diff", "{}", "{results}"]),
    ("report diff", "new"): ("file", ["conformance", "report", "diff", "{results}", "{}"]),
    ("verify", "report"): ("file", ["conformance", "verify", "{}", *SPEC]),
    ("verify", "--lib"): ("file", ["conformance", "verify", "{results}", "--lib", "{}", *SPEC]),
    ("verify", "--runtime"): (
        "file",
        ["conformance", "verify", "{results}", "--lib", HEADER, "--runtime", "{}", *SPEC],
    ),
    ("verify", "--signers"): (
        "file",
        ["conformance", "verify", "{results}", "--signers", "{}", "--identity", "me", "--lib", HEADER, *SPEC],
    ),
    ("history add", "file"): ("new file", ["conformance", "history", "add", "{}", "{results}"]),
    ("history add", "results"): ("file", ["conformance", "history", "add", "{out}", "{}"]),
    ("history show", "file"): ("file", ["conformance", "history", "show", "{}"]),
    ("history page", "file"): ("file", ["conformance", "history", "page", "{}", "--out", "{out}", *SPEC]),
    ("history page", "--out"): ("new file", ["conformance", "history", "page", "{history}", "--out", "{}", *SPEC]),
}
CASES = [
    pytest.param(arguments, make, id=f"{' '.join(name)}: {what}")
    for name, (kind, arguments) in TAKEN.items()
    for what, make in BAD[kind].items()
]


@pytest.mark.parametrize(("arguments", "make"), some(CASES, 6))
def test_a_path_that_does_not_do(
    arguments: list[str],
    make: Callable[[Path], object],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    read_once: None,
) -> None:
    functions = tmp_path / "impl/chip/functions"
    functions.mkdir(parents=True)
    (functions / "f.cpp").write_text("namespace impl {\nnamespace chip {\n}  // namespace chip\n}  // namespace impl\n")
    (tmp_path / "in").mkdir()
    path = tmp_path / "in/named"
    make(path)
    (tmp_path / "results.json").write_text(RESULTS)
    (tmp_path / "known.yaml").write_text("skip:\n  - cases: diopiAdd/int32/*\n    reason: not planned\n")
    if "{history}" in arguments:
        with pytest.raises(SystemExit, match="0"):
            main(["conformance", "history", "add", str(tmp_path / "history"), str(tmp_path / "results.json")])
    words = {
        "{history}": str(tmp_path / "history"),
        "{results}": str(tmp_path / "results.json"),
        "{known}": str(tmp_path / "known.yaml"),
    }
    words |= {"{out}": str(tmp_path / "out"), VENDOR: str(functions.parent), "{}": str(path)}
    for old, new in words.items():
        arguments = [argument.replace(old, new) for argument in arguments]
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    said = capsys.readouterr()
    assert ended.value.code == 2, said.err
    assert str(tmp_path / "in") in said.err.replace("\n", "")
    assert "internal" not in said.err and "Traceback" not in said.err


@pytest.mark.parametrize(
    "words",
    [("list", "--shard", "1/2", "--costs"), ("list", "--only-failures"), ("run", "--lib", __file__, "--exceptions")],
    ids=["costs", "failures", "exceptions"],
)
def test_files_are_read_before_cases_are_selected(
    words: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """To select all cases takes seconds."""
    monkeypatch.setattr("diopigen.commands.conformance_options.Selection.cases", lambda *_: pytest.fail("selected"))
    with pytest.raises(SystemExit) as ended:
        main(["conformance", *words, str(tmp_path / "missing"), *SPEC])
    assert ended.value.code in (1, 2) and "missing" in capsys.readouterr().err


COMMON = {"--spec", "--templates"}
"""Options of nearly every command, read in one place: `generate` and `explain` stand for all."""
EXECUTOR = {"--executor-command", "--launcher", "--writable"}
"""Options that `run` has as well."""
ELSEWHERE = {"run", "repro", "speed", "aten", "collectives", "batch", "large", "bisect-order", "serve", "submit"}
"""Commands that load a library, which their own tests hand all kinds of paths."""
NO_PATHS = {"NAME", "GLOB", "F", "D", "A", "M", "I/N", "VENDOR", "N", "[FUNCTION]", "CASE", "TEXT", "BYTES", "KIND"}
NO_PATHS |= {"NAME[.PARAM]", "OPERATOR", "NEW_NAME", "ADDRESS", "D,D", "L,L", "O,O", "TIME", "NAME[=VALUE]"}


def _commands(group: click.Group, before: str = "") -> list[tuple[str, click.Command]]:
    found: list[tuple[str, click.Command]] = []
    for name, command in group.commands.items():
        if isinstance(command, click.Group):
            found += _commands(command, f"{name} " if name in ("report", "history") else "")
        else:
            found.append((f"{before}{name}", command))
    return found


def test_every_path_of_every_command_is_tried() -> None:
    taken = {
        (name, param.opts[0])
        for name, command in _commands(cli)
        if name not in ELSEWHERE
        for param in command.params
        if not isinstance(param, GroupOption)  # others of the command do its work
        if getattr(param, "metavar", None) and param.metavar not in NO_PATHS and param.opts[0] not in COMMON | EXECUTOR
    }
    assert taken == {pair for pair in TAKEN if pair[1] not in COMMON}

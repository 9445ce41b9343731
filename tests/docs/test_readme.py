"""README.md in both languages: every block is run or validated, the table names every command, counts are facts."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import click
import pytest

from diopigen import api
from diopigen.cli import cli
from diopigen.diagnostics import Sink
from diopigen.ir.model import Interface
from diopigen.project.file import read_project

ROOT = Path(__file__).resolve().parents[2]
PAGES = {"en": ROOT / "README.md", "zh": ROOT / "README.zh-CN.md"}
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"`([^`\n]+)`")


def blocks(page: Path, language: str) -> list[str]:
    return [text for found, text in BLOCK.findall(page.read_text(encoding="utf-8")) if found == language]


def lines(page: Path) -> list[list[str]]:
    """The words of each command of the `sh` blocks, parts joined by `&&` on their own."""
    words = [shlex.split(line, comments=True) for block in blocks(page, "sh") for line in block.splitlines()]
    found: list[list[str]] = []
    for line in words:
        part: list[str] = []
        for word in [*line, "&&"]:
            if word == "&&":
                found.append(part)
                part = []
            else:
                part.append(word)
    return [part for part in found if part]


def parsed(words: list[str]) -> None:
    """Parses a command line of diopigen without running it. Raises `click.UsageError`."""
    command: click.Command = cli
    context: click.Context | None = None
    while isinstance(command, click.Group):
        name, *words = words
        found = command.commands.get(name)
        if found is None:
            raise click.UsageError(f"no command '{name}'")
        command = found
    context = command.make_context(command.name or "", words)
    assert context is not None


def commands(group: click.Group, prefix: str = "") -> Iterator[tuple[str, click.Command]]:
    for name, command in group.commands.items():
        if isinstance(command, click.Group):
            yield from commands(command, f"{prefix}{name} ")
        else:
            yield prefix + name, command


def table(page: Path) -> dict[str, tuple[list[str], str]]:
    """The rows of the table of commands: name to the words behind it, and the whole row."""
    known = dict(commands(cli))
    text = page.read_text(encoding="utf-8")
    first = text.index("| --- | --- |", text.index("\n## Commands" if page == PAGES["en"] else "\n## 命令"))
    rows: dict[str, tuple[list[str], str]] = {}
    for row in text[first:].splitlines()[1:]:
        if not row.startswith("| `"):
            break
        for code in CODE.findall(row.split(" | ")[0]):
            words = code.split()
            length = next((n for n in (3, 2, 1) if " ".join(words[:n]) in known), len(words))
            rows[" ".join(words[:length])] = (words[length:], row)
    return rows


def test_the_pages_have_the_blocks_that_are_tested_here() -> None:
    page = PAGES["en"]
    assert len(blocks(page, "sh")) == 4 and len(blocks(page, "yaml")) == 1
    assert len(BLOCK.findall(page.read_text())) == 5


@pytest.mark.parametrize("page", PAGES)
def test_the_table_has_every_command_and_no_other(page: str) -> None:
    rows = table(PAGES[page])
    assert sorted(rows) == sorted(name for name, _ in commands(cli))


@pytest.mark.parametrize("page", PAGES)
def test_the_rows_of_the_table_are_usage(page: str) -> None:
    """Arguments and options of the first cell, and options of the second one, are those of the command."""
    known = dict(commands(cli))
    for name, (words, row) in table(PAGES[page]).items():
        command = known[name]
        options = {option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)}
        required = [one for one in command.params if isinstance(one, click.Argument) and one.required]
        metavars = [one.make_metavar(click.Context(command)) for one in required]
        said = [word for word in words if not word.startswith("-") and word not in values(words)]
        assert said == metavars or not required, (name, said, metavars)
        for option in re.findall(r"(?<![\w-])--[a-z-]+", row):
            assert option in options or any(option in owned for owned in others(row)), (name, option)


def values(words: list[str]) -> set[str]:
    """The words that follow an option."""
    return {word for before, word in pairwise(words) if before.startswith("--")}


def others(row: str) -> list[set[str]]:
    """The options of the commands that a row names in whole, such as `conformance run --json`."""
    known = dict(commands(cli))
    return [
        {option for parameter in known[name].params for option in parameter.opts}
        for name in known
        if f"`{name}" in row and " " in name
    ]


@pytest.mark.parametrize("page", PAGES)
def test_commands_in_blocks_and_text_can_be_parsed(page: str) -> None:
    text = PAGES[page].read_text(encoding="utf-8")
    inline = [shlex.split(code)[1:] for code in CODE.findall(BLOCK.sub("", text)) if code.startswith("diopigen ")]
    found = [*inline, *(words[1:] for words in lines(PAGES[page]) if words[0] == "diopigen")]
    assert len(found) >= 12
    for words in found:
        parsed(words)


def test_what_is_no_command_of_diopigen_exists(tmp_path: Path) -> None:
    """Targets of make, presets of the tree that scaffold writes, variables that the runtime reads."""
    makefile = (ROOT / "Makefile").read_text()
    sources = "".join(
        path.read_text() for path in (ROOT / "runtime").rglob("*") if path.suffix in (".cpp", ".h", ".py")
    )
    subprocess.run(
        [sys.executable, "-m", "diopigen", "scaffold", "--vendor", "droplet", "--out", "tree", "--with-torch"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        check=True,
        capture_output=True,
    )
    presets = json.loads((tmp_path / "tree/CMakePresets.json").read_text())
    names = {kind: {preset["name"] for preset in presets[kind]} for kind in presets if kind.endswith("Presets")}
    seen = set()
    for words in lines(PAGES["en"]):
        program = words[0]
        seen.add(program.partition("=")[0])
        if program == "make":
            assert all(re.search(rf"^{target}:", makefile, re.MULTILINE) for target in words[1:]), words
        elif program in ("cmake", "ctest"):
            kind = {"cmake": "buildPresets" if "--build" in words else "configurePresets", "ctest": "testPresets"}
            assert words[words.index("--preset") + 1] in names[kind[program]], words
        elif "=" in program:
            variable, value = program.split("=")
            assert f'"{variable}"' in sources, words
            assert variable != "DIOPI_VALIDATE" or f'"{value}"' in sources, words
        elif program == "cd":
            assert words == ["cd", "droplet"]
        elif program == "pip":
            assert words == ["pip", "install", "."] and (tmp_path / "tree/pyproject.toml").is_file()
        else:
            assert program == "diopigen", words
    assert seen == {"make", "cmake", "ctest", "DIOPI_VALIDATE", "DIOPI_AUTOCOMPARE", "cd", "pip", "diopigen"}


def test_the_commands_for_maintainers_run(tmp_path: Path) -> None:
    """Runs the block in a folder with the two files that it names."""
    (block,) = [text for text in blocks(PAGES["en"], "sh") if "diopigen breaking" in text]
    (tmp_path / "path/to").mkdir(parents=True)
    shutil.copytree(ROOT / "generated/include", tmp_path / "path/to", dirs_exist_ok=True)
    for header in (ROOT / "generated/include/diopi").glob("*.h"):
        shutil.copyfile(header, tmp_path / "path/to" / header.name)
    shutil.copyfile(ROOT / "generated/diopi.json", tmp_path / "old.json")
    done = subprocess.run(
        ["bash", "-e", "-c", block],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "old.json: nothing breaks" in done.stdout
    assert (tmp_path / "generated/include/diopi/functions.h").read_bytes() == (
        ROOT / "generated/include/diopi/functions.h"
    ).read_bytes()


@pytest.mark.slow
def test_the_commands_for_a_chip_run(tmp_path: Path) -> None:
    """Scaffolds and builds the tree, and runs all but the host, which is the reader's own."""
    (block,) = [text for text in blocks(PAGES["en"], "sh") if "diopigen doctor" in text]
    script = "".join(line for line in block.splitlines(keepends=True) if "./host" not in line)
    retained = {name: value for name, value in os.environ.items() if not name.startswith("DIOPI_")}
    launcher = {"CMAKE_CXX_COMPILER_LAUNCHER": "ccache"} if shutil.which("ccache") else {}
    done = subprocess.run(
        ["bash", "-c", f"set -e\nset -o pipefail\n{script}"],
        cwd=tmp_path,
        env={**retained, **launcher, "PYTHONPATH": str(ROOT), "DIOPIGEN_DIR": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert done.returncode == 0, done.stdout[-5000:]
    assert re.search(r"impl/droplet: nothing found; library .*libdiopi_impl.so", done.stdout)


def test_the_entry_of_an_operator_is_complete(tmp_path: Path) -> None:
    (entry,) = blocks(PAGES["en"], "yaml")
    shutil.copytree(ROOT / "specs", tmp_path / "specs")
    file = tmp_path / "specs/ops/elementwise_unary.yaml"
    file.write_text(file.read_text() + entry)
    where = api.Workspace(tmp_path / "specs", ROOT / "templates", "specs")
    sink = Sink()
    loaded = api.load(where, sink)
    api.check_completeness(loaded.interface, api.Workspace(ROOT / "specs", ROOT / "templates", "specs"), None, sink)
    assert [one.message for one in sink.sorted() if one.code != "missing-known"] == []
    names = [function.name for function in loaded.interface.functions if function.operator == "Softsign"]
    assert names == ["diopiSoftsign", "diopiSoftsignInp"]


NUMBERS = {"en": r"(\d+) functions in (\w+) headers", "zh": r"(\w)个头文件，(\d+) 个函数"}
WORDS = {"six": 6, "六": 6, "seven": 7, "七": 7, "eight": 8, "八": 8}


@pytest.mark.parametrize("page", PAGES)
def test_counts_are_facts(page: str, interface: Interface) -> None:
    text = PAGES[page].read_text(encoding="utf-8")
    found = re.search(NUMBERS[page], text)
    assert found is not None
    functions, headers = found.groups() if page == "en" else found.groups()[::-1]
    assert (int(functions), WORDS[headers]) == (len(interface.functions), len(interface.headers))
    stated = re.search(r"Python (3\.\d+)", text)
    assert stated is not None and f'requires-python = ">={stated[1]}"' in (ROOT / "pyproject.toml").read_text()
    formats = set(re.findall(r"`(json|github|sarif|junit)`", text)) | {"json"}
    assert formats == {"json", "github", "sarif", "junit"}


@pytest.mark.parametrize("page", PAGES)
def test_files_and_folders_that_are_named_exist(page: str) -> None:
    text = BLOCK.sub("", PAGES[page].read_text(encoding="utf-8"))
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", text):
        assert (ROOT / target).exists(), target
    for folder in re.findall(r"`([a-z]+/)`", text):
        assert (ROOT / folder).is_dir(), folder


def test_the_settings_in_the_documentation_are_settings(tmp_path: Path) -> None:
    (text,) = blocks(ROOT / "docs/command-line.md", "yaml")
    (tmp_path / "diopigen.yaml").write_text(text)
    found = read_project(tmp_path / "diopigen.yaml")
    assert len(found.values) == 8 and found.docs_url and len(found.severity) == 2
    assert set(found.values["targets"] if isinstance(found.values["targets"], list) else ()) <= set(api.targets())

"""Snippets that are files and commands: as in `head`, a file begins with `==> NAME <==`, and a command with `$`."""

from __future__ import annotations

import os
import re
import shlex
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import small_spec
from click.testing import CliRunner

from diopigen.cli import cli
from diopigen.diagnostics import Diagnostic, Failure, Severity, Span
from diopigen.ir.model import Interface
from diopigen.rulebook.examples import Example

_FINDING = re.compile(
    r"^(?:(?P<file>[^\s:]+)(?::(?P<line>\d+):\d+)?: )?"
    r"(?P<severity>error|warning|note)\[(?P<code>[\w-]+)\]: (?P<text>.*)",
    re.MULTILINE,
)
CONFIG = "- common_config:\n    dtype: (bool)->uint8\n"
KERNEL = """\
#include <diopi/functions.h>
namespace impl { namespace acme {
diopiError_t diopiRelu(diopiContextHandle_t, diopiTensorHandle_t, diopiConstTensorHandle_t) { return diopiSuccess; }
} }
"""


def _small_spec(folder: Path) -> None:
    small_spec.write(folder / "specs")


def _vendor(folder: Path) -> None:
    """A vendor with one kernel and a configuration, for the built-in spec."""
    _write(folder / "impl/acme/functions/relu.cpp", KERNEL)
    _write(folder / "impl/acme/convert_config.yaml", CONFIG)


def _templates(folder: Path) -> None:
    """The small spec, and templates of its own."""
    _small_spec(folder)
    shutil.copytree(small_spec.ROOT / "templates", folder / "own")


FROBNICATE = """\
family: example
header: functions.h
operators:
  - name: Frobnicate
    doc: Frobnicates its input.
    params:
      - {name: out, type: tensor, direction: out, dtype: same(input), shape: same(input), doc: The result.}
      - {name: input, type: tensor, direction: in, dtype: [floating], shape: any, doc: The operand.}
    tolerance: rounding
"""


def _library(folder: Path) -> None:
    """A spec of one operator without an expression, and the sources of a CPU library that has its kernel."""
    small_spec.write(folder / "specs", FROBNICATE)
    _write(folder / "impl/cpu/functions/frobnicate.cpp", "void frobnicate(const FrobnicateArgs& args) {\n}\n")


def _models(folder: Path) -> None:
    shutil.copytree(small_spec.ROOT / "tests/data/miniature", folder / "specs")


def _empty(_: Path) -> None:
    pass


SCENES: Mapping[str, Callable[[Path], None]] = {
    "": _empty,
    "spec": _small_spec,
    "vendor": _vendor,
    "templates": _templates,
    "library": _library,
    "models": _models,
}
"""Files in the folder before the snippet."""


def session(example: Example, snippet: str, _: Interface, folder: Path) -> tuple[list[Diagnostic], int]:
    """Findings of the commands. The line of a finding is that in the snippet where it shows the file, else that of the
    command."""
    SCENES[example.setting.get("scene", "")](folder)
    starts: dict[str, int] = {}
    found: list[Diagnostic] = []
    with _inside(folder):
        for number, name, content in _steps(snippet):
            if name:
                starts[name] = number
                _write(Path(name), content)
            else:
                found += [_located(one, starts, number) for one in _run(content)]
    return found, 0


@contextmanager
def _inside(folder: Path) -> Iterator[None]:
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


def _steps(snippet: str) -> Iterator[tuple[int, str, str]]:
    """Line, file name (empty for a command) and text of each part of a snippet."""
    lines = snippet.splitlines()
    position = 0
    while position < len(lines):
        line = lines[position]
        start = position + 1
        position += 1
        if line.startswith("$ "):
            while line.endswith("\\"):
                line = line[:-1] + lines[position]
                position += 1
            yield start, "", line[2:]
            continue
        name = re.fullmatch(r"==> (\S+) <==", line)
        assert name, line
        content = []
        while position < len(lines) and not re.match(r"==> |\$ ", lines[position]):
            content.append(lines[position] + "\n")
            position += 1
        yield start, name[1], "".join(content)


def _run(command: str) -> list[Diagnostic]:
    program, *arguments = shlex.split(command, comments=True)
    if program == "rm":
        Path(arguments[-1]).unlink()
        return []
    if program == "mkdir":
        Path(arguments[-1]).mkdir(parents=True)
        return []
    assert program == "diopigen", command
    done = CliRunner().invoke(cli, arguments)
    if isinstance(done.exception, Failure):
        return list(done.exception.diagnostics)
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    found = []
    for match in _FINDING.finditer(done.output):
        span = Span(match["file"], int(match["line"] or 0)) if match["file"] else None
        found.append(Diagnostic(match["code"], Severity(match["severity"]), match["text"], span))
    return found


def _located(finding: Diagnostic, starts: Mapping[str, int], number: int) -> Diagnostic:
    span = finding.span
    line = starts[span.file] + span.line if span and span.file in starts and span.line else number
    return Diagnostic(finding.code, finding.severity, finding.message, Span("", line))


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)

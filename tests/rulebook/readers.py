"""Gives the snippets of examples to the code that reports their rules."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Callable, Mapping
from pathlib import Path

import header_readers
import session_readers

from diopigen.check.rule import check_interface
from diopigen.chip.reader import parse_chip
from diopigen.config.reader import parse_config
from diopigen.config.resolve import resolve
from diopigen.conformance.cases.suite import cases_of
from diopigen.conformance.run import exceptions
from diopigen.diagnostics import Diagnostic, Failure, Sink
from diopigen.header.signature import c_interface
from diopigen.ir.load import load_interface
from diopigen.ir.model import Interface
from diopigen.rulebook.examples import Example

ROOT = Path(__file__).resolve().parents[2]
MINIATURE = ROOT / "tests/data/miniature"

ENTRY = """\
family: example
header: functions.h
operators:
  - name: Example
    doc: An operator.
    params:
      - {name: out, type: tensor, direction: out, dtype: same(input), shape: same(input), doc: The result.}
      - {name: input, type: tensor, direction: in, dtype: number, shape: any, doc: The operand.}
"""
OPERATORS = "family: example\nheader: functions.h\noperators:\n"
FRAMES: Mapping[str, tuple[str, int]] = {"params": (ENTRY, 6), "entry": (ENTRY, 4), "operators": (OPERATORS, 2)}
"""Text above a snippet, and its indentation."""

FILES = {"types": "types.yaml", "aten": "aten/example.yaml"}
"""Whole files that are no operators."""

Reader = Callable[[Example, str, Interface, Path], "tuple[list[Diagnostic], int]"]
"""Returns the findings, and how many lines are above the snippet."""


def _spec(example: Example, snippet: str, _interface: Interface, folder: Path) -> tuple[list[Diagnostic], int]:
    """The miniature spec with the snippet in a file of operators."""
    spec = folder / "spec"
    shutil.copytree(MINIATURE, spec)
    head, indent = FRAMES.get(example.part, ("", 0))
    text = head + textwrap.indent(snippet, " " * indent)
    file = FILES.get(example.part, "ops/example.yaml")
    if example.part == "types":
        _empty(spec)
    published = None
    if "generated_as" in example.setting:
        former = example.setting["generated_as"]
        name = snippet.split("name: ")[1].split()[0]
        (spec / file).write_text(text.replace(f"name: {name}", f"name: {former}"))
        published = c_interface(load_interface(spec, Sink(), "specs").interface)
    (spec / file).write_text(text)
    sink = Sink()
    try:
        loaded = load_interface(spec, sink, "specs")
        check_interface(loaded.interface, sink, complete=loaded.complete, published=published)
    except Failure as fault:
        sink.extend(fault.diagnostics)
    found = [one for one in sink.sorted() if one.span and one.span.file == f"specs/{file}"]
    assert example.part == "operators" or found == sink.sorted()
    return found, head.count("\n")


def _empty(spec: Path) -> None:
    """Leaves no operators, so that types.yaml can say anything."""
    for name in ("ops", "aten", "models"):
        shutil.rmtree(spec / name)
    for name in ("runtime.yaml", "torch.yaml", "relax.yaml", "dlinfer.yaml"):
        (spec / name).unlink()
    (spec / "headers.yaml").write_text("headers: [{file: host.h, doc: Types., order: []}]\n")


def _convert_config(example: Example, snippet: str, interface: Interface, _: Path) -> tuple[list[Diagnostic], int]:
    """A vendor that lacks diopiLinear, diopiErfinv and what the example names."""
    without = {"diopiLinear", "diopiErfinv", *example.setting.get("vendor_without", ())}
    implemented = {function.name for function in interface.functions} - without
    sink = Sink()
    config = parse_config(snippet, "convert_config.yaml", sink)
    if config is not None:
        resolve(config, interface, "chip", implemented, sink)
    return sink.sorted(), 0


def _chip(_: Example, snippet: str, interface: Interface, __: Path) -> tuple[list[Diagnostic], int]:
    sink = Sink()
    parse_chip(snippet, "chip.yaml", interface, sink)
    return sink.sorted(), 0


def _exceptions(_: Example, snippet: str, interface: Interface, folder: Path) -> tuple[list[Diagnostic], int]:
    """A file of known exceptions, with the cases of a few functions."""
    path = folder / "exceptions.yaml"
    path.write_text(snippet)
    sink = Sink()
    known = exceptions.read(path, path.name, sink)
    selected = [case for function in interface.functions if function.name in _TESTED
                for case in cases_of(interface, function)]  # fmt: skip
    exceptions.with_waivers(selected, known, interface, sink)
    return sink.sorted(), 0


_TESTED = ("diopiAdd", "diopiCopyInp")


READERS: Mapping[str, Reader] = {
    "spec": _spec,
    "convert_config": _convert_config,
    "breaking": header_readers.breaking,
    "contracts": header_readers.contracts,
    "header": header_readers.header,
    "comments": header_readers.comments,
    "chip": _chip,
    "exceptions": _exceptions,
    "session": session_readers.session,
}

"""Shared by tests of rules: the miniature spec with a fixture laid over it, and the findings as users see them."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

from diopigen import api
from diopigen.check.rule import check_interface
from diopigen.diagnostics import Diagnostic, Failure, Sink
from diopigen.findings.render import render
from diopigen.ir.load import load_interface

ROOT = Path(__file__).resolve().parents[2]
MINIATURE = Path(__file__).parents[1] / "data" / "miniature"
BAD = Path(__file__).parent / "bad"


def _write(path: str, content: bytes) -> Callable[[Path], object]:
    return lambda spec: (spec / path).write_bytes(content)


def _remove(path: str) -> Callable[[Path], object]:
    return lambda spec: (spec / path).unlink()


def _generate_under_another_name(spec: Path) -> None:
    """Leaves the diopi.json of the spec as it was before an operator was renamed."""
    former = spec.parent / "former"
    shutil.copytree(spec, former)
    operators = former / "ops/bad.yaml"
    operators.write_text(operators.read_text().replace("name: Later\n", "name: Former\n"))
    where = api.Workspace(former, ROOT / "templates", "specs")
    plan = api.plan(api.load(where, Sink(), check=False).interface, where, Sink(), ["json"])
    (spec.parent / "generated").mkdir()
    for file in plan.files:
        if file.path == "diopi.json":
            (spec.parent / "generated" / file.path).write_bytes(file.content)


CREATED: dict[str, Callable[[Path], object]] = {
    "file-not-text": _write("ops/bad.yaml", b"family: bad\0"),
    "file-not-utf8": _write("ops/bad.yaml", "family: bad\ndoc: Größe\n".encode("latin-1")),
    "file-too-large": _write("ops/bad.yaml", b"# long\n" * 600_000),
    "file-unreadable": _remove("headers.yaml"),
    "file-unreadable.folder": lambda spec: (spec / "ops" / "bad.yaml").mkdir(),
    "file-unreadable.circle": lambda spec: (spec / "ops" / "bad.yaml").symlink_to("bad.yaml"),
    "file-unreadable.pipe": lambda spec: os.mkfifo(spec / "ops" / "bad.yaml"),
    "line-too-long": _write("ops/bad.yaml", b"family: bad\nheader: " + b"x" * 30_000 + b"\n"),
    "operator-renamed": _generate_under_another_name,
    "spec-missing": _remove("types.yaml"),
    "spec-missing.folder": shutil.rmtree,
}
"""Fixtures that would be ill to keep as files: what is done to a copy of the miniature spec."""

FIXTURES = sorted(path.name for path in BAD.iterdir())
"""The folders of `bad/`: a rule id, with a word behind a dot where one rule has several."""


def rule_of(fixture: str) -> str:
    """The rule that a fixture is for."""
    return fixture.partition(".")[0]


def build(fixture: str, spec: Path) -> None:
    """Makes `spec` the miniature spec with the files of a fixture laid over it."""
    shutil.copytree(MINIATURE, spec)
    for source in sorted((BAD / fixture).rglob("*.yaml")):
        shutil.copyfile(source, spec / source.relative_to(BAD / fixture))
    if fixture in CREATED:
        CREATED[fixture](spec)


def findings(spec: Path) -> list[Diagnostic]:
    """All that loading and checking a spec finds, sorted."""
    sink = Sink()
    try:
        loaded = load_interface(spec, sink, "specs")
        published = api.published(spec.parent / "generated")
        check_interface(loaded.interface, sink, complete=loaded.complete, published=published)
    except Failure as fault:
        sink.extend(fault.diagnostics)
    return sink.sorted()


def shown(found: list[Diagnostic], spec: Path) -> str:
    """Findings as the command line prints them, with excerpts."""

    def source(file: str) -> str | None:
        path = spec / Path(file).relative_to("specs")
        try:
            return path.read_text("utf-8-sig") if path.is_file() else None
        except (OSError, UnicodeDecodeError):
            return None

    return render(found, "text", sources=source)

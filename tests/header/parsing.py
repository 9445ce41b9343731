"""Headers given as texts, parsed in the current folder."""

from __future__ import annotations

from pathlib import Path

from header_helpers import shown

from diopigen.diagnostics import Sink
from diopigen.header.cdecl import CInterface
from diopigen.header.clang import Language, parse_headers

BOTH: list[Language] = ["c", "c++"]


def write(name: str, text: str | bytes) -> Path:
    path = Path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def parse(text: str, language: Language = "c++", *, name: str = "a.h") -> CInterface:
    sink = Sink()
    found = parse_headers([write(name, text)], language=language, sink=sink)
    assert shown(sink) == []
    assert found is not None
    return found


def findings(*paths: Path, language: Language = "c++") -> list[str]:
    sink = Sink()
    assert parse_headers(paths, language=language, sink=sink) is None
    return shown(sink)

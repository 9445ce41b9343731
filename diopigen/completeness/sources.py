"""Kernels and fused forms that sources define: text of the reference libraries, by the form of their definitions.

A kernel is `void name(const NameArgs& args) {` (emit/entry). Sources are read as text: neither a compiler nor libclang
is needed, and a kernel inside `#if` counts.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from diopigen.diagnostics import Span

LIBRARIES = {"cpu": "CPU", "cuda": "CUDA"}
"""The reference libraries by their folder below `impl`, with what people call them."""

_SHARED = "core"
_SUFFIXES = frozenset({".cpp", ".cu", ".h"})
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_DEFINITION = re.compile(r"\b(\w+)\(\s*const (\w+)\s*&[^;{}()]*\)\s*\{")

FORMS_FILE = "diopi_torch/src/diopi_torch/fused_forms.py"
"""The forms of reductions in compiled graphs: the keys of `FORMS`."""

Kernel = tuple[str, str]
"""The name of a kernel and of the type of its arguments."""


def libraries(root: Path) -> tuple[str, ...]:
    """The reference libraries whose kernels are in a tree: none in one that has only a spec."""
    return tuple(name for name in LIBRARIES if (root / "impl" / name / "functions").is_dir())


def defined_kernels(root: Path, library: str) -> Mapping[Kernel, Span]:
    """The kernels that the handwritten sources of a library define, those that libraries share included, each with the
    line of its definition."""
    return dict(found for path in _sources(root, library) for found in _definitions(path, root))


def fused_forms(root: Path) -> tuple[str, ...] | None:
    """The forms that the planner of compiled graphs has; None in a tree without it."""
    path = root / FORMS_FILE
    if not path.is_file():
        return None
    for statement in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(statement, ast.AnnAssign) and ast.unparse(statement.target) == "FORMS":
            keys = statement.value.keys if isinstance(statement.value, ast.Dict) else ()
            return tuple(key.value for key in keys if isinstance(key, ast.Constant) and isinstance(key.value, str))
    return ()


def _sources(root: Path, library: str) -> Iterator[Path]:
    for folder in (f"{_SHARED}/functions", f"{_SHARED}/kernels", f"{library}/functions"):
        for path in sorted((root / "impl" / folder).rglob("*")):
            if path.suffix in _SUFFIXES and path.is_file():
                yield path


def _definitions(path: Path, root: Path) -> Iterator[tuple[Kernel, Span]]:
    text = _COMMENT.sub(_blank, path.read_text(encoding="utf-8", errors="replace"))
    for match in _DEFINITION.finditer(text):
        line = text.count("\n", 0, match.start()) + 1
        column = match.start() - text.rfind("\n", 0, match.start())
        name = path.relative_to(root).as_posix()
        span = Span(name, line, column, line, column + len(match[1]))
        yield (match[1], match[2]), span


def _blank(comment: re.Match[str]) -> str:
    """A comment without its text, so that lines keep their numbers."""
    return "\n" * comment[0].count("\n")

"""The outcome of a change of the interface: new texts of files, and what is left to a person. Nothing is written."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from diopigen.diagnostics import Diagnostic, Failure, Severity, Span
from diopigen.refactoring.document import Document
from diopigen.spec.text_edits import TextEdit, applied, inverse, moved, span_at
from diopigen.spec.text_file import read_text

RULES = {"left-by-hand": "What `rename` and `remove` cannot change themselves is named, all at once."}

_SUFFIXES = frozenset(
    {".py", ".cpp", ".h", ".hpp", ".cu", ".cuh", ".c", ".cc", ".md", ".yaml", ".json", ".jsonl", ".txt"}
)


@dataclass(slots=True)
class Tree:
    """The files of a spec and of the folder that it is in, as texts that change. `name` is what the user calls the
    spec; files are named from there, so that spans are paths which the user can open."""

    spec: Path
    name: str
    root: Path
    """The folder that the spec is in."""
    before: dict[str, str] = field(default_factory=dict)
    after: dict[str, str | None] = field(default_factory=dict)
    left: list[Diagnostic] = field(default_factory=list)
    _documents: dict[str, Document] = field(default_factory=dict)
    _edits: dict[str, Sequence[TextEdit]] = field(default_factory=dict)
    _paths: dict[str, Path] = field(default_factory=dict)

    def path(self, file: str) -> Path:
        """The path of a file that was named by `spec_file` or `files`."""
        return self._paths[file]

    def below_spec(self, file: str) -> str | None:
        """The path of a file below the spec; None for one next to it."""
        path, spec = self._paths[file], self.spec
        return path.relative_to(spec).as_posix() if path.is_relative_to(spec) else None

    def spec_file(self, relative: str) -> str:
        """A file of the spec, by its path below it."""
        file = f"{self.name}/{relative}"
        self._paths[file] = self.spec / relative
        return file

    def _around(self) -> str:
        """The name of the folder that the spec is in, as a prefix."""
        folder = posixpath.normpath(posixpath.join(self.name, ".."))
        return "" if folder == "." else f"{folder.rstrip('/')}/"

    def text(self, file: str) -> str:
        """The text of a file as it is. Raises `Failure` where it cannot be read."""
        if file not in self.before:
            self.before[file] = read_text(self.path(file), file)
        return self.before[file]

    def span_at(self, file: str, position: int, length: int) -> Span:
        """The span of characters on one line of a file as it is."""
        return span_at(file, self.text(file), position, length)

    def document(self, file: str) -> Document:
        """A YAML file, once: all edits of it are in one document."""
        if file not in self._documents:
            self._documents[file] = Document(file, self.text(file))
        return self._documents[file]

    def edit(self, file: str, edits: Sequence[TextEdit]) -> None:
        """Edits of a file that is no YAML."""
        if edits:
            self._edits[file] = edits
            self.after[file] = applied(edits, self.text(file))

    def drop(self, file: str) -> None:
        """A file that is of no use any more."""
        self.text(file)
        self.after[file] = None

    def finish(self) -> None:
        """Carries out the edits of all documents."""
        for file, document in self._documents.items():
            if self.after.get(file, "") is not None:
                self.edit(file, document.edits())

    def as_it_was(self, span: Span) -> Span:
        """The span in a file as it is of one in the file as it would be."""
        after = self.after.get(span.file)
        if after is None:
            return span
        return _moved(span, after, self.before[span.file], inverse(self._edits[span.file], self.before[span.file]))

    def as_it_would_be(self, span: Span) -> Span:
        """The span in a file as it would be of one in the file as it is."""
        after = self.after.get(span.file)
        return span if after is None else _moved(span, self.before[span.file], after, self._edits[span.file])

    # ---- what is left -----------------------------------------------------------------------------------------------

    def by_hand(self, message: str, span: Span, fix: str, severity: Severity = Severity.WARNING) -> None:
        """Something that a person has to do."""
        self.left.append(Diagnostic("left-by-hand", severity, message, span, (), fix))

    # ---- files ------------------------------------------------------------------------------------------------------

    def spec_files(self, pattern: str) -> list[str]:
        """Files of the spec by a pattern, by name."""
        return [self.spec_file(path.relative_to(self.spec).as_posix()) for path in sorted(self.spec.glob(pattern))]

    def files(self, *folders: str) -> Iterator[str]:
        """The texts in folders next to the spec, generated ones left out; those that cannot be read do not count."""
        for folder in folders:
            for path in sorted((self.root / folder).rglob("*")):
                parts = path.relative_to(self.root).parts
                hidden = any(part.startswith(".") or part in ("generated", "build", "third_party") for part in parts)
                if hidden or path.suffix not in _SUFFIXES or not path.is_file() or path.is_symlink():
                    continue
                file = self._around() + path.relative_to(self.root).as_posix()
                self._paths[file] = path
                try:
                    self.text(file)
                except Failure:
                    continue
                yield file


def _moved(span: Span, before: str, after: str, edits: Sequence[TextEdit]) -> Span:
    """The span after edits, on one line."""
    lines = before.split("\n")
    position = sum(len(line) + 1 for line in lines[: span.line - 1]) + span.column - 1
    length = span.end_column - span.column if span.end_line == span.line else len(lines[span.line - 1])
    start, stop = moved(edits, position), moved(edits, position + length)
    end = after.find("\n", start)
    return span_at(span.file, after, start, max(min(stop, len(after) if end < 0 else end) - start, 1))

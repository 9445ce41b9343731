"""The outcome of a change of the interface: new texts of files, and what is left to a person. Nothing is written."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from difflib import SequenceMatcher
from pathlib import Path

from diopigen.diagnostics import Diagnostic, Failure, Severity, Span
from diopigen.refactoring.document import Document
from diopigen.spec.text_edits import TextEdit, applied
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
        """The span of characters on one line of a file."""
        text = self.text(file)
        line, column = text.count("\n", 0, position) + 1, position - text.rfind("\n", 0, position)
        return Span(file, line, column, line, column + length)

    def document(self, file: str) -> Document:
        """A YAML file, once: all edits of it are in one document."""
        if file not in self._documents:
            self._documents[file] = Document(file, self.text(file))
        return self._documents[file]

    def edit(self, file: str, edits: Sequence[TextEdit]) -> None:
        """Edits of a file that is no YAML."""
        if edits:
            self.after[file] = applied(edits, self.text(file))

    def drop(self, file: str) -> None:
        """A file that is of no use any more."""
        self.text(file)
        self.after[file] = None

    def finish(self) -> None:
        """Carries out the edits of all documents."""
        for file, document in self._documents.items():
            if self.after.get(file, "") is not None:
                self.after[file] = document.result()
        self.after = {file: text for file, text in self.after.items() if text != self.before[file]}

    def as_it_was(self, span: Span) -> Span:
        """The span in the file as it is of one in the file as it would be: that of its line, all of it where the line
        changes."""
        before, after = self.before.get(span.file, ""), self.after.get(span.file)
        if after is None:
            return span
        old, new = before.splitlines(), after.splitlines()
        for tag, first, last, start, stop in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
            if start < span.line <= stop:
                line = min(first + span.line - start, max(last, 1))
                shift = line - span.line
                if tag == "equal":
                    return replace(span, line=line, end_line=span.end_line and span.end_line + shift)
                return Span(span.file, line, 1, line, len(old[line - 1]) + 1)
        return span

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

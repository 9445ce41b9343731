"""Files to write, as a value: relative path to bytes, and the inputs that each file was made from.

Emitters give plans, `output/` carries them out. A plan that exists is safe: its constructor refuses any path
that could leave the output folder or that would not stay one file on a case-insensitive file system.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from diopigen.diagnostics import Diagnostic, Failure, Severity, Sink

MANIFEST_NAME = "MANIFEST.json"
"""The file in the output root that records what was written; no emitter may write it."""

RESERVED_PREFIX = ".diopigen-"
"""Names that start so belong to `output/`: its journal and its temporary files."""

PLAN_RULES = {
    "plan-path-unsafe": "a generated file stays inside the output folder and has a portable name",
    "plan-path-collision": "a generated file has one emitter, and differs from the others by more than case",
}

_FORBIDDEN_CHARACTERS = frozenset('\\<>:"|?*')
_LONGEST_NAME = 255  # bytes, the limit of the common Linux and macOS file systems


@dataclass(frozen=True, slots=True)
class PlannedFile:
    """One file to write.

    `path` is relative to the output root, POSIX. `inputs` names what the content depends on
    (`specs/ops/norm.yaml`, `templates/c/header.h.j2`), each by a relative POSIX name. `emitter` says who
    planned it; it serves only the message about two emitters that want the same path.
    """

    path: str
    content: bytes
    inputs: tuple[str, ...] = ()
    emitter: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class Plan(Mapping[str, bytes]):
    """An immutable mapping from path to content, sorted by path.

    Raises `Failure` with every unsafe or colliding path among `files`.
    """

    files: tuple[PlannedFile, ...] = ()
    _by_path: dict[str, PlannedFile] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        problems = [problem for file in self.files for problem in _unsafe(file)]
        if not problems:
            _, problems = _without_collisions(self.files)
        if problems:
            raise Failure(*problems)
        ordered = tuple(sorted(self.files, key=lambda file: file.path))
        object.__setattr__(self, "files", ordered)
        object.__setattr__(self, "_by_path", {file.path: file for file in ordered})

    def __getitem__(self, path: str) -> bytes:
        return self._by_path[path].content

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_path)

    def __len__(self) -> int:
        return len(self._by_path)

    def inputs(self, path: str) -> tuple[str, ...]:
        """The names that the file at `path` was made from, sorted, each once. Raises KeyError."""
        return tuple(sorted(set(self._by_path[path].inputs)))

    def all_inputs(self) -> tuple[str, ...]:
        """The inputs of all files, sorted, each once: what a build tool has to watch."""
        return tuple(sorted({name for file in self.files for name in file.inputs}))


def merge_plans(plans: Iterable[Plan], sink: Sink) -> Plan:
    """One plan out of several. Where two claim a path the earlier keeps it and the sink gets an error."""
    retained, problems = _without_collisions(file for plan in plans for file in plan.files)
    sink.extend(problems)
    return Plan(retained)


def unsafe_reason(path: str) -> str | None:
    """Why `path` may not be written below an output root, or None where it may. Takes any text."""
    if not path:
        return "it is empty"
    if path.startswith("/"):
        return "it is absolute"
    try:
        path.encode("utf-8")
    except UnicodeEncodeError:
        return "it is not valid Unicode"
    for character in path:
        if character in _FORBIDDEN_CHARACTERS or unicodedata.category(character) == "Cc":
            return f"it has the character {character!r}"
    for name in path.split("/"):
        if name in ("", ".", ".."):
            return f"it has the part '{name}'"
        if name != name.strip(" ") or name.endswith("."):
            return f"the part '{name}' starts or ends with a space or ends with a dot"
        if len(name.encode("utf-8")) > _LONGEST_NAME:
            return f"a part of it is longer than {_LONGEST_NAME} bytes"
        if name.casefold().startswith(RESERVED_PREFIX):
            return f"names that start with '{RESERVED_PREFIX}' are reserved"
    if _folded(path) == _folded(MANIFEST_NAME):
        return f"'{MANIFEST_NAME}' is reserved"
    return None


def _unsafe(file: PlannedFile) -> Iterator[Diagnostic]:
    by = f" from {file.emitter}" if file.emitter else ""
    reason = unsafe_reason(file.path)
    if reason:
        yield Diagnostic(
            "plan-path-unsafe",
            Severity.ERROR,
            f"cannot plan the file '{file.path}'{by}: {reason}",
            fix="give it a relative path with '/' between plain names",
        )
    for name in file.inputs:
        reason = unsafe_reason(name)
        if reason:
            yield Diagnostic(
                "plan-path-unsafe",
                Severity.ERROR,
                f"cannot name the input '{name}' of '{file.path}'{by}: {reason}",
                fix="name inputs relative to the project, so that two machines write the same manifest",
            )


def _folded(path: str) -> str:
    """The same text for two paths that a case-insensitive or normalising file system takes for one."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", path).casefold())


@dataclass(frozen=True, slots=True)
class _Claim:
    """A name that is taken: by a file, or as a folder on the way to one (`file.path` is then longer)."""

    spelling: str
    is_file: bool
    file: PlannedFile


def _without_collisions(files: Iterable[PlannedFile]) -> tuple[tuple[PlannedFile, ...], list[Diagnostic]]:
    """The files that do not conflict, first come first served, and an error for each of the others."""
    claims: dict[str, _Claim] = {}
    retained: list[PlannedFile] = []
    problems: list[Diagnostic] = []
    for file in files:
        expected = _claims_of(file)
        clash = next(
            ((old, new) for key, new in expected.items() if (old := claims.get(key)) and not _agree(old, new)),
            None,
        )
        if clash:
            problems.append(_collision(*clash))
            continue
        retained.append(file)
        for key, claim in expected.items():
            claims.setdefault(key, claim)
    return tuple(retained), problems


def _claims_of(file: PlannedFile) -> dict[str, _Claim]:
    parts = file.path.split("/")
    names = ["/".join(parts[: count + 1]) for count in range(len(parts))]
    return {_folded(name): _Claim(name, name == file.path, file) for name in names}


def _agree(old: _Claim, new: _Claim) -> bool:
    return not old.is_file and not new.is_file and old.spelling == new.spelling


def _collision(old: _Claim, new: _Claim) -> Diagnostic:
    first = old.file.emitter or "one emitter"
    second = new.file.emitter or "another"
    if old.file.path == new.file.path:
        message = f"'{new.file.path}' is written by {first} and by {second}"
    elif old.spelling != new.spelling:
        message = (
            f"'{old.file.path}' ({first}) and '{new.file.path}' ({second}) "
            f"differ in case only: '{old.spelling}' and '{new.spelling}'"
        )
    else:
        message = f"'{old.spelling}' is a file for {first if old.is_file else second}, " + (
            f"but a folder for {second if old.is_file else first}"
        )
    return Diagnostic("plan-path-collision", Severity.ERROR, message, fix="rename one of them; a path has one emitter")

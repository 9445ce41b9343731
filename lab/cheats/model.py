"""Types of a run over cheats, and the head of a cheat's source."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import yaml

from diopigen.diagnostics import failure

SOURCES = Path(__file__).resolve().parent / "native/sources"
CONTROL = "control"
"""The kind of libraries that do not cheat: a wrong one, and a right one that must be accepted."""


@dataclass(frozen=True, slots=True)
class Cheat:
    """A library that tries to be accepted. Its source begins with a comment in YAML, whose keys are the fields below
    with spaces; those without a default are required."""

    name: str
    kind: str
    tries: str
    ended_by: str = ""
    named: str = ""
    """A regular expression that the output of the run must match: it tells what the library did."""
    sometimes_right: bool = False
    """True if some of its results are right: it is accepted only with a whole function."""
    accepted: bool = False
    """True for the control that must pass."""
    again: bool = False
    """True if the run that counts is the second one."""
    skeleton: bool = True
    """False if the library has no functions of its own."""
    options: tuple[str, ...] = ()
    """Options of `conformance run` in place of the usual ones."""
    link: tuple[str, ...] = ()
    """Options of the linker; REFERENCE is the path of a library that passes."""
    rehearsal: tuple[str, ...] = ()
    """Options of the compiler for a library that is run before, to record what a vendor can record."""
    seconds: float = 60
    """Time after which the run counts as endless."""
    slow: bool = False
    """True if the run takes minutes: it is part of a campaign only by name."""

    @property
    def source(self) -> Path:
        return SOURCES / f"{self.name}.cpp"


@dataclass(frozen=True, slots=True)
class Trial:
    """Outcome of a cheat: `status` of the run, None if it did not end; `verdict` in a line; `gains` lists how the
    cheat succeeded; `named` is False if the output does not tell what the library did."""

    cheat: Cheat
    status: int | None
    verdict: str
    gains: tuple[str, ...]
    named: bool
    seconds: float

    @property
    def good(self) -> bool:
        """Returns whether the suite did what it should: rejected the cheat and named it, or accepted the control."""
        return bool(self.gains) == self.cheat.accepted and self.named


def cheats(globs: Sequence[str] = ()) -> list[Cheat]:
    """The cheats whose name or kind matches a glob, else all that are not slow. Raises `Failure` for a glob that
    matches none."""
    everything = sorted(_read(), key=lambda cheat: (cheat.kind != CONTROL, cheat.kind, cheat.name))
    selected = [cheat for cheat in everything if not cheat.slow and not globs]
    for glob in globs:
        matches = [one for one in everything if fnmatchcase(one.name, glob) or fnmatchcase(one.kind, glob)]
        if not matches:
            raise failure("cheat-unknown", f"no cheat matches '{glob}'", fix="see `python -m lab cheats --list`")
        selected += [one for one in matches if one not in selected]
    return selected


def _read() -> Iterator[Cheat]:
    for path in SOURCES.glob("*.cpp"):
        lines = path.read_text().splitlines()
        end = next(index for index, line in enumerate(lines) if not line.startswith("// "))
        head: dict[str, Any] = yaml.safe_load("\n".join(line.removeprefix("// ") for line in lines[:end]))
        fields: dict[str, Any] = {
            key.replace(" ", "_"): tuple(v) if isinstance(v, list) else v for key, v in head.items()
        }
        yield Cheat(name=path.stem, **fields)

"""Carries out fixes in a copy of a spec until nothing follows any more, and says which files differ."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from diopigen.diagnostics import Diagnostic
from diopigen.fixes.edits import Edit, edits_of
from diopigen.spec.text_edits import applied, unified_diff

RULES = {"fixed": "What `diopigen check --fix` changed is named."}

ROUNDS = 20
"""Maximum number of rounds, since a fix can reveal another finding; ends for specs whose fixes form a cycle."""

Check = Callable[[Path], Sequence[Diagnostic]]
"""The findings of the spec in a folder, with spans that begin with the name that the user gave the spec."""


@dataclass(frozen=True, slots=True)
class Fixed:
    """The outcome: new texts by path below the spec, what was fixed in order, and the findings that are left."""

    texts: Mapping[str, str]
    before: Mapping[str, str]
    done: Sequence[Edit]
    left: Sequence[Diagnostic]

    def diff(self, name: str) -> str:
        """The changes as a unified diff; `name` is what the spec is called, empty where paths say all."""
        return unified_diff(self.before, self.texts, name)


def fix(spec: Path, name: str, check: Check) -> Fixed:
    """Fixes a copy of the spec in the folder `spec`, which spans call `name`; the spec itself stays as it is."""
    before: dict[str, str] = {}
    texts: dict[str, str] = {}
    done: list[Edit] = []
    with copied(spec) as copy:
        left = list(check(copy))
        for _ in range(ROUNDS):
            changed = False
            for path, findings in _by_file(left, name).items():
                file = copy / path
                text = file.read_bytes().decode("utf-8")
                edits = edits_of(findings, text)
                if not edits:
                    continue
                changed = True
                before.setdefault(path, text)
                texts[path] = applied(edits, text)
                file.write_bytes(texts[path].encode("utf-8"))
                done += edits
            if not changed:
                break
            left = list(check(copy))
    return Fixed(texts, before, done, left)


@contextmanager
def copied(spec: Path) -> Iterator[Path]:
    """A copy of the folder of a spec, until the context ends."""
    with tempfile.TemporaryDirectory(prefix="diopigen-") as folder:
        yield Path(shutil.copytree(spec, Path(folder) / "spec"))


def _by_file(findings: Sequence[Diagnostic], name: str) -> Mapping[str, list[Diagnostic]]:
    """The findings by path below the spec; those of other files are left out."""
    found: dict[str, list[Diagnostic]] = {}
    for finding in findings:
        if finding.span is not None and finding.span.file.startswith(f"{name}/"):
            found.setdefault(finding.span.file.removeprefix(f"{name}/"), []).append(finding)
    return found

"""Compares a plan with the disk and writes nothing: `check` for findings, `dry_run` for a list, `diff` for lines."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator
from pathlib import Path

from diopigen.diagnostics import Failure, Sink
from diopigen.emit.plan import MANIFEST_NAME, Plan
from diopigen.output import disk, findings
from diopigen.output.apply import DEFAULT_COMMAND, Result, outcome, survey_for_writing
from diopigen.output.lock import DEFAULT_WAIT, locked
from diopigen.output.survey import State, Survey, survey

_DIFFERENT = (State.MISSING, State.STALE, State.EDITED, State.NOT_OURS, State.ORPHAN, State.ORPHAN_EDITED)


def check(
    plan: Plan,
    root: Path,
    sink: Sink,
    *,
    command: str = DEFAULT_COMMAND,
    lock_wait: float = DEFAULT_WAIT,
) -> None:
    """Reports one finding for every path where the tree below `root` is not what `plan` says.

    The manifest is named only where nothing else is wrong, since it differs whenever a file does. Raises
    `Failure` where `root` is no folder or a run does not give it free in time.
    """
    with locked(root, shared=True, wait=lock_wait):
        found = Sink()
        seen = survey(plan, root, found, command)
        found.extend(seen.obstacles)
        found.extend(findings.of(seen, _DIFFERENT, plan, command, leave_out=MANIFEST_NAME))
        if seen.unfinished:
            found.add(findings.unfinished(seen, command))
        if not found.has_errors:
            found.extend(findings.of(seen, _DIFFERENT, plan, command))
        sink.extend(found.sorted())


def dry_run(
    plan: Plan,
    root: Path,
    sink: Sink,
    *,
    force: bool = False,
    command: str = DEFAULT_COMMAND,
    lock_wait: float = DEFAULT_WAIT,
) -> Result:
    """Changes and reports of `apply` with the same arguments, without writing."""
    with locked(root, shared=True, wait=lock_wait):
        seen = survey_for_writing(plan, root, sink, force=force, command=command)
        return outcome(seen) if seen else Result()


def listing(result: Result, *, dry: bool) -> str:
    """One line per path, sorted by path: `would write  a.h` when `dry`, else `wrote  a.h`. Ends with a newline."""
    deeds = ("would write", "would remove", "would keep") if dry else ("wrote", "removed", "kept")
    words = (*deeds, "unchanged")
    paths_by_word = (result.written, result.removed, result.retained, result.unchanged)
    groups = zip(words, paths_by_word, strict=True)
    lines = sorted((path, word) for word, paths in groups for path in paths)
    width = max(len(word) for word in words)
    return "".join(f"{word:<{width}}  {path}\n" for path, word in lines)


def diff(plan: Plan, root: Path, *, lock_wait: float = DEFAULT_WAIT) -> str:
    """A unified diff from the disk to the plan, by path, in git's form (`git apply` takes it).

    Edits by hand are shown as undone; files that `apply` would keep are left out. Content that is not UTF-8
    text shows as one line. Raises `Failure` for obstacles.
    """
    with locked(root, shared=True, wait=lock_wait):
        seen = survey(plan, root, Sink(), DEFAULT_COMMAND)
        if seen.obstacles:
            raise Failure(*seen.obstacles)
        result = outcome(seen)
        return "".join(_file_diff(seen, path) for path in sorted(result.written + result.removed))


def _file_diff(seen: Survey, path: str) -> str:
    old = None if seen.states[path] is State.MISSING else disk.read_bytes(seen.root / path)
    new = seen.target.get(path)
    mode = 0o100000 | (0o755 if (seen.modes[path] or 0) & 0o100 else 0o644)
    header = f"diff --git a/{path} b/{path}\n"
    if old is None:
        header += f"new file mode {mode:o}\n"
    elif new is None:
        header += f"deleted file mode {mode:o}\n"
    # A name with a space ends at a tab in the two header lines; otherwise it would end at the space.
    end = "\t" if " " in path else ""
    before = "/dev/null" if old is None else f"a/{path}{end}"
    after = "/dev/null" if new is None else f"b/{path}{end}"
    old_lines, new_lines = _lines(old or b""), _lines(new or b"")
    if old_lines is None or new_lines is None:
        return f"{header}Binary files {before.rstrip()} and {after.rstrip()} differ\n"
    return header + "".join(_terminated(difflib.unified_diff(old_lines, new_lines, before, after)))


def _lines(content: bytes) -> list[str] | None:
    """The lines with their newlines, or None for what is not text. Only \\n ends a line, as in git and patch."""
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        return None
    if "\0" in text:
        return None
    lines = text.split("\n")
    return [f"{line}\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])


def _terminated(lines: Iterable[str]) -> Iterator[str]:
    for line in lines:
        yield line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"

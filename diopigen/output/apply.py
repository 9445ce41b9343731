"""Carries a plan out: every file is written whole or not at all, and a run that is killed heals at the next.

The order is what makes it so. (1) Look at everything and refuse, or go on. (2) Write the journal, which says
what is about to be written. (3) Write all contents to temporary files and through to the disk: a full disk or
a missing permission shows here, before any file has changed. (4) Remove orphans, make folders, rename the
temporary files into place. (5) Replace the manifest. (6) Remove the journal.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from diopigen.diagnostics import Failure, Note, Sink
from diopigen.emit.plan import MANIFEST_NAME, Plan
from diopigen.output import disk, findings
from diopigen.output.lock import DEFAULT_WAIT, locked
from diopigen.output.manifest import JOURNAL_NAME, journal_bytes, sha256
from diopigen.output.survey import State, Survey, parents, real_folders, survey

DEFAULT_COMMAND = "diopigen generate"

_HALF_DONE = Note("other files are replaced already, each of them whole; the next run goes on from there")


@dataclass(frozen=True, slots=True)
class Result:
    """Effects of a run, as sorted paths below the root, the manifest included.

    `retained` are files that are no longer generated but were edited by hand. All are empty where the run refused.
    """

    written: tuple[str, ...] = ()
    unchanged: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    retained: tuple[str, ...] = ()


def apply(
    plan: Plan,
    root: Path,
    sink: Sink,
    *,
    force: bool = False,
    command: str = DEFAULT_COMMAND,
    lock_wait: float = DEFAULT_WAIT,
) -> Result:
    """Makes the tree below `root` what `plan` says, and writes only what differs.

    Files edited by hand (`generated-file-edited`), files that diopigen did not write (`file-not-generated`)
    and an unreadable manifest are errors in the sink, and nothing is written then, unless `force`. A file
    that the plan no longer has is removed, or kept with a warning (`orphan-edited`) where it was edited, also
    under `force`. `command` is what the fixes tell the user to run; `lock_wait` is in seconds.

    Raises `Failure` where the disk refuses (`output-unwritable`, `output-unreadable`, `output-no-space`) or
    another run does not finish in time (`output-locked`).
    """
    with locked(root, wait=lock_wait):
        seen = survey_for_writing(plan, root, sink, force=force, command=command)
        if seen is None:
            return Result()
        everything = [*seen.target, *seen.records.known]
        disk.sweep([root, *(root / folder for folder in real_folders(root, everything))])
        result = outcome(seen)
        if result.written or result.removed or seen.unfinished:
            _carry_out(seen, result)
        return result


def survey_for_writing(plan: Plan, root: Path, sink: Sink, *, force: bool, command: str) -> Survey | None:
    """The survey if a run may go on, or None when it must write nothing. Raises `Failure` for obstacles."""
    about_records = Sink()
    seen = survey(plan, root, about_records, command)
    if seen.obstacles:
        raise Failure(*seen.obstacles)
    if force:
        sink.extend(map(findings.overruled, about_records.sorted()))
    else:
        refusals = [
            *about_records.sorted(),
            *findings.of(seen, (State.EDITED, State.NOT_OURS), plan, command),
        ]
        if refusals:
            sink.extend(refusals)
            return None
    sink.extend(findings.of(seen, (State.ORPHAN_EDITED,), plan, command))
    return seen


def outcome(seen: Survey) -> Result:
    """Actions of a surveyed plan."""
    return Result(
        written=seen.paths(State.MISSING, State.STALE, State.EDITED, State.NOT_OURS),
        unchanged=seen.paths(State.UNCHANGED),
        removed=seen.paths(State.ORPHAN),
        retained=seen.paths(State.ORPHAN_EDITED),
    )


def _carry_out(seen: Survey, result: Result) -> None:
    root = seen.root
    journal = root / JOURNAL_NAME
    staged: dict[str, Path] = {}
    created: list[Path] = []
    changing = False
    try:
        _write_journal(seen)
        for path in result.written:
            inside = _deepest_folder(root, path)
            staged[path] = disk.stage(inside, root / path, seen.target[path], seen.modes[path])
        changing = bool(result.removed)
        _remove_orphans(seen, result.removed)
        for folder in parents(result.written):
            if disk.make_folder(root / folder):
                created.append(root / folder)
        changing = changing or bool(staged)
        # The manifest last: until it is there and all it names is on the disk, the journal vouches for the files.
        for path in [path for path in result.written if path != MANIFEST_NAME]:
            disk.publish(staged[path], root / path)
            del staged[path]
        for folder in parents(result.written):
            disk.sync_folder(root / folder)
        if MANIFEST_NAME in staged:
            disk.publish(staged[MANIFEST_NAME], root / MANIFEST_NAME)
            del staged[MANIFEST_NAME]
        disk.sync_folder(root)
        disk.remove_file(journal)
    except BaseException as error:
        disk.discard(staged.values())
        if not changing:
            disk.discard_folders(created)
            if seen.records.journal is None:
                disk.discard([journal])
        elif isinstance(error, Failure):
            raise Failure(*(replace(d, notes=(*d.notes, _HALF_DONE)) for d in error.diagnostics)) from error
        raise


def _write_journal(seen: Survey) -> None:
    """Adds the hashes of this run to those that earlier, unfinished runs have left."""
    journal = dict(seen.records.journal or {})
    for path, content in seen.target.items():
        if path != MANIFEST_NAME:
            journal[path] = journal.get(path, frozenset()) | {sha256(content)}
    if journal != seen.records.journal:
        disk.write_file(seen.root / JOURNAL_NAME, journal_bytes(journal))
        disk.sync_folder(seen.root)


def _remove_orphans(seen: Survey, orphans: Iterable[str]) -> None:
    for path in orphans:
        disk.remove_file(seen.root / path)
    # A run that was killed here may have left the empty folders of files that are gone by now.
    past = seen.paths(State.ORPHAN, State.GONE)
    needed = set(parents(seen.target))
    for folder in reversed(real_folders(seen.root, past)):
        if folder not in needed:
            disk.remove_empty_folder(seen.root / folder)


def _deepest_folder(root: Path, path: str) -> Path:
    """The innermost folder on the way to `path` that is there already: temporary files go into it.

    It is the file's own folder or is on the same file system, and nothing has to be made before all is staged.
    """
    there = real_folders(root, [path])
    return root / there[-1] if there else root

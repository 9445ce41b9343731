"""The words for what a survey found: one finding per path, each with what to do next."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from diopigen.diagnostics import Diagnostic, Note, Severity, Span
from diopigen.emit.plan import Plan
from diopigen.output.survey import State, Survey


@dataclass(frozen=True, slots=True)
class _Wording:
    """`{path}` is the file, `{command}` the command that the user gave."""

    code: str
    severity: Severity
    message: str
    fix: str
    names_inputs: bool = False


_WORDINGS = {
    State.STALE: _Wording(
        "generated-file-stale",
        Severity.ERROR,
        "'{path}' is out of date",
        "run '{command}'",
    ),
    State.MISSING: _Wording(
        "generated-file-missing",
        Severity.ERROR,
        "'{path}' is missing",
        "run '{command}'",
    ),
    State.ORPHAN: _Wording(
        "generated-file-orphan",
        Severity.ERROR,
        "'{path}' is not generated any more",
        "run '{command}', which removes it",
    ),
    State.EDITED: _Wording(
        "generated-file-edited",
        Severity.ERROR,
        "'{path}' was edited by hand",
        "make the change where the file comes from and run '{command}', "
        "or throw the edit away with '{command} --force'",
        names_inputs=True,
    ),
    State.NOT_OURS: _Wording(
        "file-not-generated",
        Severity.ERROR,
        "'{path}' is in the way: diopigen did not write it",
        "move it away, or overwrite it with '{command} --force'",
    ),
    State.ORPHAN_EDITED: _Wording(
        "orphan-edited",
        Severity.WARNING,
        "'{path}' is not generated any more, but was edited by hand, so it is kept",
        "move it to a folder of your own, or delete it",
    ),
}


def of(
    seen: Survey, states: Iterable[State], plan: Plan, command: str, *, leave_out: str | None = None
) -> list[Diagnostic]:
    """One finding for every path that is in one of `states`, but for the path `leave_out`."""
    return [
        _finding(seen, path, _WORDINGS[seen.states[path]], plan, command)
        for path in seen.paths(*states)
        if path != leave_out
    ]


def unfinished(seen: Survey, command: str) -> Diagnostic:
    """The finding about a run that was killed."""
    root = seen.root.as_posix()
    return Diagnostic(
        "output-unfinished",
        Severity.ERROR,
        f"the last run on '{root}' was cut short",
        Span(root),
        fix=f"run '{command}' again; it picks up where the other one stopped",
    )


def overruled(problem: Diagnostic) -> Diagnostic:
    """An error about the manifest as it is under `force`: a warning that the run goes on without it."""
    note = Note("the run goes on as if that file were not there, because of --force")
    return replace(problem, severity=Severity.WARNING, notes=(*problem.notes, note), fix=None)


def _finding(seen: Survey, path: str, wording: _Wording, plan: Plan, command: str) -> Diagnostic:
    name = (seen.root / path).as_posix()
    inputs = plan.inputs(path) if wording.names_inputs and path in plan else ()
    return Diagnostic(
        wording.code,
        wording.severity,
        wording.message.format(path=name),
        Span(name),
        (Note("it is generated from " + ", ".join(inputs)),) if inputs else (),
        wording.fix.format(command=command),
    )

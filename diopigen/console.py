"""The console: what every command shares to read options, show findings and choose the exit code."""

from __future__ import annotations

import contextlib
import functools
import os
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar, cast

import click

from diopigen.diagnostics import Severity, Sink, Span, prevents_work
from diopigen.spec.text_file import files_read_once

if TYPE_CHECKING:
    from diopigen.api import Workspace
    from diopigen.conformance.model import Case
    from diopigen.findings.render import RuleText
    from diopigen.header.cdecl import CInterface
    from diopigen.ir.load import Loaded
    from diopigen.ir.models import Model
    from diopigen.project.file import Project

RULES = {"draft-open": "What is open in entries that are drafts is filled in, in time."}

PLAN = "plan"
"""Kind of the cache's entry with the files of targets."""
INTERRUPTED = 130
"""Exit code of a command that Ctrl-C ends, as shells have it."""
FORMATS = ("text", "json", "github", "sarif", "junit")
_Command = TypeVar("_Command", bound=Callable[..., Any])
_Value = TypeVar("_Value")


class Session:
    """Context of every command: the folder of the spec, the format of findings, and the weight of warnings."""

    def __init__(
        self, spec: str | None, templates: str | None = None, output_format: str = "text", strict: bool = False
    ) -> None:
        self.spec = spec
        self.templates = templates
        self.output_format = output_format
        self.strict = strict
        self.hides_notes = False
        """True if findings as text are those that need action: notes are counted."""
        self.sink = _sink()
        self._loaded: Loaded | None = None
        self.has_all_functions = True
        """False if `load` returns some functions only."""
        self._keys: dict[str, str] = {}
        self._digests: dict[tuple[Path, ...], str] = {}
        """Digests of folders: reading them takes as long as many commands do."""

    def workspace(self) -> Workspace:
        from diopigen import api

        return api.workspace(self.spec, self.templates)

    def load(self, *, fresh: bool = False, published: CInterface | None = None) -> Loaded:
        """The checked interface, read once; findings end the command with 1. Unless `fresh`, an interface without
        findings comes from the cache. `published` is what the interface was when it was generated last."""
        if self._loaded is None:
            self._loaded = self._read(fresh, published)
            if self.sink.has_errors or (self.strict and self.sink.count(Severity.WARNING)):
                self.finish()
        return self._loaded

    def _read(self, fresh: bool, published: CInterface | None) -> Loaded:
        """The interface, checked now unless it is known that this content of the files has no findings."""
        from diopigen import api

        where = self.workspace()
        if fresh:
            return api.load(where, self.sink, published=published)
        folders, words = (where.spec,), (where.spec_name,)
        loaded: list[Loaded] = []

        def work() -> bool:
            found = Sink()
            loaded.append(api.load(where, found, published=published))
            self._extend_with_drafts_counted(found)
            return True

        with files_read_once():
            self._digests.pop(folders, None)  # the one of the bytes that are read now
            self.cached("interface", folders, words, work)
            if not loaded:
                loaded.append(api.load(where, self.sink, check=False))
        return loaded[0]

    def load_some(self, ops: Sequence[str]) -> None:
        """Lets `load` return the functions that match one of the globs, and the others of their operators: they are
        cached by themselves, so that a command on one function does not read all. Raises `Failure` for a name that
        nothing has."""
        from diopigen.conformance.cases.suite import narrowed

        where = self.workspace()
        folders, words = (where.spec,), (where.spec_name,)

        def work() -> Loaded:
            loaded = self.load()
            return replace(loaded, interface=narrowed(loaded.interface, ops))

        self._loaded = self.cached("some-functions", folders, (*words, *sorted(ops)), work)
        self.has_all_functions = False
        with contextlib.suppress(OSError):
            self._keys["interface"] = self.key(folders, words)

    def _extend_with_drafts_counted(self, found: Sink) -> None:
        """Takes over findings, and in place of what is open in drafts one note: only `check` is about that."""
        from diopigen.check.rule import OPEN

        waiting = [one for one in found.sorted() if one.code in OPEN and one.severity is Severity.WARNING]
        self.sink.extend(one for one in found.sorted() if one not in waiting)
        if waiting:
            where = {one.message.partition(":")[0] for one in waiting}
            message = f"{len(waiting)} places of {len(where)} functions that are drafts are open"
            self.sink.note("draft-open", message, Span(self.workspace().spec_name, 0, 0), fix="see `diopigen check`")

    def models(self, *, fresh: bool = False) -> Sequence[Model]:
        """The model tables of the spec, by name; findings end the command with 1. As for the cache see `load`."""
        from diopigen import api

        where = self.workspace()

        def work() -> Sequence[Model]:
            return tuple(api.models(where, self.sink).values())

        found = work() if fresh else self.cached("models", (where.spec,), (where.spec_name,), work)
        if self.sink.has_errors:
            self.finish()
        return found

    def small_calls(self, functions: Collection[str] | None = None) -> Mapping[str, Sequence[Case]]:
        """The calls of models that are cases of every run, by function: those of a few functions, if these are named
        and the calls of all are not in the cache."""
        from diopigen.conformance.cases.suite import small_calls
        from diopigen.output import cache

        where = self.workspace()
        folders, words = (where.spec,), (where.spec_name,)
        if functions is None and not self.has_all_functions:  # what is found then is not stored as that of all
            functions = [function.name for function in self.load().interface.functions]

        def work() -> Mapping[str, Sequence[Case]]:
            # To read all tables for a few functions is cheaper than to store them.
            tables = self.models(fresh=functions is not None)
            return small_calls(self.load().interface, tables, None if functions is None else set(functions))

        if functions is None:
            return self.cached("calls", folders, words, work)
        with contextlib.suppress(OSError):
            known: Mapping[str, Sequence[Case]] | None = cache.read("calls", self.key(folders, words))
            if known is not None:
                return known
        return self.cached("some-calls", folders, (*words, *sorted(functions)), work)

    def models_named(self, names: Sequence[str]) -> Sequence[Model]:
        """The tables of some models. A name that no table has ends the command with 2."""
        from diopigen.diagnostics import nearest

        tables = {model.name: model for model in self.models()}
        for name in names:
            if name not in tables:
                near = nearest(name, tables)
                said = f"did you mean '{near}'?" if near else f"models: {', '.join(tables)}"
                raise click.UsageError(f"there is no model '{name}'; {said}")
        return tuple(tables[name] for name in names)

    def cached(self, kind: str, folders: Sequence[Path], words: Sequence[str], work: Callable[[], _Value]) -> _Value:
        """Memoizes `work`, keyed by the bytes in `folders`, the `words` and diopigen itself. A result is stored where
        it came without findings and no file changed meanwhile."""
        from diopigen.output import cache

        with files_read_once():
            try:
                key = self.key(folders, words)
            except OSError:
                return work()  # says what is wrong
            known: _Value | None = cache.read(kind, key)
            if known is not None:
                self._keys[kind] = key
                return known
            before = self.sink.reported
            result = work()
        with contextlib.suppress(OSError):  # what is gone has changed
            if self.sink.reported == before and cache.key_of(folders, words) == key:
                cache.write(kind, key, result)
                self._keys[kind] = key
        return result

    def key(self, folders: Sequence[Path], words: Sequence[str]) -> str:
        """The key of the cache when this session first asked for it. Raises `OSError`."""
        from diopigen.output import cache

        of = tuple(folders)
        if of not in self._digests:
            self._digests[of] = cache.digest_of(folders)
        return cache.keyed(self._digests[of], words)

    @property
    def interface_key(self) -> str | None:
        """Cache key of the interface of `load`, for derived work; None if it is not cached."""
        return self._keys.get("interface")

    def give_up(self) -> NoReturn:
        """Shows the findings that keep the command from doing its work, and ends it with 2."""
        show_findings(self.sink.sorted(), self.output_format)
        sys.exit(2)

    def finish(self, summary: str = "", *, clean: str = "") -> NoReturn:
        """Shows the findings and ends the command with 0 or 1, or with 2 where one says that work could not be done.

        `summary` closes a run that did its work, `clean` one that found neither errors nor warnings.
        """
        warned = self.sink.count(Severity.WARNING) > 0
        failed = self.sink.has_errors or (self.strict and warned)
        found = self.sink.sorted()
        as_text = self.output_format == "text"
        hidden = self.sink.count(Severity.NOTE) if self.hides_notes and as_text else 0
        shown = [one for one in found if one.severity is not Severity.NOTE] if hidden else found
        if shown or not as_text:
            show_findings(shown, self.output_format)
        if hidden:
            count = "1 note needs" if hidden == 1 else f"{hidden} notes need"
            click.echo(f"{count} no action; -v shows {'it' if hidden == 1 else 'them'}", err=True)
        closing = summary or ("" if warned else clean)
        if closing and as_text and not failed:
            click.echo(closing)
        sys.exit(2 if any(map(prevents_work, found)) else 1 if failed else 0)


def project() -> Project | None:
    """The settings of the project, as the command line read them; None outside of a command and without settings."""
    context = click.get_current_context(silent=True)
    found: Project | None = context.find_root().obj if context else None
    return found


def _sink() -> Sink:
    """The sink of a command: findings have the severity that the project gives them."""
    settings = project()
    if settings is None or not settings.severity:
        return Sink()
    from diopigen.project.severity import WeightedSink

    return WeightedSink(settings.severity, settings.file)


def show_findings(found: Sequence[Any], output_format: str) -> None:
    """Findings as text go to standard error, in every other format to standard output."""
    from diopigen.findings.render import render

    as_text = output_format == "text"
    stream = sys.stderr if as_text else sys.stdout
    colour = as_text and stream.isatty() and "NO_COLOR" not in os.environ
    rules = _rule_texts({one.code for one in found}) if output_format == "sarif" else None
    text = render(found, output_format, colour=colour, sources=_source, rules=rules)
    click.echo(text.rstrip("\n"), err=as_text)


def _rule_texts(codes: Collection[str]) -> Mapping[str, RuleText]:
    """Descriptions of rules, with addresses on the project's published site, else in its files if it has them."""
    from diopigen.findings.render import RuleText
    from diopigen.rulebook.examples import address_of
    from diopigen.rulebook.rules import all_rules
    from diopigen.rulebook.text import explain_rule

    settings = project()
    known = all_rules()
    return {
        code: RuleText(known[code], address_of(code, settings.docs_url if settings else None), explain_rule(code) or "")
        for code in codes
        if code in known
    }


def _source(file: str) -> str | None:
    """The text of a file that a finding points at, or None where it cannot be shown."""
    try:
        path = Path(file)
        return path.read_text(encoding="utf-8") if path.is_file() and path.stat().st_size < 2**22 else None
    except (OSError, ValueError):
        return None


verbose_option = click.option("-v", "--verbose", is_flag=True, help="Show notes as well, which need no action.")


def common_options(command: _Command) -> _Command:
    """The options that every command takes, passed as `session`."""
    options = (
        _SPEC,
        click.option("--templates", metavar="DIR", help="Folder of the templates (default: the built-in ones)."),
        click.option(
            "--format", "output_format", type=click.Choice(FORMATS), default="text", help="How findings are shown."
        ),
        click.option("--strict/--no-strict", default=False, help="Let warnings fail the run."),
    )
    called = _with_session(command, "spec", "templates", "output_format", "strict")
    for option in reversed(options):
        called = option(called)
    return called


def spec_option(command: _Command) -> _Command:
    """The folder of the spec alone, passed as `session`."""
    return _SPEC(_with_session(command, "spec"))


_SPEC = click.option("--spec", metavar="DIR", help="Folder of the spec (default: ./specs, else the built-in one).")


def _with_session(command: _Command, *options: str) -> _Command:
    @functools.wraps(command)
    def called(*args: Any, **named: Any) -> Any:
        session = Session(**{name: named.pop(name) for name in options})
        return command(*args, session=session, **named)

    return cast(_Command, called)

"""convert_config.yaml to a `ConfigFile`: checks the form of the file, not what its words mean."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from diopigen.config import grammar
from diopigen.config.entries import (
    COMMON,
    FAMILY,
    ConfigFile,
    ContiguousSetting,
    DtypeSetting,
    Entry,
    LayoutSetting,
    ParameterDtype,
    Settings,
    Word,
)
from diopigen.config.source import SWITCHES, Source, parse_nodes, read_nodes
from diopigen.config.texts import RULES as TEXT_RULES
from diopigen.config.texts import Locate, parse_casts, parse_layouts, parse_names
from diopigen.diagnostics import Severity, Sink, Span, did_you_mean
from diopigen.header.rules import ERROR, WARNING, Reporter, Rule, Rules
from diopigen.spec.nodes import Entry as KeyAndValue
from diopigen.spec.nodes import MappingNode, Node, ScalarNode, SequenceNode, kind_of

RULES: Rules = {
    "config-not-a-list": Rule(ERROR, "a configuration is a list of entries"),
    "config-entry-form": Rule(ERROR, "an entry is a name with settings below it; a family's entry names the family"),
    "config-not-indented": Rule(ERROR, "settings are below the name that they belong to, and further to the right"),
    "config-many-names": Rule(WARNING, "an entry has one name"),
    "config-unknown-key": Rule(ERROR, "settings have only keys that the grammar knows"),
    "config-wrong-kind": Rule(ERROR, "a value is of the kind that its key asks for"),
    "config-composite": Rule(WARNING, "a configuration has no 'supportComposite', which shims no longer read"),
    "config-says-nothing": Rule(WARNING, "an entry and a key of it say something"),
}

_DOCS = "see docs/adaptors.md"


def read_config(path: Path, display: str, sink: Sink) -> ConfigFile | None:
    """The configuration in a file, called `display` in findings; None where it cannot be read as YAML.

    What is wrong in it is reported to `sink` and left out, so that the other rules can go on with the rest.
    """
    return _config(read_nodes(path, display, sink), display, sink)


def parse_config(text: str, display: str, sink: Sink) -> ConfigFile | None:
    """As `read_config`, of a text."""
    return _config(parse_nodes(text, display, sink), display, sink)


def _config(read: tuple[Source, Node | None] | None, display: str, sink: Sink) -> ConfigFile | None:
    if read is None:
        return None
    source, root = read
    reader = _Reader(source, Reporter(RULES, sink), sink)
    if root is None or (isinstance(root, ScalarNode) and root.value is None):
        return ConfigFile(display)
    if not isinstance(root, SequenceNode):
        fix = "begin each entry with '- ', such as '- common_config:'"
        reader.report(
            "config-not-a-list", f"a configuration is a list, not {kind_of(root)}", reader.span(root), fix=fix
        )
        return ConfigFile(display)
    return ConfigFile(display, tuple(entry for item in root for entry in reader.entries(item)))


@dataclass(slots=True)
class _Reader:
    """Context of the parsers: the text, for exact positions, and the sink of findings."""

    source: Source
    report: Reporter
    sink: Sink
    parsers: dict[str, Callable[[KeyAndValue, Settings], Settings]] = field(init=False)

    def __post_init__(self) -> None:
        self.parsers = {
            grammar.DTYPE: self._dtype,
            grammar.TENSOR_DTYPE: self._tensor_dtype,
            grammar.LAYOUT: self._layout,
            grammar.CONTIGUOUS: self._contiguous,
            grammar.COMPOSITE: self._composite,
        }

    def span(self, node: Node) -> Span:
        return self.source.locate(node.span)

    def key(self, entry: KeyAndValue) -> Word:
        return Word(entry.key, self.source.locate(entry.key_span))

    def entries(self, item: Node) -> list[Entry]:
        """The entries in an item of the list: one, where it is as it should be."""
        if not isinstance(item, MappingNode) or not item.entries:
            fix = "write the name with a colon, and the settings below it"
            message = f"an entry is a name with settings, not {kind_of(item)}"
            if isinstance(item, MappingNode):
                message = "an entry is a name with settings, not an empty mapping"
            self.report("config-entry-form", message, self.span(item), fix=fix)
            return []
        named = list(item.entries.values())
        misplaced = [entry for entry in named if entry.key in grammar.KEYS]
        for entry in misplaced:
            owner = named[0].key
            message = f"'{entry.key}' is at the level of '{owner}', not below it"
            fix = f"indent it by two spaces more than '{owner}'"
            if owner in grammar.KEYS:
                message = f"'{entry.key}' belongs to no entry"
                fix = "put '- common_config:' or the name of an operator before it, and indent it"
            self.report("config-not-indented", message, self.key(entry).span, fix=fix)
        if misplaced:
            return []
        for entry in named[1:]:
            message = f"'{entry.key}' is in one entry with '{named[0].key}'"
            self.report("config-many-names", message, self.key(entry).span, fix="begin a new entry with '- '")
        found = [self._entry(entry) for entry in named]
        return [entry for entry in found if entry is not None]

    def _entry(self, named: KeyAndValue) -> Entry | None:
        name, body = self.key(named), named.value
        level = {COMMON: "common", FAMILY: "family"}.get(name.text, "operator")
        parsed = Entry(level, name)
        if isinstance(body, ScalarNode) and body.value is None and level != "family":
            return self._empty(parsed)
        if not isinstance(body, MappingNode):
            owner = "a family" if level == "family" else parsed.label
            fix = f"write '{grammar.FAMILY_NAME}:' and settings" if level == "family" else "write 'dtype:' or 'layout:'"
            message = f"the settings of {owner} are a mapping, not {kind_of(body)}"
            self.report("config-entry-form", message, self.span(body), fix=f"{fix} below the name")
            return None
        entries = dict(body.entries)
        if level == "family":
            family = self._family(named, entries.pop(grammar.FAMILY_NAME, None))
            if family is None:
                return None
            parsed = replace(parsed, name=family)
        settings, keys = Settings(), []
        errors = self.sink.count(Severity.ERROR)
        for entry in entries.values():
            parser = self.parsers.get(entry.key)
            if parser is None:
                self._unknown_key(parsed, entry)
            elif isinstance(entry.value, ScalarNode) and entry.value.value is None:
                message = f"'{entry.key}' of {parsed.label} says nothing"
                self.report("config-says-nothing", message, self.key(entry).span, fix="give it a value, or remove it")
            else:
                settings = parser(entry, settings)
                keys.append(self.key(entry))
        sound = self.sink.count(Severity.ERROR) == errors
        parsed = replace(parsed, settings=settings, keys=tuple(keys), sound=sound)
        return parsed if entries else self._empty(parsed)

    def _empty(self, parsed: Entry) -> Entry:
        fix = "give it settings, or remove it"
        self.report("config-says-nothing", f"{parsed.label} has no settings", parsed.name.span, fix=fix)
        return parsed

    def _family(self, named: KeyAndValue, entry: KeyAndValue | None) -> Word | None:
        if entry is None:
            message = "the entry does not say which family"
            self.report("config-entry-form", message, self.key(named).span, fix="add 'name: FAMILY' to it")
            return None
        if not isinstance(entry.value, ScalarNode) or not isinstance(entry.value.value, str):
            message = f"a family's name is a text, not {kind_of(entry.value)}"
            self.report("config-wrong-kind", message, self.span(entry.value), fix="name a family")
            return None
        return Word(entry.value.value, self.span(entry.value))

    def _unknown_key(self, parsed: Entry, entry: KeyAndValue) -> None:
        known = list(self.parsers) + ([grammar.FAMILY_NAME] if parsed.level == "family" else [])
        fix = did_you_mean(entry.key, known) or f"known keys: {', '.join(known)}"
        if any(mark in entry.key for mark in " ()>"):
            fix = "a comma inside { } ends a text: put the whole text in quotes"
        self.report("config-unknown-key", f"unknown key '{entry.key}' in {parsed.label}", self.key(entry).span, fix=fix)

    def _texts(self, value: Node, key: str, what: str) -> list[tuple[str, Locate]] | None:
        """The texts of a value, one or a list of them, each with the way to its places; None after a finding."""
        items = list(value.items) if isinstance(value, SequenceNode) else [value]
        found: list[tuple[str, Locate]] = []
        for item in items:
            if not isinstance(item, ScalarNode) or not isinstance(item.value, str):
                message = f"'{key}' takes {what}, not {kind_of(item)}"
                self.report("config-wrong-kind", message, self.span(item), fix=_DOCS)
                return None
            found.append((item.value, self._location(item)))
        if not found:
            message = f"'{key}' is an empty list"
            self.report("config-says-nothing", message, self.span(value), fix="give it a value, or remove it")
        return found

    def _location(self, node: ScalarNode) -> Locate:
        return lambda offset, length: self.source.inside(node, offset, length)

    def _casts(self, entry: KeyAndValue) -> DtypeSetting | None:
        texts = self._texts(entry.value, entry.key, "conversions such as (int64)->int32")
        if not texts:
            return None
        report = self._reporter()
        casts = [cast for text, location in texts for cast in parse_casts(text, location, report)]
        return DtypeSetting(tuple(casts), self.key(entry).span)

    def _reporter(self) -> Reporter:
        return Reporter(TEXT_RULES, self.sink)

    def _dtype(self, entry: KeyAndValue, settings: Settings) -> Settings:
        return replace(settings, dtype=self._casts(entry))

    def _tensor_dtype(self, entry: KeyAndValue, settings: Settings) -> Settings:
        if not isinstance(entry.value, MappingNode):
            message = f"'{entry.key}' maps parameters to conversions; it is not {kind_of(entry.value)}"
            fix = "write 'PARAMETER: (from)->to' below it"
            self.report("config-wrong-kind", message, self.span(entry.value), fix=fix)
            return settings
        found = []
        for inner in entry.value.entries.values():
            if isinstance(inner.value, ScalarNode) and inner.value.value is None:
                message = f"'{inner.key}' of '{entry.key}' says nothing"
                self.report("config-says-nothing", message, self.key(inner).span, fix="give it a value, or remove it")
                continue
            setting = self._casts(inner)
            if setting is not None:
                found.append(ParameterDtype(self.key(inner), setting))
        return replace(settings, tensor_dtype=tuple(found))

    def _layout(self, entry: KeyAndValue, settings: Settings) -> Settings:
        texts = self._texts(entry.value, entry.key, "layouts such as NHWC")
        if not texts:
            return settings
        report = self._reporter()
        read = [parse_layouts(text, location, report) for text, location in texts]
        layouts = tuple(word for words, _ in read for word in words)
        by_param = tuple(param for _, params in read for param in params)
        return replace(settings, layout=LayoutSetting(layouts, by_param, self.key(entry).span))

    def _contiguous(self, entry: KeyAndValue, settings: Settings) -> Settings:
        value, span = entry.value, self.key(entry).span
        flag = self._truth(value)
        if flag is not None:
            return replace(settings, contiguous=ContiguousSetting(flag, (), span))
        texts = self._texts(value, entry.key, "true, false or names of parameters")
        if not texts:
            return settings
        report = self._reporter()
        names = tuple(word for text, location in texts for word in parse_names(text, location, report))
        return replace(settings, contiguous=ContiguousSetting(None, names, span))

    def _composite(self, entry: KeyAndValue, settings: Settings) -> Settings:
        flag = self._truth(entry.value)
        if flag is None:
            message = f"'{entry.key}' takes true or false, not {kind_of(entry.value)}"
            self.report("config-wrong-kind", message, self.span(entry.value), fix="write true or false")
            return settings
        message = f"'{entry.key}' has no effect: a function without a kernel runs on the reference library"
        fix = "remove it; docs/adaptors.md#functions-without-a-kernel says how it runs on the device"
        self.report("config-composite", message, self.key(entry).span, fix=fix)
        return settings

    def _truth(self, value: Node) -> bool | None:
        if not isinstance(value, ScalarNode):
            return None
        if isinstance(value.value, bool):
            return value.value
        return SWITCHES.get(value.value) if isinstance(value.value, str) and value.plain else None

"""The small languages inside the values: `(int64, bool)->int32, ...`, `NCHW, input(NHWC)` and `input, out`.

Each parser goes on after a fault, so that one run shows them all.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from diopigen.config.entries import ParameterLayout, Word, WrittenCast
from diopigen.diagnostics import Span
from diopigen.header.rules import ERROR, Reporter, Rule, Rules

RULES: Rules = {
    "config-missing-arrow": Rule(ERROR, "a dtype conversion has an arrow: (int64)->int32"),
    "config-missing-parenthesis": Rule(ERROR, "dtypes before an arrow, and layouts of one tensor, are in parentheses"),
    "config-missing-comma": Rule(ERROR, "a comma is between two names and between two conversions"),
    "config-missing-name": Rule(ERROR, "a name is where the grammar asks for one"),
    "config-stray-text": Rule(ERROR, "a value holds only names, commas, parentheses and arrows"),
}

NO_CASTS = "none"
"""Value of `dtype` that removes the casts of an outer level."""

_TOKEN = re.compile(
    r"(?P<word>[A-Za-z0-9_.]+)|(?P<arrow>[-=~]*>|→|[-=~]+)|(?P<mark>[(),])|(?P<space>\s+)"
    r"|(?P<other>[^A-Za-z0-9_.\-=~>→(),\s]+)"
)
_ARROWS = ("->", "→")
_WRONG_COMMAS = frozenset(";|/&+")
_END = "end"

Locate = Callable[[int, int], Span]
"""Offset and length in a text to the place in the file."""


@dataclass(frozen=True, slots=True)
class _Token:
    """`kind` is `word`, `arrow`, one of the marks, or `end`."""

    kind: str
    text: str
    offset: int


class _Tokens:
    """The tokens of a text, read from left to right. Reports what is no token, and arrows that are not whole."""

    def __init__(self, text: str, location: Locate, report: Reporter) -> None:
        self.report = report
        self._location = location
        self._tokens: list[_Token] = []
        self._next = 0
        for match in _TOKEN.finditer(text):
            kind, found, offset = str(match.lastgroup), match.group(), match.start()
            if kind == "other":
                separates = found in _WRONG_COMMAS
                fix = "write a comma" if separates else "remove it"
                report("config-stray-text", f"'{found}' does not belong here", location(offset, len(found)), fix=fix)
                if separates:
                    self._tokens.append(_Token(",", found, offset))
            elif kind == "arrow":
                if found not in _ARROWS:
                    message = f"'{found}' is no arrow"
                    report("config-missing-arrow", message, location(offset, len(found)), fix="write '->'")
                self._tokens.append(_Token("arrow", found, offset))
            elif kind != "space":
                self._tokens.append(_Token(found if kind == "mark" else kind, found, offset))
        self._tokens.append(_Token(_END, "", len(text.rstrip())))

    @property
    def kind(self) -> str:
        return self._tokens[self._next].kind

    @property
    def following(self) -> str:
        """The kind of the token behind the next one."""
        return self._tokens[min(self._next + 1, len(self._tokens) - 1)].kind

    def take(self) -> _Token:
        token = self._tokens[self._next]
        if token.kind != _END:
            self._next += 1
        return token

    def word(self) -> Word:
        token = self.take()
        return Word(token.text, self._location(token.offset, len(token.text)))

    def accept(self, kind: str) -> bool:
        """Takes the next token where it is of that kind."""
        if self.kind != kind:
            return False
        self.take()
        return True

    def fault(self, rule: str, message: str, fix: str) -> None:
        """A finding at the next token; at the end of the text, at its last character."""
        token = self._tokens[self._next]
        offset = max(token.offset - 1, 0) if token.kind == _END else token.offset
        self.report(rule, message, self._location(offset, max(len(token.text), 1)), fix=fix)

    def back(self, rule: str, message: str, fix: str) -> None:
        """A finding at the token that was taken last."""
        token = self._tokens[self._next - 1]
        self.report(rule, message, self._location(token.offset, len(token.text)), fix=fix)

    def found(self) -> str:
        """The next token in words."""
        return "the end" if self.kind == _END else f"'{self._tokens[self._next].text}'"


def parse_casts(text: str, location: Locate, report: Reporter) -> tuple[WrittenCast, ...]:
    """The casts of a `dtype` text in order, one for each dtype before an arrow."""
    if text.strip() == NO_CASTS:
        return ()
    tokens = _Tokens(text, location, report)
    found: list[WrittenCast] = []
    if tokens.kind == _END:
        tokens.fault("config-missing-name", "no conversion is given", "write (from, ...)->to, or none")
    while tokens.kind != _END:
        found += _cast(tokens)
        _separator(tokens, "conversion")
    return tuple(found)


def _cast(tokens: _Tokens) -> list[WrittenCast]:
    opened = tokens.accept("(")
    sources = _names(tokens, "dtype")
    closed = tokens.accept(")")
    has_arrow = tokens.kind == "arrow"
    if opened and not closed:
        message = f"the parenthesis is not closed before {tokens.found()}"
        tokens.fault("config-missing-parenthesis", message, "put ')' behind the last dtype")
    elif sources and not opened and (closed or has_arrow):
        message = f"the parenthesis before '{sources[0]}' is missing"
        tokens.report("config-missing-parenthesis", message, sources[0].span, fix="write (from, ...)->to")
    if sources and not has_arrow and (closed or not opened):
        tokens.fault("config-missing-arrow", f"an arrow is missing before {tokens.found()}", "write (from, ...)->to")
    while tokens.accept("arrow"):
        pass
    if tokens.kind != "word":
        if has_arrow:
            message = f"the dtype to convert to is missing before {tokens.found()}"
            tokens.fault("config-missing-name", message, "name one dtype behind the arrow")
        return []
    target = tokens.word()
    if opened and not closed:
        tokens.accept(")")  # `(int64->int32)`: said once is enough
    return [WrittenCast(source, target) for source in sources]


def _names(tokens: _Tokens, what: str) -> list[Word]:
    """Names with commas between them, up to what is neither."""
    found: list[Word] = []
    while True:
        if tokens.kind == "word" and tokens.following != "(":
            found.append(tokens.word())
        elif tokens.kind == "word":
            return found
        else:
            tokens.fault("config-missing-name", f"a {what} is missing before {tokens.found()}", f"name a {what}")
        if tokens.accept(","):
            continue
        if tokens.kind != "word":
            return found
        _missing_comma(tokens)


def _missing_comma(tokens: _Tokens) -> None:
    found = tokens.found()
    tokens.fault("config-missing-comma", f"a comma is missing before {found}", f"write a comma before {found}")


def _separator(tokens: _Tokens, what: str) -> None:
    """The comma between two parts, or the end of the text; what is too much before it is skipped."""
    while tokens.kind in (")", "arrow"):
        if tokens.accept(")"):
            tokens.back("config-missing-parenthesis", "')' closes nothing", "remove it, or write the '(' before it")
            continue
        tokens.fault("config-stray-text", f"{tokens.found()} follows a whole {what}", "separate by commas")
        tokens.take()
        tokens.accept("word")
    if tokens.accept(","):
        if tokens.kind == _END:
            tokens.fault("config-missing-name", "nothing follows the comma", "remove the comma")
    elif tokens.kind != _END:
        _missing_comma(tokens)


def parse_layouts(
    text: str, location: Locate, report: Reporter
) -> tuple[tuple[Word, ...], tuple[ParameterLayout, ...]]:
    """The layouts of a `layout` text for all tensors, and those of single ones."""
    tokens = _Tokens(text, location, report)
    layouts: list[Word] = []
    by_param: list[ParameterLayout] = []
    if tokens.kind == _END:
        tokens.fault("config-missing-name", "no layout is given", "name layouts, such as NHWC, or ND for any")
    while tokens.kind != _END:
        name = _name(tokens, "layout")
        closed = True
        if name is not None and tokens.accept("("):
            by_param.append(ParameterLayout(name, tuple(_names(tokens, "layout"))))
            closed = tokens.accept(")")
            if not closed:
                message = f"the parenthesis is not closed before {tokens.found()}"
                tokens.fault("config-missing-parenthesis", message, "put ')' behind the last layout")
        elif name is not None:
            layouts.append(name)
        if closed or tokens.kind != "word":
            _separator(tokens, "layout")
    return tuple(layouts), tuple(by_param)


def parse_names(text: str, location: Locate, report: Reporter) -> tuple[Word, ...]:
    """Names of parameters with commas between them."""
    tokens = _Tokens(text, location, report)
    found: list[Word] = []
    if tokens.kind == _END:
        tokens.fault("config-missing-name", "no parameter is given", "name parameters, or write true or false")
    while tokens.kind != _END:
        name = _name(tokens, "parameter")
        found += [name] if name else []
        _separator(tokens, "parameter")
    return tuple(found)


def _name(tokens: _Tokens, what: str) -> Word | None:
    """The next name; None after a finding where there is none."""
    if tokens.kind == "word":
        return tokens.word()
    tokens.fault("config-missing-name", f"a {what} is missing before {tokens.found()}", f"name a {what}")
    if tokens.kind == "(":
        tokens.take()
    return None

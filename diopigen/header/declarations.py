"""From clang's cursors to the values of `cdecl`."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from diopigen.diagnostics import Span
from diopigen.header import libclang, stubs
from diopigen.header.cdecl import (
    CDoc,
    CEnum,
    CField,
    CFunction,
    CInterface,
    CParam,
    CStruct,
    CTypedef,
    canonical_type,
)
from diopigen.header.doxygen import parse_comment
from diopigen.header.source import SourceText

SourceOf = Callable[[str], "SourceText | None"]

_STRING = re.compile(r'"(?:\\.|[^"\\])*"')
_ATTRIBUTE = re.compile(r"__attribute__\(\((?:[^()]|\([^()]*\))*\)\)|\[\[.*?\]\]")
_WEAK = re.compile(r"\b(?:__)?weak(?:__)?\b")
_DEPRECATED = re.compile(r"\b(?:__)?deprecated(?:__)?\b")
_STORAGE = re.compile(r"\b(?:extern|inline|static|virtual|constexpr)\b")
_PLAIN_TYPE = re.compile(r"[\w\s*]+")
_TAGGED = re.compile(r"(?:struct|enum|union) (\w+)")
_UNNAMED = re.compile(r"\((?:unnamed|anonymous)[^()]*\)")
_LAST_WORD = re.compile(r"(.*?)(\w+)", re.DOTALL)
_WORD = re.compile(r"\w+")
_COMMENT = re.compile(rb"/\*.*?\*/|//[^\n]*", re.DOTALL)
# White space and comments; no text matches it in two ways, so that a search fails in linear time.
_GAP = rb"(?:\s|/\*(?:[^*]|\*(?!/))*\*/|//[^\n]*\n)*"
_GUARD = re.compile(
    rb"(?:\xef\xbb\xbf)?" + _GAP + rb"(?:#[ \t]*pragma[^\n]*\n" + _GAP + rb")*"
    rb"#[ \t]*(?:ifndef[ \t]+(?P<ifndef>\w+)|if[ \t]*![ \t]*defined[ \t]*\(?[ \t]*(?P<undefined>\w+)[ \t]*\)?)"
    + _GAP
    + rb"#[ \t]*define[ \t]+(?P<name>\w+)"
)

# Words that can end a type, so that a parameter that ends in one has no name.
_TYPE_WORDS = frozenset(
    {
        "bool",
        "char",
        "const",
        "double",
        "float",
        "int",
        "long",
        "restrict",
        "short",
        "signed",
        "unsigned",
        "void",
        "volatile",
    }
)
_TAG_WORDS = frozenset({"const", "enum", "restrict", "struct", "union", "volatile"})


class DeclarationReader:
    """Reads the declarations of one translation unit that are in the files that `source_of` knows.

    `source_of` gives the text of a file by clang's name for it, or None for a file outside the set. `renamed`
    maps tags to typedef names where another reader has found them; such a reader reads single functions only.
    """

    def __init__(self, unit: Any, source_of: SourceOf, renamed: Mapping[str, str] | None = None) -> None:
        self._cindex = libclang.load()
        self._unit = unit
        self._source_of = source_of
        self._top = list(self._flat(unit.cursor)) if renamed is None else []
        self.renamed = self._typedef_names() if renamed is None else renamed
        # Each way to write a type, a parameter or a return type is resolved once.
        self._types: dict[str, tuple[str, str]] = {}
        self._pieces: dict[str, tuple[str, str, str]] = {}
        self._outsides: dict[tuple[str, str], tuple[str, str, bool, bool]] = {}

    def _flat(self, cursor: Any) -> Iterator[Any]:
        """Declarations outside any namespace; `extern "C"` blocks are opened."""
        kinds = self._cindex.CursorKind
        opened = (kinds.LINKAGE_SPEC, kinds.UNEXPOSED_DECL)
        for child in cursor.get_children():
            if child.kind in opened:
                yield from self._flat(child)
            else:
                yield child

    def _typedef_names(self) -> Mapping[str, str]:
        """Tag to typedef name: `typedef struct T_ {...} T;` makes `struct T_` and `T` one type with one name."""
        renamed: dict[str, str] = {}
        for cursor in self._top:
            if cursor.kind == self._cindex.CursorKind.TYPEDEF_DECL:
                found = _TAGGED.fullmatch(cursor.underlying_typedef_type.spelling)
                if found and found[1] != cursor.spelling:
                    renamed.setdefault(found[1], cursor.spelling)
        return renamed

    def type_name(self, spelling: str) -> str:
        """The canonical spelling, with tags replaced by their typedef names."""
        text = canonical_type(_UNNAMED.sub("(unnamed)", spelling))
        if self.renamed:
            text = re.sub(r"\w+", lambda word: self.renamed.get(word[0], word[0]), text)
        return text

    def interface(self, files: tuple[str, ...], *, docs: bool = True) -> CInterface:
        """Everything that the files declare, in order of declaration; `docs` reads the comments too."""
        kinds = self._cindex.CursorKind
        functions: dict[str, CFunction] = {}
        enums: dict[str, CEnum] = {}
        structs: dict[str, CStruct] = {}
        typedefs: dict[str, CTypedef] = {}
        macros: dict[str, tuple[str, Span]] = {}
        visible: set[str] = set()
        guards: dict[str, str] = {}
        for cursor in self._top:
            kind = cursor.kind
            if kind == kinds.MACRO_INSTANTIATION or cursor.location.file is None:
                continue
            file = cursor.location.file.name
            source = self._source_of(file)
            if source is None:
                if not file.startswith(stubs.FOLDER):
                    visible.update(self._names(cursor))
            elif kind == kinds.FUNCTION_DECL:
                if cursor.linkage != self._cindex.LinkageKind.INTERNAL:
                    functions.setdefault(cursor.spelling, self.function(cursor, source, with_doc=docs))
            elif kind == kinds.ENUM_DECL:
                if cursor.is_definition():
                    enum = self._enum(cursor, source)
                    enums.setdefault(enum.name or str(enum.span), enum)
            elif kind in (kinds.STRUCT_DECL, kinds.UNION_DECL, kinds.CLASS_DECL):
                struct = self._struct(cursor, source)
                structs.setdefault(struct.name or str(struct.span), struct)
            elif kind in (kinds.TYPEDEF_DECL, kinds.TYPE_ALIAS_DECL):
                span = self._name_span(cursor, source)
                underlying = self.type_name(cursor.underlying_typedef_type.spelling)
                typedefs.setdefault(cursor.spelling, CTypedef(cursor.spelling, underlying, span))
            elif kind == kinds.MACRO_DEFINITION:
                guard = guards.setdefault(file, "")
                if not guard:
                    guard = guards[file] = include_guard(source) or "\0"
                body = self._macro_body(cursor)
                if body is not None and not (cursor.spelling == guard and not body):
                    macros[cursor.spelling] = (body, self._name_span(cursor, source))
        return CInterface(
            tuple(functions.values()),
            tuple(enums.values()),
            tuple(structs.values()),
            tuple(typedefs.values()),
            tuple((name, body) for name, (body, _) in macros.items()),
            files,
            tuple((name, span) for name, (_, span) in macros.items()),
            frozenset(visible),
        )

    def _names(self, cursor: Any) -> Iterator[str]:
        yield cursor.spelling
        if cursor.kind == self._cindex.CursorKind.ENUM_DECL:
            yield from (child.spelling for child in cursor.get_children())

    @staticmethod
    def _name_span(cursor: Any, source: SourceText) -> Span:
        name = cursor.spelling
        offset = cursor.location.offset
        if source.data.startswith(name.encode(), offset):
            return source.word(offset, len(name))
        # The name comes out of a macro: the macro's use is the place.
        return source.span(offset, cursor.extent.end.offset)

    def function(self, cursor: Any, source: SourceText, *, with_doc: bool = True) -> CFunction:
        """A function's declaration. Its span covers its name."""
        name = cursor.spelling
        printed = libclang.pretty_printed(cursor)
        if '"' in printed:
            printed = _STRING.sub('""', printed)
        head, _, rest = printed.partition(f"{name}(")
        inside, closed, tail = rest.partition(")")
        params = self._params_from_print(inside, cursor, source) if closed and "(" not in inside else None
        if params is None:
            params = self._params_from_cursors(cursor, source)
        returns, resolved, weak, deprecated = self._outside(head, tail.partition("{")[0], cursor)
        return CFunction(
            name,
            returns,
            params,
            weak,
            deprecated,
            self._name_span(cursor, source),
            self._doc(cursor, source) if with_doc else None,
            source.base,
            resolved,
        )

    def _outside(self, head: str, tail: str, cursor: Any) -> tuple[str, str, bool, bool]:
        """Text before the name and after the parameters: return type, weak, deprecated."""
        known = self._outsides.get((head, tail))
        if known is None:
            returns = _STORAGE.sub("", _ATTRIBUTE.sub("", head)).strip()
            if _PLAIN_TYPE.fullmatch(returns) is None:
                returns = cursor.result_type.spelling
            attributes = head + tail
            weak, deprecated = _WEAK.search(attributes), _DEPRECATED.search(attributes)
            known = (*self._type(returns, lambda: cursor.result_type), weak is not None, deprecated is not None)
            self._outsides[head, tail] = known
        return known

    def _type(self, spelling: str, clang_type: Callable[[], Any]) -> tuple[str, str]:
        """Canonical and resolved spelling, computed once for each way to write a type.

        Parameters of array type become the pointers that they decay to, as in the function's type.
        """
        known = self._types.get(spelling)
        if known is None:
            found = clang_type()
            written = spelling
            array = (self._cindex.TypeKind.CONSTANTARRAY, self._cindex.TypeKind.INCOMPLETEARRAY)
            resolved = found.get_canonical().spelling
            if found.kind in array:
                written = f"{found.element_type.spelling} *"
                resolved = f"{found.element_type.get_canonical().spelling} *"
            known = self._types[spelling] = (self.type_name(written), self.type_name(resolved))
        return known

    def _params_from_print(self, inside: str, cursor: Any, source: SourceText) -> tuple[CParam, ...] | None:
        """Parameters out of clang's own print of the function; None where that takes more than splitting.

        A print costs one call for a function, cursors cost six for each parameter: 5 ms against 80 for the
        whole interface.
        """
        if inside in ("", "void"):
            return ()
        printed = inside.split(", ")
        spans = self._locations(len(printed), cursor, source)
        if spans is None:
            return None
        params: list[CParam] = []
        for index, (piece, (offset, text)) in enumerate(zip(printed, spans, strict=True)):
            known = self._pieces.get(piece) or self._piece(piece, index, cursor)
            if known is None:
                return None
            name, written, resolved = known
            at, width = text.rfind(name.encode()), len(name)
            if at < 0 or (name and text[at + width :].strip()):
                return None
            if not name:
                at, width = len(text) - len(text.lstrip()), len(text.strip())
            params.append(CParam(name, written, source.word(offset + at, width), resolved))
        return tuple(params)

    @staticmethod
    def _locations(count: int, cursor: Any, source: SourceText) -> list[tuple[int, bytes]] | None:
        """Offset and text of each parameter in the file; None where macros hide them."""
        start = source.data.find(b"(", cursor.location.offset) + 1
        end = source.data.find(b")", start)
        text = source.data[start:end]
        if b"/" in text:
            # Comments may hold commas and parentheses; blanks of the same length keep the offsets.
            end = cursor.extent.end.offset
            text = _COMMENT.sub(lambda found: b" " * len(found[0]), source.data[start:end]).partition(b")")[0]
        spans: list[tuple[int, bytes]] = []
        for piece in text.split(b","):
            spans.append((start, piece))
            start += len(piece) + 1
        return spans if len(spans) == count else None

    def _piece(self, piece: str, index: int, cursor: Any) -> tuple[str, str, str] | None:
        """Name, type and resolved type of a parameter as clang prints it."""
        if _PLAIN_TYPE.fullmatch(piece) is None:
            return None
        found = _LAST_WORD.fullmatch(piece)
        spelling, name = (found[1].strip(), found[2]) if found else (piece, "")
        if name in _TYPE_WORDS or not set(_WORD.findall(spelling)) - _TAG_WORDS:
            spelling, name = piece, ""
        written, resolved = self._type(spelling, lambda: list(cursor.get_arguments())[index].type)
        self._pieces[piece] = (name, written, resolved)
        return self._pieces[piece]

    def _params_from_cursors(self, cursor: Any, source: SourceText) -> tuple[CParam, ...]:
        params = []
        for argument in cursor.get_arguments():
            clang_type = argument.type
            written, resolved = self._type(clang_type.spelling, functools.partial(_same, clang_type))
            span = self._name_span(argument, source)
            has_default = any(token.spelling == "=" for token in argument.get_tokens())
            params.append(CParam(argument.spelling, written, span, resolved, has_default))
        if cursor.type.kind == self._cindex.TypeKind.FUNCTIONPROTO and cursor.type.is_function_variadic():
            params.append(CParam("...", "...", None, "..."))
        return tuple(params)

    @staticmethod
    def _doc(cursor: Any, source: SourceText) -> CDoc | None:
        raw = cursor.raw_comment
        if not raw:
            return None
        # Cheaper than asking clang for the place of the comment, and the same: it is right before.
        start = source.data.rfind(raw.encode(), 0, cursor.location.offset)
        if start < 0:
            return None
        line, column = source.position(start)
        return parse_comment(raw, Span(source.name, line, column))

    def _tag_name(self, cursor: Any) -> str:
        """The name of a struct, enum or union: its typedef's where it has one, empty where it has none."""
        spelling = str(cursor.spelling)
        if not re.fullmatch(r"\w+", spelling) or cursor.is_anonymous():
            return ""
        return self.renamed.get(spelling, spelling)

    def _enum(self, cursor: Any, source: SourceText) -> CEnum:
        values = [child for child in cursor.get_children() if child.kind.name == "ENUM_CONSTANT_DECL"]
        return CEnum(
            self._tag_name(cursor),
            tuple((value.spelling, value.enum_value) for value in values),
            self.type_name(cursor.enum_type.spelling),
            self._name_span(cursor, source),
            tuple(self._name_span(value, source) for value in values),
        )

    def _struct(self, cursor: Any, source: SourceText) -> CStruct:
        span = self._name_span(cursor, source)
        definition = cursor.get_definition()
        if definition is None:
            return CStruct(self._tag_name(cursor), True, span=span)
        layout = definition.type
        fields = tuple(self._fields(layout, 0, "", source))
        return CStruct(self._tag_name(cursor), False, layout.get_size(), layout.get_align(), fields, span)

    def _fields(self, layout: Any, base: int, prefix: str, source: SourceText) -> Iterator[CField]:
        """The members of a record; those of unnamed records inside it are listed with it. `base` in bytes."""
        for member in layout.get_fields():
            offset = base + member.get_field_offsetof() // 8
            name = f"{prefix}{member.spelling}"
            inner = member.type.get_declaration()
            unnamed = _UNNAMED.search(member.type.spelling) is not None and inner.kind.name.endswith("_DECL")
            if unnamed and not re.fullmatch(r"\w+", member.spelling):
                yield from self._fields(member.type, offset, prefix, source)
                continue
            written = self.type_name(member.type.spelling)
            if member.is_bitfield():
                written += f" : {member.get_bitfield_width()}"
            yield CField(name, written, offset, self._name_span(member, source))
            if unnamed:
                yield from self._fields(member.type, offset, f"{name}.", source)

    def _macro_body(self, cursor: Any) -> str | None:
        """The tokens of an object-like macro, one space between them; None for a macro with parameters."""
        if self._cindex.conf.lib.clang_Cursor_isMacroFunctionLike(cursor):
            return None
        comment = self._cindex.TokenKind.COMMENT
        tokens = [token.spelling for token in cursor.get_tokens() if token.kind != comment]
        return " ".join(tokens[1:])


def _same(value: Any) -> Any:
    return value


def include_guard(source: SourceText) -> str | None:
    """The macro that guards the file against a second inclusion, or None."""
    found = _GUARD.match(source.data)
    if found is None or found["name"] != (found["ifndef"] or found["undefined"]):
        return None
    return str(found["name"], "ascii")

"""The imported part of parsed headers: prefix, functions, and the types they need."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

from diopigen.check.names import KEYWORDS
from diopigen.diagnostics import Sink, Span
from diopigen.header.cdecl import CFunction, CInterface, CStruct, CType, CTypedef
from diopigen.header.stubs import is_c_word
from diopigen.ir.naming import DIOPI, Naming
from diopigen.spec.grammar_words import C_TYPE, RESULT_TYPE, WORD

_DIOPI_NAME = re.compile(r"diopi[A-Z]\w*")
_FIRST_WORD = re.compile(r"[A-Za-z][A-Za-z0-9]*?(?:_+|(?<=[a-z0-9])(?=[A-Z]))")
_RESULT_TYPE = re.compile(RESULT_TYPE.pattern or "")
_C_TYPE, _NAME = re.compile(C_TYPE.pattern or ""), re.compile(WORD.pattern or "")
_DOMINATES = 0.9
"""The part of the functions whose names begin with a word, from which on it is the prefix of all."""


def naming_of(
    functions: Sequence[CFunction], enums: Collection[str], prefix: str | None = None, status: str | None = None
) -> Naming:
    """Prefix and return type of the functions: the options, else those of DIOPI if one function is of it, else the
    first word of nearly all names, and the enum that half of the functions return."""
    if prefix is None and any(_is_of_diopi(one) for one in functions):
        prefix = DIOPI.prefix
    if prefix is None:
        words = Counter(found[0] for one in functions if (found := _FIRST_WORD.match(one.name)) is not None)
        word, count = words.most_common(1)[0] if words else ("", 0)
        prefix = word if count >= _DOMINATES * len(functions) else ""
    if status is None and prefix == DIOPI.prefix:
        status = DIOPI.status
    if status is None:
        returned = Counter(one.returns for one in functions if one.returns in enums)
        name, count = returned.most_common(1)[0] if returned else ("", 0)
        status = name if 2 * count >= len(functions) else "void"
    return Naming(prefix, status)


def _is_of_diopi(function: CFunction) -> bool:
    return _DIOPI_NAME.fullmatch(function.name) is not None and function.returns in (DIOPI.status, "const char *")


def supported(interface: CInterface, naming: Naming, sink: Sink) -> list[CFunction]:
    """The functions that the grammar can hold; the others are named with the reason."""
    types = {declared.name for declared in interface.types} | named_in(interface)
    retained = []
    for function in interface.functions:
        problem, fix = _problem(function, naming)
        if function.name in types:
            problem, fix = "a type has its name", "give one of the two another name"
        if problem:
            sink.warning("import-unsupported", f"{function.name} is left out: {problem}", function.span, fix=fix)
        else:
            retained.append(function)
    return retained


def _problem(function: CFunction, naming: Naming) -> tuple[str, str]:
    """Why a function cannot be in the spec, and what to do; empty where it can."""
    outside = "keep it outside the spec"
    if naming.prefix == DIOPI.prefix and not _DIOPI_NAME.fullmatch(function.name):
        return "its name does not begin with diopi and a capital", outside
    if not function.name.startswith(naming.prefix):
        return f"its name does not begin with '{naming.prefix}'", "name another --prefix; --prefix '' takes all"
    if not _NAME.fullmatch(naming.short(function.name)):
        return f"'{naming.short(function.name)}' is no name", "name a shorter --prefix; --prefix '' takes all"
    if function.name in KEYWORDS:
        return "its name is a keyword of C++", outside
    if any(param.type == "..." for param in function.params):
        return "it takes a variable number of arguments", outside
    if not _RESULT_TYPE.fullmatch(function.returns):
        return f"no entry can return '{function.returns}'", "give the type a name by a typedef, or " + outside
    for c_type in (param.type for param in function.params):
        if not _C_TYPE.fullmatch(c_type):
            return f"the grammar has no type '{c_type}'", "give the type a name by a typedef, or " + outside
    return "", ""


def words_of(c_type: str) -> list[str]:
    """The names in a type that are not of C itself."""
    named = c_type.replace("(unnamed)", "")
    return [word for word in re.findall(r"[A-Za-z_]\w*", named) if not is_c_word(word)]


def declared_in(interface: CInterface, files: Collection[str]) -> CInterface:
    """Declarations of the files, with the types of other headers that they need."""

    def is_own(span: Span | None) -> bool:
        return span is not None and span.file in files

    functions = tuple(one for one in interface.functions if is_own(one.span))
    known: dict[str, list[CType]] = {}
    for one in interface.types:
        known.setdefault(one.name, []).append(one)
    needed = {word for function in functions for word in _function_words(function)}
    needed |= {name for name, types in known.items() if any(is_own(one.span) for one in types)}
    waiting = list(needed)
    while waiting:
        for declared in known.get(waiting.pop(), ()):
            new = set(_type_words(declared)) - needed
            needed |= new
            waiting += new

    return replace(
        interface,
        functions=functions,
        enums=tuple(one for one in interface.enums if (is_own(one.span) if not one.name else one.name in needed)),
        structs=tuple(one for one in interface.structs if one.name and one.name in needed),
        typedefs=tuple(one for one in interface.typedefs if one.name in needed),
    )


def _function_words(function: CFunction) -> Iterator[str]:
    for c_type in (function.returns, *(param.type for param in function.params)):
        yield from words_of(c_type)


def _type_words(declared: CType) -> Iterator[str]:
    if isinstance(declared, CTypedef):
        yield from words_of(declared.underlying)
    elif isinstance(declared, CStruct):
        for field in declared.fields:
            yield from words_of(field.type)


def named_in(interface: CInterface, *, everywhere: bool = False) -> set[str]:
    """The names in types of parameters, results and members, and in function types; `everywhere`: in all typedefs."""
    found = {word for function in interface.functions for word in _function_words(function)}
    found |= {word for struct in interface.structs for word in _type_words(struct)}
    types = (typedef.underlying for typedef in interface.typedefs if everywhere or "(" in typedef.underlying)
    return found | {word for c_type in types for word in words_of(c_type)}

"""Names: each once, and none that C or C++ keeps for itself."""

from __future__ import annotations

from collections.abc import Iterable

from diopigen.check.rule import Subject
from diopigen.diagnostics import Note, Sink, Span

RULES = {
    "duplicate-function": "A C function is in the spec once.",
    "duplicate-parameter": "A parameter's name is in a function once.",
    "duplicate-type": "An enum, struct, handle, dtype or dtype set has a name of its own.",
    "duplicate-enum-value": "The name of an enum value is unique in the interface, its number in the enum.",
    "reserved-word": "No parameter is called like a keyword of C or C++, or like a variable of generated code.",
}

KEYWORDS = frozenset(
    """
    alignas alignof and and_eq asm auto bitand bitor bool break case catch char class compl concept
    const constexpr const_cast continue decltype default delete do double dynamic_cast else enum
    explicit export extern false float for friend goto if inline int long mutable namespace new noexcept
    not not_eq nullptr operator or or_eq private protected public register reinterpret_cast requires
    restrict return short signed sizeof static static_assert static_cast struct switch template this
    thread_local throw true try typedef typeid typename union unsigned using virtual void volatile
    wchar_t while xor xor_eq
    """.split()  # noqa: SIM905 (a hundred quoted words are harder to read)
)


def check(subject: Subject, sink: Sink) -> None:
    """Applies the rules of this family."""
    interface = subject.interface
    _unique(
        ((function.name, function.span) for function in subject.functions),
        "duplicate-function",
        "function",
        "remove one of the two entries, or name a variant with 'name'",
        sink,
    )
    types = [(enum.name, enum.span) for enum in interface.enums]
    types += [(struct.name, struct.span) for struct in interface.structs]
    types += [(handle.name, handle.span) for handle in interface.handles]
    _unique(types, "duplicate-type", "type", "give one of the two another name", sink)
    _check_dtypes(subject, sink)
    _check_enums(subject, sink)
    for function in subject.functions:
        where = f"parameter of {function.name}"
        _unique(
            ((param.name, param.span) for param in function.params),
            "duplicate-parameter",
            where,
            "give one of the two another name",
            sink,
        )
        for param in function.params:
            if param.name in KEYWORDS:
                message = f"{function.name}: '{param.name}' is a keyword of C or C++"
                sink.error("reserved-word", message, param.span, fix="choose another name")


def _unique(names: Iterable[tuple[str, Span]], code: str, what: str, fix: str, sink: Sink) -> None:
    first: dict[str, Span] = {}
    for name, span in names:
        if name in first:
            notes = [Note("first given here", first[name])]
            sink.error(code, f"{what} '{name}' is given twice", span, notes=notes, fix=fix)
        else:
            first[name] = span


def _check_dtypes(subject: Subject, sink: Sink) -> None:
    names = [(info.name, info.span) for info in subject.interface.dtypes]
    names += [(found.name, found.span) for found in subject.interface.dtype_sets]
    _unique(names, "duplicate-type", "dtype or dtype set", "give one of the two another name", sink)


def _check_enums(subject: Subject, sink: Sink) -> None:
    owners: dict[str, str] = {}
    for enum in subject.interface.enums:
        numbers: dict[int, str] = {}
        for value in enum.values:
            if value.name in owners:
                message = f"enum value '{value.name}' is in {owners[value.name]} and in {enum.name}"
                sink.error("duplicate-enum-value", message, value.span, fix="C enums share one scope: rename one")
            if value.value in numbers:
                message = f"{value.name} and {numbers[value.value]} of {enum.name} are both {value.value}"
                sink.error("duplicate-enum-value", message, value.span, fix="give each value a number of its own")
            owners[value.name] = enum.name
            numbers[value.value] = value.name

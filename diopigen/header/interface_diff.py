"""Compares an interface with the one that it should be: one rule for each kind of difference."""

from __future__ import annotations

from diopigen.diagnostics import Note, Sink
from diopigen.header.cdecl import CEnum, CFunction, CInterface, CParam, CStruct
from diopigen.header.compare import (
    VERSION_MACROS,
    Locations,
    Types,
    count,
    declarator,
    declared,
    macro_tokens,
    moved,
    nearest_function,
    param_label,
    prototype,
    quoted,
)
from diopigen.header.rules import ERROR, NOTE, WARNING, Reporter, Rule, Rules
from diopigen.header.type_expr import parse_type

RULES: Rules = {
    "missing-function": Rule(ERROR, "a function is not declared"),
    "extra-function": Rule(ERROR, "a function is declared that should not be"),
    "function-header": Rule(WARNING, "a function is declared in another header"),
    "function-order": Rule(WARNING, "a function is elsewhere in the order of its header"),
    "arity": Rule(ERROR, "a function has more or fewer parameters"),
    "parameter-order": Rule(ERROR, "the same parameters are in another order"),
    "parameter-type": Rule(ERROR, "a parameter has another type; a warning where only the spelling differs"),
    "parameter-const": Rule(ERROR, "a parameter's type differs in const alone"),
    "parameter-name": Rule(WARNING, "a parameter has another name"),
    "parameter-default": Rule(ERROR, "a parameter has a default argument"),
    "return-type": Rule(ERROR, "a function returns another type"),
    "linkage": Rule(ERROR, "a function is weak that should be strong, or the other way round"),
    "deprecated": Rule(WARNING, "a function is marked deprecated that should not be, or the other way round"),
    "enum-value": Rule(ERROR, "an enumerator has another value, or an enum another underlying type"),
    "enum-missing": Rule(ERROR, "an enum or an enumerator is not declared"),
    "enum-extra": Rule(ERROR, "an enum or an enumerator is declared that should not be"),
    "struct-layout": Rule(ERROR, "a struct is missing, should not be there, or has another layout"),
    "typedef": Rule(ERROR, "a typedef is missing or stands for another type; a warning where it should not be there"),
    "macro-value": Rule(WARNING, "a macro is missing or has another value"),
}


def compare_functions(expected: CInterface, actual: CInterface, sink: Sink, *, expected_label: str) -> None:
    """Reports how the functions of `actual` differ from those of `expected`, with spans in `actual`.

    `expected_label` names the expected side in messages ("the spec"). Types and enums matter only for looking
    behind typedefs. Macros, enums and structs are left to `compare_interfaces`.
    """
    _Comparison(expected, actual, sink, expected_label).functions()


def compare_interfaces(expected: CInterface, actual: CInterface, sink: Sink, *, expected_label: str) -> None:
    """Reports every difference: functions, enums, structs, typedefs and macros, with spans in `actual`.

    Macros that only `actual` has are no finding, since they cannot change what the others mean.
    """
    comparison = _Comparison(expected, actual, sink, expected_label)
    comparison.functions()
    comparison.enums()
    comparison.structs()
    comparison.typedefs()
    comparison.macros()


class _Comparison:
    def __init__(self, expected: CInterface, actual: CInterface, sink: Sink, label: str) -> None:
        self._expected = expected
        self._actual = actual
        self._label = label
        self._report = Reporter(RULES, sink)
        self._types = Types(expected, actual)
        self._locations = Locations(actual)

    def functions(self) -> None:
        expected = {function.name: function for function in self._expected.functions}
        found = {function.name: function for function in self._actual.functions}
        extra = [name for name in found if name not in expected]
        for name, function in expected.items():
            if name in found:
                self._function(function, found[name])
                continue
            like = nearest_function(name, extra)
            self._report(
                "missing-function",
                f"'{name}' is missing",
                self._locations.missing_function(self._expected, function),
                notes=[Note(f"'{like}' is only here", found[like].span)] if like else (),
                fix=f"declare '{prototype(function)}'",
            )
        missing = [name for name in expected if name not in found]
        for name in extra:
            like = nearest_function(name, missing)
            fix = f"rename it to '{like}', or remove it" if like else f"remove it, or add it to {self._label}"
            self._report("extra-function", f"'{name}' is not in {self._label}", found[name].span, fix=fix)
        self._order(expected, found)

    def _order(self, expected: dict[str, CFunction], found: dict[str, CFunction]) -> None:
        """Compares the order within each header: in which order headers are given means nothing."""
        by_header: dict[str, list[str]] = {}
        for name, function in found.items():
            header = expected[name].header if name in expected else ""
            if header and header != function.header:
                self._report(
                    "function-header",
                    f"'{name}' is in {function.header}, {self._label} has it in {header}",
                    function.span,
                    fix=f"move it to {header}",
                )
            elif name in expected:
                by_header.setdefault(function.header, []).append(name)
        for names in by_header.values():
            here = set(names)
            for move in moved([name for name in expected if name in here], names):
                left, right = _after(move.actual_after), _after(move.expected_after)
                self._report(
                    "function-order",
                    f"'{move.name}' comes {left}, {self._label} has it {right}",
                    found[move.name].span,
                    fix=f"move it {right}" if move.expected_after else "move it to the beginning",
                )

    def _function(self, expected: CFunction, found: CFunction) -> None:
        name = found.name
        returns, returned = self._types.of_returns(expected, found)
        if expected.returns != found.returns and returns != returned:
            self._report(
                "return-type",
                f"'{name}' returns '{found.returns}', {self._label} has '{expected.returns}'",
                found.span,
                fix=f"write '{prototype(expected)}'",
            )
        self._params(expected, found)
        if expected.weak != found.weak:
            words = ("strong", "weak")
            is_now, should = words[found.weak], words[expected.weak]
            fix = "add the weak attribute" if expected.weak else "remove the weak attribute"
            self._report("linkage", f"'{name}' is {is_now}, {self._label} has it {should}", found.span, fix=fix)
        if expected.deprecated != found.deprecated:
            state = "not deprecated" if expected.deprecated else "deprecated"
            reverse = "deprecated" if expected.deprecated else "not deprecated"
            fix = "add the attribute" if expected.deprecated else "remove the attribute"
            self._report("deprecated", f"'{name}' is {state}, {self._label} has it {reverse}", found.span, fix=fix)

    def _params(self, expected: CFunction, found: CFunction) -> None:
        if len(expected.params) != len(found.params):
            self._arity(expected, found)
            return
        names, right = [p.name for p in found.params], [p.name for p in expected.params]
        if names != right and sorted(names) == sorted(right):
            self._report(
                "parameter-order",
                f"'{found.name}' has its parameters in the order {quoted(names)}, {self._label} has {quoted(right)}",
                found.span,
                fix=f"write '{prototype(expected)}'",
            )
            return
        for index, (required, have) in enumerate(zip(expected.params, found.params, strict=True)):
            self._param(found, index, required, have)

    def _arity(self, expected: CFunction, found: CFunction) -> None:
        have, required = {p.name for p in found.params}, {p.name for p in expected.params}
        text = f"'{found.name}' has {count(len(found.params), 'parameter')}, {self._label} has {len(expected.params)}"
        missing = [f"'{p.name}' ({p.type})" for p in expected.params if p.name and p.name not in have]
        extra = [p for p in found.params if p.name and p.name not in required]
        details = [f"without {', '.join(missing)}"] if missing else []
        details += [f"with {quoted([p.name for p in extra])}"] if extra else []
        self._report(
            "arity",
            f"{text}: {' and '.join(details)}" if details else text,
            extra[0].span if extra and not missing else found.span,
            fix=f"write '{prototype(expected)}'",
        )

    def _param(self, function: CFunction, index: int, expected: CParam, found: CParam) -> None:
        label = f"'{function.name}': {param_label(found, index)}"
        span = found.span or function.span
        fix = f"write '{declared(expected)}'"
        if expected.type != found.type and parse_type(expected.type) != parse_type(found.type):
            required, have = self._types.of_params(expected, found)
            text = f"{label} is '{found.type}', {self._label} has '{expected.type}'"
            if required == have:
                self._report("parameter-type", f"{text} (the same type)", span, fix=fix, severity=WARNING)
            elif required.without_const() == have.without_const():
                self._report("parameter-const", text, span, fix=fix)
            else:
                self._report("parameter-type", text, span, fix=fix)
        if found.has_default:
            message = f"'{function.name}': '{found.name}' has a default argument, which C does not have"
            self._report("parameter-default", message, span, fix="let callers pass it")
        if expected.name and found.name and expected.name != found.name:
            text = f"'{function.name}': parameter {index + 1} is named '{found.name}'"
            self._report("parameter-name", f"{text}, {self._label} has '{expected.name}'", span, fix=fix)

    def enums(self) -> None:
        expected = {enum.name: enum for enum in self._expected.enums}
        found = {enum.name: enum for enum in self._actual.enums}
        for name, enum in expected.items():
            if name in found:
                self._enum(enum, found[name])
            else:
                fix = f"declare it with {count(len(enum.values), 'value')}"
                self._report("enum-missing", f"the enum '{name}' is missing", self._locations.file(), fix=fix)
        for name, enum in found.items():
            if name not in expected:
                message = f"the enum '{name}' is not in {self._label}"
                self._report("enum-extra", message, enum.span, fix=f"remove it, or add it to {self._label}")

    def _enum(self, expected: CEnum, found: CEnum) -> None:
        right, have = dict(expected.values), dict(found.values)
        spans = dict(zip(have, found.value_spans, strict=False))
        if expected.underlying != found.underlying:
            text = f"the enum '{found.name}' is of type '{found.underlying}'"
            fix = f"make '{expected.underlying}' its type"
            self._report("enum-value", f"{text}, {self._label} has '{expected.underlying}'", found.span, fix=fix)
        neighbour = found.span
        declared = [right[name] for name in have if name in right and right[name] != max(right.values())]
        for name, value in right.items():
            if name not in have:
                message = f"'{found.name}' lacks '{name}', which is {value}"
                # An older version ends earlier.
                is_later = self._is_older() and value > max(declared, default=value)
                severity = NOTE if is_later else None
                self._report("enum-missing", message, neighbour, fix=f"add '{name} = {value}'", severity=severity)
                continue
            neighbour = spans.get(name, found.span)
            if have[name] != value:
                message = f"'{name}' of '{found.name}' is {have[name]}, {self._label} has {value}"
                self._report("enum-value", message, neighbour, fix=f"write '{name} = {value}'")
        for name in have:
            if name not in right:
                message = f"'{name}' of '{found.name}' is not in {self._label}"
                fix = f"remove it, or add it to {self._label}"
                self._report("enum-extra", message, spans.get(name, found.span), fix=fix)

    def _is_older(self) -> bool:
        """Returns whether a macro of the version has another value: of a newer header all values are there."""
        found = dict(self._actual.macros)
        of_version = [(name, body) for name, body in self._expected.macros if name.startswith(VERSION_MACROS)]
        return any(macro_tokens(found[name]) != macro_tokens(body) for name, body in of_version if name in found)

    def structs(self) -> None:
        expected = {struct.name: struct for struct in self._expected.structs}
        found = {struct.name: struct for struct in self._actual.structs}
        for name, struct in expected.items():
            if name in found:
                self._struct(struct, found[name])
            else:
                message = f"the struct '{name}' is missing"
                self._report("struct-layout", message, self._locations.file(), fix=f"declare '{name}'")
        for name, struct in found.items():
            if name not in expected:
                message = f"the struct '{name}' is not in {self._label}"
                self._report("struct-layout", message, struct.span, fix=f"remove it, or add it to {self._label}")

    def _struct(self, expected: CStruct, found: CStruct) -> None:
        name, label = found.name, self._label
        if expected.opaque != found.opaque:
            text = "is opaque" if found.opaque else "has members"
            right = "declare its members" if found.opaque else "leave only its declaration"
            reverse = "has members" if found.opaque else "is opaque"
            self._report("struct-layout", f"the struct '{name}' {text}, in {label} it {reverse}", found.span, fix=right)
            return
        have = {field.name: field for field in found.fields}
        right_names = {field.name for field in expected.fields}
        fine = True
        for field in expected.fields:
            other = have.get(field.name)
            text = f"the struct '{name}'"
            if other is None:
                message, fix, span = (
                    f"{text} lacks '{field.name}'",
                    f"add '{declarator(field.type, field.name)}'",
                    found.span,
                )
            elif field.type != other.type:
                message = f"{text}: '{field.name}' is '{other.type}', {label} has '{field.type}'"
                fix, span = f"make it '{field.type}'", other.span or found.span
            elif field.offset != other.offset:
                message = f"{text}: '{field.name}' is at byte {other.offset}, {label} has it at {field.offset}"
                fix, span = "restore the order of the members", other.span or found.span
            else:
                continue
            fine = False
            self._report("struct-layout", message, span, fix=fix)
        for field in found.fields:
            if field.name not in right_names:
                fine = False
                message = f"the struct '{name}': '{field.name}' is not in {label}"
                self._report("struct-layout", message, field.span or found.span, fix="remove it")
        if fine and (expected.size, expected.align) != (found.size, found.align):
            text = f"the struct '{name}' has {found.size} bytes, aligned to {found.align}"
            message = f"{text}; {label} has {expected.size}, aligned to {expected.align}"
            self._report("struct-layout", message, found.span, fix="remove what packs or aligns it")

    def typedefs(self) -> None:
        expected = {typedef.name: typedef for typedef in self._expected.typedefs}
        found = {typedef.name: typedef for typedef in self._actual.typedefs}
        for name, typedef in expected.items():
            fix = f"write 'typedef {declarator(typedef.underlying, name)}'"
            other = found.get(name)
            if other is None:
                self._report("typedef", f"the typedef '{name}' is missing", self._locations.file(), fix=fix)
            elif typedef.underlying != other.underlying:
                text = f"'{name}' stands for '{other.underlying}'"
                self._report("typedef", f"{text}, {self._label} has '{typedef.underlying}'", other.span, fix=fix)
        for name, typedef in found.items():
            if name not in expected:
                message = f"the typedef '{name}' is not in {self._label}"
                fix = f"remove it, or add it to {self._label}"
                self._report("typedef", message, typedef.span, fix=fix, severity=WARNING)

    def macros(self) -> None:
        found, spans = dict(self._actual.macros), dict(self._actual.macro_spans)
        for name, body in self._expected.macros:
            definition = f"#define {name} {body}".rstrip()
            fix = f"write '{definition}'"
            if name not in found:
                self._report("macro-value", f"the macro '{name}' is missing", self._locations.file(), fix=fix)
            elif macro_tokens(body) != macro_tokens(found[name]):
                text = f"the macro '{name}' is '{found[name]}', {self._label} has '{body}'"
                # Functions of an older version may all be as they are now.
                severity = NOTE if name.startswith(VERSION_MACROS) else None
                self._report("macro-value", text, spans.get(name), fix=fix, severity=severity)


def _after(name: str) -> str:
    return f"after '{name}'" if name else "first"

"""Effects of a new version of an interface: broken binaries (errors), broken sources (warnings), neither (notes)."""

from __future__ import annotations

from collections.abc import Iterable

from diopigen.diagnostics import Note, Sink, Span
from diopigen.header.cdecl import CEnum, CFunction, CInterface, CParam, CStruct
from diopigen.header.compare import (
    Locations,
    Types,
    declarator,
    macro_tokens,
    moved,
    param_label,
    quoted,
)
from diopigen.header.renames import renamed_params, renames
from diopigen.header.rules import ERROR, NOTE, WARNING, Reporter, Rule, Rules
from diopigen.header.type_expr import TypeExpr, accepts, parse_type

RULES: Rules = {
    # What is compiled against the old version fails with the new one.
    "function-renamed": Rule(ERROR, "a function has another name: callers of the old one do not link"),
    "function-removed": Rule(ERROR, "a function is gone: callers do not link, or find a null pointer"),
    "parameter-removed": Rule(ERROR, "a function takes a parameter less"),
    "parameter-added": Rule(ERROR, "a function takes a parameter more"),
    "parameters-reordered": Rule(ERROR, "a function takes its parameters in another order"),
    "parameter-type-changed": Rule(ERROR, "a parameter has another type"),
    "return-type-changed": Rule(ERROR, "a function returns another type"),
    "function-became-strong": Rule(ERROR, "a library without the function no longer links"),
    "enum-removed": Rule(ERROR, "an enum is gone"),
    "enum-value-removed": Rule(ERROR, "an enumerator is gone"),
    "enum-value-changed": Rule(ERROR, "an enumerator has another value"),
    "enum-type-changed": Rule(ERROR, "an enum has an underlying type of another size"),
    "struct-removed": Rule(ERROR, "a struct is gone"),
    "struct-layout-changed": Rule(ERROR, "a struct's size, alignment or members changed"),
    "typedef-changed": Rule(ERROR, "a typedef stands for another type"),
    # Sources need an edit or a look, binaries go on working.
    "parameter-const-added": Rule(
        WARNING, "a parameter points to const now: callers pass what they passed, definitions need an edit"
    ),
    "enum-sign-changed": Rule(WARNING, "an enum of the same size is signed now, or unsigned: comparisons need a look"),
    "parameter-const-moved": Rule(WARNING, "const is at another level of a pointer: sources need an edit"),
    "parameter-reference-changed": Rule(WARNING, "a reference became a pointer, or a pointer a reference"),
    "parameter-const-removed": Rule(WARNING, "a parameter takes no pointer to const any more: sources need an edit"),
    "return-const-changed": Rule(
        WARNING, "a function returns a pointer with const elsewhere: sources may need an edit"
    ),
    "struct-member-renamed": Rule(WARNING, "a struct's member has another name at the same place"),
    "typedef-removed": Rule(WARNING, "a typedef is gone"),
    "macro-removed": Rule(WARNING, "a macro is gone"),
    "function-deprecated": Rule(WARNING, "a function is newly deprecated"),
    "function-became-weak": Rule(WARNING, "a caller must now test the function for null"),
    # Nothing breaks.
    "function-added": Rule(NOTE, "a function is new"),
    "function-restored": Rule(NOTE, "a function is no longer deprecated"),
    "parameter-const-changed": Rule(NOTE, "a parameter that is passed by value gained or lost const"),
    "parameter-renamed": Rule(NOTE, "a parameter has another name"),
    "parameter-type-respelled": Rule(NOTE, "a parameter's type is written in another way and is the same"),
    "enum-added": Rule(NOTE, "an enum is new"),
    "enum-value-added": Rule(NOTE, "an enumerator is new"),
    "struct-added": Rule(NOTE, "a struct is new"),
    "struct-defined": Rule(NOTE, "an opaque struct now shows its members"),
    "typedef-added": Rule(NOTE, "a typedef is new"),
    "macro-added": Rule(NOTE, "a macro is new"),
    "macro-changed": Rule(NOTE, "a macro has another value; binaries keep the old one"),
}


def breaking_changes(old: CInterface, new: CInterface, sink: Sink) -> None:
    """Reports what changed from `old` to `new`, with spans in `new` and a note where it stood in `old`."""
    changes = _Changes(old, new, sink)
    changes.functions()
    changes.enums()
    changes.structs()
    changes.typedefs()
    changes.macros()


class _Changes:
    def __init__(self, old: CInterface, new: CInterface, sink: Sink) -> None:
        self._old = old
        self._new = new
        self._report = Reporter(RULES, sink)
        self._types = Types(old, new)
        self._locations = Locations(new)

    def functions(self) -> None:
        old = {function.name: function for function in self._old.functions}
        new = {function.name: function for function in self._new.functions}
        added = {name: function for name, function in new.items() if name not in old}
        renamed = renames(self._old, self._new)
        for name, function in old.items():
            until = "marked deprecated, until the next major version"
            if name in new:
                self._function(function, new[name])
            elif name in renamed:
                now = added.pop(renamed[name])
                message = f"'{name}' was renamed to '{now.name}'"
                fix = f"keep '{name}' too, {until}"
                self._report("function-renamed", message, now.span, notes=_was(function.span), fix=fix)
            else:
                location = self._locations.without(self._old, function)
                message, notes = f"'{name}' was removed", _was(function.span)
                self._report("function-removed", message, location, notes=notes, fix=f"keep '{name}', {until}")
        for name, function in added.items():
            self._report("function-added", f"'{name}' is new", function.span)

    def _function(self, old: CFunction, new: CFunction) -> None:
        name, notes = new.name, _was(old.span)
        before, after = self._types.of_returns(old, new)
        if before != after and parse_type(old.returns) != parse_type(new.returns):
            message = f"'{name}' returned '{old.returns}' and now returns '{new.returns}'"
            if before.without_const() != after.without_const():
                self._report("return-type-changed", message, new.span, notes=notes, fix=_new_function(name))
            else:
                fix = "say in the release notes what callers keep the result in"
                self._report("return-const-changed", message, new.span, notes=notes, fix=fix)
        self._params(old, new)
        if old.weak and not new.weak:
            message = f"'{name}' was weak and is strong now"
            fix = "restore the weak attribute, so that libraries without the function load"
            self._report("function-became-strong", message, new.span, notes=notes, fix=fix)
        elif new.weak and not old.weak:
            message = f"'{name}' was strong and is weak now"
            self._report("function-became-weak", message, new.span, notes=notes, fix="restore its strong linkage")
        if new.deprecated and not old.deprecated:
            fix = "say in its comment what to call instead"
            self._report("function-deprecated", f"'{name}' is deprecated now", new.span, notes=notes, fix=fix)
        elif old.deprecated and not new.deprecated:
            self._report("function-restored", f"'{name}' is no longer deprecated", new.span, notes=notes)

    def _params(self, old: CFunction, new: CFunction) -> None:
        before = {p.name: index for index, p in enumerate(old.params) if p.name}
        after = {p.name: index for index, p in enumerate(new.params) if p.name}
        in_place = all(before[name] == after[name] for name in before if name in after)
        if len(old.params) == len(new.params) and in_place:
            for index, (was, now) in enumerate(zip(old.params, new.params, strict=True)):
                self._param(new, index, was, now)
                if was.name and now.name and was.name != now.name:
                    self._renamed(new, was, now)
            return
        self._other_params(old, new, before, after)

    def _renamed(self, function: CFunction, old: CParam, new: CParam) -> None:
        message = f"'{function.name}': parameter '{old.name}' is named '{new.name}' now"
        fix = "restore the name where bindings pass arguments by name"
        self._report("parameter-renamed", message, new.span or function.span, notes=_was(old.span), fix=fix)

    def _other_params(self, old: CFunction, new: CFunction, before: dict[str, int], after: dict[str, int]) -> None:
        name, fix = new.name, _new_function(new.name)
        renamed = renamed_params(old, new, self._types)
        for was, now in renamed.items():
            self._renamed(new, old.params[before[was]], new.params[after[now]])
        for param in old.params:
            if param.name and param.name not in {*after, *renamed}:
                message = f"'{name}' lost its parameter '{param.name}' ({param.type})"
                self._report("parameter-removed", message, new.span, notes=_was(param.span or old.span), fix=fix)
        for param in new.params:
            if param.name and param.name not in {*before, *renamed.values()}:
                message = f"'{name}' gained the parameter '{param.name}' ({param.type})"
                span = param.span or new.span
                self._report("parameter-added", message, span, notes=_was(old.span), fix=fix)
        if moved(list(before), list(after)):
            shared = [p.name for p in new.params if p.name in before]
            earlier = [p.name for p in old.params if p.name in after]
            message = f"'{name}' takes {quoted(shared)} in this order, and took {quoted(earlier)}"
            fix_order = "restore the order of the parameters"
            self._report("parameters-reordered", message, new.span, notes=_was(old.span), fix=fix_order)
        unnamed = len(new.params) - len(after) - (len(old.params) - len(before))
        if unnamed:
            rule = "parameter-added" if unnamed > 0 else "parameter-removed"
            message = f"'{name}' took {len(old.params)} parameters and takes {len(new.params)} now"
            self._report(rule, message, new.span, notes=_was(old.span), fix=fix)
        for shared_name, index in before.items():
            if shared_name in after:
                where = after[shared_name]
                self._param(new, where, old.params[index], new.params[where])

    def _param(self, function: CFunction, index: int, old: CParam, new: CParam) -> None:
        if parse_type(old.type) == parse_type(new.type):
            return  # where the typedef behind it changed, that is one finding of its own
        before, after = self._types.of_params(old, new)
        text = f"'{function.name}': {param_label(new, index)} was '{old.type}' and is '{new.type}' now"
        span, notes = new.span or function.span, _was(old.span)
        if before == after:
            self._report("parameter-type-respelled", text, span, notes=notes)
        elif before.without_top_const() == after.without_top_const():
            fix = "nothing: const on a value is no part of a function's type"
            self._report("parameter-const-changed", text, span, notes=notes, fix=fix)
        elif before.without_const() == after.without_const():
            if accepts(after, before):
                fix = "nothing for callers; `diopigen sync` gives definitions the new type"
                self._report("parameter-const-added", text, span, notes=notes, fix=fix)
            elif not accepts(before, after):
                fix = "say in the release notes which level is const"
                self._report("parameter-const-moved", text, span, notes=notes, fix=fix)
            else:
                fix = "restore const where nothing is written, so that callers with const data compile"
                self._report("parameter-const-removed", text, span, notes=notes, fix=fix)
        elif _as_pointer(before) == _as_pointer(after):
            fix = "nothing in binaries: both are an address; callers and definitions are written otherwise"
            self._report("parameter-reference-changed", text, span, notes=notes, fix=fix)
        else:
            self._report("parameter-type-changed", text, span, notes=notes, fix=_new_function(function.name))

    def enums(self) -> None:
        old = {enum.name: enum for enum in self._old.enums}
        new = {enum.name: enum for enum in self._new.enums}
        for name, enum in old.items():
            if name in new:
                self._enum(enum, new[name])
            else:
                self._gone("enum-removed", f"the enum '{name}' was removed", enum.span, "keep the enum")
        for name, enum in new.items():
            if name not in old:
                self._report("enum-added", f"the enum '{name}' is new", enum.span)

    def _enum(self, old: CEnum, new: CEnum) -> None:
        before, after = dict(old.values), dict(new.values)
        old_spans = dict(zip(before, old.value_spans, strict=False))
        new_spans = dict(zip(after, new.value_spans, strict=False))
        if old.underlying != new.underlying:
            message = f"the enum '{new.name}' was of type '{old.underlying}' and is '{new.underlying}' now"
            fix = "keep its values within the old type"
            is_alike = _without_sign(old.underlying) == _without_sign(new.underlying)
            rule = "enum-sign-changed" if is_alike else "enum-type-changed"
            self._report(rule, message, new.span, notes=_was(old.span), fix=fix)
        for name, value in before.items():
            notes = _was(old_spans.get(name, old.span))
            if name not in after:
                message = f"'{name}' ({value}) was removed from '{new.name}'"
                self._report("enum-value-removed", message, new.span, notes=notes, fix=f"keep '{name} = {value}'")
            elif after[name] != value:
                message = f"'{name}' of '{new.name}' was {value} and is {after[name]} now"
                fix = f"write '{name} = {value}', and give new names new values"
                self._report("enum-value-changed", message, new_spans.get(name, new.span), notes=notes, fix=fix)
        for name, value in after.items():
            if name not in before:
                message = f"'{name}' ({value}) is new in '{new.name}'"
                self._report("enum-value-added", message, new_spans.get(name, new.span))

    def structs(self) -> None:
        old = {struct.name: struct for struct in self._old.structs}
        new = {struct.name: struct for struct in self._new.structs}
        for name, struct in old.items():
            if name in new:
                self._struct(struct, new[name])
            else:
                self._gone("struct-removed", f"the struct '{name}' was removed", struct.span, "keep the struct")
        for name, struct in new.items():
            if name not in old:
                self._report("struct-added", f"the struct '{name}' is new", struct.span)

    def _struct(self, old: CStruct, new: CStruct) -> None:
        name, notes = new.name, _was(old.span)
        fix = "keep the struct, and pass what is new in another one"
        if old.opaque and new.opaque:
            return
        if old.opaque:
            self._report("struct-defined", f"'{name}' was opaque and shows its members now", new.span, notes=notes)
            return
        changed = []
        if new.opaque:
            changed.append("its members are hidden")
        else:
            if old.size != new.size:
                changed.append(f"{old.size} bytes became {new.size}")
            if old.align != new.align:
                changed.append(f"alignment {old.align} became {new.align}")
            changed += self._members(old, new)
        if changed:
            message = f"the layout of '{name}' changed: {', '.join(changed)}"
            self._report("struct-layout-changed", message, new.span, notes=notes, fix=fix)

    def _members(self, old: CStruct, new: CStruct) -> list[str]:
        """Changes of the members; renamed ones are reported here, since they break no layout."""
        before = {field.name: (field.offset, self._types.expected(field.type)) for field in old.fields}
        after = {field.name: (field.offset, self._types.actual(field.type)) for field in new.fields}
        gained = [field for field in new.fields if field.name not in before]
        changed = []
        for field in old.fields:
            if field.name in after:
                if before[field.name] != after[field.name]:
                    changed.append(f"'{field.name}' changed its type or place")
                continue
            renamed = next((other for other in gained if after[other.name] == before[field.name]), None)
            if renamed is None:
                changed.append(f"'{field.name}' is gone")
                continue
            gained.remove(renamed)
            message = f"'{field.name}' of '{new.name}' is named '{renamed.name}' now"
            span = renamed.span or new.span
            fix = "restore the name, or say it in the release notes"
            self._report("struct-member-renamed", message, span, notes=_was(field.span or old.span), fix=fix)
        return changed + [f"'{field.name}' is new" for field in gained]

    def typedefs(self) -> None:
        old = {typedef.name: typedef for typedef in self._old.typedefs}
        new = {typedef.name: typedef for typedef in self._new.typedefs}
        for name, typedef in old.items():
            other = new.get(name)
            if other is None:
                fix = f"keep 'typedef {declarator(typedef.underlying, name)}'"
                self._gone("typedef-removed", f"the typedef '{name}' was removed", typedef.span, fix)
            elif self._types.expected(typedef.underlying) != self._types.actual(other.underlying):
                message = f"'{name}' stood for '{typedef.underlying}' and stands for '{other.underlying}' now"
                fix = f"restore 'typedef {declarator(typedef.underlying, name)}'"
                self._report("typedef-changed", message, other.span, notes=_was(typedef.span), fix=fix)
        for name, typedef in new.items():
            if name not in old:
                self._report("typedef-added", f"the typedef '{name}' is new", typedef.span)

    def macros(self) -> None:
        old, new = dict(self._old.macros), dict(self._new.macros)
        old_spans, new_spans = dict(self._old.macro_spans), dict(self._new.macro_spans)
        for name, body in old.items():
            if name not in new:
                self._gone("macro-removed", f"the macro '{name}' was removed", old_spans.get(name), "keep the macro")
            elif macro_tokens(body) != macro_tokens(new[name]):
                message = f"the macro '{name}' was '{body}' and is '{new[name]}' now"
                self._report("macro-changed", message, new_spans.get(name), notes=_was(old_spans.get(name)))
        for name in new:
            if name not in old:
                self._report("macro-added", f"the macro '{name}' is new", new_spans.get(name))

    def _gone(self, rule: str, message: str, old_span: Span | None, fix: str) -> None:
        self._report(rule, message, self._locations.file(), notes=_was(old_span), fix=fix)


def _as_pointer(type_: TypeExpr) -> TypeExpr:
    """A type with a reference as the pointer that it is in a call, without const."""
    return parse_type(str(type_).replace("&", "*")).without_const()


def _was(span: Span | None) -> Iterable[Note]:
    return [Note("it was here", span)] if span else ()


def _new_function(name: str) -> str:
    return f"restore '{name}', and add the new form as a function of another name"


def _without_sign(type_: str) -> str:
    """An integer type as C has it, signed and unsigned alike."""
    return type_.removeprefix("unsigned ").removeprefix("signed ")

"""The file about dlinfer: values are expressions of Python, and every call has its arguments."""

from __future__ import annotations

import ast

from diopigen.check.rule import Subject
from diopigen.diagnostics import Sink, did_you_mean
from diopigen.emit.dlinfer import arguments_of
from diopigen.emit.torch.binding import BindingError
from diopigen.ir.dlinfer_model import DlinferOperator

RULES = {
    "dlinfer-entry": "An entry about dlinfer calls an operator of PyTorch with all its arguments, as Python.",
}
EVALUATES = True
"""It follows what the interface has: it is silent where that is in error."""


def check(subject: Subject, sink: Sink) -> None:
    """Applies the rules of this family."""
    for entry in subject.interface.dlinfer.operators if subject.complete else ():
        for message, fix in (*_expressions(entry), *_call(subject, entry)):
            sink.error("dlinfer-entry", f"{entry.name}: {message}", entry.span, fix=fix)


def _expressions(entry: DlinferOperator) -> list[tuple[str, str]]:
    found = []
    for text in (*entry.require, *entry.before.values(), *entry.arguments.values(), entry.returns):
        try:
            ast.parse(f"_ = {text}")
        except SyntaxError as error:
            found.append((f"'{text}' is no expression of Python: {error.msg}", "docs/serving.md has the table"))
    return found


def _call(subject: Subject, entry: DlinferOperator) -> list[tuple[str, str]]:
    if not entry.function:
        return []
    function = subject.by_name.get(entry.function)
    if function is None:
        fix = subject.suggestion(entry.function, list(subject.by_name)) or "name a function, without diopi"
        return [(f"there is no function '{entry.function}'", fix)]
    try:
        arguments = arguments_of(subject.interface, function, entry.arguments)
    except BindingError as error:
        return [(f"{entry.function} {error}", "name a function that torch.ops.diopi has")]
    names = {param.name for param in function.params}
    found = [
        (f"{entry.function} reads no parameter '{name}'", did_you_mean(name, names) or "leave it out")
        for name in entry.arguments
        if name not in names
    ]
    missing = [name for name, value in arguments.items() if value is None]
    return [*found, *((f"{entry.function} needs '{name}'", "add it to arguments") for name in missing)]

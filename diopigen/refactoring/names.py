"""The names that a change is about: what the user names exists, and a new name is free."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from diopigen.diagnostics import Failure, did_you_mean, failure
from diopigen.ir.lower import mappings_of, text_of
from diopigen.ir.model import Function, Interface, Parameter
from diopigen.refactoring.changes import Tree
from diopigen.refactoring.document import Document
from diopigen.spec.nodes import MappingNode
from diopigen.spec.plain_scalar import is_ambiguous, resolve

RULES = {
    "change-unknown": "What is to be renamed or removed is a function of the interface, or a parameter of one.",
    "change-refused": "A new name is a word that nothing else in reach has.",
}

CONSTANTS = frozenset({"true", "false", "inf", "pi", "nan", "any", "null", "rank", "nranks"})
"""Words of expressions that are no parameters."""


@dataclass(frozen=True, slots=True)
class Entry:
    """An operator's entry: its node, the document that it is in, and the functions that follow from it, base first."""

    document: Document
    node: MappingNode
    functions: tuple[Function, ...]

    @property
    def operator(self) -> str:
        """Its name, without `diopi`."""
        return self.functions[0].operator

    @property
    def short_names(self) -> frozenset[str]:
        """The functions without `diopi`."""
        return frozenset(function.short_name for function in self.functions)


def function_named(interface: Interface, name: str) -> Function:
    """A function by its name, with or without `diopi`. Raises `Failure` with the nearest name where there is none."""
    found = interface.function(name) or interface.function(f"diopi{name}")
    if found is None:
        known = [function.name for function in interface.functions]
        bare = [function.short_name for function in interface.functions]
        fix = did_you_mean(name, known if name.startswith("diopi") else bare)
        raise failure("change-unknown", f"there is no function '{name}'", fix=fix or "name a function of the interface")
    return found


def parameter_named(function: Function, name: str) -> Parameter:
    """A parameter of a function. Raises `Failure` with the nearest name where there is none."""
    found = function.param(name)
    if found is None:
        known = [param.name for param in function.params]
        fix = did_you_mean(name, known) or f"parameters: {', '.join(known) or 'none'}"
        raise failure("change-unknown", f"{function.name} has no parameter '{name}'", fix=fix)
    return found


def entry_of(tree: Tree, interface: Interface, function: Function) -> Entry:
    """The entry that a function follows from."""
    file = tree.spec_file(interface.file_of[function.name].partition("/")[2])
    document = tree.document(file)
    assert isinstance(document.root, MappingNode)
    node = next(
        node for node in mappings_of(document.root.get("operators")) if text_of(node.get("name")) == function.operator
    )
    own = [one for one in interface.functions if one.operator == function.operator]
    return Entry(document, node, tuple(sorted(own, key=lambda one: one.variant != "base")))


def rejected(message: str, fix: str = "choose another name") -> Failure:
    return failure("change-refused", message, fix=fix)


def require_word(new: str, form: str, what: str) -> None:
    """Raises `Failure` where a new name has not the form that the grammar wants, or is something else in YAML."""
    if re.fullmatch(form, new) is None or is_ambiguous(new) or not isinstance(resolve(new), str):
        raise rejected(f"'{new}' is no name of {what}")


def require_free(new: str, taken: Iterable[str], what: str) -> None:
    """Raises `Failure` where a new name is taken."""
    if new in set(taken):
        raise rejected(f"'{new}' is {what} already")

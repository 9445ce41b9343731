"""Another name for a function and the forms that follow its name: in the spec, in tables, and in sources."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace

from diopigen.diagnostics import Span
from diopigen.emit.entry.functions import arguments_name, kernel_name
from diopigen.ir.lower import items_of, mappings_of, text_of
from diopigen.ir.model import BASE, Function, Interface
from diopigen.ir.variants import SUFFIXES
from diopigen.refactoring.changes import Tree
from diopigen.refactoring.cpp import without_comments
from diopigen.refactoring.document import sequence
from diopigen.refactoring.names import Entry, entry_of, function_named, require_free, require_word
from diopigen.refactoring.oracles import oracle_span
from diopigen.refactoring.uses import add_to_variant
from diopigen.spec.nodes import MappingNode, Node, ScalarNode
from diopigen.spec.text_edits import TextEdit

SOURCES = ("impl", "runtime", "lab")
"""Folders whose C++ calls functions of the interface, or defines kernels."""
OTHERS = ("examples", "docs", "tests", "tools", "benchmarks", "diopigen", "diopi_torch", "diopi_ffi", "optools")
"""Folders in which a person looks at each line that has a name."""


def rename_function(tree: Tree, interface: Interface, name: str, new: str) -> str:
    """Plans the change in `tree`; returns what was renamed, in words. Raises `Failure` where names do not fit."""
    function = function_named(interface, name)
    new = new.removeprefix("diopi")
    require_word(new, r"[A-Z][A-Za-z0-9]*", "a function, which is UpperCamelCase")
    entry = entry_of(tree, interface, function)
    names = _new_names(entry, function, new)
    require_free_names(interface, names)
    _in_entry(entry, function, new)
    _in_spec(tree, names)
    _in_sources(tree, interface, names)
    for operator in names:
        span = oracle_span(operator)
        if span is not None:
            tree.by_hand(f"the oracle of {operator}", span, f"register it for {names[operator]}")
    named_by_hand(tree, names, lambda old: f"write {names[old]} if the function is meant")
    return ", ".join(f"diopi{old} is diopi{now}" for old, now in names.items())


def require_free_names(interface: Interface, names: Mapping[str, str]) -> None:
    """Raises `Failure` where a function has a new name already."""
    for now in names.values():
        require_free(f"diopi{now}", (function.name for function in interface.functions), "a function")


def variant_item(entry: Entry, function: Function) -> Node:
    """The item of `variants` that a form follows from."""
    variants = sequence(entry.node, "variants")
    assert variants is not None
    return next(item for item in variants.items if _form_name(entry, item) == function.short_name)


def _form_name(entry: Entry, item: Node) -> str:
    kind = text_of(item.get("kind")) if isinstance(item, MappingNode) else text_of(item)
    own = text_of(item.get("name")) if isinstance(item, MappingNode) else ""
    return own or entry.operator + SUFFIXES[kind]


def _new_names(entry: Entry, function: Function, new: str) -> dict[str, str]:
    """Old names to new ones, without `diopi`: of the function, and of a base also the forms without their own names."""
    names = {function.short_name: new}
    if function.variant == BASE:
        for item in items_of(entry.node.get("variants")):
            old = _form_name(entry, item)
            if not (isinstance(item, MappingNode) and item.get("name") is not None):
                names[old] = new + old.removeprefix(entry.operator)
    return names


def _in_entry(entry: Entry, function: Function, new: str) -> None:
    document = entry.document
    if function.variant == BASE:
        name = entry.node.get("name")
        assert isinstance(name, ScalarNode)
        document.replace(name, new)
        return
    item = variant_item(entry, function)
    name = item.get("name") if isinstance(item, MappingNode) else None
    if isinstance(name, ScalarNode):
        document.replace(name, new)
    else:
        add_to_variant(document, item, f"name: {new}")


def _in_spec(tree: Tree, names: Mapping[str, str]) -> None:
    """Tables name functions without `diopi`; with it they are in orders of headers, in texts and in comments."""
    pattern = mentions(names)
    for file in tree.spec_files("**/*.yaml"):
        if not any(name in tree.text(file) for name in names):
            continue
        document = tree.document(file)
        document.replace_words(pattern, lambda match: f"diopi{names[match['c']]}" if match["c"] else names[match[0]])
        for node in short_names(document.root):
            if node.text in names:
                document.replace(node, names[node.text])


def short_names(root: Node | None) -> Iterator[ScalarNode]:
    """The scalars of a file of the spec that name a function without `diopi`."""
    for key, words in (("calls", ("function",)), ("operators", ("call", "backward_of")), ("fused", ("call",))):
        for item in mappings_of(sequence(root, key)):
            yield from (node for word in words if isinstance(node := item.get(word), ScalarNode))
    for item in mappings_of(sequence(root, "handwritten")):
        yield from (node for node in items_of(item.get("calls")) if isinstance(node, ScalarNode))


def _in_sources(tree: Tree, interface: Interface, names: Mapping[str, str]) -> None:
    words: dict[str, str] = {}
    kernels: dict[str, str] = {}
    for function in interface.functions:
        if function.short_name in names:
            now = _named(function, names[function.short_name])
            words |= {function.name: now.name, arguments_name(function): arguments_name(now)}
            kernels[kernel_name(function)] = kernel_name(now)
    pattern = re.compile(
        rf"\b(?P<word>{'|'.join(words)})\b|\bentry::(?P<called>{'|'.join(kernels)})\b"
        rf"|\b(?P<defined>{'|'.join(kernels)})\b(?=\s*\(\s*const\s+(?:\w+::)*(?:{'|'.join(words)})\b)"
    )
    for file in tree.files(*SOURCES):
        edits = []
        for match in pattern.finditer(tree.text(file)):
            group = match.lastgroup or ""
            edits.append(TextEdit(*match.span(group), {**words, **kernels}[match[group]]))
        tree.edit(file, edits)


def _named(function: Function, name: str) -> Function:
    return replace(function, name=f"diopi{name}")


def named_by_hand(tree: Tree, names: Iterable[str], fix: Callable[[str], str]) -> None:
    """Names for a person each line outside of the spec and of sources that has the name of a function."""
    pattern = re.compile(rf"\bdiopi(?P<c>{'|'.join(names)})\b|[\"'](?P<short>{'|'.join(names)})[\"']")
    for file in tree.files(*OTHERS):
        for match in pattern.finditer(tree.text(file)):
            old = match["c"] or match["short"]
            tree.by_hand(f"{old} is named here", tree.span_at(file, match.start(), len(match[0])), fix(old))


def mentions(names: Iterable[str]) -> re.Pattern[str]:
    """Names of functions in texts: with `diopi`, and without it those that cannot be a word of English."""
    coined = [name for name in names if not name[1:].islower()]
    without = rf"|\b(?P<coined>{'|'.join(coined)})\b" if coined else ""
    return re.compile(rf"\bdiopi(?P<c>{'|'.join(names)})\b{without}")


def code_lines(tree: Tree, pattern: re.Pattern[str], *folders: str) -> Iterator[tuple[str, Span]]:
    """Matches of a pattern in the code of sources, without comments, each with its text."""
    for file in tree.files(*folders):
        if file.endswith((".cpp", ".h", ".hpp", ".cu", ".cuh", ".c")) and pattern.search(tree.text(file)):
            for match in pattern.finditer(without_comments(tree.text(file))):
                yield match[0], tree.span_at(file, match.start(), len(match[0]))

"""A function that the interface has no more: its entry goes, and what refers to it in tables. Sources stay."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace

from diopigen.emit.entry.functions import arguments_name, kernel_name
from diopigen.emit.tvm.entries import by_aten_name
from diopigen.ir.lower import items_of, mappings_of, text_of
from diopigen.ir.model import BASE, Function, Interface
from diopigen.refactoring.changes import Tree
from diopigen.refactoring.document import Document, sequence
from diopigen.refactoring.function import SOURCES, code_lines, mentions, named_by_hand, variant_item
from diopigen.refactoring.names import Entry, entry_of, function_named
from diopigen.refactoring.oracles import oracle_span
from diopigen.spec.nodes import MappingNode, Node, ScalarNode

_WHY = "'no function of the spec names the overload'"


def remove_function(tree: Tree, interface: Interface, name: str) -> str:
    """Plans the removal in `tree`; returns what goes, in words. Raises `Failure` where there is no such function."""
    function = function_named(interface, name)
    entry = entry_of(tree, interface, function)
    gone = entry.functions if function.variant == BASE else (function,)
    names = {one.short_name for one in gone}
    left = _without(interface, names)
    _in_entry(tree, entry, function)
    _in_headers(tree, {one.name for one in gone})
    _in_gradients(tree, interface, names)
    _in_models(tree, names)
    _in_relax(tree, interface, left, names)
    for file in tree.spec_files("dlinfer.yaml"):
        document = tree.document(file)
        _remove(document, document.root, "operators", lambda item: text_of(_get(item, "call")) in names)
    _in_torch(tree, left, names)
    _in_texts(tree, sorted(names))
    _in_sources(tree, gone)
    span = oracle_span(entry.operator) if function.variant == BASE else None
    if span is not None:
        tree.by_hand(f"the oracle of {entry.operator}", span, "remove it, or take the operator from its list")
    named_by_hand(tree, sorted(names), lambda old: f"there is no {old} any more")
    return ", ".join(f"{one.name} is gone" for one in gone)


def _without(interface: Interface, names: set[str]) -> Interface:
    headers = tuple(
        replace(header, functions=tuple(one for one in header.functions if one.short_name not in names))
        for header in interface.headers
    )
    return replace(interface, headers=headers)


# ---- the spec -------------------------------------------------------------------------------------------------------


def _in_entry(tree: Tree, entry: Entry, function: Function) -> None:
    document = entry.document
    operators = sequence(document.root, "operators")
    assert operators is not None
    if function.variant != BASE:
        variants = sequence(entry.node, "variants")
        assert variants is not None
        if len(variants.items) == 1:
            document.remove_key(entry.node.entries["variants"])
        else:
            document.remove_items(variants, [variant_item(entry, function)])
    elif len(operators.items) == 1 and document.path.startswith(tree.spec_file("ops/")):
        tree.drop(document.path)
    else:
        document.remove_items(operators, [entry.node])


def _in_headers(tree: Tree, names: set[str]) -> None:
    for file in tree.spec_files("headers.yaml"):
        document = tree.document(file)
        for header in mappings_of(sequence(document.root, "headers")):
            _remove(document, header, "order", lambda item: text_of(item) in names)


def _in_gradients(tree: Tree, interface: Interface, names: set[str]) -> None:
    """A gradient of what is gone is an operator like any other."""
    done: set[str] = set()
    for function in interface.functions:
        if function.backward_of not in names or function.short_name in names or function.operator in done:
            continue
        done.add(function.operator)
        entry = entry_of(tree, interface, function)
        entry.document.remove_key(entry.node.entries["backward_of"])
        unspecified = sequence(entry.node, "unspecified")
        indices = [item for item in items_of(unspecified) if text_of(item) == "indices"]
        if unspecified is not None and len(indices) == len(unspecified.items):
            entry.document.remove_key(entry.node.entries["unspecified"])
        elif unspecified is not None:
            entry.document.remove_items(unspecified, indices)
        message = f"{function.name} was the gradient of {function.backward_of}, and is that of no operator now"
        tree.by_hand(message, function.span, f"keep it as it is, or: diopigen remove {function.operator}")


def _in_models(tree: Tree, names: set[str]) -> None:
    """Calls that a model makes all the same, and that nothing serves now."""
    for file in tree.spec_files("models/*.yaml"):
        if not any(re.search(rf"\bfunction: {name}\b", tree.text(file)) for name in names):
            continue
        document = tree.document(file)
        calls = [c for c in mappings_of(sequence(document.root, "calls")) if text_of(c.get("function")) in names]
        _remove(document, document.root, "calls", lambda item: text_of(_get(item, "function")) in names)
        counts: dict[tuple[str, str], int] = {}
        for call in calls:
            key = (text_of(call.get("phase")), text_of(call.get("aten")))
            number = call.get("count")
            assert isinstance(number, ScalarNode) and isinstance(number.value, int)
            counts[key] = counts.get(key, 0) + number.value
        assert isinstance(document.root, MappingNode)
        lines = [f"{{phase: {key[0]}, aten: {key[1]}, count: {count}, why: {_WHY}}}" for key, count in counts.items()]
        document.append_items(document.root.entries["unmapped"], lines)


def _in_relax(tree: Tree, interface: Interface, left: Interface, names: set[str]) -> None:
    """Operators of Relax that the function computes; those with only tensors find it by its overloads of ATen."""
    relax = interface.relax
    served = {one.relax for one in relax.operators if one.function.removeprefix("diopi") not in names}
    unnamed = {
        word
        for word, aten in relax.named.items()
        if by_aten_name(interface, aten) is not None and by_aten_name(left, aten) is None
    }
    for file in tree.spec_files("relax.yaml"):
        document = tree.document(file)
        root = document.root
        _remove(document, root, "same", lambda item: text_of(item) in unnamed)
        renamed = root.get("renamed") if isinstance(root, MappingNode) else None
        for key, entry in renamed.entries.items() if isinstance(renamed, MappingNode) else ():
            if key in unnamed:
                document.remove_key(entry)
        _remove(document, root, "operators", lambda item: text_of(_get(item, "call")) in names)
        _remove(
            document,
            root,
            "fused",
            lambda item: (
                text_of(_get(item, "call")) in names
                or (_get(item, "operator") is not None and text_of(_get(item, "operator")) not in served)
            ),
        )


def _in_torch(tree: Tree, left: Interface, names: set[str]) -> None:
    """Kernels that a person wrote for PyTorch: what calls nothing else goes, a composition loses a part."""
    overloads = {overload.name for function in left.functions for overload in function.aten}
    for file in tree.spec_files("torch.yaml"):
        document = tree.document(file)
        root = document.root
        _remove(document, root, "left_out", lambda item: text_of(_get(item, "overload")) not in overloads)
        gone: list[Node] = []
        for kernel in mappings_of(sequence(root, "handwritten")):
            calls = sequence(kernel, "calls")
            called = {text_of(item) for item in calls.items} if calls is not None else set()
            if not called & names:
                continue
            if called <= names:
                gone.append(kernel)
            else:
                _remove(document, kernel, "calls", lambda item: text_of(item) in names)
            overload = text_of(kernel.get("overload"))
            message = f"the handwritten kernel of '{overload}' calls {', '.join(sorted(called & names))}"
            what = "remove it" if called <= names else "compose it of others"
            tree.by_hand(message, kernel.span, f"in runtime/torch/operators: {what}")
        handwritten = sequence(root, "handwritten")
        if handwritten is not None:
            document.remove_items(handwritten, gone)


def _in_texts(tree: Tree, names: Sequence[str]) -> None:
    """Texts and comments of other entries."""
    pattern = mentions(names)
    for file in tree.spec_files("**/*.yaml"):
        if not pattern.search(tree.text(file)) or tree.after.get(file, "") is None:
            continue
        document = tree.document(file)
        for match in pattern.finditer(tree.text(file)):
            if not document.loses(match.start()):
                message = f"'{match[0]}' is named here, which is no function any more"
                tree.by_hand(message, tree.span_at(file, match.start(), len(match[0])), "write the text without it")


# ---- sources --------------------------------------------------------------------------------------------------------


def _in_sources(tree: Tree, gone: Sequence[Function]) -> None:
    """Kernels and calls in C++; which helpers only they need is a person's to see."""
    types, kernels, names = (
        "|".join(sorted({of(one) for one in gone})) for of in (arguments_name, kernel_name, lambda one: str(one.name))
    )
    pattern = re.compile(rf"\b(?:{names}|{types})\b|\bentry::(?:{kernels})\b")
    for text, span in code_lines(tree, pattern, *SOURCES):
        tree.by_hand(f"'{text}' is of a function that is gone", span, "remove it, with what only it needs")


# ---- nodes ----------------------------------------------------------------------------------------------------------


def _get(node: Node, key: str) -> Node | None:
    return node.get(key) if isinstance(node, MappingNode) else None


def _remove(document: Document, mapping: Node | None, key: str, goes: Callable[[Node], bool]) -> None:
    """Removes items of a list under a key."""
    items = sequence(mapping, key)
    if items is not None:
        document.remove_items(items, [item for item in items_of(items) if goes(item)])

"""Another name for a parameter: in its entry, in every table that calls its functions, and in kernels."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from typing import Any

from diopigen.diagnostics import Severity
from diopigen.emit.entry.functions import arguments_name
from diopigen.ir.lower import items_of, mappings_of, text_of
from diopigen.ir.model import Interface
from diopigen.ir.types import INTEGERS
from diopigen.ir.variant_params import OPERAND, TARGET
from diopigen.refactoring.bindings import changed_bindings
from diopigen.refactoring.changes import Tree
from diopigen.refactoring.cpp import includes, member_edits, members_of_any
from diopigen.refactoring.document import Document
from diopigen.refactoring.names import (
    CONSTANTS,
    Entry,
    entry_of,
    function_named,
    parameter_named,
    rejected,
    require_free,
    require_word,
)
from diopigen.refactoring.oracles import cases_that_read, lines_that_read
from diopigen.refactoring.uses import Uses, add_to_variant, name_ranges, uses_of
from diopigen.spec.nodes import MappingNode, Node, ScalarNode
from diopigen.spec.text_edits import TextEdit

_ARTICLES = "the|a|an|each|every|its|no|one|first|second|third|last"
KERNELS = ("impl", "lab")
"""Folders with kernels that are written for `<Operator>Args`."""


def rename_parameter(
    tree: Tree, interface: Interface, function_name: str, old: str, new: str, reserved: Iterable[str]
) -> str:
    """Plans the change in `tree`; returns what was renamed, in words. Raises `Failure` where names do not fit."""
    function = function_named(interface, function_name)
    param = parameter_named(function, old)
    entry = entry_of(tree, interface, function)
    uses = uses_of(entry.node)
    _require(entry, interface, uses, new, reserved)
    _in_variants(entry, old, new)
    _in_entry(tree, entry.document, uses, old, new, is_integer=param.type in INTEGERS)
    for position in entry.document.in_comments(entry.node, old):
        span = tree.span_at(entry.document.path, position, len(old))
        tree.by_hand(f"'{old}' is in a comment", span, f"write '{new}' where the parameter is meant", Severity.NOTE)
    _in_models(tree, entry, old, new)
    _in_relax(tree, entry, old, new)
    _in_dlinfer(tree, entry, old, new)
    _in_configurations(tree, entry, old, new)
    _in_host_calls(tree, entry, old, new)
    _in_published_calls(tree, entry, old, new)
    _in_kernels(tree, entry, old, new)
    changed_bindings(tree, interface, entry.functions, old, new)
    lines_that_read(tree, entry.operator, old, new)
    cases_that_read(tree, old)
    _mentions(tree, entry, old, new)
    forms = ", ".join(one.name for one in entry.functions if one.param(old) is not None)
    return f"'{old}' of {forms} is '{new}'"


def _require(entry: Entry, interface: Interface, uses: Uses, new: str, reserved: Iterable[str]) -> None:
    require_word(new, r"[A-Za-z_][A-Za-z0-9_]*", "a parameter")
    if new in reserved:
        raise rejected(f"'{new}' is a word of C or C++, or a variable of generated code")
    for function in entry.functions:
        require_free(new, (param.name for param in function.params), f"a parameter of {function.name}")
    require_free(new, uses.names(), f"a name in the entry of {entry.operator}")
    values = (value.name for enum in interface.enums for value in enum.values)
    dtypes = (dtype.name for dtype in interface.dtypes)
    require_free(new, (*CONSTANTS, *values, *dtypes), "a constant of expressions")


# ---- the spec -------------------------------------------------------------------------------------------------------


def _in_entry(tree: Tree, document: Document, uses: Uses, old: str, new: str, *, is_integer: bool) -> None:
    words = [*uses.words, *(uses.dimensions if is_integer else ())]
    for node in words:
        if node.text == old:
            document.replace(node, new)
    for node in uses.expressions:
        _in_expression(document, node, old, new)
    for node in uses.texts:
        _in_text(tree, document, node, old, new)
    for name, node in uses.own_texts.items():
        _in_text(tree, document, node, old, new, is_own=name == old)


def _in_variants(entry: Entry, old: str, new: str) -> None:
    """Makes implicit names of variants explicit."""
    for item in items_of(entry.node.get("variants")):
        variant = item if isinstance(item, MappingNode) else MappingNode.empty(item.span)
        kind = text_of(variant.get("kind")) or text_of(item)
        if old == TARGET and "inplace" in kind and variant.get("target") is None:
            add_to_variant(entry.document, item, f"target: {new}")
        if old == OPERAND and "scalar" in kind and variant.get("operands") is None:
            add_to_variant(entry.document, item, f"operands: [{new}]")


def _in_expression(document: Document, node: ScalarNode, old: str, new: str) -> None:
    document.substitute(node, lambda text, _: [(*span, new) for span in name_ranges(text) if text[slice(*span)] == old])


def _in_text(tree: Tree, document: Document, node: ScalarNode, old: str, new: str, *, is_own: bool = False) -> None:
    """A text for people. A word of English with an article or between quotes, or in the text of the parameter itself,
    may be no parameter: a person looks at it."""

    def edits(text: str, start: int) -> list[tuple[int, int, str]]:
        result = []
        for match in re.finditer(rf"(?<![\w.-]){old}(?![\w-])", text):
            before = re.search(rf"(?:\b(?:{_ARTICLES})\s+|['\"])\Z", text[: match.start()], re.IGNORECASE)
            stays = old.isalpha() and (is_own or before is not None)
            if not stays:
                result.append((*match.span(), new))
            if old.isalpha():
                span = tree.span_at(document.path, start + match.start(), len(old))
                message = f"'{old}' {'stays' if stays else f'is {new!r} now'} in this text: it may be the word, not the"
                fix = (
                    f"write '{new}' where the parameter is meant" if stays else f"keep '{old}' where the word is meant"
                )
                tree.by_hand(f"{message} parameter", span, fix, Severity.NOTE)
        return result

    document.substitute(node, edits)


def _in_models(tree: Tree, entry: Entry, old: str, new: str) -> None:
    for file in tree.spec_files("models/*.yaml"):
        if not _names_any(tree.text(file), entry.short_names):
            continue
        document = tree.document(file)
        for call in mappings_of(_under(document.root, "calls")):
            if text_of(call.get("function")) in entry.short_names:
                _key(document, call.get("arguments"), old, new)


def _in_relax(tree: Tree, entry: Entry, old: str, new: str) -> None:
    for file in tree.spec_files("relax.yaml"):
        document = tree.document(file)
        for call in mappings_of(_under(document.root, "operators")):
            if text_of(call.get("call")) in entry.short_names:
                _key(document, call.get("arguments"), old, new)
        for fused in mappings_of(_under(document.root, "fused")):
            if text_of(fused.get("call")) not in entry.short_names:
                continue
            match, shapes = fused.get("match"), fused.get("shapes")
            assert isinstance(match, ScalarNode)
            _in_expression(document, match, old, new)
            _key(document, shapes, old, new)
            for item in _scalars(shapes):
                if item.text.startswith(f"{old}."):
                    document.replace(item, f"{new}.{item.text.partition('.')[2]}")


def _in_dlinfer(tree: Tree, entry: Entry, old: str, new: str) -> None:
    for file in tree.spec_files("dlinfer.yaml"):
        document = tree.document(file)
        for call in mappings_of(_under(document.root, "operators")):
            if text_of(call.get("call")) in entry.short_names:
                _key(document, call.get("arguments"), old, new)


# ---- files next to the spec -----------------------------------------------------------------------------------------


def _in_configurations(tree: Tree, entry: Entry, old: str, new: str) -> None:
    """Configuration of vendors for one tensor of a function: `layout: NHWC, weight(NCHW)`, keys of `tensor_dtype`."""
    for file in tree.files("impl", "examples"):
        if not file.endswith("convert_config.yaml"):
            continue
        document = tree.document(file)
        for item in mappings_of(document.root):
            for name, one in item.entries.items():
                if name.removeprefix("diopi") not in entry.short_names or not isinstance(one.value, MappingNode):
                    continue
                _key(document, one.value.get("tensor_dtype"), old, new)
                for key in ("layout", "contiguous", "dtype"):
                    for node in _scalars(one.value.get(key)):
                        document.substitute(node, lambda text, _: _words(text, old, new))


def _in_host_calls(tree: Tree, entry: Entry, old: str, new: str) -> None:
    """Calls of several functions each: those that are of this entry alone are changed."""
    for file in tree.files("tests/data/host_calls"):
        document = tree.document(file) if file.endswith(".yaml") else None
        for group in mappings_of(document.root) if document is not None else ():
            assert document is not None
            functions = {text_of(item) for item in items_of(group.get("functions"))}
            calls = [form.get("call") for form in mappings_of(group.get("forms"))]
            if not functions & entry.short_names:
                continue
            for call in calls:
                if functions <= entry.short_names:
                    _key(document, call, old, new)
                elif isinstance(call, MappingNode) and old in call.entries:
                    fix = f"give the calls of {', '.join(sorted(entry.short_names & functions))} a group of their own"
                    tree.by_hand(f"'{old}' is passed to other functions as well", call.key_span(old), fix)


def _in_published_calls(tree: Tree, entry: Entry, old: str, new: str) -> None:
    """Programs of calls, one in a line: the names of arguments, and references to those of earlier calls."""
    for file in tree.files("tests/data/published_calls"):
        if not file.endswith(".jsonl"):
            continue
        edits, position = [], 0
        for line in tree.text(file).splitlines(keepends=True):
            if any(f'"{name}"' in line for name in entry.short_names) and old in line:
                text = json.dumps(_renamed_calls(json.loads(line), entry, old, new), separators=(",", ":"))
                edits.append(TextEdit(position, position + len(line.rstrip("\n")), text))
            position += len(line)
        tree.edit(file, edits)


def _renamed_calls(program: dict[str, Any], entry: Entry, old: str, new: str) -> dict[str, Any]:
    own = [name in entry.short_names for name, *_ in program["calls"]]
    references = re.compile(rf"&(\d+)\.{old}\b")

    def renamed(value: Any) -> Any:
        if isinstance(value, str):
            return references.sub(lambda match: f"&{match[1]}.{new}" if own[int(match[1])] else match[0], value)
        return [renamed(item) for item in value] if isinstance(value, list) else value

    for is_own, call in zip(own, program["calls"], strict=True):
        arguments = {key: renamed(value) for key, value in call[1].items()}
        call[1] = {new if is_own and key == old else key: value for key, value in arguments.items()}
    return program


def _in_kernels(tree: Tree, entry: Entry, old: str, new: str) -> None:
    """Kernels of the reference libraries, by tokens. What serves several operators is named for a person."""
    types = [arguments_name(function) for function in entry.functions]
    sources = {file: tree.text(file) for file in tree.files(*KERNELS) if file.endswith((".cpp", ".h", ".cu", ".cuh"))}
    own = {file for file, text in sources.items() if _names_any(text, types)}
    for file in sorted(own):
        tree.edit(file, member_edits(sources[file], types, old, new))
    for file in sorted(_with_included(own, sources)):
        for position in members_of_any(sources[file], old):
            span = tree.span_at(file, position, len(old))
            fix = f"give this function '{new}' of {' and '.join(types)}, if it is called with them"
            tree.by_hand(f"'{old}' of the arguments of any operator", span, fix)


def _with_included(files: set[str], sources: dict[str, str]) -> set[str]:
    """Sources with the headers of the tree that they include, directly or through others."""
    found, waiting = set(files), list(files)
    while waiting:
        for path in includes(sources[waiting.pop()]):
            name = path.rpartition("/")[2]
            for file in sources:
                if file not in found and file.endswith(f"/{path.removeprefix('../')}") and file.endswith(f"/{name}"):
                    found.add(file)
                    waiting.append(file)
    return found


def _mentions(tree: Tree, entry: Entry, old: str, new: str) -> None:
    """Lines of tests, tools and pages that name a function and the parameter: a person decides."""
    names = sorted(entry.short_names)
    line_of = re.compile(
        rf"(?:\bdiopi|[\"'`])(?:{'|'.join(names)})\b.*(?:[\"'`]{old}[\"'`]|\b{old}[=:(])", re.MULTILINE
    )
    for file in tree.files("tests", "docs", "examples", "lab", "tools", "benchmarks", "runtime"):
        text = tree.text(file)
        if tree.after.get(file, text) != text or file.endswith((".jsonl", "convert_config.yaml")):
            continue
        for match in line_of.finditer(text):
            word = re.compile(rf"\b{old}\b(?![\s\S]*\b{old}\b)").search(match[0])
            assert word is not None
            span = tree.span_at(file, match.start() + word.start(), len(old))
            tree.by_hand(
                f"'{old}' is named here, next to a function that has it", span, f"write '{new}' if it is meant"
            )


# ---- nodes ----------------------------------------------------------------------------------------------------------


def _under(node: Node | None, key: str) -> Node | None:
    return node.get(key) if isinstance(node, MappingNode) else None


def _key(document: Document, mapping: Node | None, old: str, new: str) -> None:
    """Another name for a key."""
    if isinstance(mapping, MappingNode) and old in mapping.entries:
        key = mapping.entries[old].key_node
        assert isinstance(key, ScalarNode)
        document.replace(key, new)


def _scalars(node: Node | None) -> Sequence[ScalarNode]:
    if isinstance(node, ScalarNode):
        return (node,)
    inner = [entry.value for entry in node.entries.values()] if isinstance(node, MappingNode) else items_of(node)
    return [scalar for value in inner for scalar in _scalars(value)]


def _words(text: str, old: str, new: str) -> list[tuple[int, int, str]]:
    return [(*match.span(), new) for match in re.finditer(rf"(?<!\w){old}(?!\w)", text)]


def _names_any(text: str, names: Iterable[str]) -> bool:
    return any(re.search(rf"\b{name}\b", text) for name in names)

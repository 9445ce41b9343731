"""A new operator like one of the spec, computed and checked as a whole before anything is written."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from diopigen import api
from diopigen.completeness.sources import defined_kernels
from diopigen.diagnostics import Failure, Severity, Sink, Span, failure, nearest
from diopigen.emit.entry.functions import arguments_name, kernel_name, kernel_name_of
from diopigen.emit.new_operator.entry import entries_of, entry_text
from diopigen.emit.new_operator.files import KERNEL, ORACLES, TESTS, Begun, files_of, path_of_test
from diopigen.emit.vendor.selection import why_reserved
from diopigen.fixes.spec import copied
from diopigen.ir.model import Function, Interface
from diopigen.spec.grammar_words import OPERATOR_NAME
from diopigen.spec.nodes import MappingNode
from diopigen.spec.yaml_reader import load_yaml


@dataclass(frozen=True, slots=True)
class Started:
    """The new operator and its gradients, the new texts of files of the spec, and the new files, by path."""

    operators: tuple[Begun, ...]
    spec: Mapping[str, str]
    files: Mapping[str, bytes]
    test: str


def start(interface: Interface, where: api.Workspace, name: str, like: str, backward: bool) -> Started:
    """The operator `name`, like another one. Raises `Failure` where it cannot be begun."""
    known = _operators(interface)
    if like not in known:
        raise _unknown(interface, known, like)
    pairs = {like: name}
    if backward:
        pairs |= _gradients(interface, known, like, name)
    for new in pairs.values():
        _require_name(interface, new)
    _require_tree(where)
    texts: dict[str, str] = {}
    entries: dict[str, str] = {}
    for old, new in pairs.items():
        relative = interface.file_of[known[old].name].removeprefix("specs/")
        text = texts.get(relative) or (where.spec / relative).read_text(encoding="utf-8")
        text = text.rstrip("\n") + "\n\n"
        entries[new] = f"{where.spec_name}/{relative}:{text.count(chr(10)) + 1}"
        node = _entry(where, relative, old)
        texts[relative] = text + entry_text(node, pairs, f"To be written: what {new} computes.")
    loaded = _checked(where, texts)
    operators = tuple(_begun(loaded, where, new, known[old], entries[new]) for old, new in pairs.items())
    written = files_of(operators, where.templates)
    for file in written:
        if os.path.lexists(where.root / file):
            fix = "choose another name, or remove it"
            raise failure("new-operator-tree", f"{file} is there already", Span(file), fix)
    return Started(operators, texts, written, path_of_test(operators[0]))


def _entry(where: api.Workspace, relative: str, name: str) -> MappingNode:
    root = load_yaml(where.spec / relative, f"{where.spec_name}/{relative}", Sink())
    assert isinstance(root, MappingNode)  # it was loaded before
    return dict(entries_of(root))[name]


def _operators(interface: Interface) -> dict[str, Function]:
    """The operators that another one can be like, each with its base: those that the suite tests."""
    return {
        function.operator: function
        for function in interface.functions
        if function.variant == "base"
        and interface.file_of[function.name].startswith("specs/ops/")
        and not function.is_collective
        and function.header not in interface.not_covered
    }


def _unknown(interface: Interface, known: Mapping[str, Function], like: str) -> Failure:
    function = interface.function(f"diopi{like}")
    if function is not None and function.operator in known:
        message, fix = f"{like} is a variant of {function.operator}", f"write --like {function.operator}"
    elif function is not None:
        message, fix = f"the suite does not test {like}", "name an operator of specs/ops, such as Softmax"
    else:
        near = nearest(like, known)
        fix = f"did you mean '{near}'?" if near else "name an operator of specs/ops, such as Softmax"
        message = f"there is no operator '{like}'"
    return failure("new-operator-like", message, fix=fix)


def _require_tree(where: api.Workspace) -> None:
    for folder in (ORACLES, TESTS, *(f"impl/{library}/functions" for library in KERNEL)):
        if not (where.root / folder).is_dir():
            message = f"there is no folder '{folder}' next to the spec"
            raise failure("new-operator-tree", message, Span(where.spec_name), "run it in a checkout of diopigen")


def _gradients(interface: Interface, known: Mapping[str, Function], like: str, name: str) -> dict[str, str]:
    """The gradients of the other operator that are called after it, with those of the new one."""
    own = {function.operator for function in interface.backward_functions.get(like, ())}
    return {old: old.replace(like, name, 1) for old in known if old in own and old.startswith(like)}


def _require_name(interface: Interface, name: str) -> None:
    """Raises `Failure` where a name is taken, or none of an operator."""
    fix = "choose another name"
    if re.fullmatch(OPERATOR_NAME.pattern or "", name) is None or not name.isascii():
        reason, fix = "it is not an UpperCamelCase name of letters and digits without 'diopi'", "write it as LogSoftmax"
    elif "__" in name or name.endswith("_"):
        reason, fix = "it would be reserved, or cut, in C++", "write it as LogSoftmax"
    elif (
        found := next((f for f in interface.functions if f.name.lower() == f"diopi{name}".lower()), None)
    ) is not None:
        raise failure("new-operator-name", f"there is a function {found.name} already", found.span, fix)
    elif (kernel := kernel_name_of(name)) and (reason := why_reserved(kernel) or ""):
        reason = f"its kernel would be called '{kernel}', {reason}"
    else:
        other = next((f for f in interface.functions if kernel_name(f) == kernel), None)
        if other is None:
            return
        reason = f"its kernel would be called '{kernel}', as that of {other.name}"
    raise failure("new-operator-name", f"'{name}' cannot be the name of an operator: {reason}", fix=fix)


def _checked(where: api.Workspace, texts: Mapping[str, str]) -> Interface:
    """The interface with new texts of files, which `diopigen check` accepts and `generate` can write."""
    sink = Sink()
    with copied(where.spec) as folder:
        copy = replace(where, spec=folder)
        for relative, text in texts.items():
            (copy.spec / relative).write_text(text, encoding="utf-8")
        loaded = api.load(copy, sink)
        if not sink.has_errors:
            api.check_targets(loaded.interface, copy, sink)
    errors = [found for found in sink.sorted() if found.severity is Severity.ERROR]
    if errors:
        raise Failure(*errors)
    return loaded.interface


def _begun(interface: Interface, where: api.Workspace, name: str, like: Function, entry: str) -> Begun:
    functions = tuple(interface.functions_of(name))
    base = next(function for function in functions if function.variant == "base")
    ordered = (base, *(function for function in functions if function is not base))
    oracle = ""
    if base.kernel is None:
        stem = kernel_name(base)
        taken = (where.root / ORACLES / f"{stem}.py").exists()
        oracle = f"{ORACLES}/{stem}{'_oracle' if taken else ''}.py"
    return Begun(name, ordered, entry, {library: _folder(where.root, library, like) for library in KERNEL}, oracle)


def _folder(root: Path, library: str, like: Function) -> str:
    """The folder of the kernels of a library in which that of the other operator is, or its counterpart."""
    base = f"impl/{library}/functions"
    span = defined_kernels(root, library).get((kernel_name(like), arguments_name(like)))
    if span is None:
        return base
    inner = Path(span.file).parent.parts[3:]
    return "/".join([base, *inner]) if (root / base).joinpath(*inner).is_dir() else base

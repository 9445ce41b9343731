"""Model tables that were checked before: the calls of an operator in one are checked again when the table changes, or
the operator's entry."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from pathlib import Path
from typing import cast

from diopigen.conformance.cases.models import ModelReader, check_model
from diopigen.diagnostics import Sink
from diopigen.ir.load import CANONICAL
from diopigen.ir.model import Interface
from diopigen.ir.models import load_model, names_of_models
from diopigen.ir.parts import Parts, key_of_files
from diopigen.spec.text_file import read_once

_LINE_BREAK = re.compile("\r\n|[\n\r\x85\u2028\u2029]")
"""As YAML counts lines."""


def check_tables(interface: Interface, root: Path, display: str, parts: Parts, sink: Sink) -> int:
    """Checks the tables of the spec in `root`, `display` in messages, and returns their number. `parts` has, for each
    table, the functions that it calls with the digests of their entries when nothing was found about the calls."""
    reader = ModelReader(interface)
    entries = _digests_of_entries(interface, root)
    names = names_of_models(root)
    for name in names:
        key = key_of_files(root, [name], display)
        known = cast("Mapping[str, str]", (parts.get(key) if key else None) or {})
        if known and all(entries.get(function) == digest for function, digest in known.items()):
            continue
        model = load_model(root, name, sink, display)
        if model is None:
            continue
        called = {function: entries.get(function, "") for function in model.functions()}
        before = sink.reported
        check_model(reader, model, sink, {function for function in called if called[function] != known.get(function)})
        if key and sink.reported == before:
            parts.put(key, called)
    return len(names)


def _digests_of_entries(interface: Interface, root: Path) -> Mapping[str, str]:
    """By function, a digest of the text of its operator's entry, wherever in the file that is."""
    by_file: dict[str, dict[str, list[str]]] = {}
    first: dict[str, int] = {}
    for function in interface.functions:
        file = interface.file_of.get(function.name, "")
        by_file.setdefault(file, {}).setdefault(function.operator, []).append(function.name)
        # Keys of an entry are in any order.
        start = min(span.line for span in (function.span, *function.spans.values()))
        first[function.operator] = min(start, first.get(function.operator, start))
    found = {}
    for file, operators in by_file.items():
        try:
            text = read_once(root / file.removeprefix(f"{CANONICAL}/")).decode("utf-8-sig", errors="replace")
        except (OSError, ValueError):
            continue
        lines = _LINE_BREAK.split(text)
        ordered = sorted(operators, key=first.__getitem__)
        # The first line of the next entry is included: two entries may be on one line.
        ends = [*(first[operator] for operator in ordered[1:]), len(lines)]
        for operator, end in zip(ordered, ends, strict=True):
            entry = "\n".join(lines[first[operator] - 1 : end])
            digest = hashlib.blake2b(entry.encode(), digest_size=16).hexdigest()
            found.update(dict.fromkeys(operators[operator], digest))
    return found
